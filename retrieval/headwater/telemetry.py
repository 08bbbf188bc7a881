"""Spans of OpenTelemetry around the steps of a question: how long each took, and numbers about it, never what was said.

Nothing is imported, measured or allocated for a retriever that was opened without telemetry. With it, what may leave is
written down here: nine names of spans, two of events, keys below ``rag.``, and as values numbers, single words and ids.
An error is flagged by its kind; its sentence, which may name a document, stays where it was raised. The two names of
indexing are the workers', who tell theirs by the same rules (`told`, `error_kind`).
"""

import math
import re
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Protocol, Self, get_args

from headwater.errors import HeadwaterError, ValidationError

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry import trace
    from opentelemetry.context import Context

SpanName = Literal[
    "rag_request",
    "embedding.query",
    "retrieval.vector_search",
    "retrieval.lexical",
    "retrieval.fusion",
    "retrieval.rerank",
    "prompt.assembly",
    "rag_index",
    "embedding.index",
]
EventName = Literal["chunk_retrieved", "rag.acl_denied"]
Value = bool | int | float | str | None  # None: nothing to say, and the key is left out

SPAN_NAMES: Final = frozenset(get_args(SpanName))
EVENT_NAMES: Final = frozenset(get_args(EventName))
PREFIX: Final = "rag."
# An id may be anything a host chose. Whatever else is a word, so that no sentence of a document or a query gets out by mistake.
ID_KEYS: Final = frozenset({"chunk_id", "source_id", "tenant_id", "resource_id", "corpus_id"})

_KEY: Final = re.compile(r"[a-z0-9._]{1,64}")
_WORD: Final = re.compile(r"[a-z0-9._-]{1,40}", re.IGNORECASE)


class Span:
    """One step under way: enter it when the step begins. As it stands here, it records nothing and costs nothing."""

    __slots__ = ()

    @property
    def is_recording(self) -> bool:
        """Somebody will see it: only then is it worth while to find out what to `set`."""
        return False

    def span(self, name: SpanName, /, **attributes: Value) -> "Span":
        """A step within this one."""
        return self

    def set(self, **attributes: Value) -> None:
        """Says more of this step, under ``rag.`` and each name."""

    def event(self, name: EventName, /, **attributes: Value) -> None:
        """Something that happened in this step."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None


OFF: Final = Span()


class Spans(Protocol):
    """What begins a question's spans: `Telemetry`, or `OFF`."""

    def span(self, name: SpanName, /, **attributes: Value) -> Span: ...


class Telemetry:
    """Gives a retriever's spans to OpenTelemetry: ``Retriever.connect(…, telemetry=Telemetry())``.

    They go to ``tracer_provider``, or to the process's own; below ``parent`` (a span, or a context that holds one), or below
    whatever span is current where `retrieve` is called. What is called meanwhile (psycopg, httpx), if it is traced itself,
    is found below the request.
    """

    def __init__(
        self, tracer_provider: "trace.TracerProvider | None" = None, *, parent: "trace.Span | Context | None" = None
    ) -> None:
        try:
            from opentelemetry import trace
        except ImportError as error:
            raise ValidationError(
                "telemetry needs a package that is not installed: run pip install 'headwater[otel]'."
            ) from error
        self._tracer = trace.get_tracer("headwater", tracer_provider=tracer_provider)
        self._parent = trace.set_span_in_context(parent) if isinstance(parent, trace.Span) else parent

    def span(self, name: SpanName, /, **attributes: Value) -> Span:
        """A step that is part of none of ours. It is the current span while it lasts."""
        return _Recorded(self._tracer, name, self._parent, attributes, is_current=True)


class _Recorded(Span):
    # Its parent is given and not looked up: a step may begin in a generator or in a thread, where no span is current.
    __slots__ = ("_attributes", "_is_current", "_name", "_parent", "_span", "_token", "_tracer")

    def __init__(
        self,
        tracer: "trace.Tracer",
        name: SpanName,
        parent: "Context | None",
        attributes: dict[str, Value],
        *,
        is_current: bool = False,
    ) -> None:
        if name not in SPAN_NAMES:
            raise ValueError(
                f"{name!r} is no name of a span: add it to headwater.telemetry, or use one of those there."
            )
        self._tracer, self._name, self._parent, self._is_current = tracer, name, parent, is_current
        self._attributes = told(attributes)
        self._span: trace.Span | None = None
        self._token: Token[Context] | None = None

    @property
    def is_recording(self) -> bool:
        return self._span is not None and self._span.is_recording()

    def span(self, name: SpanName, /, **attributes: Value) -> Span:
        # A question that is part of another one is as any question: what is called meanwhile is found below it.
        return _Recorded(self._tracer, name, self._inside(), attributes, is_current=name == "rag_request")

    def set(self, **attributes: Value) -> None:
        if self._span is not None:
            self._span.set_attributes(told(attributes))

    def event(self, name: EventName, /, **attributes: Value) -> None:
        if name not in EVENT_NAMES:
            raise ValueError(
                f"{name!r} is no name of an event: add it to headwater.telemetry, or use one of those there."
            )
        if self._span is not None:
            self._span.add_event(name, told(attributes))

    def __enter__(self) -> Self:
        from opentelemetry import context

        self._span = self._tracer.start_span(
            self._name, self._parent, attributes=self._attributes, record_exception=False, set_status_on_exception=False
        )
        if self._is_current:
            self._token = context.attach(self._inside())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        from opentelemetry import context, trace

        if self._span is None:
            return
        if self._token is not None:
            context.detach(self._token)
        if error is not None:
            self._span.set_attributes({"rag.error": error_kind(error)})
            self._span.set_status(trace.StatusCode.ERROR)  # without a description
        self._span.end()

    def _inside(self) -> "Context":
        from opentelemetry import trace

        assert self._span is not None, "enter a span before its steps"
        return trace.set_span_in_context(self._span, self._parent)


def told(attributes: Mapping[str, Value]) -> dict[str, bool | int | float | str]:
    """As they are recorded, each under ``rag.``. A mistake here is one of the library's own, and is found by whoever tests it."""
    checked: dict[str, bool | int | float | str] = {}
    for key, value in attributes.items():
        if not _KEY.fullmatch(key):
            raise ValueError(f"{key!r} is no key of telemetry: lower-case letters, digits, dots and underscores.")
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            continue
        if not isinstance(value, (int, float, str)):
            raise TypeError(f"{key!r} would tell a {type(value).__name__}: telemetry takes numbers, words and ids.")
        if isinstance(value, str) and key not in ID_KEYS and not _WORD.fullmatch(value):
            raise ValueError(f"{key!r} would tell a text: telemetry takes numbers, words and ids.")
        checked[PREFIX + key] = value
    return checked


def error_kind(error: BaseException) -> str:
    """The code of an error of ours, the class of another one. A class may be called anything: what is no word is left out."""
    kind = error.code if isinstance(error, HeadwaterError) else type(error).__name__
    return kind if _WORD.fullmatch(kind) else "unnamed"
