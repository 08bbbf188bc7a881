"""All texts of the test data, read and cut as the pipeline does it, and the questions that come with some of them."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from activities.parsers import ParsedDocument
from activities.parsers.pool import ParserPool
from headwater.chunking.profile import ChunkingProfile, TokenEnds
from headwater.errors import LimitError

DATA: Final = Path(os.environ.get("HEADWATER_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
COLLECTIONS: Final = ("cranfield", "xquad_en", "cmrc2018")
MAX_CHARS: Final = 1_048_576


@dataclass(frozen=True, slots=True)
class RealSource:
    """A document, and what it was cut into."""

    source_id: str
    title: str
    passages: list[str]


def real_sources(profile: ChunkingProfile, token_ends: TokenEnds) -> Iterator[RealSource]:
    """Each document that has a text: those of the three collections, the Markdown folder, and files of many formats."""

    def cut(source_id: str, title: str, parsed: ParsedDocument) -> RealSource | None:
        try:
            cuts = profile.cut(
                parsed.text,
                source_id=source_id,
                markdown=parsed.is_markdown,
                headings=parsed.headings,
                page_starts=parsed.page_starts,
                token_ends=token_ends,
            )
        except LimitError:
            return None
        return RealSource(source_id, title, [parsed.text[each.start : each.end] for each in cuts])

    for source_id, title, parsed in _documents():
        source = cut(source_id, title, parsed)
        if source is not None and source.passages:
            yield source


def real_questions() -> list[tuple[str, str]]:
    """The collection of each question, and the question."""
    return [(name, line["text"]) for name in COLLECTIONS for line in _lines(name, "queries")]


def _documents() -> Iterator[tuple[str, str, ParsedDocument]]:
    for name in COLLECTIONS:
        for line in _lines(name, "docs"):
            yield f"{name}/{line['id']}", line["title"], ParsedDocument(line["text"])
    files = [
        path
        for folder in ("corpus", "documents")
        for path in sorted((DATA / folder).rglob("*"))
        if path.is_file() and path.name != "index.tsv"
    ]
    pool = ParserPool(1)
    try:
        for path in files:
            parsed = pool.parse(path.name, path.read_bytes(), None, MAX_CHARS)
            if isinstance(parsed, ParsedDocument) and parsed.text.strip():
                yield str(path.relative_to(DATA)), parsed.title or path.name, parsed
    finally:
        pool.close()


def _lines(collection: str, part: str) -> Iterator[dict[str, Any]]:
    with (DATA / "retrieval" / collection / f"{part}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
