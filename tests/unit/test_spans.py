"""What leaves the library for OpenTelemetry, and that nothing does without it."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from headwater.errors import LimitError
from headwater.telemetry import OFF, SPAN_NAMES, Span, Telemetry


class Seen:
    """A provider of tracers, and the spans that ended."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self._exporter.get_finished_spans()}


@pytest.fixture
def seen() -> Seen:
    return Seen()


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def test_there_are_nine_names() -> None:
    assert SPAN_NAMES == {
        "rag_request", "embedding.query", "retrieval.vector_search", "retrieval.lexical", "retrieval.fusion",
        "retrieval.rerank", "prompt.assembly", "rag_index", "embedding.index",
    }  # fmt: skip


def test_steps_stand_below_the_step_they_are_part_of_and_may_overlap(seen: Seen) -> None:
    with (
        Telemetry(seen.provider).span("rag_request") as request,
        request.span("retrieval.vector_search") as vector,
        request.span("retrieval.lexical"),
        vector.span("embedding.query"),
    ):
        pass

    spans = seen.spans
    assert parent_of(spans["rag_request"]) is None
    assert parent_of(spans["retrieval.vector_search"]) == id_of(spans["rag_request"])
    assert parent_of(spans["retrieval.lexical"]) == id_of(spans["rag_request"])
    assert parent_of(spans["embedding.query"]) == id_of(spans["retrieval.vector_search"])


def test_a_request_stands_below_the_span_that_is_current_where_it_is_made(seen: Seen) -> None:
    with seen.provider.get_tracer("host").start_as_current_span("turn"), Telemetry(seen.provider).span("rag_request"):
        pass

    assert parent_of(seen.spans["rag_request"]) == id_of(seen.spans["turn"])


@pytest.mark.parametrize("given", [lambda span: span, trace.set_span_in_context], ids=["span", "context"])
def test_a_request_stands_below_the_parent_it_is_given(seen: Seen, given: Callable[[trace.Span], Any]) -> None:
    turn = seen.provider.get_tracer("host").start_span("turn")
    telemetry = Telemetry(seen.provider, parent=given(turn))
    with telemetry.span("rag_request") as request, request.span("embedding.query"):
        pass
    turn.end()

    spans = seen.spans
    assert parent_of(spans["rag_request"]) == id_of(spans["turn"])
    assert parent_of(spans["embedding.query"]) == id_of(spans["rag_request"])


def test_what_others_trace_meanwhile_stands_below_the_request_and_nothing_after_it(seen: Seen) -> None:
    before = context.get_current()
    psycopg = seen.provider.get_tracer("psycopg")
    with Telemetry(seen.provider).span("rag_request"), psycopg.start_as_current_span("SELECT"):
        pass

    assert parent_of(seen.spans["SELECT"]) == id_of(seen.spans["rag_request"])
    assert context.get_current() == before


def test_everything_that_is_told_stands_below_rag(seen: Seen) -> None:
    with Telemetry(seen.provider).span("rag_request", top_k=5, lexical="bm25", generation=None) as request:
        request.set(hits=3, **{"index.generation": 7})
        request.event("chunk_retrieved", chunk_id="a report.md#1", rank=1, score=0.5)

    span = seen.spans["rag_request"]
    assert dict(span.attributes or {}) == {
        "rag.top_k": 5, "rag.lexical": "bm25", "rag.hits": 3, "rag.index.generation": 7,
    }  # fmt: skip
    (event,) = span.events
    assert event.name == "chunk_retrieved"
    assert dict(event.attributes or {}) == {"rag.chunk_id": "a report.md#1", "rag.rank": 1, "rag.score": 0.5}


@pytest.mark.parametrize(
    ("error", "kind"),
    [(LimitError("the secret word"), "ERR_HEADWATER_LIMIT"), (KeyError("the secret word"), "KeyError")],
)
def test_an_error_is_flagged_without_its_text(seen: Seen, error: Exception, kind: str) -> None:
    telemetry = Telemetry(seen.provider)
    with pytest.raises(type(error)), telemetry.span("rag_request") as request, request.span("retrieval.rerank"):
        raise error

    for span in seen.spans.values():
        assert not span.status.is_ok and span.status.description is None
        assert not span.events, "no exception event, which would hold the sentence and the frames"
        assert dict(span.attributes or {}) == {"rag.error": kind}
        assert "secret" not in span.to_json()


def test_a_step_that_went_well_is_not_flagged(seen: Seen) -> None:
    with Telemetry(seen.provider).span("rag_request"):
        pass

    assert seen.spans["rag_request"].status.is_unset


@pytest.mark.parametrize(
    "told",
    [
        lambda span: span.span("retrieval.guess"),
        lambda span: span.event("chunk_denied"),
        lambda span: span.set(Query=1),
        lambda span: span.set(**{"top-k": 1}),
        lambda span: span.set(query="How do approvals work?"),
        lambda span: span.set(title="Plans" * 20),
        lambda span: span.event("chunk_retrieved", text="a passage of it"),
    ],
)
def test_a_name_that_is_not_listed_and_a_text_are_refused(seen: Seen, told: Callable[[Span], object]) -> None:
    with pytest.raises(ValueError), Telemetry(seen.provider).span("rag_request") as request:
        told(request)


@pytest.mark.parametrize("value", [["a", "b"], {"a": 1}, b"bytes"])
def test_values_are_single(seen: Seen, value: Any) -> None:
    with pytest.raises(TypeError), Telemetry(seen.provider).span("rag_request") as request:
        request.set(names=value)


def test_without_telemetry_every_step_is_the_same_object_and_records_nothing() -> None:
    with OFF.span("rag_request", top_k=5) as request:
        request.set(hits=1)
        request.event("chunk_retrieved", rank=1)
        with request.span("embedding.query") as step:
            assert step is request is OFF
    assert not OFF.is_recording


def test_a_span_that_is_not_sampled_says_so() -> None:
    with Telemetry(trace.NoOpTracerProvider()).span("rag_request") as request:
        assert not request.is_recording


def test_opentelemetry_is_imported_only_for_those_who_use_it_and_its_absence_names_the_extra() -> None:
    program = """
import sys
class Nowhere:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "opentelemetry":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nowhere())
from headwater import Retriever, ValidationError
from headwater.telemetry import OFF, Telemetry
with OFF.span("rag_request"): pass
try:
    Telemetry()
except ValidationError as error:
    assert "headwater[otel]" in str(error), error
else:
    raise AssertionError("nothing was said")
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=60)
