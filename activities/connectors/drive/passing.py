"""One page of a pass: where it stands, what comes together in it, and when it ends.

A page does what is to be done piece by piece, each wholly or not at all, and ends early where it is full, took long, or Drive
wants to be asked later. What it did counts then, so that whoever asks again, as often as it takes, comes to the end.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from activities.connectors.drive.calls import MY_DRIVE, DriveCalls
from activities.connectors.drive.cursor import Cursor
from activities.connectors.drive.errors import SharedDriveGone
from activities.connectors.drive.item import How, Item
from activities.connectors.drive.placing import Placing
from activities.connectors.drive.scope import Scope
from activities.connectors.drive.tree import AWAITED, Tree
from headwater.connectors import ChangePage, DocumentRefused, SourceUnavailable, Unlisted
from headwater.errors import TransientError


@dataclass(slots=True)
class Page:
    """``cursor`` is where the page began; each step says where it ends. ``is_late`` says that it took long."""

    calls: DriveCalls
    tree: Tree
    scope: Scope
    placing: Placing
    cursor: Cursor
    limit: int
    is_late: Callable[[], bool]
    _is_sure: set[str] = field(default_factory=set)
    _lost: set[str] = field(default_factory=set)

    def take(self, raws: Iterable[object], how: How, *, under: str | None = None) -> bool:
        """Takes the items of an answer, with one look into the memory for all of them. Whether it took all: see `cut`."""
        parsed = [Item.parse(raw) if isinstance(raw, dict) else None for raw in raws]
        items = {item.id: item for item in parsed if item is not None}
        self.tree.load(each for item in items.values() for each in (item.id, AWAITED + item.id, *item.parents))
        pieces = {item.id: partial(self.placing.take, item, how, under=under) for item in items.values()}
        if not self.take_each(pieces):
            return False
        if None in parsed:
            self.unlisted.append(Unlisted("", "Drive listed what cannot be read: nothing is deleted meanwhile."))
        return True

    def take_each(self, pieces: Mapping[str, Callable[[], None]]) -> bool:
        """The same of what one answer makes to do, by names that it has as well when it is asked for again."""
        over = self.cursor.walk.taken
        left = [name for name in pieces if name not in over]
        done = self.carry_out([pieces[name] for name in left])
        if done < len(left):
            self.cursor = self.cursor.on(taken=(*over, *left[:done]))
            return False
        return True

    def carry_out(self, pieces: Sequence[Callable[[], None]]) -> int:
        """Carries out the pieces in their order until the page has to end. How many: at least one, if there is one."""
        for done, piece in enumerate(pieces):
            if done and (self.is_late() or len(self.placing.changes) >= self.limit):
                return done
            try:
                with self.placing.wholly():
                    piece()
            except TransientError:
                if not done:
                    raise
                return done  # the next page meets it, and says so
        return len(pieces)

    @property
    def unlisted(self) -> list[Unlisted]:
        """What this page could not see."""
        return self.placing.unlisted

    def make_sure(self, drive_id: str) -> bool:
        """Something is gone. A lost right would delete everything one by one, so that all above it must still be there.

        Whether it may go. Where a shared drive that is followed is missing all that it held stays: the next pass misses the
        drive too and drops it, or finds it and looks at what is in it.
        Raises `SourceUnavailable` if a folder is lost, and `DocumentFault` where Drive fails to say so, so that nobody
        can be sure.
        """
        if any(self._is_missing(each) for each in dict.fromkeys((drive_id, self.scope.drive_id or ""))):
            return False
        for folder_id in self._above_all():
            if folder_id not in self._is_sure and not self._is_there(folder_id):
                raise lost_root(folder_id, self.calls.account)
            self._is_sure.add(folder_id)
        return True

    def may_go(self, node: str) -> bool:
        """`make_sure` for an item that is known. What may not go is asked for by the next pass if its own drive is there."""
        known = self.tree.node(node)
        drive_id = "" if known is None else known.drive_id
        if self.make_sure(drive_id):
            return True
        if not self._is_missing(drive_id):
            self.tree.note_failed(node, "")
        return False

    def _is_missing(self, drive_id: str) -> bool:
        """Of drives that are not followed only what a shortcut leads to is wanted: that may be hidden like any item."""
        if not (self.scope.is_flat and drive_id and drive_id in self.placing.feeds):
            return False
        if drive_id in self._lost or drive_id in self.cursor.lost:
            return True
        if drive_id in self.placing.roots and drive_id not in self._is_sure:
            try:
                self.placing.patience.ask(partial(self.calls.shared_drive, drive_id))
            except SharedDriveGone:
                self._lost.add(drive_id)
                return True
            self._is_sure.add(drive_id)
        return False

    def _above_all(self) -> Collection[str]:
        """The folders that must be there for anything to be. An account has always one."""
        if not self.scope.is_flat:
            return self.placing.roots
        return () if self.scope.drive_id else (MY_DRIVE,)

    def _is_there(self, folder_id: str) -> bool:
        try:
            return self.placing.ask(folder_id) is not None
        except DocumentRefused:
            return False

    def cut(self) -> ChangePage:
        """The page, which had to end in the middle of an answer: the next one asks for it again."""
        return self._ended(self.cursor)

    def end(self, cursor: Cursor) -> ChangePage:
        """The page, with its changes, going on at ``cursor``; what is to be remembered is written."""
        return self._ended(cursor.on(taken=()))

    def finish(self, cursor: Cursor, *, is_whole: bool) -> ChangePage:
        """The last page of a pass; the next one begins at ``cursor``."""
        return self._ended(cursor, is_done=True, is_whole=is_whole)

    def _ended(self, cursor: Cursor, *, is_done: bool = False, is_whole: bool = False) -> ChangePage:
        self.tree.flush()
        lost = sorted(self._lost.difference(cursor.lost))
        self.unlisted.extend(gone(each) for each in lost)
        cursor = cursor.with_(lost=(*cursor.lost, *lost))
        cursor = cursor.with_(feeds=dict(self.placing.feeds), roots=tuple(sorted(self.placing.roots)))
        if not is_done:
            walk = cursor.walk
            cursor = cursor.on(
                has_items=walk.has_items or self.placing.has_listed, has_gaps=walk.has_gaps or bool(self.unlisted)
            )
        return ChangePage(
            changes=tuple(self.placing.changes.values()),
            cursor=cursor.to_text(),
            done=is_done,
            unlisted=tuple(self.unlisted),
            is_whole=is_whole,
        )


def lost_root(folder_id: str, account: str) -> SourceUnavailable:
    return SourceUnavailable(
        f"Folder {folder_id} is deleted, or hidden from {account}: share it with that account, or remove the "
        "connector. Nothing of "
        "what it held is deleted."
    )


def gone(drive_id: str) -> Unlisted:
    return Unlisted(
        f"shared drive {drive_id}",
        "The shared drive is deleted, or the account is no member any more. What it held is deleted "
        "if the next pass does not find it either.",
    )


__all__ = ["Page", "gone", "lost_root"]
