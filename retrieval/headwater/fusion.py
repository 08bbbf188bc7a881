"""One order out of several: what each leg found, put together by rank or by score."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import lcm
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, get_args

from headwater.errors import ValidationError
from headwater.limits import RRF_K
from headwater.models import Hit

T = TypeVar("T")
Fusion = Literal["rrf", "weighted"]
FUSIONS: Final = get_args(Fusion)
ItemKey = Any  # what names an item: hashable, and with an order


class FusedItem(NamedTuple, Generic[T]):
    """An item of a leg, and its score over all legs."""

    item: T
    score: float


def fuse_reciprocal_rank(legs: Iterable[Iterable[T]], k: int = RRF_K.default) -> list[FusedItem[T]]:
    """The items of ``legs``, each of them best first, in one order: by the sum of ``1 / (k + rank)``, ranks from 1.

    Items are `Hit`s, which are the same if corpus and chunk id are, or values that can be hashed and put in order. Of the
    same item the one from the earlier leg is given, and within a leg only its first place counts. Sums are compared
    exactly; equal ones come by the best rank, then in the order of the items (of hits: corpus, source id, number).
    """
    RRF_K.check(k)
    listed = [list(leg) for leg in legs]
    try:
        return _Table(listed, _key).by_rank(k)
    except TypeError:
        raise ValidationError(
            "The items of the legs must be hits, or values that can be hashed and put in order."
        ) from None


@dataclass(frozen=True, slots=True)
class Leg(Generic[T]):
    """What one way of looking found, best first, with a score for each: higher is better."""

    items: Sequence[T]
    scores: Sequence[float]
    weight: float = 1.0

    def parts(self) -> list[float]:
        """The scores from 0, the worst that was found, to 1, the best, by weight. Where all are equal, all are best."""
        low, high = min(self.scores, default=0.0), max(self.scores, default=0.0)
        return [self.weight * (1.0 if high == low else (score - low) / (high - low)) for score in self.scores]


def fuse(legs: Sequence[Leg[T]], *, fusion: Fusion, k: int, key: Callable[[T], ItemKey]) -> list[FusedItem[T]]:
    """The items of ``legs`` in one order. ``key`` says which are the same, and puts those of equal score and rank in order."""
    table = _Table([leg.items for leg in legs], key)
    return table.by_rank(k) if fusion == "rrf" else table.by_score(legs)


class _Table(Generic[T]):
    """Which item stands where in which leg."""

    def __init__(self, legs: Sequence[Sequence[T]], key: Callable[[T], ItemKey]) -> None:
        self._first: dict[ItemKey, T] = {}
        self._ranks: list[dict[ItemKey, int]] = []
        self._names = [[key(item) for item in leg] for leg in legs]
        for leg, names in zip(legs, self._names, strict=True):
            ranks: dict[ItemKey, int] = {}
            for item, name in zip(leg, names, strict=True):
                self._first.setdefault(name, item)
                ranks.setdefault(name, len(ranks) + 1)
            self._ranks.append(ranks)

    def by_rank(self, k: int) -> list[FusedItem[T]]:
        # Counted in parts of one that every 1 / (k + rank) is a whole number of: 1/3 + 1/6 and 1/2 are a tie, and as floats
        # they need not be.
        parts = _common_multiple(k, max(map(len, self._ranks), default=0))
        sums: dict[ItemKey, int] = dict.fromkeys(self._first, 0)
        for ranks in self._ranks:
            for name, rank in ranks.items():
                sums[name] += parts // (k + rank)
        return [FusedItem(self._first[name], sums[name] / parts) for name in self._order(sums)]

    def by_score(self, legs: Sequence[Leg[T]]) -> list[FusedItem[T]]:
        """A leg that did not find an item adds nothing to it, as the worst that it did find."""
        whole = sum(leg.weight for leg in legs) or 1.0
        sums: dict[ItemKey, float] = dict.fromkeys(self._first, 0.0)
        for leg, names in zip(legs, self._names, strict=True):
            seen: set[ItemKey] = set()
            for name, part in zip(names, leg.parts(), strict=True):
                if name not in seen:
                    seen.add(name)
                    sums[name] += part / whole
        return [FusedItem(self._first[name], sums[name]) for name in self._order(sums)]

    def _order(self, sums: Mapping[ItemKey, float]) -> list[ItemKey]:
        best: dict[ItemKey, int] = {}
        for ranks in self._ranks:
            for name, rank in ranks.items():
                best[name] = min(rank, best.get(name, rank))
        return sorted(self._first, key=lambda name: (-sums[name], best[name], name))


@lru_cache(maxsize=64)
def _common_multiple(k: int, longest: int) -> int:
    return lcm(*range(k + 1, k + longest + 1))


def _key(item: object) -> ItemKey:
    if not isinstance(item, Hit):
        return item
    where, number = item.provenance, item.chunk_id.rpartition("#")[2]
    place = int(number) if number.isascii() and number.isdecimal() else 0
    return (where.tenant_id, where.resource_id, where.corpus_id, item.source_id, place, item.chunk_id)
