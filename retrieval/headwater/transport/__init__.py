"""How text leaves for a server outside, and to which addresses it may: `http.PinnedTransport`, for hosts that need one of their own too."""
