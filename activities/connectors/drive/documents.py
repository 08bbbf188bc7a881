"""A document of Drive as a change: what tells its content from other content, how it is called and who may read it."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Self

import pydantic
from pydantic import BaseModel, ConfigDict

from activities.connectors.drive.content import Content, content_version, obstacle
from activities.connectors.drive.grants import Denial, DriveGrants
from activities.connectors.drive.item import Item
from activities.connectors.drive.kinds import Way, exported_name, kind_of
from activities.connectors.drive.sharing import access_of
from activities.connectors.drive.tree import Node
from headwater.connectors import (
    Change,
    ChangeKind,
    Description,
    DocumentDenied,
    DocumentRefused,
    DocumentUnsupported,
    FetchedDocument,
    GrantSet,
)
from headwater.errors import ValidationError

KIND: Final = "drive"
NOBODY: Final = "shared_with_nobody"
_DENIED: Final[Mapping[str, str]] = {
    Denial.INCOMPLETE: "Drive did not show all of its permissions: it is read once they can be read.",
    Denial.FAULT: "Drive failed to say who may read it, again and again: every sync asks once more.",
    Denial.UNREADABLE: "The connector's account may not see who may read it: let it edit the file.",
    Denial.TOO_MANY: "It is shared with more people or groups than are kept: share it with a group of them.",
    NOBODY: "Nobody may find it: it is shared by link only, or with nobody who is known here.",
}


class Locator(BaseModel):
    """What is needed to read a document, and to say what it is called, without asking where it lies."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    name: str
    media_type: str
    path: str
    link: str = ""
    drive_id: str = ""
    resource_key: str = ""
    denied: str | None = None
    """Why it is not read, as when nobody may read it or it is not known who may."""

    unsupported: str | None = None
    modified: str = ""
    """Of a document of Google's, when it was listed."""

    @classmethod
    def of(cls, change: Change) -> Self:
        try:
            return cls.model_validate_json(change.locator)
        except pydantic.ValidationError as error:
            raise ValidationError("The locator is not one of a Drive connector of this version: sync again.") from error

    @property
    def refusal(self) -> DocumentRefused | None:
        """Why Drive is not even asked for the content."""
        if self.denied is not None:
            return DocumentDenied(self.denied)
        return None if self.unsupported is None else DocumentUnsupported(self.unsupported)


def source_id_of(file_id: str) -> str:
    return f"{KIND}:{file_id}"


def version_of(item: Item, known: Node | None, *, is_trusted: bool) -> str | None:
    """The version of the document's content, which is that under which it is known as long as nothing tells of an edit.

    Of Google's own documents the number rises for a name, a share and a look too, and the time of modification for an edit
    alone. But anybody may set that time back, so that it is trusted from one listing of everything to the next.
    """
    version = content_version(item.raw)
    if known is None or item.way is not Way.EXPORT or not (is_trusted and known.content and item.modified):
        return version
    is_same = known.modified == item.modified and known.content.partition(" ")[2] == (version or "").partition(" ")[2]
    return known.content if is_same else version


def upsert(
    item: Item, grants: DriveGrants, *, version: str | None, path: str, now: datetime
) -> Change:  # fmt: skip
    """The document is there. With incomplete permissions nobody may read it, and it is not read either."""
    denial = grants.denial.value if grants.denial else None if grants.let_anybody_in(now) else NOBODY
    allowed = GrantSet(withheld=denial) if denial else grants.grants
    why = obstacle(item.raw)
    refused = None if why is None else str(why)
    is_unsupported = isinstance(why, DocumentUnsupported)
    locator = Locator(
        id=item.id,
        name=item.name,
        media_type=item.media_type,
        path=path,
        link=item.link,
        drive_id=item.drive_id,
        resource_key=item.resource_key,
        denied=_DENIED[denial] if denial else None if is_unsupported else refused,
        unsupported=refused if is_unsupported else None,
        modified=item.modified if item.way is Way.EXPORT else "",
    )
    return Change(
        kind=ChangeKind.UPSERT,
        source_id=source_id_of(item.id),
        locator=locator.model_dump_json(exclude_defaults=True),
        # What Drive would refuse has a version of its own, so that it is read once it may be.
        version=f"refused:{_short(refused)}" if refused else version,
        path=path,
        grants=allowed,
        label=label_of(locator),
        access=access_of(allowed),
    )


def withheld(file_id: str, why: Denial, *, path: str) -> Change:
    """The document may be there; nobody may read what is held of it until Drive tells who may."""
    grants = GrantSet(withheld=why.value)
    source_id = source_id_of(file_id)
    return Change(
        kind=ChangeKind.UPSERT, source_id=source_id, locator="", path=path, grants=grants, access=access_of(grants)
    )


def delete(file_id: str) -> Change:
    return Change(kind=ChangeKind.DELETE, source_id=source_id_of(file_id), locator="")


def label_of(locator: Locator) -> str:
    """Differs where what is shown of the document does."""
    return _short(json.dumps([locator.name, locator.path, locator.media_type, locator.link, locator.drive_id]))


def described(locator: Locator) -> Description:
    """What is shown of a document, in the form in which it comes as a rule."""
    kind = kind_of(locator.media_type, name=locator.name)
    is_export = kind.way is Way.EXPORT
    return Description(
        name=exported_name(locator.name, kind.exports[0]) if is_export else locator.name,
        media_type=kind.exports[0] if is_export else locator.media_type,
        metadata=_metadata(locator),
        title=_title(locator),
        uri=locator.link or None,
        forms=tuple((exported_name(locator.name, form), form) for form in kind.exports[1:]),
    )


def fetched(locator: Locator, content: Content, *, version: str | None) -> FetchedDocument:
    """The document as it was read, called as it was listed: a rename in between is the next pass's.

    ``version`` is the one that was listed. It stays that of a document of Google's that nobody edited since.
    """
    is_same = bool(locator.modified) and content.file.get("modifiedTime") == locator.modified
    return FetchedDocument(
        data=content.data,
        version=version if is_same and version else content.version,
        name=content.name,
        media_type=content.media_type,
        metadata=_metadata(locator),
        title=_title(locator),
        uri=locator.link or None,
    )


def _metadata(locator: Locator) -> dict[str, Any]:
    metadata = {"path": locator.path, "mime_type": locator.media_type}
    return {**metadata, "drive_id": locator.drive_id} if locator.drive_id else metadata


def _title(locator: Locator) -> str:
    """The name in one line. Names may hold line ends and control characters."""
    name = " ".join("".join(char if char.isprintable() else " " for char in locator.name).split())
    return name or locator.id


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


__all__ = [
    "KIND",
    "Locator",
    "delete",
    "described",
    "fetched",
    "label_of",
    "source_id_of",
    "upsert",
    "version_of",
    "withheld",
]
