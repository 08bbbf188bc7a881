"""Two servers of the Drive API, written by different people, behind one face: what is not in the API differs here.

Everything that the API can do to a file goes through Google's own client, on both.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import google.oauth2.credentials

from tests.drive.client import client, client_with
from tests.drive.serving import RunningDrive, running_drive
from tests.drive_mock.serving import OUTDATED, WRITER, RunningMock
from tests.integration.drive_follower import ADA, ROBOT, peopled

Permission = Mapping[str, Any]


class DriveServer(Protocol):
    """Ada owns everything, and the robot, as whom the connector signs in, is a writer of what lies in her folder."""

    @property
    def url(self) -> str: ...

    @property
    def files(self) -> Any:
        """`files` of Google's client, as Ada's. Kept, because the client builds it anew at each call, in 6 ms."""
        ...

    def new(self, parent: str | None) -> Mapping[str, Any]:
        """What the body of a new item has besides its name and type."""
        ...

    def show(self, file_id: str) -> None:
        """Lets the robot in, and to everything below."""
        ...

    def share(self, file_id: str, permission: Permission) -> None: ...

    def unshare(self, file_id: str, email: str) -> None: ...

    def credentials(self) -> Mapping[str, Any]:
        """The robot's."""
        ...

    def lost_credentials(self) -> Mapping[str, Any]:
        """The robot's, once nothing is granted for them any more."""
        ...

    def asked(self) -> int:
        """How many questions the connector has asked so far."""
        ...

    def downloads(self, file_id: str) -> int:
        """How often the bytes of a file were asked for."""
        ...


class EmulatedServer:
    """`tests/drive`."""

    def __init__(self, drive: RunningDrive, ada: Any) -> None:
        self._drive = drive
        self._permissions = ada.permissions()
        self.files = ada.files()
        self.url = drive.url

    def new(self, parent: str | None) -> Mapping[str, Any]:
        return {} if parent is None else {"parents": [parent]}

    def show(self, file_id: str) -> None:
        self.share(file_id, {"type": "user", "role": "writer", "emailAddress": ROBOT})

    def share(self, file_id: str, permission: Permission) -> None:
        self._permissions.create(fileId=file_id, body=dict(permission)).execute()

    def unshare(self, file_id: str, email: str) -> None:
        listed = self._permissions.list(fileId=file_id, fields="permissions(id,emailAddress)").execute()
        (found,) = [each["id"] for each in listed["permissions"] if each.get("emailAddress") == email]
        self._permissions.delete(fileId=file_id, permissionId=found).execute()

    def credentials(self) -> Mapping[str, Any]:
        return self._drive.authorized_user(ROBOT)

    def lost_credentials(self) -> Mapping[str, Any]:
        lost = self._drive.authorized_user(ROBOT)
        self._drive.tokens.revoke(ROBOT)
        return lost

    def asked(self) -> int:
        return sum(request.email == ROBOT for request in self._drive.log.of("drive.*"))

    def downloads(self, file_id: str) -> int:
        return self._drive.log.count("drive.files.get:media", file_id=file_id)


class MockServer:
    """google-drive-mock. It has no routes for permissions and lets nothing be inherited, but keeps what a body says."""

    def __init__(self, mock: RunningMock, ada: Any) -> None:
        self._mock = mock
        self.files = ada.files()
        self.url = mock.url

    def new(self, parent: str | None) -> Mapping[str, Any]:
        owner = {"id": "1", "type": "user", "role": "owner", "emailAddress": ADA}
        robot = {"id": "2", "type": "user", "role": "writer", "emailAddress": ROBOT}
        return {"parents": [] if parent is None else [parent], "permissions": [owner, robot]}

    def show(self, file_id: str) -> None:
        """The robot is in what it was made with."""

    def share(self, file_id: str, permission: Permission) -> None:
        held = self._permissions(file_id)
        self._set_permissions(file_id, [*held, {"id": str(len(held) + 1), **permission}])

    def unshare(self, file_id: str, email: str) -> None:
        held = self._permissions(file_id)
        self._set_permissions(file_id, [each for each in held if each.get("emailAddress") != email])

    def credentials(self) -> Mapping[str, Any]:
        return self._mock.authorized_user()

    def lost_credentials(self) -> Mapping[str, Any]:
        return self._mock.authorized_user(OUTDATED)

    def asked(self) -> int:
        return sum(request.startswith("GET ") for request in self._mock.requests())

    def downloads(self, file_id: str) -> int:
        begin = f"GET /drive/v3/files/{file_id}?"
        return sum(request.startswith(begin) and "alt=media" in request for request in self._mock.requests())

    def _permissions(self, file_id: str) -> list[dict[str, Any]]:
        held: list[dict[str, Any]] = self.files.get(fileId=file_id, fields="permissions").execute()["permissions"]
        return held

    def _set_permissions(self, file_id: str, permissions: list[dict[str, Any]]) -> None:
        self.files.update(fileId=file_id, body={"permissions": permissions}).execute()


@contextmanager
def emulated_server() -> Iterator[DriveServer]:
    """A Drive of the emulator, in which Ada and the robot have nothing yet."""
    with running_drive(peopled()) as drive, closing(client(drive, ADA)) as ada:
        yield EmulatedServer(drive, ada)


@contextmanager
def mock_server(mock: RunningMock) -> Iterator[DriveServer]:
    """The mock, emptied."""
    mock.clear()
    credentials = google.oauth2.credentials.Credentials(WRITER)  # type: ignore[no-untyped-call]  # it is untyped
    with closing(client_with(mock.url, credentials)) as ada:
        yield MockServer(mock, ada)


def written(folder: Path, credentials: Mapping[str, Any]) -> Path:
    """A file of credentials, written anew: a connector notices that it is another."""
    file, draft = folder / "credentials.json", folder / "credentials.new"
    draft.write_text(json.dumps(credentials), "utf-8")
    return draft.replace(file)


__all__ = ["DriveServer", "EmulatedServer", "MockServer", "Permission", "emulated_server", "mock_server", "written"]
