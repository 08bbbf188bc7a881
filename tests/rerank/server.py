"""A server on loopback that speaks raw bytes, so that it can also answer what no HTTP server would."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Answering = Callable[["Asked", socket.socket], None]


@dataclass(frozen=True)
class Asked:
    """One request, as it came over the wire."""

    target: str
    headers: Mapping[str, str]
    body: bytes
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class RunningReranker:
    """Keeps what it was asked; ``answer`` says what it does with the next request."""

    port: int
    answer: Answering
    scheme: str = "http"
    asked: list[Asked] = field(default_factory=list)
    given_up: threading.Event = field(
        default_factory=threading.Event
    )  # set when an answer could not be sent to its end

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"


@contextmanager
def running_reranker(
    answer: Answering, *, tls: ssl.SSLContext | None = None, port: int = 0
) -> Iterator[RunningReranker]:
    """A server until the block ends. Each connection is one request."""
    with socket.create_server(("127.0.0.1", port)) as listening:
        server = RunningReranker(listening.getsockname()[1], answer, "https" if tls else "http")
        accepting = threading.Thread(target=_accept, args=(listening, server, tls))
        accepting.start()
        try:
            yield server
        finally:
            listening.shutdown(socket.SHUT_RDWR)  # wakes accept()
            accepting.join(60)


def _accept(listening: socket.socket, server: RunningReranker, tls: ssl.SSLContext | None) -> None:
    serving: list[threading.Thread] = []
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            break
        serving.append(threading.Thread(target=_serve, args=(connection, server, tls)))
        serving[-1].start()
    for thread in serving:
        thread.join(60)


def _serve(connection: socket.socket, server: RunningReranker, tls: ssl.SSLContext | None) -> None:
    connection.settimeout(30)
    try:
        with tls.wrap_socket(connection, server_side=True) if tls else connection as stream:
            asked = _read(stream)
            server.asked.append(asked)
            server.answer(asked, stream)
    except OSError:  # whoever asked has gone, which some tests wait for
        server.given_up.set()


def _read(stream: socket.socket) -> Asked:
    raw = b""
    while b"\r\n\r\n" not in raw:
        raw += _some(stream)
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += _some(stream)
    return Asked(first.split(" ")[1], headers, body, head + b"\r\n\r\n" + body)


def _some(stream: socket.socket) -> bytes:
    part = stream.recv(65_536)
    if not part:
        raise OSError("closed")
    return part


def http(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer."""
    fields = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def answering(answer: Any, status: str = "200 OK", **headers: str) -> Answering:
    """Answers the same to everything: a JSON value, or bytes as they are."""
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return lambda _, stream: stream.sendall(http(body, status, **headers))


def sending(raw: bytes) -> Answering:
    """Sends just these bytes, whether they are HTTP or not."""
    return lambda _, stream: stream.sendall(raw)


def dripping(raw: bytes, *, every_s: float, endlessly: bytes = b"") -> Answering:
    """Sends one byte at a time, then ``endlessly`` over and over."""

    def drip(_: Asked, stream: socket.socket) -> None:
        pause = threading.Event()
        for byte in raw:
            stream.sendall(bytes([byte]))
            pause.wait(every_s)
        while endlessly:
            stream.sendall(endlessly)
            pause.wait(every_s)

    return drip


def by_words(form: Callable[[Sequence[float]], Any], texts_key: str) -> Answering:
    """Scores as a model might: by the words that a text shares with the query. ``form`` makes the answer of the scores."""

    def answer(asked: Asked, stream: socket.socket) -> None:
        wanted = set(asked.json["query"].lower().split())
        scores = [float(len(wanted & set(text.lower().split()))) for text in asked.json[texts_key]]
        stream.sendall(http(json.dumps(form(scores)).encode()))

    return answer


def in_order(scores: Sequence[float], key: str) -> list[dict[str, Any]]:
    """The items of an answer, best first, as servers send them."""
    items = [{"index": index, key: score} for index, score in enumerate(scores)]
    return sorted(items, key=lambda item: -float(item[key]))
