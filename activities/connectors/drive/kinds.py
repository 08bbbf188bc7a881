"""What each kind of Drive item is to us: a folder, a shortcut, bytes to download, a document to export, or none of these."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from activities.parsers.sniff import has_known_extension

FOLDER: Final = "application/vnd.google-apps.folder"
SHORTCUT: Final = "application/vnd.google-apps.shortcut"
DOCUMENT: Final = "application/vnd.google-apps.document"
SHEET: Final = "application/vnd.google-apps.spreadsheet"
SLIDES: Final = "application/vnd.google-apps.presentation"
DRAWING: Final = "application/vnd.google-apps.drawing"

MARKDOWN: Final = "text/markdown"
TEXT: Final = "text/plain"
XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX: Final = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
PDF: Final = "application/pdf"

_NATIVE: Final = "application/vnd.google-apps."
# The best form first. CSV would be a spreadsheet's first tab only; the text of slides lacks their notes.
_EXPORTS: Final = {DOCUMENT: (MARKDOWN, TEXT), SHEET: (XLSX,), SLIDES: (PPTX, TEXT), DRAWING: (PDF,)}
_EXTENSIONS: Final = {MARKDOWN: ".md", TEXT: ".txt", XLSX: ".xlsx", PPTX: ".pptx", PDF: ".pdf"}
_NAMES: Final = {
    "form": "a Google form",
    "map": "a Google map",
    "site": "a Google site",
    "jam": "a Jamboard",
    "fusiontable": "a fusion table",
    "script": "an Apps Script project",
    "vid": "a Google video",
    "drive-sdk": "a document of another service",
}
# Declared types whose bytes hold no text: films are not fetched to find that out.
_TEXTLESS: Final = ("image/", "audio/", "video/", "font/")
_TEXTLESS_TYPES: Final = {
    "application/zip": "an archive",
    "application/x-zip-compressed": "an archive",
    "application/x-7z-compressed": "an archive",
    "application/x-rar": "an archive",
    "application/x-rar-compressed": "an archive",
    "application/vnd.rar": "an archive",
    "application/gzip": "an archive",
    "application/x-gzip": "an archive",
    "application/x-tar": "an archive",
    "application/x-bzip2": "an archive",
    "application/x-xz": "an archive",
    "application/x-iso9660-image": "a disk image",
    "application/x-apple-diskimage": "a disk image",
    "application/x-msdownload": "a program",
    "application/x-dosexec": "a program",
    "application/vnd.android.package-archive": "a program",
    "application/java-archive": "a program",
}
_MEDIA_TYPE: Final = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,254}\Z")
# What Drive calls TypeScript, by its extension.
_MISTAKEN: Final = frozenset({"video/mp2t", "video/vnd.dlna.mpeg-tts"})


class Way(StrEnum):
    """How an item is read."""

    FOLDER = "folder"
    SHORTCUT = "shortcut"
    DOWNLOAD = "download"
    EXPORT = "export"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Kind:
    """How an item is read: ``exports`` are media types, the best first; ``reason`` says why it is not read."""

    way: Way
    exports: tuple[str, ...] = ()
    reason: str = ""


def kind_of(media_type: str | None, *, name: str = "") -> Kind:
    """The kind of an item, by its ``mimeType`` as Drive gives it and its name."""
    declared = bare(media_type)
    if declared == FOLDER:
        return Kind(Way.FOLDER)
    if declared == SHORTCUT:
        return Kind(Way.SHORTCUT)
    if declared in _EXPORTS:
        return Kind(Way.EXPORT, _EXPORTS[declared])
    if declared.startswith(_NATIVE):
        what = _NAMES.get(declared.removeprefix(_NATIVE).partition(".")[0], "a Google document of an unknown kind")
        return Kind(Way.UNSUPPORTED, reason=f"It is {what}, which cannot be exported as text.")
    what = _textless(declared)
    if what and not has_known_extension(name):
        return Kind(Way.UNSUPPORTED, reason=f"It is {what} ({declared}), which no parser reads.")
    return Kind(Way.DOWNLOAD)


def media_type_of(file: Mapping[str, Any]) -> str:
    """The declared type of a file as Drive describes it; empty where that is none."""
    declared = file.get("mimeType")
    return declared if isinstance(declared, str) and _MEDIA_TYPE.match(declared) else ""


def bare(media_type: str | None) -> str:
    """The media type in lower case, without its parameters."""
    return (media_type or "").partition(";")[0].strip().lower()


def exported_name(name: str, media_type: str) -> str:
    """What an exported document is called as a file: a document may be named ``Plan.pdf`` without being one."""
    return name + _EXTENSIONS.get(media_type, "")


def _textless(declared: str) -> str:
    if declared in _MISTAKEN:
        return ""
    for prefix, what in zip(_TEXTLESS, ("an image", "a recording", "a film", "a font"), strict=True):
        if declared.startswith(prefix):
            return what
    return _TEXTLESS_TYPES.get(declared, "")
