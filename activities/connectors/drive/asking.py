"""Drive is asked for one item, and there are three answers: how it is now, that it is gone, and none.

A refusal says nothing of whether the item is there. Whoever takes it for a deletion deletes a corpus on the day on which
somebody changes a policy.
"""

from typing import Final, TypeAlias

from activities.connectors.drive.calls import DriveCalls
from activities.connectors.drive.errors import DriveFault
from activities.connectors.drive.item import Item
from activities.connectors.drive.patience import Patience
from headwater.connectors import DocumentFault, DocumentGone, DocumentRefused

UNTOLD: Final = (DocumentFault, DocumentRefused)
"""What `Asking.ask` raises where Drive does not tell how the item is."""

Untold: TypeAlias = DocumentFault | DocumentRefused


class Asking:
    """Of one page: what Drive does not tell of an item is not asked for twice."""

    def __init__(self, calls: DriveCalls, patience: Patience) -> None:
        self._calls = calls
        self._patience = patience
        self._untold: dict[str, Untold] = {}

    def ask(self, file_id: str, *, resource_key: str | None = None) -> Item | None:
        """The item as it is now; ``None`` if it is gone or hidden, which nobody can tell apart.

        Raises `DocumentFault` where Drive fails at it and is well otherwise, and `DocumentRefused` where it refuses to tell.
        """
        if file_id in self._untold:
            raise self._untold[file_id]
        try:
            return self._patience.ask(lambda: self._item(file_id, resource_key))
        except DocumentGone:
            return None
        except UNTOLD as why:
            self._untold[file_id] = why
            raise

    def _item(self, file_id: str, resource_key: str | None) -> Item:
        item = Item.parse(self._calls.file(file_id, resource_key=resource_key))
        if item is None:
            raise DriveFault(f"What Drive says of file {file_id} cannot be read.")
        return item


__all__ = ["UNTOLD", "Asking", "Untold"]
