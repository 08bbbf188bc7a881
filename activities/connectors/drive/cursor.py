"""Where a connector stands: between two passes, or in the middle of one. What is still to be done stands in the memory.

The change feeds' tokens are taken before anything is listed and move with every page that was read of them, so that
whatever happens while a listing goes on is seen again after it.
"""

from datetime import datetime
from enum import StrEnum
from typing import Literal, Self

import pydantic
from pydantic import BaseModel, ConfigDict

from headwater.connectors import InvalidCursor


class Phase(StrEnum):
    """What the next page does. A pass goes down this list; the three in the middle list everything anew."""

    REST = "rest"  # the pass is over, and another begins
    FOLDERS = "folders"  # a corpus's folders are listed, so that every file's place is known when it comes
    FILES = "files"  # and what is not a folder
    CRAWL = "crawl"  # what is due is done before the changes are read
    CHANGES = "changes"
    SETTLE = "settle"  # what is due is done, and the pass is over


class Cursor(BaseModel):
    """``feeds`` has the token of each change feed: of a shared drive by its id, of the account itself by ``""``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    v: Literal[1] = 1
    phase: Phase = Phase.REST
    scope: str
    """A fingerprint of what is wanted: a cursor of other settings tells nothing."""

    feeds: dict[str, str] = {}
    roots: tuple[str, ...] = ()
    """Below them lies all that is wanted, as far as it lies below anything."""

    lost: tuple[str, ...] = ()
    """Shared drives that were gone in the pass before. Those that are still gone are believed to be."""

    listed_at: datetime | None = None
    """When the last listing of everything began that was finished."""

    began_at: datetime | None = None
    is_whole: bool = False
    """This pass lists everything."""

    epoch: str = ""
    """Names the part of the pass: a folder that carries it was crawled, or will be."""

    queue: tuple[str, ...] = ()
    """Corpora to list, or feeds to read, beginning with the one under way."""

    token: str | None = None
    """Of the next page of a listing. Drive forgets it within hours."""

    restarts: int = 0
    folder: str | None = None
    """The folder that is being crawled."""

    is_verifying: bool = False
    """It was crawled, and what is known to be in it and did not come up is looked for."""

    after: str = ""
    had_children: bool = False
    marks: dict[str, str] = {}
    """Where the feeds stood when they were last looked at to see whether a listing was disturbed."""

    is_second: bool = False
    """The listing under way is made once more."""

    had_documents: bool = False
    is_doubtful: bool = False
    """Nothing was listed where there was something before."""

    listed: int = 0

    @classmethod
    def parse(cls, text: str, *, scope: str) -> Self:
        """Raises `InvalidCursor`: then everything is listed anew."""
        try:
            cursor = cls.model_validate_json(text)
        except pydantic.ValidationError as error:
            raise InvalidCursor("The cursor is not one of a Drive connector of this version.") from error
        if cursor.scope != scope:
            raise InvalidCursor("The connector's folders or shared drive are others than those of its cursor.")
        return cursor

    def to_text(self) -> str:
        return self.model_dump_json(exclude_defaults=True)

    def to(self, phase: Phase, *, queue: tuple[str, ...] = ()) -> Self:
        """The beginning of another phase."""
        return self.with_(phase=phase, queue=queue).at(None)

    def at(self, folder: str | None, *, had_children: bool = False) -> Self:
        """The beginning of a folder's listing, or of none."""
        return self.with_(
            folder=folder, had_children=had_children, token=None, is_verifying=False, after="", is_second=False
        )

    def with_(self, **fields: object) -> Self:
        return self.model_copy(update=fields)


__all__ = ["Cursor", "Phase"]
