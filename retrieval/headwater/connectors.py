"""What a connector is: something that lists a corpus's documents in pages and fetches one of them.

A connector knows nothing of Postgres or Temporal. It is built inside an activity, used by one thread, and thrown away.
`headwater.testing.check_connector` is the contract test that every implementation passes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from headwater.errors import PermanentError, TransientError


class ChangeKind(StrEnum):
    UPSERT = "upsert"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class GrantSet:
    """Who may read a source. All empty means nobody; ``everyone`` means every principal of the tenant."""

    principal_ids: tuple[str, ...] = ()
    group_ids: tuple[str, ...] = ()
    everyone: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """One document as the listing saw it.

    ``version`` is whatever lets the connector recognise an unchanged document without reading it; ``None`` when it
    cannot. ``locator`` is what `Connector.fetch` needs to find the document again; nobody else reads it.
    ``path`` is a label for people and for access rules; it may hold any character.
    """

    kind: ChangeKind
    source_id: str
    locator: str
    version: str | None = None
    path: str = ""
    grants: GrantSet | None = None


@dataclass(frozen=True, slots=True)
class Unlisted:
    """A part of the corpus the listing could not see. While there is one, nothing may be swept."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class ChangePage:
    """A page of changes. ``cursor`` goes on after it; with ``done`` it is where the next pass begins."""

    changes: Sequence[Change]
    cursor: str
    done: bool
    unlisted: Sequence[Unlisted] = ()


@dataclass(frozen=True, slots=True)
class FetchedDocument:
    """The bytes of one document, with the version they had when they were read.

    ``version`` is ``None`` if the document may still change without its version changing (a file written within the
    last moments): the next pass then reads it again and compares hashes. ``title`` and ``uri`` are what citations show; without
    a title the document's own is taken, or its name. ``sensitivity`` is a label, ``lineage`` the ids it was derived from.
    """

    data: bytes
    version: str | None
    name: str
    media_type: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    title: str | None = None
    uri: str | None = None
    sensitivity: str | None = None
    lineage: tuple[str, ...] = ()


class Connector(Protocol):
    """Where documents come from."""

    @property
    def kind(self) -> str:
        """``folder``, ``drive``, …: the prefix of the source ids and the ``provider`` of citations."""
        ...

    def list_page(self, cursor: str | None, *, limit: int) -> ChangePage:
        """At most ``limit`` changes after ``cursor`` (``None``: from the beginning), in a stable order.

        Raises `SourceUnavailable` when nothing can be listed, and then nothing may be deleted; `TransientError` when
        waiting can help (`Throttled` when it was asked for); `InvalidCursor` when only a listing from the beginning can.
        """
        ...

    def fetch(self, change: Change, *, max_bytes: int) -> FetchedDocument:
        """The document. Raises `DocumentGone`, `DocumentRefused`, `DocumentTooLarge` or `TransientError`.

        Raises `SourceUnavailable` if it can tell that all documents are out of reach, and not this one gone.
        """
        ...


class Throttled(TransientError):
    """The source asks for fewer calls, and says with ``retry_after_s`` for how long. Nothing is wrong with any document."""


class InvalidCursor(PermanentError):
    """The source does not know the cursor any more: what changed since can only be told by listing everything anew."""


class SourceUnavailable(PermanentError):
    """The whole source cannot be read: a folder that is gone, a credential that was revoked."""


class DocumentGone(PermanentError):
    """The document was listed and is no longer there."""


class DocumentRefused(PermanentError):
    """The document is there and may not or cannot be read."""


class DocumentDenied(DocumentRefused):
    """The document is there, and those as whom the connector reads may not read it."""


class DocumentUnsupported(DocumentRefused):
    """The document is there, and of a kind that has no bytes to give: a form, a map, a shortcut."""


class DocumentTooLarge(PermanentError):
    """The document has more bytes than the configured limit."""


__all__ = [
    "Change",
    "ChangeKind",
    "ChangePage",
    "Connector",
    "DocumentDenied",
    "DocumentGone",
    "DocumentRefused",
    "DocumentTooLarge",
    "DocumentUnsupported",
    "FetchedDocument",
    "GrantSet",
    "InvalidCursor",
    "SourceUnavailable",
    "Throttled",
    "TransientError",
    "Unlisted",
]
