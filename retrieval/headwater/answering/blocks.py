"""The text of a prompt: passages as ``[citation-id] text`` blocks that together fit a host's limits."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headwater.answering.citation_ids import citation_ids
from headwater.limits import CHARACTERS_PER_TOKEN
from headwater.models import Hit

SEPARATOR: Final = "\n\n"
_BREAKS: Final = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
# What shows nothing and is no white space: controls, marks of direction, joiners, selectors, fillers.
_UNSEEN: Final = (
    r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u115f-\u1160\u17b4-\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# A line of a passage that would pass for the beginning of a block: whoever may write one document could speak as another.
_FORGED_HEAD: Final = re.compile(
    rf"((?:(?<=[{_BREAKS}])|^)(?:[^\S{_BREAKS}]|[{_UNSEEN}])*)\["
    rf"(?=[^\[\]\n]{{1,800}}#[{_UNSEEN}]*(?:[0-9][{_UNSEEN}]*){{4,}}\])"
)


@dataclass(frozen=True, slots=True)
class Blocks:
    """``hits`` are those that fit, as they are shown, in the order they were given; ``text`` has them as they are laid out.

    ``places`` says of each where it stood among those that were given.
    """

    text: str
    hits: tuple[Hit, ...]
    places: tuple[int, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of both limits. It may be less than nothing: then every cut is empty."""

    utf8_bytes: int
    characters: int

    @classmethod
    def within(cls, *, max_result_bytes: int, max_context_tokens: int) -> "Room":
        return cls(max_result_bytes, max_context_tokens * CHARACTERS_PER_TOKEN)

    def after(self, text: str) -> "Room":
        return Room(self.utf8_bytes - len(text.encode()), self.characters - len(text))

    def without(self, text: str) -> "Room":
        """The room there is when ``text`` is taken out again."""
        return Room(self.utf8_bytes + len(text.encode()), self.characters + len(text))

    @property
    def is_overdrawn(self) -> bool:
        return self.utf8_bytes < 0 or self.characters < 0

    def cut(self, text: str) -> str:
        """As much of the beginning of ``text`` as fits, never part of a character."""
        beginning = text[: max(0, self.characters)]
        encoded = beginning.encode()
        if len(encoded) <= self.utf8_bytes:
            return beginning
        return encoded[: max(0, self.utf8_bytes)].decode(errors="ignore")  # ignores the half character at the end


@dataclass(slots=True)
class _Block:
    """One passage as it will be shown. ``place`` is where it stood among those that were given."""

    place: int
    hit: Hit
    part: str


def fill(hits: Sequence[Hit], *, room: Room, layout: Sequence[int] | None = None) -> Blocks:
    """As many of ``hits`` as fit, the most important first. Prefixes and separators count.

    The first one that does not fit is shortened, and ends the list; if nothing of it fits, it is left out, as is one that has
    nothing to show. ``layout`` says in which order they stand in the text, as places in ``hits``. A ``prompt_text`` is shown
    instead of the text. One that is longer never costs another passage its place: it is shown if it fits when all have
    theirs, or not at all. Each gets the id it is cited by, which is longer where two that are shown would share one.
    """
    shown: list[_Block] = []
    truncated = False
    for place, hit in enumerate(hits):
        short = hit.text if _is_longer(hit) or hit.prompt_text is None else hit.prompt_text
        if not short:
            continue
        part = room.after(_around([*(block.hit for block in shown), hit])).cut(short)
        truncated = len(part) < len(short)
        if part:
            room = room.after(part)
            shown.append(_Block(place, _as_shown(hit, part), part))
        if truncated:
            break
    if not truncated:
        room = room.after(_around([block.hit for block in shown]))
        for block in shown:
            given = hits[block.place]
            whole = given.prompt_text
            if whole is None or not _is_longer(given):
                continue
            instead = room.without(block.part).after(whole)
            if not instead.is_overdrawn:
                room = instead
                block.hit, block.part = given, whole
    ids = citation_ids([block.hit.provenance for block in shown])
    texts = {block.place: f"{_head(name)}{_as_no_block(block.part)}" for block, name in zip(shown, ids, strict=True)}
    return Blocks(
        text=SEPARATOR.join(
            texts[place] for place in (range(len(hits)) if layout is None else layout) if place in texts
        ),
        hits=tuple(_cited_by(block.hit, name) for block, name in zip(shown, ids, strict=True)),
        places=tuple(texts),
        truncated=truncated,
    )


def _around(hits: Sequence[Hit]) -> str:
    """All that stands in the text beside the passages themselves."""
    return SEPARATOR.join(_head(name) for name in citation_ids([hit.provenance for hit in hits]))


def _head(citation_id: str) -> str:
    return f"[{citation_id}] "


def _as_no_block(part: str) -> str:
    """``part`` with a round bracket, which takes as much room, where it would begin a block. The hit keeps its own."""
    return _FORGED_HEAD.sub(r"\1(", part)


def _cited_by(hit: Hit, citation_id: str) -> Hit:
    if hit.provenance.citation_id == citation_id:
        return hit
    return hit.model_copy(update={"provenance": hit.provenance.model_copy(update={"citation_id": citation_id})})


def _is_longer(hit: Hit) -> bool:
    return hit.prompt_text is not None and len(hit.prompt_text) > len(hit.text)


def _as_shown(hit: Hit, part: str) -> Hit:
    """The hit when ``part`` stands in its block: a shortened passage is its text, a shortened prompt text is that."""
    if hit.prompt_text is None or _is_longer(hit):
        return (
            hit
            if hit.prompt_text is None and part == hit.text
            else hit.model_copy(update={"text": part, "prompt_text": None})
        )
    return hit if part == hit.prompt_text else hit.model_copy(update={"prompt_text": part})
