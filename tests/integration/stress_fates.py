"""Sources of the stress test that live once: made, ended in one of the ways there are, and never to be seen again.

What ended is written down after it was committed, so that a reader who began later and sees it has found a fault. Each end is
followed by what was staged before it, which must not undo it.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from activities.contracts import PublishedPage
from activities.store import Store
from headwater.connectors import GrantSet
from headwater.contracts import Grants
from tests.integration.asked import delete_sources, grant
from tests.integration.hiding import JANITOR, hide
from tests.integration.moving import move
from tests.integration.staging_factory import Corpus, Document, deleted, publish, stage

# Who may not see what any more. No principal: nobody may.
LEDGER = "CREATE TABLE ledger (source_id text NOT NULL, how text NOT NULL, principal text)"
FORBIDDEN = "SELECT source_id, how FROM ledger WHERE principal IS NULL OR principal = %(principal)s"


def text_of(name: str) -> str:
    """The one passage of such a source, in the form of those of the others."""
    return f"{name}|0|1"


ENDS_OF_ALL = ("delete", "delete in a page", "forgotten", "revoked", "legal_hold")
ENDS_OF_HOSTS = (*ENDS_OF_ALL, "empty", "narrow", "move")


@dataclass(frozen=True, slots=True)
class Fates:
    store: Store
    corpus: Corpus
    chance: random.Random
    publish_page: Callable[[int, int | None], PublishedPage]

    def live_and_end(self) -> str:
        """How it ended."""
        name, is_hosts = f"once-{uuid4().hex}", self.chance.random() < 0.6
        if not self._publish(self._document(name, is_hosts, version=1), is_hosts=is_hosts):
            return "staged for a former build"
        child = f"on-{name}"
        has_child = self._publish(self._document(child, True, version=1, lineage=name), is_hosts=True)
        end = self.chance.choice(ENDS_OF_HOSTS if is_hosts else ENDS_OF_ALL)
        late = self._document(name, is_hosts, version=9)
        pages = [stage(self.store, self.corpus, late, is_hosts=is_hosts)]
        if end in ("forgotten", "revoked", "legal_hold"):
            another = f"also-on-{name}"
            text = self._document(another, True, version=1, lineage=f"{name}#0001")
            pages.append(stage(self.store, self.corpus, text, is_hosts=True))
            hide(self.store, self.corpus, name, end, by=JANITOR)  # type: ignore[arg-type]  # one of the reasons
            self._write_down(end, name)
            self._write_down(f"{end} parent", another, *([child] if has_child else []))
        else:
            self._end(name, end)
        for page in pages:
            self.publish_page(page, None if is_hosts or page != pages[0] else self.corpus.fence)
        return end

    def _end(self, name: str, end: str) -> None:
        if end == "delete":
            delete_sources(self.store, self.corpus.build.scope_id, [name])
        elif end == "delete in a page":
            publish(self.store, self.corpus, deleted(name))
            if not self._is_deleted(name):
                return  # of a former build, or a host's
        elif end == "empty":
            grant(self.store, self.corpus, name, 99)
        elif end == "narrow":
            grant(self.store, self.corpus, name, 99, principal_ids=["bob"])
            return self._write_down(end, name, principal="ann")
        elif end == "move":
            grant(self.store, self.corpus, f"moved-{name}", 1, principal_ids=["bob"])
            move(self.store, self.corpus, name, f"moved-{name}", services=(("acme", "mover"),))
            self._write_down(end, f"moved-{name}", principal="ann")
        self._write_down(end, name)

    def _document(self, name: str, is_hosts: bool, *, version: int, lineage: str | None = None) -> Document:
        grants = Grants(principal_ids=("ann", "bob"), access_version=version)
        return Document(
            name,
            [text_of(name)],
            grants=grants if is_hosts else GrantSet(principal_ids=("ann", "bob")),
            lineage=() if lineage is None else (lineage,),
        )

    def _publish(self, document: Document, *, is_hosts: bool) -> bool:
        page = stage(self.store, self.corpus, document, is_hosts=is_hosts)
        return self.publish_page(page, None if is_hosts else self.corpus.fence).upserted == 1

    def _is_deleted(self, name: str) -> bool:
        query = "SELECT fence_gen > 0 FROM headwater.source WHERE source_id = %s"
        with self.store.connection() as connection:
            row = connection.execute(query, (name,)).fetchone()
        return row is not None and bool(row[0])

    def _write_down(self, how: str, *names: str, principal: str | None = None) -> None:
        with self.store.connection() as connection, connection.cursor() as cursor:
            cursor.executemany("INSERT INTO ledger VALUES (%s, %s, %s)", [(name, how, principal) for name in names])
