"""One page of a pass: where it stands, and what comes together in it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from activities.connectors.drive.calls import DriveCalls
from activities.connectors.drive.cursor import Cursor
from activities.connectors.drive.item import Item
from activities.connectors.drive.placing import How, Placing
from activities.connectors.drive.scope import Scope
from activities.connectors.drive.tree import AWAITED, Tree
from headwater.connectors import ChangePage, SourceUnavailable, Unlisted


@dataclass(slots=True)
class Page:
    """``cursor`` is where the page began; each step says where it ends."""

    calls: DriveCalls
    tree: Tree
    scope: Scope
    placing: Placing
    cursor: Cursor
    limit: int
    unlisted: list[Unlisted] = field(default_factory=list)
    _is_sure: set[str] = field(default_factory=set)

    def take(self, raws: Iterable[object], how: How, *, under: str | None = None) -> None:
        """Items of an answer, with one look into the memory for all of them."""
        items = [item for raw in raws if isinstance(raw, dict) and (item := Item.parse(raw)) is not None]
        self.tree.load(each for item in items for each in (item.id, AWAITED + item.id, *item.parents))
        for item in items:
            self.placing.take(item, how, under=under)

    def make_sure(self, drive_id: str) -> None:
        """Something is gone. A lost right would delete everything one by one, so that all above it must still be there.

        Raises `SourceUnavailable`; of a shared drive as `SharedDriveGone`, which the next pass will confirm.
        """
        if drive_id and drive_id in self.placing.feeds and drive_id not in self._is_sure:
            self.calls.shared_drive(drive_id)
            self._is_sure.add(drive_id)
        for folder_id in self.placing.roots if not self.scope.is_flat else ():
            if folder_id not in self._is_sure and self.placing.ask(folder_id) is None:
                raise lost_root(folder_id, self.calls.account)
            self._is_sure.add(folder_id)

    def end(self, cursor: Cursor, *, is_done: bool = False) -> ChangePage:
        """The page, with its changes, going on at ``cursor``; what is to be remembered is written."""
        self.tree.flush()
        cursor = cursor.with_(feeds=dict(self.placing.feeds), roots=tuple(sorted(self.placing.roots)))
        if not is_done:
            cursor = cursor.with_(listed=cursor.listed + self.placing.documents)
        return ChangePage(
            changes=tuple(self.placing.changes.values()),
            cursor=cursor.to_text(),
            done=is_done,
            unlisted=tuple(self.unlisted),
            is_whole=is_done and cursor.is_whole,
        )


def lost_root(folder_id: str, account: str) -> SourceUnavailable:
    return SourceUnavailable(
        f"Folder {folder_id} is deleted, or hidden from {account}: share it with that account, or remove the "
        "connector. Nothing of "
        "what it held is deleted."
    )


__all__ = ["Page", "lost_root"]
