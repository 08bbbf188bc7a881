"""What is above the target of a shortcut, and in reach by no other way: a change there is the target's too.

The feed names the folder that was shared, moved, trashed or limited, and nothing of what is in it. Folders in reach are
crawled then. What a shortcut leads to may lie anywhere, so the folders above it are remembered beside the shortcut.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from activities.connectors.drive.asking import UNTOLD
from activities.connectors.drive.item import Item
from activities.connectors.drive.kinds import Way
from activities.connectors.drive.tree import ABOVE, LOST, Due, Node, Tree

ABOVE_MAX: Final = 100  # folders that are looked at; Drive nests no deeper
_HELD_MAX: Final = 1_000


@dataclass(slots=True)
class Above:
    """``ask`` tells how a folder is now; ``is_in_reach`` says of which folders everything below is followed anyway."""

    tree: Tree
    ask: Callable[[str], Item | None]
    is_in_reach: Callable[[str], bool]
    _parents: dict[str, tuple[str, ...] | None] = field(default_factory=dict)

    def watch(self, target: Item, shortcuts: Iterable[str], *, again: bool) -> None:
        """From now on changes above the target are noticed. ``again``: even if what it lies in is watched already."""
        outside = [parent for parent in target.parents if not self.is_in_reach(parent)]
        self.tree.load(ABOVE + parent for parent in outside)
        for shortcut in shortcuts:
            if again or not all(shortcut in self.tree.links(ABOVE + parent) for parent in outside):
                try:
                    self._remember(shortcut, self._above(outside))
                except UNTOLD:
                    self.tree.note_failed(shortcut, target.drive_id)

    def notice(self, told: Iterable[str]) -> None:
        """These changed, and with them what is below."""
        for each in told:
            self.doubt(self.tree.links(ABOVE + each))

    def doubt(self, shortcuts: Iterable[str]) -> None:
        """What they lead to is looked at before the pass is over."""
        for shortcut in shortcuts:
            for link in list(self.tree.links(shortcut).values()):
                if link.due is None and link.parent != LOST:
                    self.tree.mark(link, Due.CHECK)

    def is_doubted(self, shortcut: str) -> bool:
        return any(link.due == Due.CHECK for link in self.tree.links(shortcut).values())

    def _remember(self, shortcut: str, folders: set[str]) -> None:
        for link in self.tree.children(shortcut, limit=_HELD_MAX):
            if link.node.startswith(ABOVE) and link.node.removeprefix(ABOVE) not in folders:
                self.tree.unlink(link.node, shortcut)
        for folder in sorted(folders):
            shortcuts = dict.fromkeys((*self.tree.links(ABOVE + folder), shortcut))
            self.tree.place(ABOVE + folder, Node("", Way.UNSUPPORTED), list(shortcuts), due=None)

    def _above(self, outside: list[str]) -> set[str]:
        """The folders from there up, as far as the account sees them: of others no feed tells."""
        todo = list(outside)
        found: dict[str, None] = {}
        for folder in todo:
            if folder in found or len(found) >= ABOVE_MAX or self.is_in_reach(folder):
                continue
            if folder not in self._parents:
                item = self.ask(folder)
                self._parents[folder] = None if item is None else item.parents
            above = self._parents[folder]
            if above is not None:
                found[folder] = None
                todo += above
        return set(found)


__all__ = ["Above"]
