"""Drive throttles, fails, or knows the account no more: it is waited for or the connector stops, and nothing is taken away."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities.prepare_page import IN_FLIGHT
from activities.store import Store
from tests.drive.error_json import Vocabulary
from tests.drive.faults import Fault
from tests.integration.drive_corpus import ADA, DOWNLOAD, ROBOT
from tests.integration.drive_desk import Desk, open_desk


@pytest.fixture
def desk(store: Store, database: str, tmp_path: Path) -> Iterator[Desk]:
    with open_desk(store, database, tmp_path) as desk:
        yield desk


def filled(desk: Desk, count: int = 6) -> dict[str, str]:
    return {desk.put(f"{number}.txt", f"Text {number}."): f"Text {number}." for number in range(count)}


def test_a_quota_that_is_spent_again_and_again_ends_with_everything_read_and_embedded_once(desk: Desk) -> None:
    files, waits = filled(desk, 20), list[timedelta | None]()
    desk.corpus.drive.faults.quota(per_minute=25, retry_after="30")

    def wait_out(error: ApplicationError) -> None:
        waits.append(error.next_retry_delay)
        desk.world.clock.advance(timedelta(minutes=1))

    done = desk.corpus.sync(page_size=8, wait_out=wait_out)

    assert waits and set(waits) == {timedelta(seconds=30)}
    assert (done.upserted, done.deleted, done.failed) == (len(files), 0, 0)
    assert desk.corpus.found(ADA) == files
    assert sorted(done.embedded) == sorted(files.values())
    given = [request for request in desk.corpus.log.of(DOWNLOAD) if request.status == 200]
    assert len(given) <= len(files) + IN_FLIGHT * len(waits)


@pytest.mark.long
@pytest.mark.parametrize("method", ["drive.changes.list", "drive.files.get", DOWNLOAD])
@pytest.mark.parametrize("vocabulary", ["errors", "details", "both"])
def test_a_403_that_means_fewer_calls_is_waited_out_and_is_no_loss_of_access(
    method: str, vocabulary: Vocabulary, desk: Desk
) -> None:
    files = filled(desk, 2)
    desk.corpus.sync()
    fresh = desk.put("fresh.txt", "A fresh text.")
    throttle = Fault(method, status=403, reason="userRateLimitExceeded", vocabulary=vocabulary, retry_after="7")
    desk.corpus.drive.faults.add(throttle)

    with pytest.raises(ApplicationError) as throttled:
        desk.corpus.sync()
    assert (throttled.value.type, throttled.value.next_retry_delay) == ("Throttled", timedelta(seconds=7))
    assert desk.corpus.found(ADA) == files

    done = desk.corpus.sync()
    assert (done.upserted, done.deleted, done.failed) == (1, 0, 0)
    assert desk.corpus.found(ADA) == {**files, fresh: "A fresh text."}


STOPS = {
    "accessNotConfigured": "enable the Google Drive API",
    "insufficientPermissions": "drive.readonly",
    "authError": "renew or replace the credentials",
}


@pytest.mark.long
@pytest.mark.parametrize("reason", list(STOPS))
def test_what_goes_for_the_whole_account_stops_the_connector_and_says_what_to_do(reason: str, desk: Desk) -> None:
    files = filled(desk, 2)
    desk.corpus.sync()
    status = 401 if reason == "authError" else 403
    desk.corpus.drive.faults.add(Fault("drive.*", status=status, reason=reason, times=None))

    with pytest.raises(ApplicationError, match=STOPS[reason]) as stopped:
        desk.corpus.sync()

    assert stopped.value.type == "SourceUnavailable"
    assert desk.corpus.found(ADA) == files
    desk.corpus.drive.faults.clear()
    assert desk.corpus.sync().did_nothing


def test_an_access_token_that_ends_in_the_middle_is_renewed_and_nothing_is_noticed(desk: Desk) -> None:
    files = filled(desk)
    first, *_ = files
    desk.world.on_download(first, lambda: desk.corpus.drive.tokens.expire_access(ROBOT))

    done = desk.corpus.sync()

    assert (done.upserted, done.failed) == (len(files), 0)
    assert desk.corpus.log.count("token") == 2
    assert desk.corpus.found(ADA) == files


@pytest.mark.long
def test_a_sign_in_that_is_revoked_in_the_middle_stops_the_connector_until_it_is_renewed(desk: Desk) -> None:
    files = filled(desk)
    desk.corpus.sync()
    fresh = {desk.put(f"fresh {number}.txt", f"Fresh {number}."): f"Fresh {number}." for number in range(3)}
    first, *_ = fresh
    desk.world.on_download(first, lambda: desk.corpus.drive.tokens.revoke(ROBOT))
    with pytest.raises(ApplicationError) as stopped:
        desk.corpus.sync()
    assert stopped.value.type == "SourceUnavailable"
    assert files.items() <= desk.corpus.found(ADA).items()
    with pytest.raises(ApplicationError):
        desk.corpus.sync(full=True)
    assert files.items() <= desk.corpus.found(ADA).items()

    desk.corpus.drive.tokens.consent(ROBOT)
    desk.corpus.drive.authorized_user_file(desk.corpus.folder, ROBOT)
    desk.corpus.sync()

    assert desk.corpus.found(ADA) == {**files, **fresh}


GONE_DARK: dict[str, dict[str, Any]] = {
    "drive fails": {"status": 503},
    "a proxy answers": {"status": 404, "body": "<html>404 Not Found</html>"},
    "an answer is cut": {"cut_at_bytes": 40},
    "a connection is lost": {"lost_at_bytes": 40},
}


@pytest.mark.long
@pytest.mark.parametrize("fault", list(GONE_DARK))
def test_an_outage_from_any_call_of_a_listing_on_takes_nothing_away(fault: str, desk: Desk) -> None:
    files = filled(desk, 3)
    desk.corpus.sync()
    for nth in range(1, 5):
        desk.corpus.drive.faults.add(Fault("drive.*", nth=nth, times=None, **GONE_DARK[fault]))
        with pytest.raises(ApplicationError):
            desk.corpus.sync(full=True)
        assert desk.corpus.found(ADA) == files
        desk.corpus.drive.faults.clear()

    done = desk.corpus.sync(full=True)

    assert (done.upserted, done.deleted, done.failed, done.embedded) == (0, 0, 0, [])
    assert desk.corpus.found(ADA) == files


@pytest.mark.long
def test_a_folder_that_is_hidden_from_the_account_empties_nothing_and_goes_on_when_it_is_back(desk: Desk) -> None:
    files = filled(desk, 3)
    desk.corpus.sync()
    desk.world.unshare(desk.folder, ROBOT)

    first = desk.corpus.sync()
    assert first.deleted == 0
    with pytest.raises(ApplicationError) as stopped:
        desk.corpus.sync()
    assert stopped.value.type == "SourceUnavailable"
    assert desk.corpus.found(ADA) == files

    desk.world.share(desk.folder, ROBOT, role="writer")
    done = desk.corpus.sync()
    assert done.read_nothing and done.deleted == 0
    assert desk.corpus.found(ADA) == files
