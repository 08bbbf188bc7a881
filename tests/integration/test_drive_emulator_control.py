"""The emulated Drive as a program, and the control API by which another process turns it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import google.auth.exceptions
import google.oauth2.credentials
import httplib2
import pytest

from tests.drive.client import client_with
from tests.integration.drive_office import ROBOT, Office, open_office, refused

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run


@pytest.fixture
def office() -> Iterator[Office]:
    with open_office() as opened:
        yield opened


def control(url: str, verb: str, path: str, given: Mapping[str, Any] | None = None) -> tuple[int, Any]:
    http = httplib2.Http(timeout=20)
    try:
        answer, body = http.request(
            f"{url}/control/{path}", verb, body=None if given is None else json.dumps(given).encode()
        )
        return answer.status, json.loads(body)
    finally:
        http.close()


def test_the_requests_are_told(office: Office) -> None:
    office.robot.files().get(fileId=office.file).execute()
    office.robot.files().list(pageSize=5).execute()

    status, told = control(office.drive.url, "GET", f"requests?file_id={office.file}")

    assert status == 200
    [request] = told["requests"]
    assert (request["method"], request["email"], request["status"]) == ("drive.files.get", ROBOT, 200)
    assert told["violations"] == []

    control(office.drive.url, "DELETE", "requests")

    assert control(office.drive.url, "GET", "requests")[1]["requests"] == []


def test_faults_are_set_and_cleared(office: Office) -> None:
    fault = {"method": "drive.files.list", "status": 429, "reason": "rateLimitExceeded", "times": None}
    control(office.drive.url, "POST", "faults", {"faults": [fault]})

    assert refused(office.robot.files().list())[:2] == (429, "rateLimitExceeded")

    control(office.drive.url, "DELETE", "faults")

    assert "files" in office.robot.files().list().execute()


def test_weather_and_quota_are_set(office: Office) -> None:
    control(office.drive.url, "POST", "weather", {"share": 1.0, "seed": 1, "statuses": [503]})
    assert refused(office.robot.files().list())[0] == 503

    control(office.drive.url, "DELETE", "faults")
    control(office.drive.url, "POST", "quota", {"per_minute": 1, "retry_after": "9"})
    office.robot.files().list().execute()

    assert refused(office.robot.files().list())[:2] == (403, "userRateLimitExceeded")


def test_modes_are_switched_and_told(office: Office) -> None:
    _, modes = control(office.drive.url, "PATCH", "modes", {"export_limit": 7, "hidden_permissions": [["f", "p"]]})

    assert (modes["export_limit"], modes["coalesce_changes"]) == (7, True)
    assert office.world.modes.hidden_permissions == {("f", "p")}
    assert control(office.drive.url, "PATCH", "modes", {"list_token_lives": 60})[1]["list_token_lives"] == 60.0
    assert control(office.drive.url, "PATCH", "modes", {"colour": "red"})[0] == 400


def test_time_passes_on_demand(office: Office) -> None:
    before = office.world.clock.now()

    control(office.drive.url, "POST", "clock", {"advance_s": 3600})

    assert (office.world.clock.now() - before).total_seconds() == 3600


def test_tokens_are_given_and_taken(office: Office) -> None:
    _, given = control(office.drive.url, "POST", "tokens", {"email": ROBOT})
    credentials = google.oauth2.credentials.Credentials(given["access_token"])  # type: ignore[no-untyped-call]  # google-auth types some calls
    with client_with(office.drive.url, credentials) as service:
        assert "files" in service.files().list().execute()

    control(office.drive.url, "POST", "expire", {"email": ROBOT})

    with pytest.raises(google.auth.exceptions.RefreshError):
        office.robot.files().list().execute()
    assert control(office.drive.url, "POST", "tokens", {"email": "nobody@a.test"})[0] == 400
