"""Google's own documents as files: in the best form that Drive gives, by whichever way it gives it.

`files.export` ends at 10 MB of what comes out, which no size foretells. Beyond it there are the links of the file and, where
those fail too, an operation that prepares the file. What fails for one form is tried in the next; whoever may not read the
file may not read it in any.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from activities.connectors.drive.calls import DriveCalls
from activities.connectors.drive.errors import DriveFault
from activities.connectors.drive.exported_text import clean_export
from activities.connectors.drive.kinds import MARKDOWN, PDF, PPTX, TEXT, XLSX
from headwater.connectors import (
    DocumentDenied,
    DocumentGone,
    DocumentRefused,
    DocumentTooLarge,
    DocumentUnsupported,
)
from headwater.errors import HeadwaterError

PREPARED_WITHIN_S: Final = 60.0
# Between attempts at a form in place of which there is another one: what fails so often does not fail with the weather.
FAULT_WAITS_S: Final = (1.0, 4.0)
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 8.0
_MAGIC: Final = {XLSX: b"PK", PPTX: b"PK", PDF: b"%PDF-"}
_TEXTS: Final = (MARKDOWN, TEXT)
_PAGES: Final = (b"<!doctype html", b"<html")
# Codes of gRPC, in which an operation fails: the document is at fault, not the day.
_NOT_FOUND: Final = 5
_DENIED: Final = (7, 16)
_UNSUPPORTED: Final = (3, 9, 12)


@dataclass(frozen=True, slots=True)
class Exported:
    """A document in one of its forms."""

    data: bytes
    media_type: str


class _FormFault(DocumentRefused):
    """Drive is well, and fails to give the document in this form."""

    def __init__(self, fault: DriveFault) -> None:
        super().__init__(str(fault))
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Exporter:
    """Exports with one account. ``wait`` sleeps between two questions for an operation."""

    calls: DriveCalls
    max_bytes: int
    resource_key: str | None = None
    wait: Callable[[float], None] = time.sleep

    def export(self, file: Mapping[str, Any], forms: Sequence[str]) -> Exported:
        """The first of ``forms`` that is to be had.

        ``file`` has its ``id`` and ``exportLinks``. Of the failures of all forms it raises the one that promises most: a
        fault may pass, and a limit may be raised.
        """
        failures: list[DocumentTooLarge | DocumentRefused] = []
        for media_type in forms:
            try:
                data = self._export(file, media_type, is_last=media_type == forms[-1])
            except DocumentDenied:
                raise
            except (DocumentTooLarge, DocumentRefused) as error:
                failures.append(error)
            else:
                return Exported(clean_export(data) if media_type in _TEXTS else data, media_type)
        if not failures:
            raise DocumentUnsupported("Drive has no form of the document that is read here.")
        if (fault := next((error.fault for error in failures if isinstance(error, _FormFault)), None)) is not None:
            raise fault
        raise next((error for error in failures if isinstance(error, DocumentTooLarge)), failures[-1])

    def _export(self, file: Mapping[str, Any], media_type: str, *, is_last: bool) -> bytes:
        file_id = str(file["id"])
        try:
            return self._directly(file_id, media_type, is_last=is_last)
        except DocumentTooLarge as error:
            limit = error  # Drive's, or ours: the other ways end at ours
        data = self._by_link(file, media_type)
        if data is not None:
            return data
        try:
            return self._prepared(file_id, media_type)
        except DocumentRefused:
            raise limit from None

    def _directly(self, file_id: str, media_type: str, *, is_last: bool) -> bytes:
        """By `files.export`. Some documents fail in one form, with 500 each time, and not in another."""
        for wait_s in (*FAULT_WAITS_S, None):
            try:
                return self.calls.export(file_id, media_type, max_bytes=self.max_bytes, resource_key=self.resource_key)
            except DriveFault as fault:
                if is_last or fault.retry_after_s is not None:
                    raise
                if wait_s is None:
                    self.calls.about()  # raises if it is Drive that fails, and not the form
                    raise _FormFault(fault) from None
            self.wait(wait_s)
        raise AssertionError("The last attempt returns or raises.")

    def _by_link(self, file: Mapping[str, Any], media_type: str) -> bytes | None:
        """What the file's link for the form gives; ``None`` if it gives nothing that could be the form."""
        links = file.get("exportLinks")
        link = links.get(media_type) if isinstance(links, Mapping) else None
        if not isinstance(link, str):
            return None
        try:
            data = self.calls.export_link(str(file["id"]), link, max_bytes=self.max_bytes)
        except DocumentRefused:
            return None  # a link answers with pages for people
        return data if _looks_like(data, media_type) else None

    def _prepared(self, file_id: str, media_type: str) -> bytes:
        operation = self.calls.begin_download(file_id, media_type, resource_key=self.resource_key)
        waited_s, wait_s = 0.0, _FIRST_WAIT_S
        while operation.get("done") is not True:
            name = operation.get("name")
            if waited_s >= PREPARED_WITHIN_S or not isinstance(name, str):
                raise DriveFault(f"Drive is still preparing file {file_id} as {media_type}.")
            self.wait(wait_s)
            waited_s, wait_s = waited_s + wait_s, min(2 * wait_s, _LONGEST_WAIT_S)
            operation = self.calls.operation(name, file_id=file_id)
        if error := operation.get("error"):
            raise _failed(error, f"prepare file {file_id} as {media_type}")
        response = operation.get("response")
        address = response.get("downloadUri") if isinstance(response, Mapping) else None
        if not isinstance(address, str):
            raise DriveFault(f"Drive prepared file {file_id} and does not say where it is.")
        return self.calls.prepared(file_id, address, max_bytes=self.max_bytes)


def _looks_like(data: bytes, media_type: str) -> bool:
    """Whether the bytes could be the form, and are not the page on which people sign in."""
    if media_type in _MAGIC:
        return data.startswith(_MAGIC[media_type])
    return not data[:1024].lstrip().lower().startswith(_PAGES)


def _failed(error: object, action: str) -> HeadwaterError:
    code = error.get("code") if isinstance(error, Mapping) else None
    told = f"Drive failed to {action} (code {code if isinstance(code, int) else 'unknown'})"
    if code == _NOT_FOUND:
        return DocumentGone(f"{told}: it is deleted, or hidden from the connector's account.")
    if code in _DENIED:
        return DocumentDenied(
            f"{told}: let the connector's account read and download it, or remove it from the source."
        )
    if code in _UNSUPPORTED:
        return DocumentUnsupported(f"{told}: it does not convert this document so.")
    return DriveFault(f"{told}.")
