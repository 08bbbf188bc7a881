"""A pair of ids of which one is to take over what the other holds: whether it may, and how many fit one page. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.errors import PermanentError
from headwater.ids import SOURCE_ID_MAX


class MoveRefused(PermanentError):
    """What a source holds cannot go on under the other id; nothing of it was moved."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What the store holds of a pair, read under the scope's lock."""

    from_id: str
    to_id: str
    from_pk: int | None  # None: the id was never heard of
    to_pk: int | None
    owner: str | None  # connector that holds the origin
    is_held: bool  # the origin has a text that can still be shown, or the status of one that could not be read
    is_occupied: bool  # the destination has a text that can still be shown
    is_expiring: bool  # grants of either end by themselves
    tombstoned: str | None  # an end that must not be served
    is_under_way: bool  # moved before, with edges that still name the origin
    entangled: str | None  # another move under way, of one of these ids
    chunks: int  # passages that the origin shows
    edges: int  # that name the origin, up to a limit

    @property
    def is_work(self) -> bool:
        return self.is_held or self.edges > 0 or self.is_under_way


def refusal(pair: Pair) -> str | None:
    """Why the pair cannot be moved, in one sentence; None if it can."""
    if len(pair.to_id) > SOURCE_ID_MAX:
        return (
            f"{pair.from_id} would get an id of {len(pair.to_id)} characters, and {SOURCE_ID_MAX} are the most: "
            "choose a shorter prefix."
        )
    if pair.entangled:
        return (
            f"{pair.from_id} cannot be moved to {pair.to_id} while the move of {pair.entangled} has not ended: "
            "ask for that one again until it returns no cursor, then for this one."
        )
    if pair.is_under_way and not pair.is_held:
        return None  # only edges are left, and whatever became of the ids meanwhile, they mean the new one
    if pair.tombstoned:
        return (
            f"{pair.from_id} cannot be moved to {pair.to_id}: {pair.tombstoned} was tombstoned, which holds for the id; "
            "choose other ids."
        )
    if not pair.is_held:
        return None
    if pair.owner:
        return (
            f"{pair.from_id} belongs to connector {pair.owner}, whose next sync would bring it back: "
            "move the document where it comes from."
        )
    if pair.is_occupied:
        return (
            f"{pair.from_id} cannot be moved to {pair.to_id}, which has a text of its own that can still be shown: delete it "
            "first, or choose another id."
        )
    return None


def fitting(pairs: Sequence[Pair], page_size: int) -> Sequence[Pair]:
    """The first of ``pairs`` whose sources and edges are at most ``page_size`` together; always one at least."""
    room = page_size
    for number, pair in enumerate(pairs):
        room -= 1 + pair.edges
        if room < 0:
            return pairs[: max(number, 1)]
    return pairs
