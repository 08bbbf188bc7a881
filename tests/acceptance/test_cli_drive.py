"""A part of Drive as a connector: added, tried, synced, changed and removed by the command line, against the emulator."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.command_line import CommandLine
from tests.drive.serving import RunningDrive, running_drive
from tests.drive.world import World

CORPUS: Final = "me/drive/plans"
ANN, BOB, ROBOT = "ann@a.test", "bob@a.test", "robot@b.test"


@pytest.fixture(scope="module")
def world() -> World:
    """Ann's folder, which the robot may share (else it sees no permissions), with a plan that Bob may read and notes that he may not."""
    world = World(seed=7)
    for email in (ANN, BOB, ROBOT):
        world.add_user(email)
    folder = world.add_folder("Plans", owner=ANN, file_id="plans-folder")
    world.share(folder.id, ROBOT, "writer")
    plan = world.add_file("plan.txt", "Go north before noon.", parent=folder.id, file_id="plan")
    world.share(plan.id, BOB)
    world.add_file("notes.txt", "Nobody goes north.", parent=folder.id, file_id="notes")
    other = world.add_folder("Other", owner=ANN, file_id="other-folder")
    world.share(other.id, ROBOT, "writer")
    world.add_file("other.txt", "Go south.", parent=other.id, file_id="other")
    return world


@pytest.fixture(scope="module")
def drive(world: World) -> Iterator[RunningDrive]:
    with running_drive(world) as running:
        yield running


@pytest.fixture(scope="module")
def key(drive: RunningDrive, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return drive.service_account_file(tmp_path_factory.mktemp("keys"), ROBOT)


def found_by(headwater: CommandLine, principal: str) -> set[str]:
    hits = headwater.json_here("search", "north south", "--corpus", CORPUS, "--as", principal)["hits"]
    assert {hit["provenance"]["provider"] for hit in hits} <= {"drive"}
    return {hit["source_id"] for hit in hits}


def test_a_folder_of_drive_from_its_first_day_to_its_last(
    up: CommandLine, drive: RunningDrive, key: Path, world: World
) -> None:
    add = ("connector", "add", "drive", "plans", "--corpus", CORPUS, "--credentials", key, "--root-url", drive.url)
    added = up.run_here(*add, "--folder-id", "plans-folder")
    assert added.status == 0, added.err
    assert added.out.startswith(f"Connector plans of {CORPUS} is added: folder plans-folder of Drive, as {ROBOT}. ")
    assert up.json_here(*add, "--folder-id", "plans-folder")["outcome"] == "unchanged"
    (listed,) = up.json_here("connector", "list", "--corpus", CORPUS)["connectors"]
    assert listed["config"] == {
        "folder_ids": ["plans-folder"], "credentials": str(key), "root_url": f"{drive.url}/"
    }  # fmt: skip
    assert json.loads(key.read_text())["private_key"][40:80] not in up.run_here("connector", "list", "--json").out

    tried = up.run_here("connector", "test", "plans")
    assert tried.status == 0, tried.err
    assert tried.out.startswith(f"Connector plans (drive) of {CORPUS} can be reached: it lists 2 documents")
    assert drive.log.count("drive.files.get:media") == 0

    synced = up.json_here("sync", "connector", "plans")
    assert (synced["upserted"], synced["failed"], synced["connector"]) == (2, 0, "plans")
    assert (found_by(up, ANN), found_by(up, BOB)) == ({"drive:plan", "drive:notes"}, {"drive:plan"})

    # Other folders: what the old ones held is gone with the next sync.
    changed = up.json_here(*add, "--folder-id", "other-folder")
    assert changed["outcome"] == "changed"
    again = up.json_here("sync", "connector", "plans")
    assert (again["upserted"], again["deleted"]) == (1, 2)
    assert (found_by(up, ANN), found_by(up, BOB)) == ({"drive:other"}, set())

    # Who may only read a folder does not see who else may.
    world.share("other-folder", ROBOT, "reader")
    tried = up.run_here("connector", "test", "plans")
    assert f"nobody may find 1.\n  1 withheld (grants_unreadable): their origin does not tell {ROBOT} who" in tried.out
    told = up.run_here("sync", "connector", "plans", "--full", "--strict")
    assert told.status == 0, "what is withheld is no failure"
    assert ", 1 withheld, 0 failed; " in told.out and "\n  1 withheld (grants_unreadable): " in told.out
    world.unshare("other-folder", ROBOT)
    wrong = up.run_here("connector", "test", "plans")
    assert (wrong.status, wrong.out) == (1, "")
    assert "other-folder" in wrong.err and wrong.err.count("\n") == 1

    removed = up.run_here("connector", "remove", "plans", "--delete-sources")
    assert removed.out == f"Connector plans of {CORPUS} is removed; 1 document is deleted.\n"
    assert found_by(up, ANN) == set()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--folder-id", "https://drive.google.com/x"), "--folder-id 'https://drive.google.com/x' is no id of Drive"),
        (("--credentials", ""), "--credentials is empty: give a value, or leave it out."),
        (("--credentials", "nowhere.json"), "nowhere.json does not exist"),
        (("--subject", "ann"), "is no address of a person"),
        (("--root-url", "http://drive.example.com/"), "must be https://"),
        (("--access-map", "nowhere.yml"), "nowhere.yml"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_drive_does_not_take_is_wrong_usage_and_adds_nothing(
    up: CommandLine, options: tuple[str, str], words: str
) -> None:
    ended = up.run_here("connector", "add", "drive", "wrong", "--corpus", "me/drive/wrong", *options)
    assert (ended.status, ended.out) == (2, "")
    assert words in ended.err
    assert "me/drive/wrong" not in str(up.json_here("status"))


def test_the_name_of_another_kind_of_connector_is_refused(up: CommandLine, tmp_path: Path) -> None:
    corpus = "me/drive/shelf"
    (tmp_path / "a.md").write_text("# One\n")
    up.json_here("sync", "folder", tmp_path, "--corpus", corpus, "--name", "shelf", "--grant", "everyone")
    ended = up.run_here("connector", "add", "drive", "shelf", "--corpus", corpus)
    assert (ended.status, ended.out) == (2, "")
    assert "choose another name" in ended.err


def test_who_may_read_what_is_said_by_a_table(up: CommandLine, drive: RunningDrive, key: Path, tmp_path: Path) -> None:
    corpus = "me/drive/mapped"
    table = tmp_path / "map.yml"
    table.write_text('- {drive: "user:bob@a.test", grant: ["user:robert", "group:readers"]}\n')
    add = ("connector", "add", "drive", "mapped", "--corpus", corpus, "--credentials", key, "--root-url", drive.url)
    up.json_here(*add, "--folder-id", "plans-folder")
    up.json_here("sync", "connector", "mapped")
    shown = up.json_here("source", "show", "drive:plan", "--corpus", corpus)
    assert shown["grants"]["group_ids"] == []
    assert shown["path"] == "Plans/plan.txt"
    assert shown["uri"].startswith("https://drive.google.com/file/d/plan/view")
    # Added again with a table, it lists everything anew: nothing is downloaded, and the grants follow.
    downloads = drive.log.count("drive.files.get:media")
    assert up.json_here(*add, "--folder-id", "plans-folder", "--access-map", table)["outcome"] == "changed"
    assert up.json_here("sync", "connector", "mapped")["embedded_chunks"] == 0
    grants = up.json_here("source", "show", "drive:plan", "--corpus", corpus)["grants"]
    assert (BOB in grants["principal_ids"], "robert" in grants["principal_ids"]) == (False, True)
    assert grants["group_ids"] == ["readers"]
    assert drive.log.count("drive.files.get:media") == downloads
