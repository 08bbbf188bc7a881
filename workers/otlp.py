"""Spans of indexing on their way to an OpenTelemetry collector, over OTLP and HTTP.

They wait in a queue that holds so many, and a thread of its own sends them: an activity never waits for the collector, and
nothing fails with it. What does not fit, or could not be sent, is lost, and the log says so once.
"""

import contextlib
import logging
import threading
from collections.abc import Iterator, Sequence
from typing import Final

import structlog

from activities.telemetry import IndexSpan, SpanIds, Tell
from headwater.errors import ValidationError
from headwater.telemetry import PREFIX, SPAN_NAMES, told

try:
    from opentelemetry.context import Context
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
    from opentelemetry.sdk.trace.sampling import Decision
    from opentelemetry.trace import NonRecordingSpan, SpanContext, StatusCode, TraceFlags, set_span_in_context
except ImportError as error:
    raise ValidationError(
        "HEADWATER_OTLP_ENDPOINT needs packages that are not installed: "
        "run deploy/install.sh --extra otlp with the environment's folder, or unset it."
    ) from error

log = structlog.get_logger()

QUEUE_SPANS: Final = 4_096
BATCH_SPANS: Final = 512
SEND_S: Final = 5.0  # a batch, tries again included
STOP_S: Final = 3.0  # a process that ends waits so long for what is left to be sent
PATH: Final = "/v1/traces"


@contextlib.contextmanager
def telling_to(endpoint: str, *, stop_s: float = STOP_S) -> Iterator[Tell]:
    """Sends what is told to the collector at ``endpoint``, until the block is left and for a moment after that."""
    # It would tell of each batch and each try, with a sentence of another library's: `_Watched` says it once.
    logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)
    url = endpoint if endpoint.endswith(PATH) else f"{endpoint}{PATH}"
    exporter = _Watched(OTLPSpanExporter(endpoint=url, timeout=SEND_S))
    queue = BatchSpanProcessor(exporter, max_queue_size=QUEUE_SPANS, max_export_batch_size=BATCH_SPANS)
    teller = SpanTeller()
    teller.provider.add_span_processor(queue)
    try:
        yield teller
    finally:
        # In a thread, because the SDK's own wait for its exporter knows no bound that can be set.
        stopping = threading.Thread(target=queue.shutdown, name="otlp-stop", daemon=True)
        stopping.start()
        stopping.join(stop_s)
        if stopping.is_alive():
            exporter.give_up()


class SpanTeller:
    """Makes spans of OpenTelemetry of what is told. ``provider`` takes the processors that hand them on.

    ``OTEL_TRACES_SAMPLER`` and its like are honoured: a trace is kept as a whole or not at all, by its id.
    """

    def __init__(self) -> None:
        self._ids = _GivenIds()
        self.provider = TracerProvider(id_generator=self._ids, resource=_resource(), shutdown_on_exit=False)
        self._tracer = self.provider.get_tracer("headwater")

    def __call__(self, span: IndexSpan) -> None:
        try:
            self._record(span)
        except Exception as error:  # noqa: BLE001 what was done is done: nothing may fail because it could not be told
            log.error("span.failed", span=span.name, error=type(error).__name__)

    def _record(self, span: IndexSpan) -> None:
        assert span.name in SPAN_NAMES
        with self._ids.given(span.ids):
            recorded = self._tracer.start_span(
                span.name,
                self._below(span.below),
                attributes=told(span.attributes),
                start_time=span.began_ns,
                record_exception=False,
                set_status_on_exception=False,
            )
        if span.error is not None:
            recorded.set_attributes({f"{PREFIX}error": span.error})
            recorded.set_status(StatusCode.ERROR)  # without a description
        recorded.end(span.ended_ns)

    def _below(self, ids: SpanIds | None) -> Context:
        """Nothing of what is current: activities are nobody's steps."""
        if ids is None:
            return Context()
        decided = self.provider.sampler.should_sample(Context(), ids.trace_id, "rag_index").decision
        flags = TraceFlags(TraceFlags.SAMPLED if decided is Decision.RECORD_AND_SAMPLE else TraceFlags.DEFAULT)
        parent = SpanContext(ids.trace_id, ids.span_id, is_remote=True, trace_flags=flags)
        return set_span_in_context(NonRecordingSpan(parent), Context())


class _GivenIds(RandomIdGenerator):
    """Random ids, but for a span that others name already."""

    def __init__(self) -> None:
        self._given = threading.local()  # activities run in threads

    @contextlib.contextmanager
    def given(self, ids: SpanIds | None) -> Iterator[None]:
        self._given.ids = ids
        try:
            yield
        finally:
            self._given.ids = None

    def generate_trace_id(self) -> int:
        ids: SpanIds | None = getattr(self._given, "ids", None)
        return super().generate_trace_id() if ids is None else ids.trace_id

    def generate_span_id(self) -> int:
        ids: SpanIds | None = getattr(self._given, "ids", None)
        return super().generate_span_id() if ids is None else ids.span_id


class _Watched(SpanExporter):
    """Says when spans begin to be lost and when they arrive again: once each, and not with every batch."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._is_lost = False
        self._is_over = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self._is_over:
            return SpanExportResult.FAILURE
        result = self._exporter.export(spans)
        if not self._is_over:
            self._note(is_lost=result is not SpanExportResult.SUCCESS)
        return result

    def _note(self, *, is_lost: bool) -> None:
        if is_lost == self._is_lost:
            return
        self._is_lost = is_lost
        if is_lost:
            log.warning("spans.lost", why="the collector does not take them")
        else:
            log.info("spans.sent_again")

    def give_up(self) -> None:
        """What is left is lost: whoever sends it stops trying."""
        self._note(is_lost=True)
        self.shutdown()

    def shutdown(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def _resource() -> Resource:
    """Who sends them: what ``OTEL_SERVICE_NAME`` and ``OTEL_RESOURCE_ATTRIBUTES`` say, else Headwater."""
    given = Resource.create()
    is_named = not str(given.attributes.get(SERVICE_NAME, "")).startswith("unknown_service")
    return given if is_named else given.merge(Resource({SERVICE_NAME: "headwater"}))
