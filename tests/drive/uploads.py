"""Uploads in the three ways that Google's client knows: bytes alone, metadata and bytes in one body, and resumable."""

import re
from dataclasses import dataclass, field
from itertools import count

from starlette.requests import Request as HttpRequest

from tests.drive.call import Media, Reply
from tests.drive.discovery import UPLOAD_PATH, Method
from tests.drive.errors import DriveError, invalid


@dataclass
class Session:
    """A resumable upload: the call that it will be, and the bytes that have come so far."""

    method: Method
    request: HttpRequest
    metadata: bytes
    media_type: str | None
    received: bytearray = field(default_factory=bytearray)

    def take(self, chunk: bytes, *, content_range: str | None) -> Reply | None:
        """Keep a chunk. The answer while some are still to come; `None` when all are here."""
        asked = re.fullmatch(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)", content_range or "")
        if asked is None:
            self.received[:] = chunk
            return None
        if asked.group(1) is not None:
            self._place(chunk, first=int(asked.group(1)), last=int(asked.group(2)))
        if asked.group(3) == str(len(self.received)):
            return None
        headers = {"Range": f"bytes=0-{len(self.received) - 1}"} if self.received else {}
        return Reply(status=308, headers=headers)

    def _place(self, chunk: bytes, *, first: int, last: int) -> None:
        """Chunks come in order; one that is sent again after a broken connection overwrites itself."""
        if first > len(self.received) or last - first + 1 != len(chunk):
            raise DriveError(400, "badRequest", "The chunk does not follow what has been received.")
        self.received[first:] = chunk

    def media(self) -> Media:
        return Media(bytes(self.received), self.media_type)


class Uploads:
    """The resumable uploads of one server, and the reading of all others."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._sessions: dict[str, Session] = {}

    def whole(self, request: HttpRequest, raw: bytes) -> tuple[bytes, Media]:
        """The metadata and the bytes of an upload that is one request."""
        content_type = request.headers.get("content-type", "application/octet-stream")
        match request.query_params.get("uploadType"):
            case "media":
                return b"", Media(raw, content_type)
            case "multipart":
                return _two_parts(content_type, raw)
            case _:
                raise invalid("uploadType")

    def begin(self, method: Method, request: HttpRequest, raw: bytes, *, base_url: str) -> Reply:
        """Open a resumable upload: the answer says where its bytes go."""
        name = f"session-{next(self._numbers)}"
        media_type = request.headers.get("x-upload-content-type")
        self._sessions[name] = Session(method, request, raw, media_type)
        return Reply(headers={"Location": f"{base_url}{UPLOAD_PATH}sessions/{name}"})

    def session(self, name: str) -> Session:
        if name not in self._sessions:
            raise DriveError(404, "notFound", "Upload session not found.")
        return self._sessions[name]


def _two_parts(content_type: str, raw: bytes) -> tuple[bytes, Media]:
    """The parts of a `multipart/related` body. Split by hand: mail parsers take liberties with bytes."""
    boundary = re.search(r'boundary="?([^";]+)"?', content_type)
    if boundary is None:
        raise DriveError(400, "badContent", "Missing boundary in multipart body.")
    marker = b"--" + boundary.group(1).encode("latin-1")
    # Google's client ends its lines with LF alone. To take CRLF there would bite a byte off data that ends with CR.
    newline = b"\r\n" if raw.startswith(marker + b"\r\n") else b"\n"
    parts = (newline + raw).split(newline + marker)[1:3]
    if len(parts) != 2:
        raise DriveError(400, "badContent", "A multipart body has two parts: metadata and media.")
    (_, _, metadata), (headers, _, data) = (part.removeprefix(newline).partition(newline * 2) for part in parts)
    media_type = re.search(rb"(?im)^content-type:\s*([^\r\n]+)", headers)
    return metadata, Media(data, media_type.group(1).decode("latin-1").strip() if media_type else None)
