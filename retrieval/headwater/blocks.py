"""The text of a prompt: passages as ``[citation-id] text`` blocks that together fit a host's limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headwater.limits import CHARACTERS_PER_TOKEN
from headwater.models import Hit

SEPARATOR: Final = "\n\n"


@dataclass(frozen=True, slots=True)
class Blocks:
    """``hits`` are those that fit, as they are shown, in the order they were given; ``text`` has them as they are laid out."""

    text: str
    hits: tuple[Hit, ...]
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


def fill(hits: Sequence[Hit], *, room: Room, layout: Sequence[int] | None = None) -> Blocks:
    """As many of ``hits`` as fit, the most important first. Prefixes and separators count.

    The first one that does not fit is shortened, and ends the list; if nothing of it fits, it is left out. ``layout`` says
    in which order they stand in the text, as places in ``hits``. A ``prompt_text`` is shown instead of the text. One that is
    longer never costs another passage its place: it is shown if it fits when all have theirs, or not at all.
    """
    shown: list[tuple[Hit, str]] = []
    truncated = False
    for hit in hits:
        head = f"{SEPARATOR if shown else ''}{_head(hit)}"
        short = hit.text if _is_longer(hit) or hit.prompt_text is None else hit.prompt_text
        part = room.after(head).cut(short)
        truncated = len(part) < len(short)
        if part:
            room = room.after(head).after(part)
            shown.append((_as_shown(hit, part), part))
        if truncated:
            break
    if not truncated:
        for place, (_, part) in enumerate(shown):
            whole = hits[place].prompt_text
            if whole is None or not _is_longer(hits[place]):
                continue
            instead = room.without(part).after(whole)
            if not instead.is_overdrawn:
                room = instead
                shown[place] = hits[place], whole
    order = range(len(shown)) if layout is None else [place for place in layout if place < len(shown)]
    return Blocks(
        text=SEPARATOR.join(f"{_head(shown[place][0])}{shown[place][1]}" for place in order),
        hits=tuple(hit for hit, _ in shown),
        truncated=truncated,
    )


def _head(hit: Hit) -> str:
    return f"[{hit.provenance.citation_id}] "


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
