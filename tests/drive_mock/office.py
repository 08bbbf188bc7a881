"""Ada's folder on either server, what she does to it by the API, and the connector that follows it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from googleapiclient.http import MediaInMemoryUpload  # type: ignore[import-untyped]  # it comes without types

from activities.connectors.drive.sessions import DriveSessions
from tests.drive.items import FOLDER, SHORTCUT
from tests.drive_mock.servers import DriveServer, written
from tests.integration.drive_follower import DriveFollower

# The mock keeps the bytes of what is declared as text, whatever they are, and loses those of everything else.
TEXT: Final = "text/plain"
DOCUMENT: Final = "application/vnd.google-apps.document"


@dataclass(frozen=True)
class Office:
    server: DriveServer
    follower: DriveFollower
    folder: str
    """All that the connector is asked to follow."""

    credentials: Path

    def add_folder(self, name: str, *, parent: str | None = None) -> str:
        return _made(self.server, name, FOLDER, parent or self.folder)

    def add_folder_outside(self, name: str) -> str:
        return _made(self.server, name, FOLDER, None)

    def add(self, name: str, data: bytes = b"Text.", *, parent: str | None = None) -> str:
        file_id = _made(self.server, name, TEXT, parent or self.folder)
        self.write(file_id, data)
        return file_id

    def add_document(self, name: str) -> str:
        """One of Google's own, which has no bytes."""
        return _made(self.server, name, DOCUMENT, self.folder)

    def add_shortcut(self, name: str, target: str) -> str:
        return _made(self.server, name, SHORTCUT, self.folder, shortcutDetails={"targetId": target})

    def write(self, file_id: str, data: bytes) -> None:
        self._update(file_id, media_body=MediaInMemoryUpload(data, mimetype=TEXT))

    def rename(self, file_id: str, name: str) -> None:
        self._update(file_id, body={"name": name})

    def trash(self, file_id: str, *, is_trashed: bool = True) -> None:
        self._update(file_id, body={"trashed": is_trashed})

    def delete(self, file_id: str) -> None:
        self.server.files.delete(fileId=file_id).execute()

    def move(self, file_id: str, *, out_of: str, into: str) -> None:
        self._update(file_id, addParents=into, removeParents=out_of)

    def lose_credentials(self) -> None:
        written(self.credentials.parent, self.server.lost_credentials())

    def _update(self, file_id: str, **what: Any) -> None:
        self.server.files.update(fileId=file_id, **what).execute()


def _made(server: DriveServer, name: str, media_type: str, parent: str | None, **more: Any) -> str:
    body = {"name": name, "mimeType": media_type, **server.new(parent), **more}
    return str(server.files.create(body=body, fields="id").execute()["id"])


@contextmanager
def open_office(server: DriveServer, folder: Path) -> Iterator[Office]:
    """An empty folder that the robot may read, and a connector that follows it with the robot's rights."""
    root = _made(server, "Office", FOLDER, None)
    server.show(root)
    credentials = written(folder, server.credentials())
    config = {"root_url": f"{server.url}/", "credentials": str(credentials), "folder_ids": [root]}
    sessions = DriveSessions()
    try:
        yield Office(server, DriveFollower(config, sessions), root, credentials)
    finally:
        sessions.close()


__all__ = ["Office", "open_office"]
