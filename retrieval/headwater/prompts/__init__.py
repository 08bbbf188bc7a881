"""What a prompt shows of the passages that were found: in which order, and how much of each.

A post-processor gets the passages that are about to be shown, best first, and changes two things only: their order, and
the ``prompt_text`` of each. What is cited stays as it was found. None runs unless a host asks for it.
"""

from collections.abc import Sequence
from typing import Protocol

from headwater.models import Hit
from headwater.prompts.chain import Arranged, arrange, check_post_processors, reach
from headwater.prompts.compression import Compression
from headwater.prompts.diversity import Diversity
from headwater.prompts.expansion import Parent, Window
from headwater.prompts.middle import LostInTheMiddle

__all__ = [
    "Arranged",
    "Compression",
    "Diversity",
    "LostInTheMiddle",
    "Parent",
    "PostProcessor",
    "Window",
    "arrange",
    "check_post_processors",
    "reach",
]


class PostProcessor(Protocol):
    """One step between the passages and the prompt.

    One whose ``is_layout`` is True only lays passages out for a reader's eye. Every other order says which of them matter
    more: where not all fit, the last go.
    """

    def process(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """The same hits, each once, in the order the prompt should have, with ``prompt_text`` where it should differ.

        Every other change is ignored. ``hits`` come best first, or as the step before left them.
        """
        ...
