"""The bytes of one Drive file, wholly of one version: looked at before and after, and held against their checksum.

Drive may replace a file while it is read, cut an answer short under status 200, or serve the one version's metadata with the
other's bytes. What does not add up is read again, and never passed on.
"""

import hashlib
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from activities.connectors.drive.calls import DriveCalls
from activities.connectors.drive.errors import DriveFault
from activities.connectors.drive.export import Exporter
from activities.connectors.drive.item import number, storable
from activities.connectors.drive.kinds import Kind, Way, bare, exported_name, kind_of, media_type_of
from headwater.connectors import DocumentDenied, DocumentGone, DocumentTooLarge, DocumentUnsupported

READS_MAX: Final = 3
# For one document, in all its forms and however often it is read. Whoever reads it holds a lease that must not end meanwhile.
DOCUMENT_S: Final = 120.0
_MD5: Final = re.compile(r"[0-9a-fA-F]{32}\Z")
# What is the same before and after when the content is: a download is held against these, an export has nothing else.
_OF_CONTENT: Final = ("mimeType", "md5Checksum", "size", "headRevisionId", "modifiedTime")


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file and what they are. ``file`` is its metadata at the version that the bytes are of."""

    data: bytes
    name: str
    media_type: str | None
    file: Mapping[str, Any]

    @property
    def version(self) -> str | None:
        return content_version(self.file)


def content_version(file: Mapping[str, Any]) -> str | None:
    """What tells that the content of a file is the same, without reading it; ``None`` if nothing does.

    Of a file with bytes that is their checksum: who renames or shares a file does not change it. Google's own documents have
    none, and a time of modification that anybody may set back: only Drive's number of the version rises with every edit,
    though with every look as well.
    """
    md5, version = _md5(file), number(file, "version")
    media_type = bare(media_type_of(file))
    if md5:
        return f"md5:{md5} {media_type}"
    if kind_of(media_type).way is Way.EXPORT and version is not None:
        return f"v:{version} {media_type}"
    return None


def obstacle(file: Mapping[str, Any]) -> DocumentDenied | DocumentUnsupported | None:
    """Why the file need not be asked for: its kind, its encryption, or Drive's word that this account may not have it."""
    kind = kind_of(media_type_of(file), name=_name(file))
    if kind.way is Way.UNSUPPORTED:
        return DocumentUnsupported(kind.reason)
    if kind.way in (Way.FOLDER, Way.SHORTCUT):
        return DocumentUnsupported(f"It is a {kind.way}, which has no content of its own.")
    if _at(file, "clientEncryptionDetails", "encryptionState") == "encrypted":
        return DocumentUnsupported("It is encrypted on its owner's side: Drive itself cannot read it.")
    if _at(file, "capabilities", "canDownload") is False:
        return DocumentDenied(
            "The connector's account may not download it: lift the restriction on downloads, make the account an editor, "
            "or remove it from the source."
        )
    return None


def read_content(
    calls: DriveCalls,
    file_id: str,
    *,
    max_bytes: int,
    resource_key: str | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> Content:
    """The file as it is now, or as it was a moment ago: never a part of each.

    Raises `DocumentGone`, `DocumentDenied`, `DocumentUnsupported`, `DocumentRefused`, `DocumentTooLarge`, `DriveFault` and
    whatever stops the connector. A file that is replaced again and again is given as one of its versions.
    """
    with calls.within(DOCUMENT_S):
        return _read(calls, file_id, _Reader(calls, max_bytes=max_bytes, resource_key=resource_key, wait=wait))


def _read(calls: DriveCalls, file_id: str, reader: "_Reader") -> Content:
    resource_key = reader.resource_key
    whole: Content | None = None
    before = _look(calls, file_id, resource_key)
    for _ in range(READS_MAX):
        read = reader.read(before)
        after = _look(calls, file_id, resource_key)
        if _md5(before) and _md5(after) and _is_whole(read.data, after):
            return Content(read.data, _name(after), media_type_of(after), after)
        if _is_whole(read.data, before):
            if _is_same(before, after):
                return read
            whole = read  # it was replaced just then, and this is the old one
        before = after
    if whole is None:
        raise DriveFault(f"The bytes of file {file_id} are not those that Drive says it has.")
    return whole


def _look(calls: DriveCalls, file_id: str, resource_key: str | None) -> Mapping[str, Any]:
    file = calls.content_of(file_id, resource_key=resource_key)
    if file.get("trashed") is True:
        raise DocumentGone(f"File {file_id} is in the trash.")
    return file


@dataclass(frozen=True, slots=True)
class _Reader:
    calls: DriveCalls
    max_bytes: int
    resource_key: str | None
    wait: Callable[[float], None]

    def read(self, file: Mapping[str, Any]) -> Content:
        """One reading of a file with this metadata."""
        if (why := obstacle(file)) is not None:
            raise why
        name = _name(file)
        kind = kind_of(media_type_of(file), name=name)
        return self._exported(file, name, kind) if kind.way is Way.EXPORT else self._downloaded(file, name)

    def _downloaded(self, file: Mapping[str, Any], name: str) -> Content:
        size = number(file, "size")
        if size is not None and size > self.max_bytes:
            raise DocumentTooLarge(f"It has {size:,} bytes, more than the limit of {self.max_bytes:,}.")
        data = self.calls.download(str(file["id"]), max_bytes=self.max_bytes, resource_key=self.resource_key)
        return Content(data, name, media_type_of(file), file)

    def _exported(self, file: Mapping[str, Any], name: str, kind: Kind) -> Content:
        exporter = Exporter(self.calls, self.max_bytes, self.resource_key, self.wait)
        exported = exporter.export(file, kind.exports)
        return Content(exported.data, exported_name(name, exported.media_type), exported.media_type, file)


def _name(file: Mapping[str, Any]) -> str:
    name = file.get("name")
    return storable(name) if isinstance(name, str) else ""


def _md5(file: Mapping[str, Any]) -> str:
    """The checksum of a file with bytes; empty where there is none."""
    md5 = file.get("md5Checksum")
    return md5.lower() if isinstance(md5, str) and _MD5.match(md5) else ""


def _is_whole(data: bytes, file: Mapping[str, Any]) -> bool:
    """Whether these are all the bytes of the file as it is described, and no others. An export is of one moment anyway."""
    size = number(file, "size")
    if md5 := _md5(file):
        return hashlib.md5(data, usedforsecurity=False).hexdigest() == md5 and size in (None, len(data))
    return kind_of(media_type_of(file)).way is Way.EXPORT or size in (None, len(data))


def _is_same(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether nothing of the content changed between the two looks. That the version rose for a name is no matter."""
    return all(before.get(name) == after.get(name) for name in _OF_CONTENT)


def _at(file: Mapping[str, Any], *names: str) -> object:
    value: object = file
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
