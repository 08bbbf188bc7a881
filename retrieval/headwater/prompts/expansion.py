"""More of a document around the passage that was found: its neighbours, or the section it stands in.

Only what a prompt shows grows. The passage stays what is ranked, cited and counted. What is shown is what is stored: it takes the
place of what a step before made of the passage, so that whatever shortens stands behind.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headwater.chunking.headings import Heading
from headwater.limits import Limit
from headwater.models import Hit
from headwater.prompts.keys import Key, document_of, key_of

# Twice the greatest passage: what a section may be before only the part around its passage is read.
CHARACTERS: Final = Limit("max_characters", default=4_000, cap=32_768)
PASSAGES: Final = Limit("passages", default=1, cap=8)
TRIMMED: Final = 80  # characters that a cut may move so that no word is cut

Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Reach:
    """How far around a passage is read: ``passages`` neighbours on each side, ``characters`` on each side."""

    passages: int
    characters: int


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is stored around a passage. All places are code points of the revision's normalised text."""

    passage: Stretch
    offset: int  # where `text` begins
    text: str
    headings: tuple[Heading, ...]  # as far as `text` goes, in order
    neighbours: tuple[tuple[int, int, int], ...]  # how far from the passage (-1 stands before it), and where

    @property
    def end(self) -> int:
        return self.offset + len(self.text)

    def cut(self, stretch: Stretch) -> str:
        return self.text[stretch[0] - self.offset : stretch[1] - self.offset]


@dataclass(frozen=True, slots=True)
class Window:
    """Each passage with ``passages`` neighbours before and behind it, at most ``max_characters`` in all."""

    passages: int = PASSAGES.default
    max_characters: int = CHARACTERS.default

    def __post_init__(self) -> None:
        PASSAGES.check(self.passages)
        CHARACTERS.check(self.max_characters)

    @property
    def reach(self) -> Reach:
        return Reach(self.passages, self.max_characters)

    def process(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Without a store there is nothing around a passage."""
        return list(hits)

    def expand(
        self, hits: Sequence[Hit], surroundings: Mapping[Key, Surroundings], *, redact: Callable[[str], str] | None
    ) -> list[Hit]:
        return _expanded(hits, surroundings, self._stretch, self.max_characters, redact)

    def _stretch(self, around: Surroundings) -> Stretch:
        near = [(start, end) for far, start, end in around.neighbours if abs(far) <= self.passages]
        return min([around.passage[0], *(start for start, _ in near)]), max([around.passage[1], *(e for _, e in near)])


@dataclass(frozen=True, slots=True)
class Parent:
    """Each passage with the section it stands in: from the heading above it to the next one, whatever their levels.

    A document without headings is one section. Of a section of more than ``max_characters`` the part around the passage.
    """

    max_characters: int = CHARACTERS.default

    def __post_init__(self) -> None:
        CHARACTERS.check(self.max_characters)

    @property
    def reach(self) -> Reach:
        return Reach(0, self.max_characters)

    def process(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Without a store there is nothing around a passage."""
        return list(hits)

    def expand(
        self, hits: Sequence[Hit], surroundings: Mapping[Key, Surroundings], *, redact: Callable[[str], str] | None
    ) -> list[Hit]:
        return _expanded(hits, surroundings, _section, self.max_characters, redact)


# Post-processors that need what the store holds around a passage. No others: a host's object is asked for its order, never for more.
Expansion = Window | Parent


def _section(around: Surroundings) -> Stretch:
    start, end = around.passage
    above = [heading.start for heading in around.headings if heading.start <= start]
    below = [heading.start for heading in around.headings if heading.start >= end]
    return (above[-1] if above else around.offset), (below[0] if below else around.end)


def _expanded(
    hits: Sequence[Hit],
    surroundings: Mapping[Key, Surroundings],
    stretch: Callable[[Surroundings], Stretch],
    most: int,
    redact: Callable[[str], str] | None,
) -> list[Hit]:
    """Each hit with the text of its stretch. What another hit shows of the same document is not shown again."""
    shown: defaultdict[Key, list[tuple[Key, Stretch]]] = defaultdict(list)
    for hit in hits:
        if (around := surroundings.get(key_of(hit))) is not None:
            shown[document_of(hit.provenance)].append((key_of(hit), around.passage))
    expanded = []
    for hit in hits:
        around = surroundings.get(key_of(hit))
        if around is None or not around.offset <= around.passage[0] <= around.passage[1] <= around.end:
            expanded.append(hit)  # its text is gone meanwhile
            continue
        others = [taken for key, taken in shown[document_of(hit.provenance)] if key != key_of(hit)]
        low, high = _beside(around.passage, _within(around, stretch(around), most), others)
        shown[document_of(hit.provenance)].append((key_of(hit), (low, high)))
        text = around.cut((low, high)).strip()
        if (low, high) == around.passage or len(text) <= around.passage[1] - around.passage[0]:
            expanded.append(hit)
        else:
            expanded.append(hit.model_copy(update={"prompt_text": text if redact is None else redact(text)}))
    return expanded


def _within(around: Surroundings, stretch: Stretch, most: int) -> Stretch:
    """At most ``most`` characters of ``stretch``, the passage in their middle where there is as much on both sides."""
    start, end = around.passage
    before, behind = start - max(stretch[0], around.offset), min(stretch[1], around.end) - end
    room = max(0, most - (end - start))
    left = min(before, max(room // 2, room - behind))
    right = min(behind, room - left)
    low, high = start - left, end + right
    return (_word_start(around, low) if left < before else low), (_word_end(around, high) if right < behind else high)


def _word_start(around: Surroundings, low: int) -> int:
    """Behind the next space, unless the passage begins before that, or no space is near."""
    near = around.cut((low, min(low + TRIMMED, around.passage[0])))
    for place, character in enumerate(near):
        if character.isspace():
            return low + place + 1
    return low


def _word_end(around: Surroundings, high: int) -> int:
    near = around.cut((max(high - TRIMMED, around.passage[1]), high))
    for place, character in enumerate(reversed(near)):
        if character.isspace():
            return high - place - 1
    return high


def _beside(passage: Stretch, wanted: Stretch, others: Sequence[Stretch]) -> Stretch:
    """``wanted`` without what stands in ``others``, as far as the passage itself leaves it."""
    low, high = wanted
    for start, end in others:
        if start <= passage[0]:
            low = max(low, min(end, passage[0]))
        if end >= passage[1]:
            high = min(high, max(start, passage[1]))
    return low, high
