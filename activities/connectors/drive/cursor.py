"""Where a connector stands: between two passes, or in the middle of one. What is still to be done stands in the memory.

The change feeds' tokens are taken before anything is listed and move with every page that was read of them, so that
whatever happens while a listing goes on is seen again after it. What is known of a listing or of a folder is a model of
its own, and is dropped whole with it.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final, Literal, Self

import pydantic
from pydantic import BaseModel, ConfigDict

from headwater.connectors import InvalidCursor


class Phase(StrEnum):
    """What the next page does. A pass goes down this list; from the second to the fourth everything is listed anew."""

    DRIVES = "drives"  # one shared drive after the other: where its feed stands, and who its members are
    FOLDERS = "folders"  # a corpus's folders are listed, so that every file's place is known when it comes
    FILES = "files"  # and what is not a folder
    CRAWL = "crawl"  # what is due is done before the changes are read
    CHANGES = "changes"
    SETTLE = "settle"  # what is due is done, and the pass is over


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def with_(self, **fields: object) -> Self:
        return self.model_copy(update=fields)


EMPTY_MAX: Final = 1_000  # pages without anything in a row; a search of millions of files gives some


class Listing(_Part):
    """One listing, or one reading of a feed, from its first page to its last."""

    token: str | None = None
    """Of the next page. Drive forgets it within hours."""

    restarts: int = 0
    is_second: bool = False
    """It is made once more, since something changed while it was made."""

    pages: int = 0
    empty: int = 0
    """Of the pages so far, how many without anything came last."""

    landmark: str = ""
    """The token of the last page whose number was a power of two: if it is met again, the pages go in a circle."""

    def turn(self, token: str, *, is_empty: bool) -> Self | None:
        """The listing at its next page; ``None`` if it has no end."""
        pages, empty = self.pages + 1, self.empty + 1 if is_empty else 0
        if token == self.landmark or empty > EMPTY_MAX:
            return None
        landmark = token if pages & (pages - 1) == 0 else self.landmark
        return self.with_(token=token, pages=pages, empty=empty, landmark=landmark)

    def again(self, **fields: object) -> Self:
        """The listing from its first page."""
        return self.with_(token=None, pages=0, empty=0, landmark="", **fields)


class Crawl(_Part):
    """One folder whose content is listed, and then held against what is known to be in it."""

    folder: str
    had_children: bool = False
    listing: Listing | None = Listing()
    """``None``: it was listed, and what is known to be in it and did not come up is looked for."""

    after: str = ""


class Walk(_Part):
    """A pass under way."""

    phase: Phase
    began_at: datetime
    epoch: str
    """Names the part of the pass: a folder that carries it was crawled, or will be."""

    is_whole: bool = False
    """It lists everything."""

    queue: tuple[str, ...] = ()
    """Shared drives to look at, corpora to list, or feeds to read, beginning with the one under way."""

    listing: Listing = Listing()
    """Of the corpus under way."""

    crawl: Crawl | None = None
    taken: tuple[str, ...] = ()
    """What the page before took of an answer before it had to end: the answer is asked for again, and these passed over."""

    marks: dict[str, str] = {}
    """Where the feeds stood when they were last looked at to see whether a listing was disturbed."""

    had_items: bool = False
    """Something was known when it began. What is known and does not come up is checked."""

    has_items: bool = False
    """Something was listed."""

    is_doubtful: bool = False
    """Nothing was listed where there was something before."""

    has_gaps: bool = False
    """Something could not be listed."""


class Cursor(_Part):
    """``feeds`` has the token of each change feed: of a shared drive by its id, of the account itself by ``""``."""

    v: Literal[2] = 2
    scope: str
    """A fingerprint of what is wanted: a cursor of other settings tells nothing."""

    feeds: dict[str, str] = {}
    roots: tuple[str, ...] = ()
    """Below them lies all that is wanted, as far as it lies below anything."""

    lost: tuple[str, ...] = ()
    """Shared drives that were gone in the pass before. Those that are still gone are believed to be."""

    listed_at: datetime | None = None
    """When the last listing of everything began that was finished."""

    has_gaps: bool = False
    """That listing left something out."""

    under_way: Walk | None = None
    """``None`` between two passes."""

    @classmethod
    def parse(cls, text: str, *, scope: str) -> Self:
        """Raises `InvalidCursor`: then everything is listed anew."""
        try:
            cursor = cls.model_validate_json(text)
        except pydantic.ValidationError as error:
            raise InvalidCursor(
                "The cursor is not one of a Drive connector of this version: everything is listed anew."
            ) from error
        if cursor.scope != scope:
            raise InvalidCursor("The connector's folders or shared drive are others than those of its cursor.")
        return cursor

    def to_text(self) -> str:
        return self.model_dump_json(exclude_defaults=True)

    @property
    def walk(self) -> Walk:
        """The pass under way."""
        assert self.under_way is not None, "A page is asked for what it does in a pass, and none is under way."
        return self.under_way

    def on(self, **fields: object) -> Self:
        """The pass goes on, with these fields."""
        return self.with_(under_way=self.walk.with_(**fields))

    def to(self, phase: Phase, *, queue: tuple[str, ...] = ()) -> Self:
        """The beginning of another phase."""
        return self.on(phase=phase, queue=queue, listing=Listing(), crawl=None)

    @property
    def listing(self) -> Listing:
        """The listing under way: of a folder, or of a corpus."""
        crawl = self.walk.crawl
        return self.walk.listing if crawl is None else crawl.listing or Listing()

    def with_listing(self, listing: Listing) -> Self:
        """The listing under way stands there."""
        crawl = self.walk.crawl
        return self.on(listing=listing) if crawl is None else self.on(crawl=crawl.with_(listing=listing))


__all__ = ["EMPTY_MAX", "Crawl", "Cursor", "Listing", "Phase", "Walk"]
