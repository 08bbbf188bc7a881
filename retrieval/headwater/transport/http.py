"""Sends a request to an address that was checked, and to no other, and has the whole answer by a deadline.

A name is looked up once for each request, and what it led to is what is connected to: nobody can let it lead elsewhere in
between. There are no proxies, no redirects, no cookies, and no connection stays open behind a caller's back. The deadline
is for all of it: an answer that drips, header by header, ends with it too. Only the look-up of a name takes as long as the
system's resolver lets it: nobody can end it, and a thread left behind with each request would be worse than one that waits.
"""

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final

import httpcore
import httpx

from headwater.errors import ValidationError
from headwater.transport.addresses import AllowedAddresses, refusal

Lookup = Callable[[str, int], Sequence[str]]
"""The addresses of a name, best first."""

_ONLY_LOOPBACK: Final = AllowedAddresses(loopback=True, public=False)
_PORTS: Final = {"http": 80, "https": 443}


class PinnedTransport(httpx.BaseTransport):
    """A transport of httpx that connects within ``reach``, once for each request. Safe to share between threads.

    ``tls`` replaces the certificates of public authorities, for a server inside that has its own.
    """

    def __init__(
        self,
        reach: AllowedAddresses,
        *,
        timeout_s: float,
        tls: ssl.SSLContext | None = None,
        lookup: Lookup | None = None,
    ) -> None:
        self._reach = reach
        self._timeout_s = timeout_s
        self._given_tls = tls
        self._lookup = lookup or addresses_of

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        is_tls = url.scheme == "https"
        origin = httpcore.Origin(url.raw_scheme, url.raw_host, url.port or _PORTS[url.scheme])
        connection = httpcore.HTTPConnection(
            origin,
            ssl_context=self._tls if is_tls else None,
            network_backend=_Pinned(
                self._reach if is_tls else _ONLY_LOOPBACK, _Deadline(self._timeout_s), self._lookup
            ),
        )
        try:
            with _as_httpx():
                answer = connection.handle_request(
                    httpcore.Request(
                        request.method,
                        httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                        headers=request.headers.raw,
                        content=request.stream,
                    )
                )
        except BaseException:
            connection.close()
            raise
        return httpx.Response(
            answer.status, headers=answer.headers, stream=_Body(answer, connection), extensions=answer.extensions
        )

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._given_tls or httpx.create_ssl_context(trust_env=False)


class CertificateRefused(httpx.ConnectError):
    """The server did not prove that it is who was asked."""


def addresses_of(host: str, port: int) -> list[str]:
    """What ``host`` leads to, as this machine's resolver has it."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class _Deadline:
    def __init__(self, timeout_s: float) -> None:
        self._at = time.monotonic() + timeout_s

    def left_s(self, timeout: type[Exception]) -> float:
        """The time that is left, or ``timeout`` raised."""
        left = self._at - time.monotonic()
        if left <= 0:
            raise timeout
        return left


class _Pinned(httpcore.NetworkBackend):
    """Looks a name up and connects to what it found."""

    def __init__(self, reach: AllowedAddresses, deadline: _Deadline, lookup: Lookup) -> None:
        self._reach = reach
        self._deadline = deadline
        self._lookup = lookup

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            addresses = self._lookup(host, port)
        except (OSError, UnicodeError):  # a label that is too long is the latter
            raise httpcore.ConnectError from None
        # One that is out of reach among others is no accident: whoever owns the name tries where the others fail.
        if not all(map(self._reach.allows, addresses)):
            raise ValidationError(f"{host} leads to an address that may not be asked: {refusal(self._reach)}.")
        for still, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            share_s = (
                self._deadline.left_s(httpcore.ConnectTimeout) / still
            )  # one that is silent leaves time for the next
            try:
                return _Stream(socket.create_connection((address, port), share_s), self._deadline)
            except OSError:
                continue
        self._deadline.left_s(httpcore.ConnectTimeout)
        raise httpcore.ConnectError


class _Stream(httpcore.NetworkStream):
    """A socket whose every wait ends with the deadline."""

    def __init__(self, connected: socket.socket, deadline: _Deadline) -> None:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connected
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with self._waiting(httpcore.ReadTimeout, httpcore.ReadError):
            return self._socket.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        while buffer:
            with self._waiting(httpcore.WriteTimeout, httpcore.WriteError):
                buffer = buffer[self._socket.send(buffer) :]

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        try:
            with self._waiting(httpcore.ConnectTimeout, httpcore.ConnectError):
                return _Stream(ssl_context.wrap_socket(self._socket, server_hostname=server_hostname), self._deadline)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._socket.close()

    def get_extra_info(self, info: str) -> Any:
        return self._socket if info == "ssl_object" and isinstance(self._socket, ssl.SSLSocket) else None

    @contextmanager
    def _waiting(self, timeout: type[Exception], failure: type[Exception]) -> Iterator[None]:
        self._socket.settimeout(self._deadline.left_s(timeout))
        try:
            yield
        except TimeoutError:
            raise timeout from None
        except ssl.SSLCertVerificationError as error:
            raise CertificateRefused(error.verify_message) from None
        except OSError:
            raise failure from None


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response, connection: httpcore.HTTPConnection) -> None:
        self._answer = answer
        self._connection = connection

    def __iter__(self) -> Iterator[bytes]:
        with _as_httpx():
            yield from self._answer.iter_stream()

    def close(self) -> None:
        self._connection.close()


@contextmanager
def _as_httpx() -> Iterator[None]:
    """Errors of httpcore as those of httpx, without what they say: it may repeat a header."""
    try:
        yield
    except httpcore.TimeoutException:
        raise httpx.ReadTimeout("the deadline has passed") from None
    except httpcore.NetworkError:
        raise httpx.NetworkError("the connection failed") from None
    except httpcore.ProtocolError:
        raise httpx.RemoteProtocolError("the answer is not HTTP") from None


__all__ = ["CertificateRefused", "Lookup", "PinnedTransport", "addresses_of"]
