"""Why no answer came, in words: for somebody who knows the network here and not the names of Python's errors."""

import http.client
import os
import socket
import ssl
from collections.abc import Iterator
from typing import Final

import google.auth.exceptions as auth
import httplib2

_NOT_THERE: Final = "check the root URL, the network and the proxy"
# The first that fits counts. Those of the second kind are over as soon as somebody mends the way to Drive.
_WORDS: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], str, bool], ...]] = (
    (ConnectionRefusedError, "connection refused", True),
    ((httplib2.ServerNotFoundError, socket.gaierror), "nobody knows a host of that name", True),
    ((TimeoutError, auth.TimeoutError), "no answer in time", True),
    ((http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError), "the connection was closed", False),
    (http.client.IncompleteRead, "the answer broke off", False),
    (ssl.SSLError, "no secure connection came about", True),
    (http.client.HTTPException, "what came is no answer of HTTP", True),
    (ConnectionError, "the connection broke", False),
)


def why(error: Exception) -> str:
    """The reason of ``error``, or of what it was raised for; its class where there is no word for it."""
    for each in _causes(error):
        for kinds, words, is_of_the_way in _WORDS:
            if isinstance(each, kinds):
                return f"{words}; {_NOT_THERE}" if is_of_the_way else words
        # The system's own words for its number: those of the error may be anybody's.
        if isinstance(each, OSError) and each.errno is not None:
            return f"{os.strerror(each.errno).lower()}; {_NOT_THERE}"
    return type(error).__name__


def _causes(error: Exception) -> Iterator[Exception]:
    """The innermost first: Google's sign-in wraps what the network raised, now and then twice."""
    for each in error.args:
        if isinstance(each, Exception):
            yield from _causes(each)
    yield error


__all__ = ["why"]
