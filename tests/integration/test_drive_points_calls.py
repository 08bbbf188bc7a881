"""Of all that a connector asks Drive in its life, every call says what it must, or its answer would silently lack something."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.drive.request_log import Request
from tests.integration.drive_follower import ADA, BEN, ROBOT, Follower, following, peopled

READING = {
    "drive.about.get",
    "drive.changes.getStartPageToken",
    "drive.changes.list",
    "drive.drives.get",
    "drive.drives.list",
    "drive.files.get",
    "drive.files.get:media",
    "drive.files.list",
    "drive.permissions.list",
}


@pytest.fixture(scope="module", params=["account", "folders", "drive"])
def life(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Follower]:
    """A connector that listed, followed changes, lost its cursor, and lists everything once a day."""
    world = peopled()
    drive = world.add_drive("Team", organizer=BEN).id
    world.share(drive, ROBOT, role="fileOrganizer")
    folder = world.add_folder("Office", owner=ADA).id
    world.share(folder, ROBOT, role="writer")
    for parent in (folder, drive):
        sub = world.add_folder("sub", parent=parent).id
        for number in range(3):
            world.add_file(f"{number}'s \\ plan.txt", f"{number}", parent=sub)
        world.add_shortcut("way", world.add_file("far.txt", "far", owner=BEN).id, parent=sub)
    world.modes.page_cap, world.modes.omit_permissions = 2, True
    scopes: dict[str, dict[str, Any]] = {
        "account": {},
        "folders": {"folder_ids": [folder, drive]},
        "drive": {"drive_id": drive},
    }
    with following(tmp_path_factory.mktemp("life"), world, **scopes[request.param]) as follower:
        follower.sync()
        world.move(sub, world.add_folder("within", parent=drive).id)
        world.delete(world.children_of(folder)[0].id)
        follower.sync()
        for name in [name for name in follower.names if "plan" in name][:1]:
            (change, *_) = [change for change in follower.held.values() if name in change.path]
            follower.connect().fetch(change, max_bytes=100)
        follower.cursor = None
        follower.sync()
        follower.sync(full=True)
        yield follower


def asked(life: Follower, method: str) -> list[Request]:
    return life.drive.log.of(method)


def test_nothing_is_asked_that_could_change_anything_and_nothing_in_batches(life: Follower) -> None:
    methods = {request.method for request in life.drive.log.of("*")}

    assert {method for method in methods if method.startswith("drive.")} <= READING
    assert methods - READING <= {"token"}


def test_every_call_says_that_it_knows_of_shared_drives(life: Follower) -> None:
    told = {
        "drive.files.list": {"supportsAllDrives": "true", "includeItemsFromAllDrives": "true"},
        "drive.changes.list": {"supportsAllDrives": "true", "includeItemsFromAllDrives": "true"},
        "drive.files.get*": {"supportsAllDrives": "true"},
        "drive.permissions.list": {"supportsAllDrives": "true"},
        "drive.changes.getStartPageToken": {"supportsAllDrives": "true"},
    }
    for method, parameters in told.items():
        assert asked(life, method)
        for request in asked(life, method):
            assert parameters.items() <= request.parameters.items(), request


def test_listings_ask_for_one_corpus_that_can_be_complete(life: Follower) -> None:
    for request in asked(life, "drive.files.list"):
        assert request.parameters["corpora"] in ("user", "drive")
        assert ("driveId" in request.parameters) == (request.parameters["corpora"] == "drive")


def test_queries_leave_out_the_trash_and_name_one_parent_at_most(life: Follower) -> None:
    for request in asked(life, "drive.files.list"):
        assert "trashed = false" in request.parameters["q"]
        assert request.parameters["q"].count(" in parents") <= 1
        assert "modifiedTime" not in request.parameters["q"]


def test_every_list_is_read_by_its_own_pages_to_the_end(life: Follower) -> None:
    most = {
        "drive.files.list": 1_000,
        "drive.changes.list": 1_000,
        "drive.permissions.list": 100,
        "drive.drives.list": 100,
    }
    for method, size in most.items():
        for request in asked(life, method):
            assert 1 <= int(request.parameters["pageSize"]) <= size
            assert "nextPageToken" in request.parameters["fields"]
    assert all("incompleteSearch" in request.parameters["fields"] for request in asked(life, "drive.files.list"))
    assert all("newStartPageToken" in request.parameters["fields"] for request in asked(life, "drive.changes.list"))


def test_a_feed_is_read_in_the_corpus_for_which_its_token_was_given(life: Follower) -> None:
    began = {request.parameters.get("driveId") for request in asked(life, "drive.changes.getStartPageToken")}
    read = {request.parameters.get("driveId") for request in asked(life, "drive.changes.list")}

    assert read <= began
    assert not [request for request in asked(life, "drive.changes.list") if request.status != 200]


def test_removals_are_asked_for_and_nothing_is_left_out_of_the_feed(life: Follower) -> None:
    for request in asked(life, "drive.changes.list"):
        assert request.parameters["includeRemoved"] == "true"
        assert request.parameters.get("restrictToMyDrive", "false") == "false"


def test_permissions_are_asked_for_with_all_that_decides_about_them(life: Follower) -> None:
    needed = (
        "id",
        "type",
        "role",
        "emailAddress",
        "domain",
        "allowFileDiscovery",
        "expirationTime",
        "deleted",
        "pendingOwner",
    )
    for method in ("drive.files.list", "drive.changes.list", "drive.permissions.list"):
        for request in asked(life, method):
            assert all(field in request.parameters["fields"] for field in (*needed, "view", "permissionDetails"))


def test_nobody_asks_as_an_administrator(life: Follower) -> None:
    for request in life.drive.log.of():
        assert request.parameters.get("useDomainAdminAccess", "false") == "false"
        assert request.parameters.get("acknowledgeAbuse", "false") == "false"


def test_what_is_no_document_is_never_downloaded(life: Follower) -> None:
    for request in asked(life, "drive.files.get:media"):
        assert request.file_id is not None
        assert life.world.file(request.file_id).has_bytes
