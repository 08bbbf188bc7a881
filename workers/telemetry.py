"""Logs: events on stderr, for people or as JSON, never with the text of a document.

Records of the standard library and warnings go the same way. Of an exception the log keeps the frames, the type and the
first line of its message: PostgreSQL's DETAIL lines quote rows, and frames with local variables would quote documents.
"""

import logging
import sys
import traceback
from typing import Final, Literal, TextIO

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

MESSAGE_MAX: Final = 300
CORE: Final = "temporalio.core"  # to which `services.py` has the core of the SDK write
# Whoever asked how far a workflow is has its answer from elsewhere, or has left: nothing is lost, and nothing to be done.
NO_NEWS: Final = "Query not found when attempting to respond to it"


def configure_logging(
    log_format: Literal["console", "json"],
    *,
    level: int = logging.WARNING,
    colour: bool = False,
    stream: TextIO | None = None,
) -> None:
    """Send the process's logs to ``stream`` (stderr)."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(exception_text),
        _first_line,
    ]
    renderer: Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=colour, exception_formatter=structlog.dev.plain_traceback)
    )
    handler = logging.StreamHandler(stream) if stream else _StderrHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer]
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(True)
    logging.getLogger("temporalio").setLevel(logging.WARNING)  # its events are of interest to its authors
    logging.getLogger(CORE).filters[:] = [_of_interest]
    # It repeats, with a traceback, what the activity itself has logged as an event.
    logging.getLogger("temporalio.activity").setLevel(logging.ERROR)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def _of_interest(record: logging.LogRecord) -> bool:
    return NO_NEWS not in record.getMessage()


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to what is ``sys.stderr`` at that moment: a progress bar puts itself before it, to stay below the lines."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def exception_text(exc_info: ExcInfo) -> str:
    """The frames of an exception and of its causes, each with its type and the first line of its message."""
    parts: list[str] = []
    seen: set[int] = set()
    error: BaseException | None = exc_info[1]
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        frames = "".join(traceback.format_tb(error.__traceback__))
        parts.append(f"{frames}{type(error).__qualname__}: {_one_line(str(error))}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\nbecause of\n".join(parts)


def _first_line(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    # Other people's loggers put whole errors into their message.
    event["event"] = _one_line(str(event.get("event", "")))
    return event


def _one_line(text: str) -> str:
    return text.split("\n", 1)[0][:MESSAGE_MAX]
