"""What a connector is: something that lists a corpus's documents in pages and fetches one of them.

A connector knows nothing of Postgres or Temporal. It is built inside an activity, used by one thread, and thrown away.
What it has to know in the next one stands in its cursor, or, where that would be too much, in the `Memory` it was given.
`headwater.testing.check_connector` is the contract test that every implementation passes.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Protocol, runtime_checkable

from headwater.errors import PermanentError, TransientError


class ChangeKind(StrEnum):
    UPSERT = "upsert"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class ExpiringGrant:
    """A grant that ends by itself at ``expires_at``, which is enforced whenever somebody asks."""

    kind: Literal["principal", "group"]
    name: str
    expires_at: datetime

    def __post_init__(self) -> None:
        if self.expires_at.tzinfo is None:
            raise ValueError("A grant must end at a time with an offset from UTC.")


@dataclass(frozen=True, slots=True)
class GrantSet:
    """Who may read a source. All empty means nobody; ``everyone`` means every principal of the tenant.

    ``withheld`` says in a word or two why nobody may although the origin may let somebody: who could not be found out, or too
    many. The document is then not read, what is held of it is shown to nobody, and its status gives the reason.
    """

    principal_ids: tuple[str, ...] = ()
    group_ids: tuple[str, ...] = ()
    everyone: bool = False
    expiring: tuple[ExpiringGrant, ...] = ()
    withheld: str | None = None

    def __post_init__(self) -> None:
        if self.withheld is not None and (self.principal_ids or self.group_ids or self.everyone or self.expiring):
            raise ValueError("What is withheld is granted to nobody.")


@dataclass(frozen=True, slots=True)
class Change:
    """One document as the listing saw it.

    ``version`` is whatever lets the connector recognise an unchanged document without reading it; ``None`` when it
    cannot. ``locator`` is what `Connector.fetch` needs to find the document again; nobody else reads it.
    ``path`` is a label for people and for access rules; it may hold any character.
    ``label`` is a fingerprint of what is shown of the document besides its content (name, path, address), where ``version``
    does not cover that: with another label alone nothing is fetched if the connector is a `Describer`.
    ``access`` is a fingerprint of ``grants`` where the source itself says who may read: they are applied whenever it is
    another one than last time. ``None``: the connector's rule decides, and they are applied when that is a new one.
    """

    kind: ChangeKind
    source_id: str
    locator: str
    version: str | None = None
    path: str = ""
    grants: GrantSet | None = None
    label: str | None = None
    access: str | None = None


@dataclass(frozen=True, slots=True)
class Unlisted:
    """A part of the corpus the listing could not see. While there is one, nothing may be swept."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class ChangePage:
    """A page of changes. ``cursor`` goes on after it; with ``done`` it is where the next pass begins.

    ``is_whole`` is asked of the last page: the pass listed all there is, so what it did not list is gone. A pass over a feed
    of changes did not, and names what is gone.
    """

    changes: Sequence[Change]
    cursor: str
    done: bool
    unlisted: Sequence[Unlisted] = ()
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Link:
    """What a connector remembers: ``node`` under ``parent``. Reached in two ways, a node is two links; a root's parent is ``""``.

    ``record`` is a small JSON object, whatever the connector needs to know of the node: it is kept with each of its links, so
    another one is written to all of them. ``due`` says what is still to be done with the node, in the connector's words.
    """

    node: str
    parent: str
    record: Mapping[str, Any] = field(default_factory=dict)
    due: str | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Links that are no more: the one under ``parent``; without it all of ``node``; without a node all there are."""

    node: str | None = None
    parent: str | None = None


class Memory(Protocol):
    """What a connector remembers from page to page and from pass to pass: a small graph.

    What is written while a page is listed becomes durable when that page is published and the checkpoint moves past it. So
    the memory knows of nothing that was not carried out; but a pass that is given up begins anew at its first cursor with
    what its published pages wrote. Whatever a connector says twice must therefore do no harm.
    """

    def links(self, nodes: Collection[str]) -> Mapping[str, Sequence[Link]]:
        """All links of each of ``nodes``, in byte order of their parents. A node without one is missing."""
        ...

    def children(self, parent: str, *, after: str = "", limit: int) -> Sequence[Link]:
        """At most ``limit`` links under ``parent``, in byte order of the node, behind the node ``after``."""
        ...

    def due(self, *, limit: int) -> Sequence[Link]:
        """At most ``limit`` links with a ``due``, in byte order of the node and then of the parent."""
        ...

    def write(self, changes: Sequence[Link | Forgotten]) -> None:
        """Carries out ``changes`` in their order. A link takes the place of the one that had its node and parent."""
        ...


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


@dataclass(frozen=True, slots=True)
class Description:
    """What `FetchedDocument` says of a document besides its bytes: what is shown of it, and what tells how it is read.

    ``forms`` are the other names and media types under which `Connector.fetch` may have given it, if there are several.
    """

    name: str
    media_type: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    title: str | None = None
    uri: str | None = None
    forms: tuple[tuple[str, str | None], ...] = ()


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

    def restart(self, cursor: str | None) -> str | None:
        """Where a pass begins that is to list everything anew, when ``cursor`` is where the next one would begin.

        ``None`` is the beginning; a connector whose every pass lists everything keeps what the cursor remembers.
        """
        ...

    def fetch(self, change: Change, *, max_bytes: int) -> FetchedDocument:
        """The document. Raises `DocumentGone`, `DocumentRefused`, `DocumentTooLarge` or `TransientError`.

        Raises `SourceUnavailable` if it can tell that all documents are out of reach, and not this one gone.
        """
        ...


@runtime_checkable
class Describer(Protocol):
    """A connector that tells by a `Change`'s ``label`` that a document was renamed or moved, and says what it is called now."""

    def describe(self, change: Change) -> Description:
        """What `Connector.fetch` would say of the document, without its bytes. Raises what `Connector.fetch` raises.

        It is asked where ``label`` is another one than last time and ``version`` is the same. Without a ``title`` the document's
        own one would be needed, so it is fetched; so it is where its name or media type tell that it is to be read otherwise.
        """
        ...


class Throttled(TransientError):
    """The source asks for fewer calls, and says with ``retry_after_s`` for how long. Nothing is wrong with any document."""


class InvalidCursor(PermanentError):
    """The source does not know the cursor any more: what changed since can only be told by listing everything anew."""


class SourceUnavailable(PermanentError):
    """The whole source cannot be read: a folder that is gone, a credential that was revoked."""


class DocumentFault(TransientError):
    """The source fails at this document and at no other. Waiting may help: a few times, and then it is the document's."""


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
