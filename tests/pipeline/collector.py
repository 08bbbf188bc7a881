"""A collector of OpenTelemetry spans on loopback, and what it was told, as any other one would read it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status


@dataclass(frozen=True)
class HeardSpan:
    name: str
    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    began_ns: int
    ended_ns: int
    told: dict[str, str | int | float | bool]
    is_error: bool
    events: int


@dataclass
class Collector:
    """``sent`` holds the requests as they came."""

    url: str = ""
    sent: list[bytes] = field(default_factory=list)

    @property
    def spans(self) -> list[HeardSpan]:
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.sent]
        scopes = [scope for request in requests for each in request.resource_spans for scope in each.scope_spans]
        return [_heard(span) for scope in scopes for span in scope.spans]

    def named(self, name: str) -> list[HeardSpan]:
        return [span for span in self.spans if span.name == name]

    def of(self, source_id: str) -> tuple[list[HeardSpan], list[HeardSpan]]:
        """The spans of a source's replacement, and of its embedding."""
        of_it = [span for span in self.spans if span.told.get("rag.source_id") == source_id]
        return [span for span in of_it if span.name == "rag_index"], [
            span for span in of_it if span.name == "embedding.index"
        ]


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                collector.sent.append(body)
            self.send_response(200 if self.path == "/v1/traces" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{server.server_port}"
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    try:
        yield collector
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def _heard(span: Span) -> HeardSpan:
    told = {each.key: getattr(each.value, each.value.WhichOneof("value") or "string_value") for each in span.attributes}
    return HeardSpan(
        name=span.name,
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=span.parent_span_id,
        began_ns=span.start_time_unix_nano,
        ended_ns=span.end_time_unix_nano,
        told=told,
        is_error=span.status.code == Status.STATUS_CODE_ERROR,
        events=len(span.events),
    )
