"""`connector test`: what is tried of a connector, and what whoever tried it is told to do."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.connectors import WorkersConnectors
from activities.contracts.connectors import TriedConnector, TryConnectorInput
from activities.store import Store
from activities.try_connector import ConnectorTrier
from tests.drive.faults import Fault
from tests.drive.serving import RunningDrive, running_drive
from tests.drive.world import World
from tests.pipeline.by_hand import refusal
from tests.pipeline.drive_shelf import connect, make_corpus
from tests.pipeline.harness import SCOPE
from workers.cli.connector_try import said
from workers.cli.denials import withheld_lines

ADA, ROBOT = "ada@a.test", "robot@b.test"
Try = Callable[..., TriedConnector]


@pytest.fixture
def drive() -> Iterator[RunningDrive]:
    world = World()
    for email in (ADA, ROBOT):
        world.add_user(email)
    with running_drive(world) as drive:
        yield drive


@pytest.fixture
def try_it(store: Store, drive: RunningDrive, tmp_path: Path) -> Iterator[Try]:
    """Tries a connector with these settings."""
    scope_id, credentials = make_corpus(store), drive.service_account_file(tmp_path, ROBOT)
    connectors = WorkersConnectors()
    trier = ConnectorTrier(store, make=connectors)

    def tried(**config: Any) -> TriedConnector:
        connect(store, scope_id, "tried", drive, credentials=credentials, **config)
        return ActivityEnvironment().run(trier.try_connector, TryConnectorInput(scope=SCOPE, connector="tried"))

    yield tried
    connectors.close()


def test_what_nobody_may_find_is_told_with_the_account_that_is_to_be_given_a_right(
    drive: RunningDrive, try_it: Try
) -> None:
    folder = drive.world.add_folder("Plans", owner=ADA)
    below = drive.world.add_folder("Old", owner=ADA, parent=folder.id)
    for parent in (folder, below):
        drive.world.add_file("a.md", "# A", owner=ADA, parent=parent.id)
    drive.world.share(folder.id, ROBOT, role="reader")
    tried = try_it(folder_ids=(folder.id,))
    assert (tried.listed, tried.is_all, tried.withheld) == (2, True, {"grants_unreadable": 2}), "of all folders"
    assert said(SCOPE, "tried", tried).endswith("it lists 2 documents, of which nobody may find 2.")
    (line,) = withheld_lines(tried.withheld, account=tried.account)
    assert line.startswith(f"2 withheld (grants_unreadable): their origin does not tell {ROBOT} who may read them")


def test_a_shared_drive_that_is_none_of_the_accounts_fails_with_what_to_do(drive: RunningDrive, try_it: Try) -> None:
    secret = drive.world.add_drive("Board", organizer=ADA)
    for drive_id in ("0Anope", secret.id):
        kind, told = refusal(lambda drive_id=drive_id: try_it(drive_id=drive_id))  # type: ignore[misc]
        assert kind == "SourceUnavailable"
        assert told == (
            f"There is no shared drive {drive_id}, or {ROBOT} is no member of it: check the id, and add that account to the "
            "drive as a content manager."
        )


@pytest.mark.long
def test_a_folder_that_cannot_be_listed_hides_no_other(drive: RunningDrive, try_it: Try) -> None:
    good, bad = (drive.world.add_folder(name, owner=ADA) for name in ("Good", "Bad"))
    for folder in (good, bad):
        drive.world.share(folder.id, ROBOT, role="writer")
    drive.world.add_file("a.md", "# A", owner=ADA, parent=good.id)
    drive.faults.add(Fault("drive.files.get", file_id=bad.id, status=500, times=None))
    both = try_it(folder_ids=(bad.id, good.id))
    assert both.listed == 1
    assert [part.path for part in both.unlisted] == [f"folder {bad.id}"]
    assert "it lists 1 document" in said(SCOPE, "tried", both)


@pytest.mark.long
def test_where_drive_is_not_the_host_and_the_reason_are_named(drive: RunningDrive, try_it: Try) -> None:
    kind, told = refusal(lambda: try_it(folder_ids=("plans-folder",), root_url="http://127.0.0.1:9/"))
    assert kind == "SourceUnavailable"
    assert told.startswith("Drive at http://127.0.0.1:9 could not be asked to ")
    assert "(connection refused; check the root URL" in told


@pytest.mark.parametrize(
    ("tried", "words"),
    [
        (TriedConnector(kind="folder", listed=1, is_all=True), "can be reached: it lists 1 document."),
        (TriedConnector(kind="drive", listed=500), "can be reached: it lists 500 documents to begin with."),
        (TriedConnector(kind="folder", is_all=True), "can be reached: it holds no document."),
        (
            TriedConnector.model_validate({"kind": "drive", "unlisted": [{"path": "folder a", "reason": "It fails."}] * 3}),
            "answers, and nothing of it can be listed: folder a (It fails) nor 2 more.",
        ),
        (
            TriedConnector.model_validate({"kind": "drive", "listed": 2, "unlisted": [{"path": "", "reason": "It fails."}]}),
            "it lists 2 documents to begin with; but it could not list a part (It fails).",
        ),
    ],
)  # fmt: skip
def test_what_was_found_is_one_sentence(tried: TriedConnector, words: str) -> None:
    assert said(SCOPE, "tried", tried).endswith(words)
