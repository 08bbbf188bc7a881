"""Faults of the emulated Drive as Google's client meets them: what it hides, and what it lets through."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest
from googleapiclient.errors import HttpError  # type: ignore[import-untyped]  # it comes without types

from tests.drive.error_json import Vocabulary
from tests.drive.faults import Fault
from tests.integration.drive_office import PLAN, ROBOT, Office, open_office, refused

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run


@pytest.fixture
def office() -> Iterator[Office]:
    with open_office() as opened:
        yield opened


def failed(request: Any) -> HttpError:
    with pytest.raises(HttpError) as error:
        request.execute()
    return error.value


@pytest.mark.parametrize("vocabulary", ["errors", "details", "both"])
@pytest.mark.parametrize("retry_after", ["7", "Mon, 30 Nov 2026 12:00:00 GMT"])
def test_a_throttle_says_when_to_come_back(office: Office, vocabulary: Vocabulary, retry_after: str) -> None:
    office.drive.faults.add(
        Fault(
            "drive.files.list",
            status=403,
            reason="userRateLimitExceeded",
            vocabulary=vocabulary,
            retry_after=retry_after,
        )
    )

    error = failed(office.robot.files().list())

    assert error.resp["retry-after"] == retry_after
    inner = json.loads(error.content)["error"]
    assert [each["reason"] for each in inner.get("errors", [])] == ["userRateLimitExceeded"] * (vocabulary != "details")
    assert [each["reason"] for each in inner.get("details", [])] == ["USER_RATE_LIMIT_EXCEEDED"] * (
        vocabulary != "errors"
    )
    assert "files" in office.robot.files().list().execute()


def test_with_both_vocabularies_the_client_shows_only_one(office: Office) -> None:
    office.drive.faults.add(Fault(status=403, reason="rateLimitExceeded", vocabulary="both"))

    shown: Any = failed(office.robot.files().list()).error_details

    assert [detail["reason"] for detail in shown] == ["RATE_LIMIT_EXCEEDED"]


def test_a_cut_answer_is_a_string_to_the_client(office: Office) -> None:
    office.drive.faults.add(Fault("drive.files.list", cut_at_bytes=20))

    assert isinstance(office.robot.files().list().execute(), str)


@pytest.mark.parametrize("method", ["drive.files.get:media", "drive.files.export"])
def test_a_lost_connection_is_an_incomplete_read(office: Office, method: str) -> None:
    document = office.world.add_document("Notes", {"text/plain": "Rain."}, parent=office.folder).id
    office.drive.faults.add(Fault(method, lost_at_bytes=4))
    request = (
        office.robot.files().get_media(fileId=office.file)
        if method.endswith("media")
        else office.robot.files().export(fileId=document, mimeType="text/plain")
    )

    with pytest.raises(http.client.IncompleteRead):
        request.execute()

    assert office.drive.log.of(method)[0].sent_bytes == 4
    assert office.robot.files().get_media(fileId=office.file).execute() == PLAN


def test_a_call_without_an_answer_is_sent_again_and_then_given_up(office: Office) -> None:
    office.drive.faults.add(
        Fault("drive.files.list", hangs_up=True), Fault("drive.files.get", hangs_up=True, times=None)
    )

    assert "files" in office.robot.files().list().execute()
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        office.robot.files().get(fileId=office.file).execute()

    assert [entry.status for entry in office.drive.log.of("drive.files.list")] == [0, 200]


def test_a_page_of_a_proxy_is_no_json(office: Office) -> None:
    office.drive.faults.add(Fault(status=502, body="<html>Bad Gateway</html>"))

    assert failed(office.robot.files().list()).content == b"<html>Bad Gateway</html>"


def test_the_second_download_of_one_file_fails_and_no_other(office: Office) -> None:
    office.drive.faults.add(Fault("drive.files.get:media", file_id=office.file, nth=2, status=500))
    request = office.robot.files().get_media(fileId=office.file)

    assert request.execute() == PLAN
    assert refused(request)[:2] == (500, "backendError")
    assert request.execute() == PLAN
    assert [entry.is_fault for entry in office.drive.log.of("drive.files.get:media")] == [False, True, False]


def test_late_answers_are_late_and_hold_up_nobody(office: Office) -> None:
    office.drive.faults.add(Fault("drive.files.list", latency_s=30, email=ROBOT))
    office.robot._http.http.timeout = 0.2

    with pytest.raises(TimeoutError):
        office.robot.files().list().execute()

    assert "files" in office.ada.files().list().execute()


def test_a_quota_is_refused_as_drive_refuses_it(office: Office) -> None:
    office.drive.faults.quota(2)

    about = office.robot.about().get(fields="user")
    about.execute()
    about.execute()

    assert refused(about)[:2] == (403, "userRateLimitExceeded")
    assert office.ada.about().get(fields="user").execute()
