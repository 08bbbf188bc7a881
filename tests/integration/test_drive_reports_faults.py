"""What goes wrong with a Drive while it is synced: one file costs itself and no other, a throttle costs time, and whatever
was not carried through is done again without being paid for twice."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from temporalio.exceptions import ApplicationError

from activities.prepare_page import IN_FLIGHT
from activities.store import Store
from tests.drive.faults import Fault
from tests.drive.modes import Modes
from tests.drive.serving import running_drive
from tests.integration.drive_corpus import (
    ADA,
    BEN,
    DOWNLOAD,
    EXPORT,
    ROBOT,
    DriveCorpus,
    drive_corpus,
)
from tests.integration.drive_modes import OpenOffice, in_every_mode
from tests.integration.seen import table
from tests.pipeline.by_hand import InlineParser
from tests.pipeline.dying_step import dies_at

LONG = pytest.mark.long
HUNDRED: Final = 100
MB: Final = 1 << 20


@pytest.fixture
def modes() -> Modes:
    return Modes()


class Office(OpenOffice):
    """Ada's folder, which Ben reads."""

    def __init__(self, modes: Modes) -> None:
        super().__init__(modes, BEN)

    def file(self, name: str, data: bytes | str = "") -> str:
        return self.world.add_file(name, data or f"Text of {name}.", parent=self.folder, owner=ADA).id

    def files(self, count: int) -> list[str]:
        return [self.file(f"{number:03}.txt") for number in range(count)]

    def document(self, name: str, text: str) -> str:
        return self.world.add_document(name, {"text/markdown": text}, parent=self.folder, owner=ADA).id


@pytest.fixture
def office(modes: Modes) -> Office:
    return Office(modes)


@pytest.fixture
def corpus(office: Office, store: Store, database: str, tmp_path: Path) -> Iterator[DriveCorpus]:
    with drive_corpus(
        store, database, tmp_path, office.world, parser=InlineParser(), folder_ids=[office.folder]
    ) as corpus:
        yield corpus


def checkpoint(store: Store) -> str | None:
    """Where the next pass begins."""
    (row,) = table(store, "checkpoint")
    cursor: str | None = row["start_cursor"]
    return cursor


@pytest.mark.parametrize("count", [10, pytest.param(HUNDRED, marks=LONG)])
@pytest.mark.parametrize("reason", ["insufficientFilePermissions", pytest.param("cannotDownloadFile", marks=LONG)])
def test_one_file_that_is_refused_costs_itself_and_no_other(
    count: int, reason: str, office: Office, corpus: DriveCorpus
) -> None:
    files = office.files(count)
    bad = files[count // 2]
    corpus.drive.faults.add(Fault(DOWNLOAD, file_id=bad, status=403, reason=reason, times=None))

    done = corpus.sync()

    assert (done.upserted, done.withheld) == (count - 1, 1)
    assert set(corpus.shown()) == {*files} - {bad}
    assert corpus.state(bad)[0] == "denied" and corpus.state(bad)[1]
    assert [corpus.log.count(DOWNLOAD, file_id=file) for file in files] == [1] * count
    assert corpus.sync().read_nothing
    assert corpus.log.count(DOWNLOAD, file_id=bad) == 1

    corpus.drive.faults.clear()
    office.world.write(bad, "Text of a new version.")
    assert (corpus.sync().upserted, len(corpus.shown())) == (1, count)


@pytest.mark.parametrize("count", [10, pytest.param(HUNDRED, marks=LONG)])
def test_one_document_that_is_too_large_to_export_costs_itself_and_no_other(
    count: int, office: Office, corpus: DriveCorpus
) -> None:
    documents = [office.document(f"{number}", f"Text of {number}.") for number in range(count)]
    bad = documents[3]
    refused = Fault(EXPORT, file_id=bad, status=403, reason="exportSizeLimitExceeded", times=None)
    no_link = Fault("exportLink", file_id=bad, status=403, times=None)
    not_prepared = Fault("drive.files.download", file_id=bad, status=403, reason="cannotExportFile", times=None)
    corpus.drive.faults.add(refused, no_link, not_prepared)

    done = corpus.sync()

    assert (done.upserted, done.failed) == (count - 1, 1)
    assert [(failure.source_id, failure.state) for failure in done.failures] == [(f"drive:{bad}", "too_large")]
    assert set(corpus.shown()) == {*documents} - {bad}
    asked = corpus.log.count(EXPORT, file_id=bad)
    again = corpus.sync()
    assert (again.failed, again.read_nothing, corpus.log.count(EXPORT, file_id=bad)) == (1, True, asked)


@in_every_mode
def test_a_burst_of_403_on_the_feed_is_waited_out_and_nobody_loses_a_document(
    office: Office, store: Store, corpus: DriveCorpus
) -> None:
    files = office.files(3)
    corpus.sync()
    stands = checkpoint(store)
    office.world.delete(files[0])
    corpus.drive.faults.add(
        Fault(
            "drive.changes.list", times=4, status=403, reason="userRateLimitExceeded", vocabulary="both", retry_after="9"
        )
    )  # fmt: skip
    for _ in range(4):
        with pytest.raises(ApplicationError) as refused:
            corpus.sync()
        assert refused.value.type == "Throttled" and not refused.value.non_retryable
        assert refused.value.next_retry_delay is not None
        assert refused.value.next_retry_delay.total_seconds() >= 9
        assert set(corpus.shown()) == {*files} and checkpoint(store) == stands
    assert [request.status for request in corpus.log.of("drive.changes.list")][-4:] == [403] * 4  # asked once each time

    done = corpus.sync()

    assert (done.deleted, done.read_nothing) == (1, True)
    assert set(corpus.shown()) == {*files[1:]} and checkpoint(store) != stands


@LONG
def test_a_worker_that_is_killed_in_the_middle_of_a_page_costs_what_it_had_in_hand(
    office: Office, store: Store, database: str, corpus: DriveCorpus
) -> None:
    files = office.files(HUNDRED)
    at = 30
    run = corpus.hand.begin(connector="drive").in_pass
    listed = corpus.hand.list_page(run)
    assert listed.items == HUNDRED
    assert dies_at(f"Text of {at:03}.txt.", "prepare", database, run, listed.page_id)
    before = corpus.log.count(DOWNLOAD)
    assert at - IN_FLIGHT < before <= at + IN_FLIGHT

    for batch_no in range(corpus.hand.prepare(run, listed.page_id).batches):
        corpus.hand.embed(run, listed.page_id, batch_no)
    published = corpus.hand.publish(run, listed.page_id)
    corpus.hand.advance(run, listed.page_id)

    assert (published.upserted, published.failed) == (HUNDRED, 0)
    assert corpus.log.count(DOWNLOAD) <= HUNDRED + IN_FLIGHT
    assert len(corpus.embedded) == len({*corpus.embedded}) == HUNDRED
    assert set(corpus.shown()) == {*files}
    assert [len(table(store, name)) for name in ("source", "revision", "span", "document_version")] == [HUNDRED] * 4


def test_a_checkpoint_that_could_not_be_saved_costs_no_second_download(
    office: Office, store: Store, corpus: DriveCorpus
) -> None:
    office.files(3)
    run = corpus.hand.begin(connector="drive", run="run-a").in_pass
    listed = corpus.hand.list_page(run)
    assert corpus.hand.prepare(run, listed.page_id).batches == 1
    corpus.hand.embed(run, listed.page_id)
    assert corpus.hand.publish(run, listed.page_id).upserted == 3
    corpus.hand.end(run, error="The checkpoint could not be saved.")
    assert checkpoint(store) is None

    done = corpus.sync()

    assert (done.upserted, done.read_nothing, corpus.log.count(DOWNLOAD)) == (0, True, 3)
    assert checkpoint(store) is not None


@pytest.mark.parametrize("status", [410, pytest.param(400, marks=LONG)])
def test_a_cursor_that_drive_forgot_is_dropped_and_a_throttle_on_the_new_way_is_waited_out(
    status: int, office: Office, store: Store, corpus: DriveCorpus
) -> None:
    files = office.files(2)
    corpus.sync()
    office.world.delete(files[0])
    late = office.file("late.txt")
    corpus.drive.faults.add(
        Fault("drive.changes.list", status=status, reason="invalid", message="Invalid Value: pageToken")
    )
    corpus.drive.faults.add(Fault("drive.files.list", status=429, reason="rateLimitExceeded", retry_after="1"))
    with pytest.raises(ApplicationError) as lost:
        corpus.sync()
    assert lost.value.type == "InvalidCursor"
    assert checkpoint(store) is None and set(corpus.shown()) == {*files}
    with pytest.raises(ApplicationError) as throttled:
        corpus.sync()
    assert throttled.value.type == "Throttled" and throttled.value.next_retry_delay is not None
    assert throttled.value.next_retry_delay.total_seconds() >= 1

    done = corpus.sync()

    assert (done.upserted, done.deleted, done.downloads) == (1, 1, 1)
    assert set(corpus.shown()) == {files[1], late}


def test_a_page_of_changes_that_does_not_say_how_to_go_on_is_not_the_end(
    office: Office, store: Store, corpus: DriveCorpus
) -> None:
    files = office.files(2)
    corpus.sync()
    office.world.delete(files[0])
    corpus.drive.faults.add(Fault("drive.changes.list", status=200, body='{"changes": []}'))
    with pytest.raises(ApplicationError) as lost:
        corpus.sync()
    assert lost.value.type == "InvalidCursor" and set(corpus.shown()) == {*files}

    assert (corpus.sync().deleted, set(corpus.shown())) == (1, {files[1]})


def test_each_refusal_of_content_means_what_it_says(office: Office, corpus: DriveCorpus) -> None:
    denied, gone, busy = (office.file(f"{name}.txt") for name in ("denied", "gone", "busy"))
    corpus.drive.faults.add(
        Fault(DOWNLOAD, file_id=denied, status=403, reason="insufficientFilePermissions", times=None),
        Fault(DOWNLOAD, file_id=busy, status=429, reason="rateLimitExceeded", retry_after="2"),
    )
    office.world.on_download(gone, lambda: office.world.delete(gone), when="before")

    with pytest.raises(ApplicationError) as throttled:
        corpus.sync()
    assert throttled.value.type == "Throttled" and throttled.value.next_retry_delay is not None
    assert throttled.value.next_retry_delay.total_seconds() >= 2

    done = corpus.sync()

    assert (done.upserted, done.withheld) == (1, 1)
    assert set(corpus.shown()) == {busy}
    assert corpus.state(denied)[0] == "denied"
    assert set(corpus.found(BEN)) == {busy}


_READ_ONE: Final = """
import json, resource, sys
from activities.connectors.drive.content import read_content
from activities.connectors.drive.credentials import CredentialSource
from activities.connectors.drive.sessions import DriveSessions
from headwater.connectors import DocumentTooLarge

url, key, ids = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
sessions, told = DriveSessions(), []
with sessions.lent(CredentialSource(key), root_url=url) as calls:
    small = read_content(calls, ids["small"], max_bytes=1 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name in ("file", "document"):
        try:
            read_content(calls, ids[name], max_bytes=1 << 20)
        except DocumentTooLarge as error:
            told.append(str(error))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sessions.close()
print(json.dumps({"grew_mb": (after - before) / 1024, "told": told}))
"""


@LONG
def test_what_is_far_too_large_is_given_up_before_it_fills_the_memory(office: Office, tmp_path: Path) -> None:
    world = office.world
    world.modes.export_limit = 1_000 * MB
    large = b"x" * (64 * MB)
    ids = {"small": office.file("small.txt"), "file": office.file("scan.pdf", large)}
    exports: dict[str, bytes | str] = {"text/markdown": large, "text/plain": large}
    ids["document"] = world.add_document("Plan", exports, parent=office.folder, owner=ADA).id
    with running_drive(world) as drive:
        key = drive.authorized_user_file(tmp_path, ROBOT)
        command = [sys.executable, "-c", _READ_ONE, f"{drive.url}/", str(key), json.dumps(ids)]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

        assert len(answer["told"]) == 2 and answer["grew_mb"] < 32, answer
        assert drive.log.count(DOWNLOAD, file_id=ids["file"]) == 0
        assert drive.log.count("*xport*", file_id=ids["document"]) <= 4


def test_a_document_that_is_too_large_is_told_and_others_are_read(office: Office, corpus: DriveCorpus) -> None:
    good = office.file("good.txt")
    scan = office.file("scan.pdf", b"%PDF-1.7\n" + b"x" * (1 << 20))
    plan = office.document("Plan", "word " * 300_000)

    done = corpus.sync()

    assert (done.upserted, done.failed, set(corpus.shown())) == (1, 2, {good})
    assert {corpus.state(file)[0] for file in (scan, plan)} == {"too_large"}
    assert corpus.log.count(DOWNLOAD, file_id=scan) == 0
    assert corpus.sync().read_nothing
