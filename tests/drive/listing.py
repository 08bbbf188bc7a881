"""`files.list`: which files a corpus holds for a viewer, in which order, page by page."""

from typing import Any, Final

from tests.drive.contents import Contents
from tests.drive.errors import DriveError, invalid
from tests.drive.items import RANK, File
from tests.drive.pages import Cut, FilePage
from tests.drive.query import parents_named, parse_query
from tests.drive.state import locked

_ORDERS: Final = {
    "name": lambda file: file.name.casefold(),
    "name_natural": lambda file: file.name.casefold(),
    "modifiedTime": lambda file: file.modified,
    "createdTime": lambda file: file.created,
    "folder": lambda file: not file.is_folder,
    "recency": lambda file: file.modified,
    "quotaBytesUsed": lambda file: len(file.data) if file.has_bytes else 0,
}


class Listing(Contents):
    """Lists files."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._listed: tuple[tuple[object, ...], list[File]] | None = None

    @locked
    def list_files(
        self,
        viewer: str,
        *,
        q: str | None = None,
        corpora: str | None = None,
        drive_id: str | None = None,
        include_items_from_all_drives: bool = False,
        supports_all_drives: bool = False,
        page_size: int = 100,
        page_token: str | None = None,
        order_by: str | None = None,
        view: str | None = None,
    ) -> FilePage:
        """`files.list`, with the rules among its parameters, ``q`` and the modes of paging."""
        corpus = corpora or "user"
        self._check(viewer, corpus, drive_id, include_items_from_all_drives, supports_all_drives)
        question = (viewer.lower(), q, corpus, drive_id, include_items_from_all_drives, order_by)
        found = self._found(question)
        is_incomplete = self.modes.incomplete_search and corpus == "allDrives"
        if is_incomplete:
            found = [file for number, file in enumerate(found) if file.drive_id is None or number % 2]
        size = min(max(page_size, 1), 1000)
        cut = Cut(question, page_token, size, self.clock.now()).of(found, self.modes)
        files = [self.resource_of(file, viewer, view=view) for file in cut.found]
        return FilePage(files, cut.next_page_token, is_incomplete)

    def _check(self, viewer: str, corpus: str, drive_id: str | None, includes_all: bool, supports_all: bool) -> None:
        if corpus not in ("user", "domain", "drive", "allDrives"):
            raise invalid("corpora")
        if (corpus == "drive") != (drive_id is not None):
            message = "The driveId must be specified if and only if corpora is set to drive."
            raise DriveError(400, "invalid", message, location="driveId")
        if includes_all and not supports_all:
            message = "The includeItemsFromAllDrives parameter requires supportsAllDrives=true."
            raise invalid("includeItemsFromAllDrives", message)
        if corpus in ("drive", "allDrives") and not includes_all:
            message = f"The includeItemsFromAllDrives parameter must be set to true when corpora is set to {corpus}."
            raise invalid("includeItemsFromAllDrives", message)
        if drive_id is not None:
            self._membership(drive_id, viewer)

    def _found(self, question: tuple[object, ...]) -> list[File]:
        """All that the question finds. Kept until the world changes: a listing of many pages looks once."""
        now = self.clock.now() if self._may_expire else None
        state = (question, self.changes_made, now, self.modes.newest_first, self.modes.or_parents_finds_nothing)
        if self._listed is None or self._listed[0] != state:
            self._listed = (state, self._search(*question))
        return self._listed[1]

    def _search(self, viewer: Any, q: Any, corpus: Any, drive_id: Any, includes_all: Any, order_by: Any) -> list[File]:
        wanted = (lambda file: True) if q is None else parse_query(q, _ForViewer(self, viewer))
        if q is not None and self.modes.or_parents_finds_nothing and parents_named(q) > 1:
            return []
        found = [
            file
            for file in self._files.values()
            if not file.is_root
            if file.drive_id is None or includes_all
            if self._is_in(corpus, viewer, file, drive_id)
            if wanted(file)
        ]
        if self.modes.newest_first:
            found.sort(key=lambda file: file.modified, reverse=True)
        for field in reversed((order_by or "").split(",") if order_by else []):
            name, _, direction = field.strip().partition(" ")
            if name not in _ORDERS or direction not in ("", "desc"):
                raise invalid("orderBy")
            found.sort(key=_ORDERS[name], reverse=direction == "desc")
        return found

    def _is_in(self, corpus: str, viewer: str, file: File, drive_id: str | None) -> bool:
        """The file belongs to the corpus, as this viewer sees it.

        A user's corpus has the items of a shared drive only if they are shared with the user alone or were used:
        membership does not bring them in.
        """
        if corpus == "drive":
            return file.drive_id == drive_id and self.sees(viewer, file.id)
        if corpus == "domain":
            return self._is_in_domain(viewer, file)
        if not self.is_in_corpus(viewer, file.id):
            return False
        if file.drive_id is None or corpus == "allDrives" or not self.is_named(viewer, file.drive_id):
            return True
        return viewer in file.viewed or file.last_modified_by == viewer or self._is_own_grant(viewer, file)

    def _is_own_grant(self, viewer: str, file: File) -> bool:
        return any((held.email or "").lower() == viewer for held in file.permissions.values())

    def _is_in_domain(self, viewer: str, file: File) -> bool:
        domain, now = viewer.partition("@")[2], self.clock.now()
        return any(
            standing.permission.type == "domain"
            and standing.permission.allow_file_discovery
            and (standing.permission.domain or "").lower() == domain
            and standing.opens(now)
            for standing in self.standings(file.id).values()
        )


class _ForViewer:
    """The world as a query asks about it."""

    def __init__(self, world: Listing, viewer: str) -> None:
        self._world = world
        self._viewer = viewer

    def alias(self, file_id: str) -> str:
        return self._world.root_of(self._viewer) if file_id == "root" else file_id

    def is_trashed(self, file: File) -> bool:
        return self._world.is_trashed(file.id)

    def has_parent(self, file: File, parent: str) -> bool:
        return parent in file.parents and self._world.sees(self._viewer, parent)

    def has_person(self, file: File, email: str, among: str) -> bool:
        least = RANK[{"owners": "owner", "writers": "writer", "readers": "reader"}[among]]
        return any(
            (standing.permission.email or "").lower() == email.lower() and RANK[standing.role] >= least
            for standing in self._world.standings(file.id).values()
        )

    def is_shared_with_me(self, file: File) -> bool:
        held = [held for held in file.permissions.values() if (held.email or "").lower() == self._viewer]
        return file.owner != self._viewer and bool(held)
