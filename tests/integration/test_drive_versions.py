"""A document of Google's is exported for an edit, and not for a name, a place, a reader or a look."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from activities.connectors.drive.kinds import MARKDOWN
from activities.connectors.drive.roots import RELIST_AFTER
from tests.integration.drive_follower import ADA, BEN, ROBOT, Follower, following, peopled


@pytest.fixture(params=["folder", "account"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Follower, str]]:
    world = peopled()
    folder = world.add_folder("Office", owner=ADA).id
    world.share(folder, ROBOT, role="writer")
    document = world.add_document("Plan", {MARKDOWN: "first"}, parent=folder, owner=ADA).id
    with following(tmp_path, world, folder_ids=[folder]) as follower:
        if request.param == "account":
            del follower.config["folder_ids"]
        follower.sync()
        yield follower, document


def version(follower: Follower) -> str | None:
    (change,) = follower.held.values()
    return change.version


def test_the_version_is_that_of_the_last_edit_whatever_else_happens(office: tuple[Follower, str]) -> None:
    follower, document = office
    world, first = follower.world, follower.change("Plan")
    below = world.add_folder("below", parent=world.get(document, ADA).parents[0], owner=ADA).id
    world.clock.advance(timedelta(minutes=5))
    for happens in (
        lambda: world.rename(document, "Another plan"),
        lambda: world.move(document, below),
        lambda: world.share(document, BEN),
        lambda: world.view(document, by=ROBOT),
    ):
        before = world.get(document, ADA).version
        happens()
        assert world.get(document, ADA).version > before
        follower.sync()
        assert version(follower) == first.version
    changed = follower.change("Another plan")
    assert changed.label != first.label and changed.access != first.access
    assert follower.fetch("Another plan").version == first.version, "what was read counts as what was listed"

    world.write(document, exports={MARKDOWN: "second"})
    follower.sync()
    assert version(follower) != first.version
    read = follower.fetch("Another plan")
    assert (read.data, read.version) == (b"second", version(follower))


def test_an_edit_whose_time_was_set_back_is_found_by_the_next_listing_of_everything(
    office: tuple[Follower, str],
) -> None:
    follower, document = office
    first, modified = version(follower), follower.world.get(document, ADA).modified
    follower.world.write(document, exports={MARKDOWN: "second"}, modified=modified)
    follower.sync()
    assert version(follower) == first
    follower.now += RELIST_AFTER
    assert follower.sync().is_whole
    second = version(follower)
    assert second != first
    follower.now += RELIST_AFTER
    follower.sync()
    assert version(follower) == second, "one export for each version at most"


def test_an_edit_between_the_listing_and_the_reading_is_read_under_its_own_version(
    office: tuple[Follower, str],
) -> None:
    follower, document = office
    first = version(follower)
    follower.world.clock.advance(timedelta(minutes=5))
    follower.world.write(document, exports={MARKDOWN: "second"})
    read = follower.fetch("Plan")
    assert read.data == b"second" and read.version != first
    follower.sync()
    assert version(follower) == read.version


def test_a_document_that_becomes_another_kind_has_another_version(office: tuple[Follower, str]) -> None:
    follower, document = office
    first, modified = version(follower), follower.world.get(document, ADA).modified
    follower.world.write(
        document, mime_type="application/vnd.google-apps.presentation", exports={"text/plain": "x"}, modified=modified
    )
    follower.sync()
    assert version(follower) != first
