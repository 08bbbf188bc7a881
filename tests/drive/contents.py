"""Bytes: downloads and exports, who may have them, and what happens to a file while somebody is at it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from tests.drive.errors import DriveError, forbidden, not_found
from tests.drive.items import File
from tests.drive.sharing import Sharing
from tests.drive.state import locked


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of one download or export, all taken at one moment."""

    data: bytes
    media_type: str
    revision_id: str | None


class Seen(TypedDict, total=False):
    """How a caller comes to a file: without these, shared drives and resource-keyed links stay out of sight."""

    supports_all_drives: bool
    resource_keys: Mapping[str, str] | None


@dataclass(slots=True)
class _Hook:
    file_id: str
    countdown: int
    when: Literal["before", "after"]
    action: Callable[[], object]


class Contents(Sharing):
    """Gives out files and their bytes."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._hooks: list[_Hook] = []

    @locked
    def get(
        self,
        file_id: str,
        viewer: str,
        *,
        supports_all_drives: bool = False,
        resource_keys: Mapping[str, str] | None = None,
    ) -> File:
        """The file if the viewer may see it (``root`` is the viewer's My Drive), else `DriveError` 404.

        A file with a resource key shows itself to those who have nothing but the link only if they have the key too,
        or have opened it before.
        """
        file = self._visible(self._alias(file_id, viewer), viewer)
        if file.drive_id is not None and not supports_all_drives:
            raise not_found(file_id)
        is_stranger = not self.is_named(viewer, file.id) and self.role_of(viewer, file.id, by_link=False) is None
        needs_key = file.resource_key is not None and is_stranger and viewer.lower() not in file.viewed
        if needs_key and (resource_keys or {}).get(file.id) != file.resource_key:
            raise not_found(file_id)
        return file

    @locked
    def content(self, file_id: str, viewer: str, *, acknowledge_abuse: bool = False, **seen: Unpack[Seen]) -> Body:
        """`alt=media`, whole: the HTTP side cuts ranges. Runs the hooks of `on_download`."""
        self._run_hooks(file_id, "before")
        file = self.get(file_id, viewer, **seen)
        if not file.has_bytes:
            message = "Only files with binary content can be downloaded. Use Export with Docs Editors files."
            raise forbidden(message, reason="fileNotDownloadable")
        if not self.may_download(viewer, file.id):
            raise forbidden("This file cannot be downloaded by the user.", reason="cannotDownloadFile")
        may_acknowledge = self.may(viewer, file.id, "owner" if file.drive_id is None else "organizer")
        if file.is_abusive and not (acknowledge_abuse and may_acknowledge):
            message = "This file has been identified as malware or spam and cannot be downloaded."
            raise forbidden(message, reason="cannotDownloadAbusiveFile")
        body = Body(file.data, file.mime_type, file.revisions[-1].id)
        self._run_hooks(file_id, "after")
        return body

    @locked
    def export(self, file_id: str, viewer: str, mime_type: str, *, limited: bool = True, **seen: Unpack[Seen]) -> Body:
        """`files.export`. Export links and long-running downloads are not ``limited`` to 10 MB. Runs hooks too."""
        self._run_hooks(file_id, "before")
        file = self.get(file_id, viewer, **seen)
        if not file.is_native or not file.exports:
            raise forbidden("Export only supports Docs Editors files.", reason="fileNotExportable")
        if not self.may_download(viewer, file.id):
            raise forbidden("This file cannot be exported by the user.", reason="cannotExportFile")
        if mime_type not in file.exports:
            message = "The requested conversion is not supported."
            raise DriveError(400, "badRequest", message, location="convertTo")
        data = file.exports[mime_type]
        if limited and len(data) > self.modes.export_limit:
            raise forbidden("This file is too large to be exported.", reason="exportSizeLimitExceeded")
        if mime_type == "text/plain" and self.modes.byte_order_mark:
            data = b"\xef\xbb\xbf" + data
        self._run_hooks(file_id, "after")
        return Body(data, mime_type, None)

    @locked
    def on_download(
        self, file_id: str, action: Callable[[], object], *, nth: int = 1, when: Literal["before", "after"] = "after"
    ) -> None:
        """Runs ``action`` once, before or after the nth download or export of the file from now takes its bytes:
        whatever it changes happens between the caller's two looks, or between two ranges."""
        self._hooks.append(_Hook(file_id, nth, when, action))

    def _run_hooks(self, file_id: str, when: Literal["before", "after"]) -> None:
        for hook in [hook for hook in self._hooks if hook.file_id == file_id and hook.when == when]:
            hook.countdown -= 1
            if hook.countdown == 0:
                self._hooks.remove(hook)
                hook.action()
