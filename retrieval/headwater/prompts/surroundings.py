"""The statement that reads what stands around passages, and what its rows say."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from headwater.chunking.headings import Heading, scan_headings
from headwater.prompts.expansion import Reach, Surroundings
from headwater.prompts.keys import Key, key_in
from headwater.store.effects import Statement
from headwater.store.question import Question
from headwater.store.rows import Candidate
from headwater.store.statements import statement

# A text of more is put together again from its passages. In its Markdown, at worst a comment in a program passes for a heading,
# as nobody reads from the beginning where fenced code began, and a section is shown shorter.
LARGE_BYTES: Final = 131_072
NEAR: Final = 48  # passages on each side, at most


def surroundings_statement(schema: str, question: Question, candidates: Sequence[Candidate], reach: Reach) -> Statement:
    """Reads around all ``candidates`` at once, under the gates of the last look."""
    return Statement(
        statement("surroundings", schema),
        {
            **question.parameters_of_all(),
            "revisions": [candidate.rev_id for candidate in candidates],
            "numbers": [candidate.chunk_no for candidate in candidates],
            "starts": [candidate.start for candidate in candidates],
            "ends": [candidate.end for candidate in candidates],
            "passages": reach.passages,
            "characters": reach.characters,
            "large": LARGE_BYTES,
            "near": max(NEAR, reach.passages),
        },
    )


def read_surroundings(rows: Iterable[Sequence[Any]], candidates: Sequence[Candidate]) -> Mapping[Key, Surroundings]:
    """What stands around each of the candidates. One that may not be read any more, or is gone, has none."""
    asked = {(candidate.rev_id, candidate.chunk_no): candidate for candidate in candidates}
    found: dict[Key, Surroundings] = {}
    for rev_id, chunk_no, low, part, shows_headings, headings, neighbours in rows:
        candidate = asked[rev_id, chunk_no]
        offset, text = (low, part) if part is not None else _joined(neighbours or ())
        if shows_headings:
            known = [Heading(offset + h.start, h.level, h.title) for h in scan_headings(text)]
        else:
            known = [Heading(start, level, title) for start, level, title in headings or ()]
        found[key_in(candidate.scope, candidate.chunk_id)] = Surroundings(
            passage=(candidate.start, candidate.end),
            offset=offset,
            text=text,
            headings=tuple(known),
            neighbours=tuple((number - chunk_no, start, end) for number, start, end, _ in neighbours or ()),
        )
    return found


def _joined(passages: Iterable[tuple[int, int, int, str]]) -> tuple[int, str]:
    """Where the passages begin, and their text as one. They overlap, or only whitespace stands between them."""
    parts: list[str] = []
    first = at = -1
    for _, start, end, body in sorted(passages, key=lambda passage: passage[1:3]):
        if at < 0:
            first = at = start
        if start > at:
            # One character may be a space or the end of a line: before a heading, it is the latter.
            parts.append(" " if start == at + 1 and not body.startswith("#") else "\n" * (start - at))
            at = start
        if end > at:
            parts.append(body[at - start :])
            at = end
    return max(first, 0), "".join(parts)
