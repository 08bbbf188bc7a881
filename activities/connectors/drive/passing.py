"""One page of a pass: where it stands, and what comes together in it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from activities.connectors.drive.calls import DriveCalls
from activities.connectors.drive.cursor import Cursor
from activities.connectors.drive.item import How, Item
from activities.connectors.drive.placing import Placing
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
    _is_sure: set[str] = field(default_factory=set)

    def take(self, raws: Iterable[object], how: How, *, under: str | None = None) -> None:
        """Items of an answer, with one look into the memory for all of them."""
        parsed = [Item.parse(raw) if isinstance(raw, dict) else None for raw in raws]
        items = [item for item in parsed if item is not None]
        if len(items) < len(parsed):
            self.unlisted.append(Unlisted("", "Drive listed what cannot be read: nothing is deleted meanwhile."))
        self.tree.load(each for item in items for each in (item.id, AWAITED + item.id, *item.parents))
        for item in items:
            self.placing.take(item, how, under=under)

    @property
    def unlisted(self) -> list[Unlisted]:
        """What this page could not see."""
        return self.placing.unlisted

    def make_sure(self, drive_id: str) -> None:
        """Something is gone. A lost right would delete everything one by one, so that all above it must still be there.

        Raises `SourceUnavailable`; of a shared drive as `SharedDriveGone`, which the next pass will confirm; and
        `DocumentFault` where Drive fails to say so, so that nobody can be sure.
        """
        if drive_id and drive_id in self.placing.feeds and drive_id not in self._is_sure:
            self.placing.patience.ask(lambda: self.calls.shared_drive(drive_id))
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
