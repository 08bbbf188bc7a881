"""One item of Drive, parsed once from what an answer says of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from activities.connectors.drive.kinds import Way, kind_of
from headwater.ids import UNSTORABLE

NAME_MAX: Final = 1_000
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")


@dataclass(frozen=True, slots=True)
class Item:
    """A file, folder or shortcut. ``drive_id`` is empty outside of shared drives. ``raw`` is for permissions."""

    id: str
    name: str
    media_type: str
    way: Way
    parents: tuple[str, ...] = ()
    is_trashed: bool = False
    version: int = 0
    drive_id: str = ""
    modified: str = ""
    size: int | None = None
    md5: str = ""
    head_revision: str = ""
    link: str = ""
    resource_key: str = ""
    target_id: str = ""
    target_key: str = ""
    is_limited: bool = False
    inherits_all: bool = False
    """In a shared drive: nothing stands on the item itself, so that whoever may read its folder may read it."""

    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self | None:
        """The item; ``None`` where there is no id that could be kept."""
        file_id = _text(raw, "id")
        if not is_id(file_id):
            return None
        name, media_type = _text(raw, "name"), _text(raw, "mimeType")
        target = raw.get("shortcutDetails")
        target = target if isinstance(target, Mapping) else {}
        parents = raw.get("parents")
        return cls(
            id=file_id,
            name=name[:NAME_MAX],
            media_type=media_type,
            way=kind_of(media_type, name=name).way,
            parents=tuple(dict.fromkeys(filter(is_id, parents))) if isinstance(parents, list) else (),
            is_trashed=raw.get("trashed") is True,
            version=_number(raw, "version") or 0,
            drive_id=_text(raw, "driveId"),
            modified=_text(raw, "modifiedTime"),
            size=_number(raw, "size"),
            md5=_text(raw, "md5Checksum").lower(),
            head_revision=_text(raw, "headRevisionId"),
            link=_text(raw, "webViewLink"),
            resource_key=_text(raw, "resourceKey"),
            target_id=_text(target, "targetId"),
            target_key=_text(target, "targetResourceKey"),
            is_limited=raw.get("inheritedPermissionsDisabled") is True,
            inherits_all=raw.get("hasAugmentedPermissions") is False,
            raw=raw,
        )

    @property
    def is_document(self) -> bool:
        """Neither a folder nor a shortcut: a source, though perhaps one that cannot be read."""
        return self.way not in (Way.FOLDER, Way.SHORTCUT)


def is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.match(value) is not None


def storable(text: str) -> str:
    """``text`` without what no database keeps: NUL and lone surrogates."""
    return UNSTORABLE.sub("�", text)


def _text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return storable(value) if isinstance(value, str) else ""


def _number(raw: Mapping[str, Any], key: str) -> int | None:
    """Drive writes numbers of 64 bits as text."""
    value = raw.get(key)
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:30])
    return value if isinstance(value, int) and not isinstance(value, bool) else None


__all__ = ["Item", "is_id", "storable"]
