"""The connection under Google's client: one per thread and host, that reads so many bytes, for so long, and no more.

httplib2 reads a whole answer into memory, however long, and its timeout counts from one received byte to the next.
"""

import http.client
import time
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httplib2

from activities.connectors.drive.addresses import Addresses
from activities.connectors.drive.credentials import is_loopback

# Errors and tokens are read whatever the limit for a document is.
LEAST: Final = 1_048_576
_PIECE: Final = 65_536
_KEYS: Final = "x-goog-drive-resource-keys"
# 308 is what uploads are answered with, and no redirect to Google.
_REDIRECTS: Final = frozenset({301, 302, 303, 307})


class AnswerTooLarge(Exception):
    """An answer has more bytes than were allowed for it. It was not read further."""


@dataclass(slots=True)
class Bounds:
    """Of the answer that is being read."""

    max_bytes: int
    until: float  # monotonic


class BoundedHttp(httplib2.Http):
    """httplib2 with bounds. Used by one thread; after any exception it must be closed, which it outlives."""

    def __init__(self, addresses: Addresses, *, timeout_s: float, answer_s: float) -> None:
        # Some environments send everything through a proxy, to which this machine's own ports mean nothing.
        proxies: Any = None if is_loopback(addresses.host) else httplib2.proxy_info_from_environment
        super().__init__(timeout=timeout_s, proxy_info=proxies)
        self.redirect_codes = _REDIRECTS
        self._addresses = addresses
        self._answer_s = answer_s
        self._ends_at: float | None = None
        self._bounds = Bounds(LEAST, 0.0)
        self._connection_types = _connection_types(self._bounds)
        self.allow(LEAST)

    def allow(self, max_bytes: int) -> None:
        """Answers from here on have at most ``max_bytes``, packed and unpacked."""
        self._bounds.max_bytes = max(max_bytes, LEAST)
        self.limit_kwargs = {"hard_limit": self._bounds.max_bytes, "ratio": 0}

    def end_at(self, moment: float | None) -> None:
        """No answer is waited for beyond this moment of the monotonic clock; ``None``: each has its own time."""
        self._ends_at = moment

    def request(
        self,
        uri: str,
        method: str = "GET",
        body: Any = None,
        headers: Any = None,
        redirections: int = httplib2.DEFAULT_MAX_REDIRECTS,
        connection_type: Any = None,
    ) -> Any:
        """As httplib2's, with connections that keep the bounds. Redirects come through here too, with what is left of the time."""
        kind = self._connection_types.get(_scheme(uri))
        if kind is None:
            raise httplib2.HttpLib2Error("A redirect leads to no address of http or https.")
        if redirections == httplib2.DEFAULT_MAX_REDIRECTS:
            self._bounds.until = self._until()
        elif not self._addresses.has(uri):
            raise httplib2.HttpLib2Error("A redirect leads to where nothing of Drive is.")
        else:
            # httplib2 takes the token out of what it sends on, and knows nothing of this one.
            headers = {name: value for name, value in headers.items() if name.lower() != _KEYS}
        return super().request(uri, method, body, headers, redirections, kind)

    def _until(self) -> float:
        now = time.monotonic()
        if self._ends_at is None:
            return now + self._answer_s
        if now >= self._ends_at:
            raise TimeoutError("What it is asked for took too long.")
        return min(now + self._answer_s, self._ends_at)


def _scheme(uri: str) -> str:
    try:
        return urlsplit(uri).scheme
    except ValueError:
        return ""


def _connection_types(bounds: Bounds) -> dict[str, Any]:
    """httplib2 takes connections as classes, one per scheme, and makes them itself: so each set of bounds has its own two."""

    class Response(_BoundedResponse):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.bounds = bounds

    class Plain(httplib2.HTTPConnectionWithTimeout):
        response_class = Response

    class Secure(httplib2.HTTPSConnectionWithTimeout):
        response_class = Response

    return {"http": Plain, "https": Secure}


class _BoundedResponse(http.client.HTTPResponse):
    bounds: Bounds

    def read(self, amt: int | None = None) -> bytes:
        """The whole body. Raises `AnswerTooLarge`, `TimeoutError`, or `IncompleteRead` if it ended early."""
        if amt is not None:
            return super().read(amt)
        if self.length is not None and self.length > self.bounds.max_bytes:
            raise self._too_large()
        body = bytearray()
        while piece := super().read(min(_PIECE, self.bounds.max_bytes + 1 - len(body))):
            body += piece
            if len(body) > self.bounds.max_bytes:
                raise self._too_large()
            if time.monotonic() > self.bounds.until:
                raise TimeoutError("The answer takes too long.")
        # Read in pieces, a body that ends early is no error to http.client.
        if self.length:
            raise http.client.IncompleteRead(bytes(body), self.length)
        return bytes(body)

    def _too_large(self) -> Exception:
        if 200 <= self.status < 300:
            return AnswerTooLarge()
        return http.client.HTTPException("A refusal has no end.")


__all__ = ["LEAST", "AnswerTooLarge", "BoundedHttp"]
