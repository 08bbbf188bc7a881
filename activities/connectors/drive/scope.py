"""Which part of Drive a connector is about."""

import hashlib
import json
from dataclasses import dataclass

from activities.connectors.drive.item import Item


@dataclass(frozen=True, slots=True)
class Scope:
    """What hangs below some folders; without them all of a shared drive, or all that the account sees."""

    folder_ids: tuple[str, ...] = ()
    drive_id: str | None = None

    @property
    def is_flat(self) -> bool:
        """Where something hangs does not decide whether it is wanted."""
        return not self.folder_ids

    def holds(self, item: Item) -> bool:
        """Whether the item is wanted wherever it hangs."""
        return self.is_flat and (self.drive_id is None or item.drive_id == self.drive_id)

    @property
    def stamp(self) -> str:
        """Another one for another scope."""
        written = json.dumps([sorted(self.folder_ids), self.drive_id])
        return hashlib.sha256(written.encode()).hexdigest()[:16]


__all__ = ["Scope"]
