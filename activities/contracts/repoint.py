"""What travels between `RepointSource`, `RenameSources` and their activities."""

from typing import Final

from pydantic import Field

from activities.contracts.deletion import Handler
from activities.contracts.payload import Payload
from headwater.contracts import FailedRename
from headwater.models import Authorization, Scope

FAILURES_MAX: Final = 100  # that are listed; all are counted
ERROR_MAX: Final = 256  # characters of a failure that are kept


def failed_rename(from_id: str, to_id: str, sentence: str, code: str) -> FailedRename:
    return FailedRename(from_id=from_id, to_id=to_id, error=sentence[:ERROR_MAX], code=code)


class MovePage(Payload):
    """One page of a move. ``after`` says where the page before ended; None: the first."""

    scope: Scope
    request_no: int
    step: str  # what the page is called among the parts of its request
    from_id: str
    to_id: str
    is_prefix: bool = False
    authorization: Authorization
    page_size: int
    max_records: int | None = None
    after: str | None = None
    passes_over: bool = False  # of a prefix: what cannot be moved is reported, and the others move
    requested_by: str | None = None


class MovedPage(Payload):
    """What a page did. ``after`` None: nothing is left.

    ``handlers`` are those of the worker that moved it, so that the run stays the same when another worker has others.
    """

    moved_sources: int = 0
    moved_chunks: int = 0
    rewritten_edges: int = 0
    after: str | None = None
    until: str | None = None  # of a prefix: the last id that the page looked at
    failures: list[FailedRename] = Field(default_factory=list)
    failed: int = 0
    handlers: tuple[Handler, ...] = ()

    @property
    def had_work(self) -> bool:
        return self.moved_sources > 0 or self.rewritten_edges > 0


class NoteFailedMove(Payload):
    """A pair that was not moved, for the audit. ``step`` is one of its own in each run."""

    scope: Scope
    request_no: int
    step: str
    failure: FailedRename
    requested_by: str | None = None
