"""One call of the API, as a route gets it: checked against the discovery document, and with its caller known."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from tests.drive.clock import parse_rfc3339
from tests.drive.discovery import Method, Value
from tests.drive.errors import invalid
from tests.drive.world import World


@dataclass(frozen=True)
class Media:
    """Uploaded bytes, with the type that the client said they are of."""

    data: bytes
    media_type: str | None


@dataclass(frozen=True)
class Reply:
    """An answer as it goes over the wire."""

    body: bytes = b""
    status: int = 200
    media_type: str = "application/json; charset=UTF-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    has_length: bool = True
    """Off: the body goes in chunks and nobody knows beforehand how long it is, as with Drive's exports."""

    reason: str | None = None
    """Why it is a refusal: for the log."""


@dataclass(frozen=True)
class Call:
    """A call. ``body`` is the JSON that came with it, ``headers`` have lower-case names."""

    world: World
    method: Method
    viewer: str
    parameters: Mapping[str, Value]
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    media: Media | None = None

    def text(self, name: str) -> str | None:
        """A parameter that is text, if it was given."""
        value = self.parameters.get(name)
        return None if value is None else str(value)

    def given(self, name: str) -> str:
        """A parameter that is text and required."""
        return str(self.parameters[name])

    def flag(self, name: str) -> bool:
        return bool(self.parameters.get(name, False))

    def number(self, name: str) -> int | None:
        value = self.parameters.get(name)
        return None if value is None else int(value)

    @property
    def file_id(self) -> str:
        return self.given("fileId")

    @property
    def supports_all_drives(self) -> bool:
        """The caller knows shared drives, by today's parameter or by its predecessor."""
        return self.flag("supportsAllDrives") or self.flag("supportsTeamDrives")

    @property
    def includes_all_drives(self) -> bool:
        return self.flag("includeItemsFromAllDrives") or self.flag("includeTeamDriveItems")

    @property
    def drive_id(self) -> str | None:
        return self.text("driveId") or self.text("teamDriveId")

    @property
    def view(self) -> str | None:
        return self.text("includePermissionsForView")

    @property
    def resource_keys(self) -> Mapping[str, str]:
        """The keys of link-shared files, which come in a header and only there."""
        pairs = (pair.strip().partition("/") for pair in self.headers.get("x-goog-drive-resource-keys", "").split(","))
        return {file_id: key for file_id, slash, key in pairs if slash}


Answer: TypeAlias = Mapping[str, Any] | Reply | None
"""A resource, still whole; or bytes; or nothing, which is 204."""

Handler: TypeAlias = Callable[[Call], Answer]


def moment(body: Mapping[str, Any], name: str) -> datetime | None:
    """A time in the body of a call, if it is there."""
    if name not in body:
        return None
    try:
        return parse_rfc3339(body[name])
    except ValueError:
        raise invalid(name, f"{body[name]!r} is no time.") from None
