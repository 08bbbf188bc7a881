"""Passages that say something new before those that repeat what stands above them."""

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.errors import ValidationError
from headwater.models import Hit
from headwater.prompts.distinct_terms import distinct_terms


@dataclass(frozen=True, slots=True)
class Diversity:
    """Maximal marginal relevance: a passage counts by its rank, less by the words it shares with one chosen before.

    ``relevance`` from 0 to 1 is the weight of the rank; the rest is that of the likeness (Jaccard, of distinct words).
    """

    relevance: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.relevance <= 1:
            raise ValidationError(f"relevance must be from 0 to 1, not {self.relevance}.")

    def process(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """The most relevant first, then always the one that adds most. Equal ones keep their order."""
        return [hits[number] for number in diverse([hit.text for hit in hits], relevance=self.relevance)]


def diverse(texts: Sequence[str], *, relevance: float = 0.5) -> list[int]:
    """The places of ``texts``, which come best first, in the order of their marginal relevance."""
    known = [distinct_terms(text) for text in texts]
    ranks = [(len(texts) - number) / len(texts) for number in range(len(texts))]
    nearest = [0.0] * len(texts)  # the greatest likeness to one that was chosen
    left, chosen = list(range(len(texts))), list[int]()
    while left:
        # `max` takes the first of equal ones: that of the better rank.
        best = max(left, key=lambda number: relevance * ranks[number] - (1 - relevance) * nearest[number])
        left.remove(best)
        chosen.append(best)
        for number in left:
            nearest[number] = max(nearest[number], _likeness(known[number], known[best]))
    return chosen


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0
