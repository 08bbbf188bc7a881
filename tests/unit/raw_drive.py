"""A server on loopback that answers byte for byte what a test says, broken answers too, and keeps what it was asked."""

import gzip
import json
import socketserver
import threading
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Final, cast
from urllib.parse import urlsplit

PIECE: Final = b"x" * 65_536


@dataclass(frozen=True)
class Reply:
    """An answer. ``sends`` bytes of the body are sent of the ``length`` announced; ``is_endless`` sends until nobody reads."""

    body: bytes = b"{}"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    sends: int | None = None
    length: int | None = None
    is_endless: bool = False
    is_silent: bool = False  # nothing at all, until the client gives up
    closes: bool = False  # the connection, without having said so


def says(value: object, status: int = 200, **headers: str) -> Reply:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(json.dumps(value).encode(), status, {"content-type": "application/json", **named})


def refuses(status: int, reason: str, **headers: str) -> Reply:
    error = {"code": status, "message": "A sentence.", "errors": [{"domain": "global", "reason": reason}]}
    return says({"error": error}, status, **headers)


def packed(body: bytes) -> Reply:
    return Reply(gzip.compress(body), headers={"content-encoding": "gzip"})


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str  # with the query
    headers: Mapping[str, str]
    body: bytes

    @property
    def token(self) -> str | None:
        return self.headers.get("authorization")


class RawDrive:
    """Its replies by path; the last one of a path is given for ever."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.log: list[Asked] = []
        self.hung_up = threading.Event()  # somebody stopped reading an endless or silent answer
        self._replies: dict[str, deque[Reply]] = defaultdict(deque)

    def script(self, path: str, *replies: Reply) -> None:
        self._replies[path] = deque(replies)

    def asked(self, path: str) -> list[Asked]:
        return [asked for asked in self.log if urlsplit(asked.path).path == path]

    def reply(self, asked: Asked) -> Reply:
        self.log.append(asked)
        waiting = self._replies[urlsplit(asked.path).path]
        if not waiting:
            return refuses(404, "notFound")
        return waiting.popleft() if len(waiting) > 1 else waiting[0]


@contextmanager
def running_raw_drive() -> Iterator[RawDrive]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.drive = RawDrive(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server.drive
        finally:
            server.shutdown()
            thread.join(timeout=10)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    drive: RawDrive


class _Handler(socketserver.StreamRequestHandler):
    @property
    def drive(self) -> RawDrive:
        return cast(_Server, self.server).drive

    def handle(self) -> None:
        # The client hangs up wherever it likes, which is what some of the tests are about.
        with suppress(ConnectionError):
            while self._exchange():
                pass

    def _exchange(self) -> bool:
        line = self.rfile.readline().split()
        if len(line) != 3:
            return False
        headers: dict[str, str] = {}
        while b":" in (header := self.rfile.readline()):
            name, _, value = header.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        body = self.rfile.read(int(headers.get("content-length", 0)))
        return self._send(self.drive.reply(Asked(line[0].decode(), line[1].decode(), headers, body)))

    def _send(self, reply: Reply) -> bool:
        if reply.is_silent:
            self.rfile.read(1)
            self.drive.hung_up.set()
            return False
        headers = {"content-length": str(len(reply.body) if reply.length is None else reply.length), **reply.headers}
        if reply.is_endless:
            headers |= {"transfer-encoding": "chunked"}
            del headers["content-length"]
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.wfile.write(f"HTTP/1.1 {reply.status} Whatever\r\n{head}\r\n".encode("latin-1"))
        if reply.is_endless:
            self._send_without_end()
        self.wfile.write(reply.body[: reply.sends])
        return reply.sends is None and reply.length is None and not reply.closes

    def _send_without_end(self) -> None:
        try:
            for piece in repeat(PIECE):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        finally:
            self.drive.hung_up.set()


def token_reply(token: str = "ya29.fresh") -> Reply:
    return says({"access_token": token, "expires_in": 3599, "token_type": "Bearer"})


def person(drive: RawDrive) -> dict[str, Any]:
    """The credentials of a person whose tokens this server gives out."""
    return {
        "type": "authorized_user",
        "client_id": "client.apps.example",
        "client_secret": "GOCSPX-a-secret",
        "refresh_token": "1//a-refresh-token",
        "token_uri": f"{drive.url}/token",
    }
