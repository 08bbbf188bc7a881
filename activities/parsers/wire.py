"""What goes to a parser process and what comes back: a frame of JSON with the document's bytes or text behind it.

JSON, not pickle: a document that takes over the process which reads it could answer with a pickle that runs code in the
worker. For the same reason whatever comes back is checked before it is believed.
"""

import json
import socket
import struct
import time
from dataclasses import dataclass
from typing import Any, Final

from activities.parsers import Extraction, ParseFailure
from activities.parsers.normalise import normalise

READY: Final = b"ready\n"
_LENGTHS: Final = struct.Struct(">II")
_FAILURES: Final = ("no_text", "encrypted", "too_large", "unsupported", "failed")
_HEADER_MAX: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Request:
    """One document to be read, and what it may cost."""

    name: str
    media_type: str | None
    max_chars: int
    cpu_s: int
    data: bytes


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """The answer of a process whose document needed more memory than it may have."""


Answer = Extraction | ParseFailure | OutOfMemory


class Malformed(Exception):
    """The frame is none that an honest parser process sends."""


def encode_request(request: Request) -> bytes:
    header = [request.name, request.media_type, request.max_chars, request.cpu_s]
    return _frame(header, request.data)


def read_request(channel: socket.socket) -> Request | None:
    """The next request, or ``None`` when the worker has closed its end."""
    lengths = _read(channel, _LENGTHS.size, None)
    if lengths is None:
        return None
    header_size, data_size = _LENGTHS.unpack(lengths)
    header, data = _read(channel, header_size, None), _read(channel, data_size, None)
    if header is None or data is None:
        return None
    name, media_type, max_chars, cpu_s = json.loads(header)
    return Request(name, media_type, max_chars, cpu_s, bytes(data))


def encode_answer(answer: Answer) -> bytes:
    match answer:
        case Extraction():
            header: dict[str, Any] = {
                "title": answer.title,
                "is_markdown": answer.is_markdown,
                "headings": answer.headings,
                "page_starts": answer.page_starts,
                "missing": answer.missing,
            }
            return _frame(header, answer.text.encode("utf-8"))
        case ParseFailure():
            return _frame({"failure": answer.state, "reason": answer.reason})
        case OutOfMemory():
            return _frame({"out_of_memory": True})


def read_answer(channel: socket.socket, max_chars: int, deadline: float) -> Answer | None:
    """The answer, or ``None`` if the process ended first. Raises `TimeoutError` at ``deadline`` and `Malformed`."""
    lengths = _read(channel, _LENGTHS.size, deadline)
    if lengths is None:
        return None
    header_size, text_size = _LENGTHS.unpack(lengths)
    if header_size > _HEADER_MAX or text_size > 4 * max_chars:
        raise Malformed
    header, text = _read(channel, header_size, deadline), _read(channel, text_size, deadline)
    if header is None or text is None:
        return None
    try:
        return _answer(json.loads(header), text.decode("utf-8"), max_chars)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Malformed from error


def read_ready(channel: socket.socket, deadline: float) -> bool:
    """Whether the process says that it waits for documents."""
    said = _read(channel, len(READY), deadline)
    return said is not None and bytes(said) == READY


def _frame(header: object, body: bytes = b"") -> bytes:
    encoded = json.dumps(header, separators=(",", ":")).encode("ascii")
    return _LENGTHS.pack(len(encoded), len(body)) + encoded + body


def _read(channel: socket.socket, size: int, deadline: float | None) -> bytearray | None:
    """Exactly ``size`` bytes, or ``None`` if the other end closes before."""
    received = bytearray(size)
    rest = memoryview(received)
    while rest:
        if deadline is not None:
            channel.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            count = channel.recv_into(rest)
        except ConnectionError:
            return None
        if count == 0:
            return None
        rest = rest[count:]
    return received


def _answer(header: Any, text: str, max_chars: int) -> Answer:
    if "out_of_memory" in header:
        return OutOfMemory()
    if "failure" in header:
        state, reason = header["failure"], header["reason"]
        if state not in _FAILURES or not _is_line(reason):
            raise ValueError("not a failure")
        return ParseFailure(state, reason)
    title, missing, headings, starts = header["title"], header["missing"], header["headings"], header["page_starts"]
    size = len(text)
    believable = (
        size <= max_chars
        and "\0" not in text
        and (title is None or _is_line(title))
        and (missing is None or _is_line(missing))
        and type(header["is_markdown"]) is bool
        and _ascends(starts, size)
        and (headings is None or all(_is_heading(item, size) for item in headings))
        and (headings is None or _ascends([item[0] for item in headings], size))
    )
    if not believable:
        raise ValueError("not an extraction")
    outline = None if headings is None else [(start, end, level) for start, end, level in headings]
    return Extraction(text, title, header["is_markdown"], outline, starts, missing)


def _is_line(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 4096 and "\n" not in value and value == normalise(value)


def _is_heading(item: Any, size: int) -> bool:
    start, end, level = item
    return type(start) is type(end) is type(level) is int and 0 <= start <= end <= size and 1 <= level <= 6


def _ascends(offsets: Any, size: int) -> bool:
    if not isinstance(offsets, list) or any(type(offset) is not int for offset in offsets):
        return False
    return all(low <= high for low, high in zip([0, *offsets], [*offsets, size], strict=True))
