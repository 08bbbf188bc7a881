"""The best passages at both ends of a prompt, as models read its middle least."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from headwater.models import Hit

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LostInTheMiddle:
    """The first passage at the head, the second at the tail, the third behind the first, and so on inwards.

    This is how the prompt is laid out, and says nothing of what matters more: what does not fit is still the least
    relevant, and never the second best because it stands last.
    """

    is_layout: ClassVar[bool] = True

    def process(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        return outside_in(hits)


def outside_in(ranked: Sequence[T]) -> list[T]:
    """Even places to the head, odd ones to the tail in reverse: d0 d1 d2 d3 d4 becomes d0 d2 d4 d3 d1."""
    return [*ranked[::2], *reversed(ranked[1::2])]
