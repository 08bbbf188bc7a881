"""All that leaves the library while a test asks: searched for the words of a source that must not be in it."""

import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Span

from headwater import AccessDenied, RetrievalResult
from headwater.errors import HeadwaterError
from headwater.telemetry import Telemetry

ID: Final = "zqxid"
TITLE: Final = "zqxtitle"
TEXT: Final = "zqxtext"
PLACE: Final = "zqxplace"  # in the address
NOTE: Final = "zqxnote"  # in the metadata
MARKERS: Final = (ID, TITLE, TEXT, PLACE, NOTE)


@dataclass
class Said:
    """What was said, by where it was: results, errors, log, spans, wires; and apart from them the audit."""

    where: dict[str, list[str]] = field(default_factory=dict)
    audit: list[AccessDenied] = field(default_factory=list)
    spans: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)

    def note(self, where: str, what: object) -> None:
        self.where.setdefault(where, []).append(f"{what}\n{what!r}")

    def asking(self, ask: Callable[[], RetrievalResult]) -> RetrievalResult | None:
        """The answer, noted in each of its forms; an error of the library is noted as a host would log it."""
        try:
            result = ask()
        except HeadwaterError as error:
            self.note("error", "".join(traceback.format_exception(error)))
            return None
        self.note("result", result)
        self.note("json", result.model_dump_json())
        return result

    @property
    def telemetry(self) -> Telemetry:
        return self.below(None)

    def below(self, parent: Span | None) -> Telemetry:
        """What tells it of spans below ``parent``."""
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.spans))
        return Telemetry(provider, parent=parent)

    def markers(self, *markers: str) -> dict[str, set[str]]:
        """Which of the markers were said, by where. Without any: all of them."""
        for span in self.spans.get_finished_spans():
            self.note("span", span.to_json())
        self.spans.clear()
        found = {
            where: {marker for marker in markers or MARKERS if marker in "\n".join(texts).lower()}
            for where, texts in self.where.items()
        }
        return {where: those for where, those in found.items() if those}


@contextmanager
def everything_logged(said: Said) -> Iterator[None]:
    """Every logger of the process speaks at its lowest level meanwhile: psycopg's, its pool's, httpx's, httpcore's."""

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.note("log", f"{record.name}: {record.getMessage()} {record.__dict__}")

    named = [each for each in logging.root.manager.loggerDict.values() if isinstance(each, logging.Logger)]
    loggers = [logging.root, *named]
    before = [(each, each.level, each.disabled) for each in loggers]
    keeping = Keeping(logging.NOTSET)
    logging.root.addHandler(keeping)
    try:
        for each in loggers:
            each.setLevel(1)
            each.disabled = False
        yield
    finally:
        logging.root.removeHandler(keeping)
        for each, level, disabled in before:
            each.setLevel(level)
            each.disabled = disabled
