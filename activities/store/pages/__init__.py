"""Pages: from what a connector listed or a host pushed to what readers see."""
