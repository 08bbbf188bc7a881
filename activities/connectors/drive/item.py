"""One item of Drive, parsed once from what an answer says of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Self, TypeGuard

from activities.connectors.drive.kinds import Way, kind_of, media_type_of
from headwater.ids import UNSTORABLE

NAME_MAX: Final = 1_000
PARENTS_MAX: Final = 100  # Drive gives one, and a few to old items
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{1,256}\Z")
_LINK: Final = re.compile(r"https?://[\x21-\x7e]{1,2000}\Z")
_NUMBER_MAX: Final = 2**63  # what Drive's own numbers fit


class How(StrEnum):
    """On which way the state of an item was learnt."""

    LISTED = "listed"  # with everything else there is
    CRAWLED = "crawled"  # with what else is in its folder
    TOLD = "told"  # by the feed, whose state may be an older one
    ASKED = "asked"  # it was asked for


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
        """The item; ``None`` for what is none: without an id, or where nobody could tell where it lies, or whether still."""
        file_id, drive_id, parents = raw.get("id"), raw.get("driveId"), raw.get("parents")
        if not is_id(file_id) or not (drive_id is None or is_id(drive_id)) or not isinstance(parents, list | None):
            return None
        if not isinstance(raw.get("trashed"), bool | None) or not isinstance(raw.get("mimeType", ""), str):
            return None
        name, media_type = _text(raw, "name"), media_type_of(raw)
        target = raw.get("shortcutDetails")
        target = target if isinstance(target, Mapping) else {}
        return cls(
            id=file_id,
            name=name[:NAME_MAX],
            media_type=media_type,
            way=kind_of(media_type, name=name).way,
            parents=tuple(dict.fromkeys(filter(is_id, parents or ())))[:PARENTS_MAX],
            is_trashed=raw.get("trashed") is True,
            version=number(raw, "version") or 0,
            drive_id=drive_id or "",
            modified=_text(raw, "modifiedTime"),
            link=_matching(_LINK, raw, "webViewLink"),
            resource_key=_matching(_KEY, raw, "resourceKey"),
            target_id=_matching(_ID, target, "targetId"),
            target_key=_matching(_KEY, target, "targetResourceKey"),
            is_limited=raw.get("inheritedPermissionsDisabled") not in (None, False),
            inherits_all=raw.get("hasAugmentedPermissions") is False,
            raw=raw,
        )

    @property
    def is_document(self) -> bool:
        """Neither a folder nor a shortcut: a source, though perhaps one that cannot be read."""
        return self.way not in (Way.FOLDER, Way.SHORTCUT)


def is_id(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and _ID.match(value) is not None


def storable(text: str) -> str:
    """``text`` without what no database keeps: NUL and lone surrogates."""
    return UNSTORABLE.sub("\ufffd", text)


def number(raw: Mapping[str, Any], key: str) -> int | None:
    """Drive writes numbers of 64 bits as text. ``None`` for what is no such number."""
    value = raw.get(key)
    if isinstance(value, str) and len(value) < 20 and value.isascii() and value.isdigit():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _NUMBER_MAX else None


def _text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return storable(value) if isinstance(value, str) else ""


def _matching(pattern: re.Pattern[str], raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) and pattern.match(value) else ""


__all__ = ["How", "Item", "is_id", "number", "storable"]
