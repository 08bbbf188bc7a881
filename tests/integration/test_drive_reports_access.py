"""Who finds what of a Drive as it is shared, unshared, removed and made anew, with what Drive was asked for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from activities.store import Store, status
from headwater.connectors import ChangeKind
from tests.drive.modes import Modes
from tests.integration.drive_corpus import (
    ADA,
    BEN,
    DOWNLOAD,
    EVE,
    EXPORT,
    ROBOT,
    DriveCorpus,
    drive_corpus,
    peopled,
    shared_folder,
)
from tests.integration.drive_follower import following
from tests.integration.drive_modes import OpenOffice, copied, in_every_mode
from tests.pipeline.by_hand import InlineParser
from tests.pipeline.harness import SCOPE, states

ENG = "eng@a.test"
CONTENT = (DOWNLOAD, EXPORT, "exportLink", "drive.files.download")


@pytest.fixture
def modes() -> Modes:
    return Modes()


class Office(OpenOffice):
    """Ada's folder, which the connector reads and nobody else."""

    def __init__(self, modes: Modes) -> None:
        super().__init__(modes)
        self.world.add_group(ENG, members=[BEN])

    def file(self, name: str, *readers: str) -> str:
        file = self.world.add_file(f"{name}.txt", f"Text of {name}.", parent=self.folder, owner=ADA).id
        for reader in readers:
            self.world.share(file, reader, type="group" if reader == ENG else "user")
        return file


@pytest.fixture
def office(modes: Modes) -> Office:
    return Office(modes)


@pytest.fixture
def corpus(office: Office, store: Store, database: str, tmp_path: Path) -> Iterator[DriveCorpus]:
    with drive_corpus(
        store, database, tmp_path, office.world, parser=InlineParser(), folder_ids=[office.folder]
    ) as corpus:
        yield corpus


def freshness(store: Store, file: str) -> str:
    told = status.source(store, SCOPE, f"drive:{file}")
    assert told is not None
    return str(told["freshness"].value)


def asked_for_content(corpus: DriveCorpus, file: str) -> int:
    return sum(corpus.log.count(method, file_id=file) for method in CONTENT)


def list_again(store: Store) -> None:
    """The next pass begins at the beginning."""
    with store.connection() as connection:
        connection.execute(f'UPDATE "{store.schema}".checkpoint SET start_cursor = NULL'.encode())


@in_every_mode
def test_each_finds_what_is_shared_with_them_and_a_replay_does_nothing(
    office: Office, store: Store, corpus: DriveCorpus
) -> None:
    a, b = office.file("a", BEN), office.file("b", EVE)

    done = corpus.sync()

    assert (done.upserted, done.failed, done.downloads) == (2, 0, 2)
    assert (corpus.found(BEN), corpus.found(EVE)) == ({a: "Text of a."}, {b: "Text of b."})
    list_again(store)
    replayed = corpus.sync()
    assert (replayed.skipped, replayed.did_nothing, replayed.generation) == (2, True, done.generation)
    assert "drive.files.list" in replayed.requests


@in_every_mode
def test_a_deletion_a_narrower_grant_and_a_permission_that_is_kept_back_in_one_sync(
    office: Office, store: Store, corpus: DriveCorpus
) -> None:
    world = office.world
    a, b, c = office.file("a", EVE, ENG), office.file("b", BEN), office.file("c", BEN)
    corpus.sync()
    assert set(corpus.found(BEN)) == {a, b, c}
    world.delete(b)
    world.unshare(a, ENG)
    world.modes.hidden_permissions.add((c, world.share(c, EVE).id))
    world.view(c, by=ADA)  # where the feed tells of what was, it tells of that too

    done = corpus.sync()

    assert (done.deleted, done.withheld, done.read_nothing) == (1, 1, True)
    assert corpus.found(BEN) == {}
    assert corpus.found(EVE) == {a: "Text of a."}
    assert freshness(store, a) == "current" and freshness(store, c) == "unavailable"
    assert corpus.state(c)[0] == "indexed" and f"drive:{b}" not in states(store)

    world.modes.hidden_permissions.clear()
    world.view(c, by=ADA)
    shown = corpus.sync()
    assert set(corpus.found(BEN)) == {c} and set(corpus.found(EVE)) == {a, c}
    assert (shown.embedded, freshness(store, c)) == ([], "current")


@in_every_mode
def test_a_file_of_which_nobody_is_known_to_be_let_in_is_withheld_and_its_content_is_not_asked_for(
    office: Office, store: Store, database: str, tmp_path: Path
) -> None:
    world = office.world
    link, shown = office.file("link"), office.file("shown", BEN, ENG)
    sheet = world.add_document("sheet", {}, kind="spreadsheet", parent=office.folder, owner=ADA).id
    for file in (link, sheet):
        world.share(file, "anyone", discoverable=True)
    table: dict[str, dict[str, list[str]]] = {
        "map": {f"user:{ADA}": [], f"user:{ROBOT}": [], f"user:{BEN}": ["user:ben"], f"group:{ENG}": []}
    }
    with drive_corpus(
        store, database, tmp_path, world, parser=InlineParser(), folder_ids=[office.folder], access_map=table
    ) as corpus:
        done = corpus.sync()

        assert (done.upserted, done.withheld, done.failed, done.exports) == (1, 2, 0, 0)
        assert corpus.embedded == ["Text of shown."]
        assert [asked_for_content(corpus, file) for file in (link, sheet, shown)] == [0, 0, 1]
        assert [corpus.state(file)[0] for file in (link, sheet)] == ["denied", "denied"]
        assert corpus.found("ben") == {shown: "Text of shown."}
        assert [corpus.found(email) for email in (ADA, BEN, EVE, ROBOT)] == [{}] * 4
        assert corpus.sync().did_nothing


@in_every_mode
def test_what_changes_its_kind_is_read_as_what_it_is_now_or_is_gone(office: Office, corpus: DriveCorpus) -> None:
    world = office.world
    form, gone, text, kept = (office.file(name, BEN) for name in ("form", "gone", "text", "kept"))
    world.add_folder("sub", parent=office.folder, owner=ADA)
    assert corpus.sync().upserted == 4
    world.write(form, mime_type="application/vnd.google-apps.form", exports={})
    world.write(gone, mime_type="application/vnd.google-apps.form", exports={})
    world.trash(gone)
    world.write(
        text, mime_type="application/vnd.google-apps.document", exports={"text/markdown": "Text of a document."}
    )

    done = corpus.sync()

    assert (done.upserted, done.deleted, done.downloads, done.exports) == (1, 2, 0, 1)
    assert corpus.found(BEN) == {text: "Text of a document.", kept: "Text of kept."}
    assert corpus.sync().read_nothing


@pytest.mark.long
@in_every_mode
def test_an_id_that_comes_again_has_its_new_readers_alone(office: Office, store: Store, corpus: DriveCorpus) -> None:
    world = office.world
    old = office.file("old", BEN)
    corpus.sync()
    assert corpus.found(BEN) == {old: "Text of old."}
    world.delete(old)
    corpus.sync()
    assert f"drive:{old}" not in states(store)
    world.add_file("new.txt", "Text of new.", parent=office.folder, owner=ADA, file_id=old)
    world.share(old, EVE)

    done = corpus.sync()

    assert (done.upserted, done.downloads) == (1, 1)
    assert (corpus.found(BEN), corpus.found(EVE)) == ({}, {old: "Text of new."})
    assert (corpus.state(old)[0], freshness(store, old)) == ("indexed", "current")


@in_every_mode
def test_an_id_that_comes_again_between_two_syncs_has_its_new_readers_alone(
    office: Office, corpus: DriveCorpus
) -> None:
    world = office.world
    old = office.file("old", BEN)
    corpus.sync()
    world.delete(old)
    world.add_file("new.txt", "Text of new.", parent=office.folder, owner=ADA, file_id=old)
    world.share(old, EVE)

    corpus.sync()

    assert (corpus.found(BEN), corpus.found(EVE)) == ({}, {old: "Text of new."})


@in_every_mode
@pytest.mark.parametrize("scope", ["folder", "shared drive"])
def test_a_first_pass_begins_with_the_token_and_ends_with_the_feed(scope: str, modes: Modes, tmp_path: Path) -> None:
    world = peopled()
    world.modes = copied(modes)
    if scope == "folder":
        home = shared_folder(world)
    else:
        home = world.add_drive("Team", organizer=BEN).id
        world.share(home, ROBOT, role="fileOrganizer")
    file = world.add_file("a.md", "x", parent=home).id
    config: dict[str, Any] = {"folder_ids": [home]} if scope == "folder" else {"drive_id": home}
    with following(tmp_path, world, **config) as follower:
        page = follower.connect().list_page(None, limit=50)
        assert not page.done
        done = follower.sync()
        assert done.is_whole and list(follower.held) == [f"drive:{file}"]
        asked = [request.method for request in follower.drive.log.of("drive.*")]
        assert asked.index("drive.changes.getStartPageToken") < asked.index("drive.files.list")
        assert asked[-1] == "drive.changes.list"
        for request in follower.drive.log.of("drive.files.list"):
            if scope == "folder":
                assert f"'{home}' in parents" in request.parameters["q"] and "driveId" not in request.parameters
            else:
                assert (request.parameters["driveId"], request.parameters["corpora"]) == (home, "drive")
            assert "trashed" in request.parameters["q"]
        feeds = follower.drive.log.of("drive.changes.*")
        assert {request.parameters.get("driveId") for request in feeds} == {None if scope == "folder" else home}
        world.delete(file)

        (change,) = follower.sync().changes

        assert (change.kind, change.source_id) == (ChangeKind.DELETE, f"drive:{file}")
