"""Google Drive as a connector: everything below some folders, of a shared drive, or all that an account sees.

A pass begins where its change feeds stand and reads them to their end. The first one lists everything in between, and one a day
does so again, because the feed is silent of some things.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, Self

from activities.connectors.drive.asking import Asking
from activities.connectors.drive.calls import DriveCalls, told_from_an_outage
from activities.connectors.drive.config import DriveConfig
from activities.connectors.drive.content import read_content
from activities.connectors.drive.cursor import Cursor, Phase
from activities.connectors.drive.documents import KIND, Locator, described, fetched
from activities.connectors.drive.feed import read_changes
from activities.connectors.drive.listing import list_corpus
from activities.connectors.drive.passing import Page
from activities.connectors.drive.patience import Patience
from activities.connectors.drive.placing import Placing
from activities.connectors.drive.roots import begin, join
from activities.connectors.drive.scope import Scope
from activities.connectors.drive.sessions import DriveSessions
from activities.connectors.drive.sharing import Sharing
from activities.connectors.drive.tree import Tree
from activities.connectors.drive.work import work
from headwater.connectors import Change, ChangePage, Description, FetchedDocument, InvalidCursor, Memory
from headwater.errors import ValidationError

# A page that took so long ends with what it has: what waits for it would give it up, and all would begin anew.
PAGE_S: Final = 20.0

_PHASES: Final[Mapping[Phase, Callable[[Page], ChangePage]]] = {
    Phase.DRIVES: lambda page: join(page, page.cursor),
    Phase.FOLDERS: list_corpus,
    Phase.FILES: list_corpus,
    Phase.CRAWL: work,
    Phase.CHANGES: read_changes,
    Phase.SETTLE: work,
}


class Drive:
    """The documents that ``config`` names, as ``drive:<file id>``.

    ``memory`` holds the tree; fetching needs none. ``sessions`` keeps sign-ins from one connector to the next;
    without it each page and each document signs in anew. ``now`` is the clock that expiry is compared with. ``wait`` sleeps
    for so many seconds, or raises as soon as whoever uses the connector is to end. After ``page_s`` a page ends with what it has.
    """

    def __init__(
        self,
        config: DriveConfig,
        *,
        memory: Memory | None = None,
        sessions: DriveSessions | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        wait: Callable[[float], None] = time.sleep,
        page_s: float = PAGE_S,
    ) -> None:
        self._config = config
        self._memory = memory
        self._sessions = sessions
        self._now = now
        self._wait = wait
        self._page_s = page_s
        self._scope = Scope(folder_ids=config.folder_ids, drive_id=config.drive_id)
        self._rules = config.grant_rules()

    @property
    def kind(self) -> str:
        return KIND

    @property
    def account(self) -> str:
        """To whom a document must be shared so that it is seen here."""
        with self._lent() as calls:
            return calls.account

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any],
        *,
        memory: Memory | None = None,
        sessions: DriveSessions | None = None,
        wait: Callable[[float], None] = time.sleep,
    ) -> Self:
        """The connector of a stored configuration, as `DriveConfig.to_config` wrote it."""
        return cls(DriveConfig.parse(config), memory=memory, sessions=sessions, wait=wait)

    def list_page(self, cursor: str | None, *, limit: int) -> ChangePage:
        """The next page: an answer of Drive's, and what has to be looked up for each item in it, as far as there is time.

        What there was no time for is in the next page, however few documents are in this one.
        """
        if self._memory is None:
            raise ValidationError("A Drive connector lists nothing without a memory.")
        stands = None if cursor is None else Cursor.parse(cursor, scope=self._scope.stamp)
        with self._lent() as calls:
            page = self._page(calls, stands, Tree(self._memory), limit)
            if stands is None or stands.under_way is None:
                return begin(page, stands, now=self._now())
            return _PHASES[stands.under_way.phase](page)

    def restart(self, cursor: str | None) -> str | None:
        """The feeds go on where they stand, and everything is listed before they are read."""
        if cursor is None:
            return None
        try:
            return Cursor.parse(cursor, scope=self._scope.stamp).with_(listed_at=None, under_way=None).to_text()
        except InvalidCursor:
            return None

    def fetch(self, change: Change, *, max_bytes: int) -> FetchedDocument:
        """The document, wholly of one version. What nobody may read is not asked for.

        Raises `DocumentFault` where Drive fails at this file and is well otherwise.
        """
        locator = Locator.of(change)
        if (refusal := locator.refusal) is not None:
            raise refusal
        with self._lent() as calls, told_from_an_outage(calls):
            content = read_content(
                calls, locator.id, max_bytes=max_bytes, resource_key=locator.resource_key or None, wait=self._wait
            )
        return fetched(locator, content, version=change.version)

    def describe(self, change: Change) -> Description:
        """How the document is called now; nobody is asked for that."""
        locator = Locator.of(change)
        if (refusal := locator.refusal) is not None:
            raise refusal
        return described(locator)

    @contextmanager
    def _lent(self) -> Iterator[DriveCalls]:
        sessions = self._sessions or DriveSessions()
        try:
            with sessions.lent(self._config.credential_source(), root_url=self._config.root_url) as calls:
                yield calls
        finally:
            if self._sessions is None:
                sessions.close()

    def _page(self, calls: DriveCalls, stands: Cursor | None, tree: Tree, limit: int) -> Page:
        cursor = stands or Cursor(scope=self._scope.stamp)
        walk, until = cursor.under_way, time.monotonic() + self._page_s
        patience = Patience(calls, wait=self._wait)
        placing = Placing(
            calls=calls,
            tree=tree,
            sharing=Sharing(calls, self._rules, patience),
            patience=patience,
            asking=Asking(calls, patience),
            scope=self._scope,
            feeds=dict(cursor.feeds),
            roots=frozenset(cursor.roots),
            epoch="" if walk is None else walk.epoch,
            is_whole=walk is not None and walk.is_whole,
            is_verified=walk is not None and walk.had_items,
            now=self._now(),
        )
        return Page(
            calls=calls,
            tree=tree,
            scope=self._scope,
            placing=placing,
            cursor=cursor,
            limit=limit,
            is_late=lambda: time.monotonic() >= until,
        )


__all__ = ["Drive"]
