"""Activity `try_connector`: whether a connector's origin can be listed, tried where it will be read: on a worker.

Nothing is read or remembered, and nothing written but who tried it. What is wrong is the failure's sentence, also where waiting
could help: whoever tries wants to know it now.
"""

import time
from collections import Counter
from typing import Final

from temporalio import activity

from activities.connectors import MakeConnector, make_connector
from activities.containment import HandedOver, check_running, contained
from activities.contracts.connectors import TriedConnector, TryConnectorInput, UnlistedPart
from activities.heartbeat import heartbeating
from activities.store import Store
from activities.store.connectors import ConnectorRow, find_connector, note_deed
from headwater.connectors import ChangeKind, SourceUnavailable
from headwater.errors import HeadwaterError, ValidationError
from headwater.testing import MemoryInMemory

PAGE: Final = 100
ENOUGH: Final = 500  # documents
# So long they are listed; for the first one, where folders are looked into one by one, longer.
LONG_S: Final = 5.0
LONGEST_S: Final = 20.0
UNLISTED_SHOWN: Final = 10


class ConnectorTrier:
    """Lists a little of a connector's origin."""

    def __init__(self, store: Store, *, make: MakeConnector = make_connector) -> None:
        self._store = store
        self._make = make

    @activity.defn(name="try_connector", no_thread_cancel_exception=True)
    @contained
    def try_connector(self, wanted: TryConnectorInput) -> TriedConnector:
        row = find_connector(self._store, wanted.scope, wanted.connector)
        if row is None:
            raise ValidationError(
                f"Corpus {wanted.scope} has no connector {wanted.connector}: there is nothing to try."
            )
        try:
            with heartbeating():
                tried = self._listed(row)
        except HandedOver:
            raise
        except HeadwaterError as error:
            self._note(row, wanted, is_reached=False)
            raise SourceUnavailable(str(error)) from None
        self._note(row, wanted, is_reached=True)
        return tried

    def _note(self, row: ConnectorRow, wanted: TryConnectorInput, *, is_reached: bool) -> None:
        note_deed(
            self._store, row, actor=wanted.requested_by, action="try_connector", detail={"is_reached": is_reached}
        )

    def _listed(self, row: ConnectorRow) -> TriedConnector:
        connector = self._make(row.kind, row.config, name=row.name, memory=MemoryInMemory())
        begun, cursor = time.monotonic(), None
        # Of a connector that signs in.
        found = TriedConnector(kind=row.kind, account=getattr(connector, "account", None))
        withheld, unlisted = Counter[str](), list[UnlistedPart]()
        listed, is_all = 0, False
        while True:
            page = connector.list_page(cursor, limit=PAGE)
            grants = [change.grants for change in page.changes if change.kind is ChangeKind.UPSERT]
            withheld.update(each.withheld for each in grants if each is not None and each.withheld is not None)
            unlisted += [UnlistedPart(path=part.path, reason=part.reason) for part in page.unlisted]
            listed, is_all, cursor = listed + len(grants), page.done, page.cursor
            if is_all or listed >= ENOUGH or time.monotonic() - begun > (LONG_S if listed else LONGEST_S):
                break
            check_running()
        return found.model_copy(
            update={
                "listed": listed,
                "withheld": dict(withheld),
                "is_all": is_all,
                "unlisted": unlisted[:UNLISTED_SHOWN],
            }
        )
