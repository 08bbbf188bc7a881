"""One page of a pass: where it stands, what comes together in it, and when it ends.

A page does what is to be done piece by piece, each wholly or not at all, and ends early where it is full, took long, or Drive
wants to be asked later. What it did counts then, so that whoever asks again, as often as it takes, comes to the end.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from activities.connectors.drive.calls import MY_DRIVE, DriveCalls
from activities.connectors.drive.cursor import Cursor
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

    def make_sure(self, drive_id: str) -> None:
        """Something is gone. A lost right would delete everything one by one, so that all above it must still be there.

        Raises `SourceUnavailable`; of a shared drive as `SharedDriveGone`, which the next pass will confirm; and
        `DocumentFault` where Drive fails to say so, so that nobody can be sure.
        """
        for each in dict.fromkeys((drive_id, self.scope.drive_id or "")):
            if each and each in self.placing.feeds and each not in self._is_sure:
                self.placing.patience.ask(partial(self.calls.shared_drive, each))
                self._is_sure.add(each)
        for folder_id in self._above_all():
            if folder_id not in self._is_sure and not self._is_there(folder_id):
                raise lost_root(folder_id, self.calls.account)
            self._is_sure.add(folder_id)

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


__all__ = ["Page", "lost_root"]
