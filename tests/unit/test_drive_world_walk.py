"""Random lives of an emulated Drive: whoever replays the logs holds, at the end, exactly what they may see.

That is what the emulator promises a connector in its most talkative modes; if it does not hold here, a connector that
fails against it has done nothing wrong.
"""

import random
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Literal

import pytest

from tests.drive.errors import DriveError
from tests.drive.items import File, Role
from tests.drive.modes import Modes
from tests.drive.world import World

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run

USERS = ("ann@a.test", "bob@a.test", "eve@b.test")
GRANTEES = (*USERS, "eng@a.test", "a.test", "anyone", "stranger@c.test")
ALL: Mapping[str, Any] = {"supports_all_drives": True, "include_items_from_all_drives": True}


class Mirror:
    """What one user knows of one corpus from listing it once and reading its log ever since."""

    def __init__(self, world: World, viewer: str, drive_id: str | None) -> None:
        self._world, self._viewer, self._drive_id = world, viewer, drive_id
        self._how = ALL if drive_id is not None else {}
        self._token = world.start_token(viewer, drive_id=drive_id, supports_all_drives=drive_id is not None)
        self.known = self.truth()

    def catch_up(self) -> None:
        while True:
            page = self._world.list_changes(
                self._viewer, self._token, drive_id=self._drive_id, page_size=3, **self._how
            )
            for change in page.changes:
                if change["changeType"] == "file" and change["removed"]:
                    self.known.pop(change["fileId"], None)
                elif change["changeType"] == "file":
                    self.known[change["fileId"]] = change["file"]
            self._token = page.next_page_token or page.new_start_page_token or ""
            if page.next_page_token is None:
                return

    def truth(self) -> dict[str, Any]:
        corpora = "drive" if self._drive_id is not None else "user"
        found: dict[str, Any] = {}
        token = None
        while True:
            page = self._world.list_files(
                self._viewer, corpora=corpora, drive_id=self._drive_id, page_size=7, page_token=token, **self._how
            )
            found |= {file["id"]: file for file in page.files}
            token = page.next_page_token
            if token is None:
                return found


class Life:
    """One random world."""

    def __init__(self, seed: int, modes: Modes) -> None:
        self.random = random.Random(seed)
        self.world = World(seed=seed, modes=modes)
        for email in USERS:
            self.world.add_user(email)
        self.world.add_group("eng@a.test", members=["bob@a.test"])
        self.drives = [self.world.add_drive(f"D{number}", organizer=USERS[0]).id for number in range(2)]
        for drive in self.drives:
            for email in USERS[1:]:
                self.world.share(drive, email)

    def step(self) -> None:
        moves: list[Callable[[], object]] = [
            self.add, self.add, self.write, self.rename, self.move, self.trash, self.untrash, self.delete, self.share,
            self.share, self.unshare, self.limit, self.view, self.transfer, self.tangle,
        ]  # fmt: skip
        try:
            self.random.choice(moves)()
        except DriveError:
            pass  # what Drive refuses has not happened

    def add(self) -> None:
        parent, name = self.some_folder().id, f"{self.random.random():.6f}.txt"
        kind = self.random.choice(("file", "folder", "document", "shortcut"))
        if kind == "file":
            self.world.add_file(name, self.random.randbytes(8), parent=parent)
        elif kind == "folder":
            self.world.add_folder(name, parent=parent)
        elif kind == "document":
            self.world.add_document(name, {"text/plain": name}, parent=parent)
        else:
            self.world.add_shortcut(name, self.some_file().id, parent=parent)

    def write(self) -> None:
        self.world.write(self.some_file().id, self.random.randbytes(8))

    def rename(self) -> None:
        self.world.rename(self.some_file().id, f"{self.random.random():.6f}")

    def move(self) -> None:
        self.world.move(self.some_file().id, self.some_folder().id)

    def trash(self) -> None:
        self.world.trash(self.some_file().id)

    def untrash(self) -> None:
        self.world.untrash(self.some_file().id)

    def delete(self) -> None:
        if self.random.random() < 0.5:
            self.world.delete(self.some_file().id)

    def share(self) -> None:
        ends = self.world.clock.now() + timedelta(days=1) if self.random.random() < 0.1 else None
        roles: list[Role] = ["reader", "commenter", "writer"]
        grantee = self.random.choice(GRANTEES)
        discoverable = self.random.random() < 0.5
        self.world.share(
            self.some_file().id, grantee, self.random.choice(roles), discoverable=discoverable, expires=ends
        )

    def unshare(self) -> None:
        self.world.unshare(self.some_file().id, self.random.choice(GRANTEES))

    def limit(self) -> None:
        self.world.edit(self.some_folder().id, inherited_permissions_disabled=self.random.random() < 0.5)

    def view(self) -> None:
        self.world.view(self.some_file().id, by=self.random.choice(USERS))

    def transfer(self) -> None:
        self.world.transfer(self.some_file().id, self.random.choice(USERS), move_to_root=self.random.random() < 0.5)

    def tangle(self) -> None:
        """Several parents, or none: what Drive has of old."""
        file = self.some_file()
        same_place = [folder.id for folder in self.folders() if folder.drive_id == file.drive_id]
        if file.drive_id is None and not file.is_root and self.random.random() < 0.3:
            self.world.set_parents(file.id, self.random.sample(same_place, self.random.randrange(0, 3)))

    def folders(self) -> list[File]:
        return [self.world.file(root) for root in self.roots()] + [
            file for file in self.world.all_files() if file.is_folder
        ]

    def some_file(self) -> File:
        return self.random.choice(self.world.all_files() or [self.world.add_file("first.txt", owner=USERS[0])])

    def some_folder(self) -> File:
        return self.random.choice(self.folders())

    def roots(self) -> list[str]:
        return [*(self.world.root_of(email) for email in USERS), *self.drives]


def told_of_everything() -> Modes:
    return Modes(descendants_on_move=True, descendants_on_trash=True, descendants_on_access=True)


@pytest.mark.parametrize(("coalesce", "states"), [(True, "current"), (False, "current"), (False, "then")])
@pytest.mark.parametrize("seed", range(4))
def test_replaying_the_logs_ends_at_what_a_listing_shows(
    seed: int, coalesce: bool, states: Literal["current", "then"]
) -> None:
    modes = told_of_everything()
    modes.coalesce_changes, modes.change_states = coalesce, states
    modes.empty_pages = modes.duplicate_across_pages = bool(seed % 2)
    life = Life(seed, modes)
    mirrors = [Mirror(life.world, email, drive) for email in USERS for drive in (None, *life.drives)]
    for number in range(120):
        life.step()
        if number % 10 == 9:
            for mirror in mirrors:
                mirror.catch_up()
                assert _tellable(mirror.known) == _tellable(mirror.truth()), f"seed {seed}, step {number}"


def _tellable(known: Mapping[str, Any]) -> dict[str, Any]:
    """What a log can tell: a file's own fields. That its parent came into view, or that someone else opened it and
    what it inherits, is told of the other file."""
    names = ("name", "md5Checksum", "headRevisionId", "mimeType", "driveId", "owners", "explicitlyTrashed", "trashed")
    return {file_id: {name: file.get(name) for name in names} for file_id, file in known.items()}


@pytest.mark.parametrize("seed", range(4))
def test_who_may_read_is_what_the_permissions_say(seed: int) -> None:
    """The truth, worked out a second time from the resources that the API shows."""
    life = Life(seed, Modes())
    world = life.world
    for _ in range(200):
        life.step()
    for file in life.world.all_files():
        shown = {
            email for email in USERS if any(_reads(held, email, world) for held in world.permission_resources(file.id))
        }
        assert world.readers_of(file.id) == (set() if world.is_trashed(file.id) else shown), world.path_of(file.id)


def _reads(held: Mapping[str, Any], email: str, world: World) -> bool:
    if "view" in held or held.get("pendingOwner") or held.get("deleted"):
        return False
    match held["type"]:
        case "user":
            return bool(held["emailAddress"].lower() == email)
        case "group":
            return held["emailAddress"] in world.groups_of(email)
        case "domain":
            return bool(held["allowFileDiscovery"]) and email.endswith("@" + held["domain"])
        case _:
            return False


def test_the_same_seed_is_the_same_life() -> None:
    lives = [Life(5, Modes()) for _ in range(2)]
    for life in lives:
        for _ in range(100):
            life.step()
    one, other = ([life.world.resource_of(file, USERS[0]) for file in life.world.all_files()] for life in lives)
    assert one == other
