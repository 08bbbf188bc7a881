"""Spans of indexing on their way out: what they become, and that a collector which is away holds nobody up."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import structlog
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from activities.store.pages.telling import ToldPage
from activities.telemetry import IndexSpan, SpanIds
from activities.telemetry.spans import replacement_ids
from workers.otlp import SpanTeller, telling_to

PAGE = ToldPage(7, "sync", "prepared", 1_700_000_000_000_000, "t1", "docs", "handbook")


class Seen:
    def __init__(self) -> None:
        self.tell = SpanTeller()
        self._exporter = InMemorySpanExporter()
        self.tell.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()


@pytest.fixture
def seen() -> Seen:
    return Seen()


def test_a_span_has_the_ids_by_which_another_process_named_it_and_the_times_it_is_told_with(seen: Seen) -> None:
    ids = replacement_ids(PAGE, 3)
    with trace.use_span(trace.NonRecordingSpan(trace.SpanContext(5, 5, is_remote=False))):  # whatever else is current
        seen.tell(IndexSpan("embedding.index", 20, 30, {"embedded": 2}, below=ids))
        seen.tell(IndexSpan("rag_index", 10, 40, {"source_id": "folder:a plan.md"}, ids=ids))

    child, root = seen.spans
    assert root.context is not None and child.context is not None and child.parent is not None
    assert (root.context.trace_id, root.context.span_id, root.parent) == (ids.trace_id, ids.span_id, None)
    assert (child.context.trace_id, child.parent.span_id) == (ids.trace_id, ids.span_id)
    assert child.context.span_id != ids.span_id
    assert (root.start_time, child.start_time, child.end_time, root.end_time) == (10, 20, 30, 40)
    assert dict(root.attributes or {}) == {"rag.source_id": "folder:a plan.md"}
    assert root.status.is_unset and root.resource.attributes["service.name"] == "headwater"


def test_an_error_is_its_kind_and_no_sentence(seen: Seen) -> None:
    seen.tell(IndexSpan("rag_index", 10, 40, {}, error="quarantined"))

    (span,) = seen.spans
    assert (dict(span.attributes or {}), span.events) == ({"rag.error": "quarantined"}, ())
    assert not span.status.is_ok and span.status.description is None


@pytest.mark.parametrize("attributes", [{"title": "A plan for the spring"}, {"Title": 1}, {"text": ["a"]}])
def test_what_may_not_be_told_is_not_and_fails_nobody(seen: Seen, attributes: dict[str, str]) -> None:
    with structlog.testing.capture_logs() as logged:
        seen.tell(IndexSpan("rag_index", 10, 40, attributes))

    assert seen.spans == ()
    assert [(each["event"], each["log_level"]) for each in logged] == [("span.failed", "error")]
    assert "spring" not in str(logged)


def test_each_document_of_each_page_of_each_installation_has_ids_of_its_own() -> None:
    at_once = ToldPage(7, "sync", "prepared", PAGE.listed_us + 1, "t1", "docs", "handbook")
    others = [ToldPage(8, "sync", "prepared", PAGE.listed_us, "t1", "docs", "handbook"), at_once]
    ids = [replacement_ids(page, ord) for page in (PAGE, *others) for ord in (1, 2)]

    assert len({each.trace_id for each in ids}) == len({each.span_id for each in ids}) == 6
    assert replacement_ids(PAGE, 1) == ids[0], "in whichever process, and however often"


def test_a_trace_is_sampled_as_a_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    seen = Seen()
    for ord in range(100):
        ids = replacement_ids(PAGE, ord)
        seen.tell(IndexSpan("embedding.index", 20, 30, {}, below=ids))
        seen.tell(IndexSpan("rag_index", 10, 40, {}, ids=ids))

    traces = [span.context.trace_id for span in seen.spans if span.context is not None]
    assert 20 < len(set(traces)) < 80
    assert all(traces.count(each) == 2 for each in set(traces))


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a collector that takes every connection and says nothing."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_a_collector_that_does_not_answer_holds_up_neither_who_tells_nor_who_ends(silent: str) -> None:
    began = time.monotonic()
    with telling_to(silent, stop_s=0.2) as tell:
        for number in range(10_000):  # more than are kept
            tell(IndexSpan("rag_index", 10, 40, {"page": number}, ids=SpanIds(number + 1, 1)))
        told = time.monotonic()
    ended = time.monotonic()

    assert told - began < 4, "the first batch alone would be waited for for five seconds"
    assert ended - told < 2


@pytest.fixture
def moody() -> Iterator[str]:
    """The address of a collector that refuses two batches and takes all after them."""
    refusing = iter((400, 400))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(next(refusing, 200))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}/v1/traces"
        server.shutdown()
        serving.join()


def test_that_spans_are_lost_is_said_once_and_that_they_arrive_again_too(moody: str) -> None:
    with structlog.testing.capture_logs() as logged, telling_to(moody) as tell:
        for number in range(2_000):
            tell(IndexSpan("rag_index", 10, 40, {"page": number}))

    assert [(each["event"], each["log_level"]) for each in logged] == [
        ("spans.lost", "warning"), ("spans.sent_again", "info"),
    ]  # fmt: skip


def test_without_a_collector_nothing_of_opentelemetry_is_needed_and_with_one_a_sentence_says_what_to_install() -> None:
    program = """
import sys
class Nowhere:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "opentelemetry":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nowhere())
from headwater import ValidationError
import workers.served, workers.worker, activities.telemetry as telemetry
nobody = telemetry.page_spans(None, None, 1)
assert nobody is telemetry.page_spans(None, None, 2)  # neither asks the store, which is none
assert telemetry.batch_spans(None, None, 1, 0, None) is telemetry.batch_spans(None, None, 2, 0, None)
telemetry.tell_unchanged(None, None, 1, count=3, began_ns=0)
try:
    import workers.otlp
except ValidationError as error:
    assert "--extra otlp" in str(error), error
else:
    raise AssertionError("nothing was said")
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
