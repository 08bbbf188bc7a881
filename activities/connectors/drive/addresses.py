"""Which addresses are Drive's: the token goes to those alone, and nowhere else is anything read that counts as Drive's."""

from urllib.parse import urlsplit

_GOOGLES = (".google.com", ".googleapis.com")
# Downloads come from names right below this one. Further below are the machines of customers.
_CONTENT = ".googleusercontent.com"


class Addresses:
    """Those of the server at ``root_url``, and Google's own."""

    def __init__(self, root_url: str) -> None:
        parts = urlsplit(root_url)
        self._root = parts.scheme, parts.hostname, parts.port
        self.host = parts.hostname or ""

    def has(self, url: str) -> bool:
        """Whether ``url`` is one of them, however it is written."""
        try:
            parts = urlsplit(url)
            where = parts.scheme, parts.hostname, parts.port
        except ValueError:
            return False
        if "@" in parts.netloc or "\\" in url or not url.isascii() or not url.isprintable() or " " in url:
            return False
        return where == self._root or (parts.scheme == "https" and parts.port in (None, 443) and _is_googles(where[1]))


def _is_googles(host: str | None) -> bool:
    if host is None:
        return False
    return f".{host}".endswith(_GOOGLES) or (host.endswith(_CONTENT) and "." not in host.removesuffix(_CONTENT))


__all__ = ["Addresses"]
