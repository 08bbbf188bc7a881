"""Logs carry events, and never what a document says."""

import io
import json
import logging
import warnings
from collections.abc import Iterator

import pytest
import structlog

from workers.telemetry import CORE, configure_logging


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Where the logs go during one test; afterwards logging is as before."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)
    structlog.reset_defaults()


def _lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_line_with_its_fields(stream: io.StringIO) -> None:
    configure_logging("json", level=logging.INFO, stream=stream)
    structlog.get_logger("headwater").info("document.replaced", chunks=42)
    (line,) = _lines(stream)
    assert (line["event"], line["chunks"], line["level"]) == ("document.replaced", 42, "info")


def test_events_below_the_level_are_not_written(stream: io.StringIO) -> None:
    configure_logging("json", stream=stream)
    structlog.get_logger("headwater").info("document.replaced")
    assert stream.getvalue() == ""


def test_the_standard_library_and_warnings_go_the_same_way(stream: io.StringIO) -> None:
    configure_logging("json", stream=stream)
    logging.getLogger("somebody").warning("their %s", "words")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old ways", DeprecationWarning, stacklevel=1)
    words, warning = _lines(stream)
    assert words["event"] == "their words"
    assert "old ways" in str(warning["event"])


def test_what_the_core_says_of_an_answer_that_nobody_waits_for_is_left_out(stream: io.StringIO) -> None:
    configure_logging("json", stream=stream)
    configure_logging("json", stream=stream)
    core = logging.getLogger(CORE)
    assert len(core.filters) == 1
    core.warning("[sdk_core::worker] Query not found when attempting to respond to it {'error': 'Status'}")
    core.warning("[sdk_core::worker] Something else")
    assert [line["event"] for line in _lines(stream)] == ["[sdk_core::worker] Something else"]


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_an_exception_keeps_its_type_and_no_row(stream: io.StringIO, log_format: str) -> None:
    configure_logging("json" if log_format == "json" else "console", stream=stream)
    text_of_a_document = "the quarterly numbers"
    try:
        try:
            raise ValueError(f"duplicate key\nDETAIL: Key (body)=({text_of_a_document}) exists.")
        except ValueError as error:
            raise RuntimeError("the page failed") from error
    except RuntimeError:
        structlog.get_logger("headwater").exception("page.failed")
    written = stream.getvalue()
    assert "RuntimeError: the page failed" in written
    assert "ValueError: duplicate key" in written
    assert "test_telemetry.py" in written
    assert text_of_a_document not in written


def test_a_long_message_of_somebody_else_is_cut(stream: io.StringIO) -> None:
    configure_logging("json", stream=stream)
    logging.getLogger("somebody").error("x" * 5000 + "\nDETAIL: a row")
    (line,) = _lines(stream)
    assert len(str(line["event"])) == 300
