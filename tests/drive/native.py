"""Google's own kinds of document: what they are called, what they turn into, and where they open."""

from collections.abc import Mapping
from typing import Final

_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
DOCX: Final = f"{_OFFICE}.wordprocessingml.document"
XLSX: Final = f"{_OFFICE}.spreadsheetml.sheet"
PPTX: Final = f"{_OFFICE}.presentationml.presentation"

EXPORT_FORMATS: Final[Mapping[str, tuple[str, ...]]] = {
    "document": (
        "text/markdown",
        "text/plain",
        "text/html",
        "application/rtf",
        "application/pdf",
        "application/zip",
        "application/epub+zip",
        "application/vnd.oasis.opendocument.text",
        DOCX,
    ),
    "spreadsheet": (
        "text/csv",
        "text/tab-separated-values",
        "application/pdf",
        "application/zip",
        "application/vnd.oasis.opendocument.spreadsheet",
        XLSX,
    ),
    "presentation": (
        "text/plain",
        "application/pdf",
        "application/vnd.oasis.opendocument.presentation",
        PPTX,
    ),
    "drawing": ("application/pdf", "image/png", "image/jpeg", "image/svg+xml"),
    "script": ("application/vnd.google-apps.script+json",),
    "vid": ("video/mp4",),
}
"""What each kind can be exported to. Forms, maps, sites and fusion tables cannot be."""

_EDITORS: Final = {"document": "document", "spreadsheet": "spreadsheets", "presentation": "presentation"}

_TYPES: Final = {
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "pdf": "application/pdf",
    "docx": DOCX,
    "xlsx": XLSX,
    "pptx": PPTX,
    "png": "image/png",
    "zip": "application/zip",
}


def native_type(kind: str) -> str:
    """The media type of a kind; a media type is its own."""
    return kind if "/" in kind else f"application/vnd.google-apps.{kind}"


def kind_of(mime_type: str) -> str:
    return mime_type.removeprefix("application/vnd.google-apps.")


def guessed_type(name: str) -> str:
    """What Drive makes of a name when nobody says what the bytes are."""
    return _TYPES.get(name.rpartition(".")[2].lower(), "application/octet-stream")


def web_link(file_id: str, mime_type: str) -> str:
    """Where a browser opens it: the form differs by kind."""
    kind = kind_of(mime_type)
    if kind in _EDITORS:
        return f"https://docs.google.com/{_EDITORS[kind]}/d/{file_id}/edit?usp=drivesdk"
    if kind == "folder":
        return f"https://drive.google.com/drive/folders/{file_id}"
    return f"https://drive.google.com/file/d/{file_id}/view?usp=drivesdk"
