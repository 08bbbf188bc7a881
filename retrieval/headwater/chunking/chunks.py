"""Cutting a text into passages that can be cited: `chunk_text` and `chunk_markdown`.

Deterministic and frozen: the same text and arguments give the same chunks in every version, because ids, citations
and the reuse of embeddings rest on it.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from headwater.chunking.boundaries import MARKDOWN, PLAIN, Separator, spans
from headwater.chunking.headings import scan_headings, stacks_at
from headwater.errors import LimitError, ValidationError
from headwater.ids import check_source_id, chunk_id
from headwater.models import Frozen

SIZE_CAP: Final = 16_384
OVERLAP_CAP: Final = 4_096
CHUNKS_CAP: Final = 8_192
CHARS_CAP: Final = 8_388_608
METADATA_CAP_BYTES: Final = 65_536


class Chunk(Frozen):
    """A passage: ``text`` is ``parsed[start:end]``, counted in code points. ``index`` counts from 0, ``id`` from 1."""

    id: str
    source_id: str
    index: int
    text: str
    start: int
    end: int
    metadata: dict[str, Any]


def chunk_text(
    text: str,
    *,
    source_id: str,
    size: int = 1000,
    overlap: int = 100,
    max_chunks: int = 2048,
    max_chars: int = 1_048_576,
    metadata: Mapping[str, Any] | None = None,
) -> list[Chunk]:
    """Passages of at most ``size`` characters, cut at blank lines, else line ends, else spaces. Blank text has none.

    Each chunk gets its own copy of ``metadata``. What is above a cap is a `LimitError`; nothing is cut off.
    """
    found, copies = _cut(text, PLAIN, source_id, size, overlap, max_chunks, max_chars, metadata)
    return _chunks(text, source_id, found, copies)


def chunk_markdown(
    text: str,
    *,
    source_id: str,
    size: int = 1000,
    overlap: int = 100,
    max_chunks: int = 2048,
    max_chars: int = 1_048_576,
    metadata: Mapping[str, Any] | None = None,
) -> list[Chunk]:
    """As `chunk_text`, cut before headings first, with the headings a passage stands under in ``metadata["heading"]``.

    The headings are those in force where the passage starts, outermost first. A ``heading`` in ``metadata`` wins.
    """
    found, copies = _cut(text, MARKDOWN, source_id, size, overlap, max_chunks, max_chars, metadata)
    for stack, copy in zip(stacks_at(scan_headings(text), [start for start, _ in found]), copies, strict=True):
        if stack:
            copy.setdefault("heading", stack)
    return _chunks(text, source_id, found, copies)


def check_limit(name: str, value: int, *, low: int, high: int) -> int:
    """``value`` unchanged, if it is a whole number from ``low`` to ``high``."""
    if type(value) is not int:
        raise ValidationError(f"{name} must be a whole number, not {type(value).__name__}.")
    if not low <= value <= high:
        raise LimitError(f"{name} must be from {low:,} to {high:,}, not {value:,}.")
    return value


def check_profile(size: int, overlap: int) -> None:
    """Raises `LimitError` unless passages of ``size`` can overlap by ``overlap``."""
    check_limit("size", size, low=1, high=SIZE_CAP)
    check_limit("overlap", overlap, low=0, high=OVERLAP_CAP)
    if overlap >= size:
        raise LimitError(f"overlap {overlap:,} must be smaller than size {size:,}.")


def check_length(text: str, source_id: str, max_chars: int) -> None:
    """Raises `LimitError` for a text of more than ``max_chars`` characters."""
    if len(text) > max_chars:
        raise LimitError(
            f"Document {source_id} has {len(text):,} characters, and at most {max_chars:,} are allowed: split it."
        )


def too_many_chunks(source_id: str, max_chunks: int) -> LimitError:
    return LimitError(
        f"Document {source_id} gives more than the {max_chunks:,} chunks that are allowed: split it or use larger chunks."
    )


def _cut(
    text: str,
    separators: Sequence[Separator],
    source_id: str,
    size: int,
    overlap: int,
    max_chunks: int,
    max_chars: int,
    metadata: Mapping[str, Any] | None,
) -> tuple[list[tuple[int, int]], list[dict[str, Any]]]:
    """The spans of the text, and for each a copy of the metadata."""
    check_source_id(source_id)
    check_profile(size, overlap)
    check_limit("max_chunks", max_chunks, low=1, high=CHUNKS_CAP)
    check_limit("max_chars", max_chars, low=1, high=CHARS_CAP)
    encoded = _encoded(metadata, source_id)
    check_length(text, source_id, max_chars)
    found = list(islice(spans(text, size=size, overlap=overlap, separators=separators), max_chunks + 1))
    if len(found) > max_chunks:
        raise too_many_chunks(source_id, max_chunks)
    return found, [json.loads(encoded) for _ in found]


def _chunks(
    text: str, source_id: str, found: Sequence[tuple[int, int]], copies: Sequence[dict[str, Any]]
) -> list[Chunk]:
    return [
        Chunk(
            id=chunk_id(source_id, index + 1),
            source_id=source_id,
            index=index,
            text=text[start:end],
            start=start,
            end=end,
            metadata=metadata,
        )
        for index, ((start, end), metadata) in enumerate(zip(found, copies, strict=True))
    ]


def _encoded(metadata: Mapping[str, Any] | None, source_id: str) -> str:
    """The metadata as JSON, from which every chunk reads its own copy."""
    if metadata is None:
        return "{}"
    try:
        given = dict(metadata.items())
        encoded = json.dumps(given, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        is_json = bool(json.loads(encoded) == given)  # json.dumps turns a key 1 into "1" and a tuple into a list
        size_bytes = len(encoded.encode())
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise ValidationError(f"metadata of {source_id} must be a JSON object.") from error
    if not is_json:
        raise ValidationError(f"metadata of {source_id} must be a JSON object: string keys, lists and plain values.")
    if size_bytes > METADATA_CAP_BYTES:
        raise LimitError(
            f"metadata of {source_id} has {size_bytes:,} bytes, at most {METADATA_CAP_BYTES:,} are allowed."
        )
    return encoded
