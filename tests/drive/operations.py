"""Long-running downloads: `files.download` begins one, `operations.get` tells when it is done and where the bytes are.

This is how Google lets a client have what is too large for `files.export`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from threading import Lock
from typing import Any, Final

from starlette.requests import Request as HttpRequest

from tests.drive.byte_ranges import ranged
from tests.drive.call import Call, Handler, Reply
from tests.drive.errors import DriveError, invalid
from tests.drive.items import File
from tests.drive.tokens import Bearer
from tests.drive.world import Body, World

LIFETIME: Final = timedelta(hours=24)

# What a document becomes for those who do not say: the Office format of its kind.
_DEFAULT_TYPES: Final = {
    "application/vnd.google-apps.document": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.google-apps.spreadsheet": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.google-apps.presentation": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}


@dataclass
class _Download:
    file_id: str
    viewer: str
    mime_type: str | None
    started: datetime
    resource_keys: Mapping[str, str]
    polls: int = 0
    body: Body | None = None
    error: DriveError | None = None


@dataclass
class Operations:
    """The downloads that were begun on one server."""

    world: World
    polls_until_done: int = 1
    """How often `operations.get` is asked before it says that a download is done."""

    _downloads: dict[str, _Download] = field(default_factory=dict)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _lock: Lock = field(default_factory=Lock)

    def handlers(self) -> Mapping[str, Handler]:
        return {"drive.files.download": self._begin, "drive.operations.get": self._get}

    def _begin(self, call: Call) -> Mapping[str, Any]:
        """Begin a download: what may not be downloaded at all is refused here."""
        file = call.world.get(call.file_id, call.viewer, supports_all_drives=True, resource_keys=call.resource_keys)
        download = _Download(
            file.id,
            call.viewer,
            _type_wanted(file, call.text("mimeType")),
            call.world.clock.now(),
            call.resource_keys,
        )
        if call.text("revisionId") is not None and not file.has_bytes:
            raise invalid("revisionId", "This file has no revisions that can be downloaded.")
        with self._lock:
            name = f"download-{next(self._numbers)}"
            self._downloads[name] = download
        return self._resource(name, download)

    def _get(self, call: Call) -> Mapping[str, Any]:
        name = call.given("name")
        download = self._of(name, call.viewer)
        download.polls += 1
        if download.polls >= self.polls_until_done and not (download.body or download.error):
            try:
                download.body = self._bytes(download)
            except DriveError as error:
                download.error = error
        return self._resource(name, download)

    def _of(self, name: str, viewer: str) -> _Download:
        with self._lock:
            download = self._downloads.get(name)
        if download is None or download.viewer != viewer or self.world.clock.now() - download.started >= LIFETIME:
            raise DriveError(404, "notFound", f"Operation not found: {name}.", location="name")
        return download

    def _bytes(self, download: _Download) -> Body:
        file_id, viewer, keys = download.file_id, download.viewer, download.resource_keys
        if download.mime_type is None:
            return self.world.content(file_id, viewer, supports_all_drives=True, resource_keys=keys)
        return self.world.export(
            file_id, viewer, download.mime_type, limited=False, supports_all_drives=True, resource_keys=keys
        )

    def _resource(self, name: str, download: _Download) -> Mapping[str, Any]:
        resource: dict[str, Any] = {
            "name": name,
            "metadata": {"@type": "type.googleapis.com/google.apps.drive.v3.DownloadFileMetadata"},
            "done": bool(download.body or download.error),
        }
        if download.error is not None:
            resource["error"] = {"code": _GRPC_CODES.get(download.error.status, 13), "message": download.error.message}
        elif download.body is not None:
            resource["response"] = {
                "@type": "type.googleapis.com/google.apps.drive.v3.DownloadFileResponse",
                "downloadUri": f"{self.world.base_url}/downloads/{name}",
                "partialDownloadAllowed": download.mime_type is None,
            }
        return resource

    def file_of(self, name: str) -> str | None:
        """The file that an operation downloads."""
        with self._lock:
            download = self._downloads.get(name)
        return None if download is None else download.file_id

    def downloaded(self, request: HttpRequest, bearer: Bearer) -> Reply:
        """The bytes behind a `downloadUri`, for the one who asked for them."""
        name = request.path_params["name"]
        download = self._of(name, bearer.email)
        if download.body is None:
            raise DriveError(404, "notFound", f"Not ready: {name}.")
        wanted = request.headers.get("range") if download.mime_type is None else None
        return ranged(download.body.data, media_type=download.body.media_type, wanted=wanted)


_GRPC_CODES: Final = {400: 3, 401: 16, 403: 7, 404: 5, 429: 8, 500: 13, 503: 14}


def _type_wanted(file: File, mime_type: str | None) -> str | None:
    """The type that a document is exported to; `None` for a file that has bytes of its own."""
    if not file.is_native:
        if mime_type is not None:
            raise invalid("mimeType", "Only Google Workspace documents can be downloaded as another type.")
        return None
    wanted = mime_type or _DEFAULT_TYPES.get(file.mime_type)
    if wanted is None:
        raise DriveError(403, "fileNotExportable", "Export only supports Docs Editors files.")
    return wanted
