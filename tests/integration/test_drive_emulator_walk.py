"""Random calls by several users, sensible or not: nothing breaks down, and whatever is sent is as Drive would send it.

`running_drive` ends with an assertion on both, so a walk that arrives has shown it.
"""

import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from googleapiclient.errors import HttpError  # type: ignore[import-untyped]  # it comes without types

from tests.integration.drive_office import ADA, BEN, ROBOT, Office, open_office

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run

KNOWN = {"supportsAllDrives": True, "includeItemsFromAllDrives": True}
GRANTEES: list[dict[str, Any]] = [
    {"type": "user", "emailAddress": BEN},
    {"type": "user", "emailAddress": "stranger@c.test"},
    {"type": "group", "emailAddress": "staff@a.test"},
    {"type": "domain", "domain": "a.test", "allowFileDiscovery": True},
    {"type": "anyone"},
    {"type": "anyone", "expirationTime": "2026-03-02T09:01:00Z"},
    {"type": "user"},
]
FOLDER = "application/vnd.google-apps.folder"
TYPES = ["folder", "shortcut", "document", "spreadsheet", "form"]


class Walker:
    """One of the users, who does anything: mostly with what is to be seen, and now and then with anything."""

    def __init__(self, office: Office, service: Any, dice: random.Random, known: list[str]) -> None:
        self.dice = dice
        self.known = known
        # Kept: the client builds such a resource anew, in 6 ms, whenever it is asked for it.
        self.files, self.permissions = service.files(), service.permissions()
        self.changes, self.drives = service.changes(), service.drives()
        self.token = self.changes.getStartPageToken().execute()["startPageToken"]
        self.seen: list[str] = []
        self.folders: list[str] = []
        self.look()

    def one(self) -> str:
        return self.dice.choice(self.seen if self.seen and self.dice.random() < 0.9 else self.known)

    def folder(self) -> str:
        return self.dice.choice(self.folders) if self.folders and self.dice.random() < 0.9 else self.one()

    def keep(self, file: Mapping[str, Any]) -> None:
        self.known.append(file["id"])
        self.seen.append(file["id"])
        if file["mimeType"] == FOLDER:
            self.folders.append(file["id"])

    def step(self) -> None:
        steps: list[Callable[[], Any]] = [
            self.create, self.create, self.update, self.move, self.share, self.share, self.unshare, self.copy,
            self.delete, self.create_drive, self.rename_drive,
        ]  # fmt: skip
        with suppress(HttpError):
            self.dice.choice(steps)()

    def create(self) -> None:
        body: dict[str, Any] = {"name": f"{self.dice.random()}", "parents": [self.folder()]}
        kind = self.dice.choice([None, *TYPES])
        if kind is not None:
            body["mimeType"] = f"application/vnd.google-apps.{kind}"
        if kind == "shortcut":
            body["shortcutDetails"] = {"targetId": self.one()}
        self.keep(self.files.create(body=body, supportsAllDrives=True, fields="*").execute())

    def update(self) -> None:
        body: dict[str, Any] = self.dice.choice(
            [
                {"name": "other"},
                {"description": "said", "copyRequiresWriterPermission": True},
                {"trashed": self.dice.random() < 0.5},
                {"inheritedPermissionsDisabled": self.dice.random() < 0.5},
                {"modifiedTime": "2015-01-01T00:00:00Z"},
                {"mimeType": "text/plain"},
                {"mimeType": "application/vnd.google-apps.document"},
                {"viewedByMeTime": "2026-03-02T00:00:00Z"},
            ]
        )
        self.files.update(fileId=self.one(), body=body, supportsAllDrives=True, fields="*").execute()

    def move(self) -> None:
        file_id = self.one()
        parents = self.files.get(fileId=file_id, supportsAllDrives=True, fields="parents").execute().get("parents", [])
        remove = ",".join(parents) if self.dice.random() < 0.9 else self.one()
        self.files.update(
            fileId=file_id, addParents=self.folder(), removeParents=remove, supportsAllDrives=True, fields="*"
        ).execute()

    def share(self) -> None:
        role = self.dice.choice(["reader", "commenter", "writer", "organizer", "owner"])
        body = {**self.dice.choice(GRANTEES), "role": role}
        self.permissions.create(
            fileId=self.one(), body=body, supportsAllDrives=True, transferOwnership=role == "owner", fields="*"
        ).execute()

    def unshare(self) -> None:
        file_id = self.one()
        found = self.permissions.list(fileId=file_id, supportsAllDrives=True, fields="*").execute()["permissions"]
        chosen = self.dice.choice(found)["id"]
        if self.dice.random() < 0.5:
            self.permissions.delete(fileId=file_id, permissionId=chosen, supportsAllDrives=True).execute()
        else:
            self.permissions.update(
                fileId=file_id, permissionId=chosen, body={"role": "writer"}, supportsAllDrives=True, fields="*"
            ).execute()

    def copy(self) -> None:
        body = {"name": "copy"}
        self.keep(self.files.copy(fileId=self.one(), body=body, supportsAllDrives=True, fields="*").execute())

    def delete(self) -> None:
        if self.dice.random() < 0.3:
            self.files.delete(fileId=self.one(), supportsAllDrives=True).execute()

    def create_drive(self) -> None:
        if self.dice.random() < 0.3:
            made = self.drives.create(requestId="x", body={"name": "Shared"}, fields="*").execute()
            self.keep({"id": made["id"], "mimeType": FOLDER})

    def rename_drive(self) -> None:
        self.drives.update(driveId=self.one(), body={"name": "Common"}, fields="*").execute()

    def look(self) -> set[str]:
        """Everything that can be seen, with every field; the ids of the files among it."""
        found = self.files.list(**KNOWN, corpora="allDrives", pageSize=1000, fields="*").execute()["files"]
        changes = self.changes.list(**KNOWN, pageToken=self.token, pageSize=1000, fields="*").execute()
        self.token = changes["newStartPageToken"]
        self.drives.list(pageSize=100, fields="*").execute()
        self.seen = [file["id"] for file in found]
        self.folders = [file["id"] for file in found if file["mimeType"] == FOLDER]
        return set(self.seen)


@pytest.mark.parametrize("seed", [1, 2])
def test_random_calls_are_answered_as_drive_answers(seed: int) -> None:
    dice = random.Random(seed)
    with open_office() as office:
        office.world.add_group("staff@a.test", members=[BEN])
        known = [office.folder, office.file, *(office.world.root_of(email) for email in (ADA, BEN, ROBOT))]
        walkers = [Walker(office, service, dice, known) for service in (office.ada, office.ben, office.robot)]
        for step in range(80):
            dice.choice(walkers).step()
            if step % 20 == 19:
                for walker, email in zip(walkers, (ADA, BEN, ROBOT), strict=True):
                    seen = walker.look()
                    assert all(office.world.sees(email, file_id) for file_id in seen), f"seed {seed}, step {step}"

        assert office.drive.log.count() > 80
