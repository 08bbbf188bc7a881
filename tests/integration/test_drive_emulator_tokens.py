"""Tokens of the emulated Drive, got and renewed by google-auth itself."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import google.auth.exceptions
import google.oauth2.credentials
import google.oauth2.service_account
import pytest

from tests.drive.client import client_with
from tests.drive.faults import Fault
from tests.drive.tokens import FULL, READ_ONLY
from tests.integration.drive_office import BEN, ROBOT, Office, open_office, refused

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run


@pytest.fixture
def office() -> Iterator[Office]:
    with open_office() as opened:
        yield opened


def user(office: Office, email: str) -> Any:
    """Drive with the credentials of an OAuth user, which have no token yet."""
    held = office.drive.authorized_user(email)
    credentials = google.oauth2.credentials.Credentials(  # type: ignore[no-untyped-call]  # google-auth types some calls
        None,
        refresh_token=held["refresh_token"],
        token_uri=held["token_uri"],
        client_id=held["client_id"],
        client_secret=held["client_secret"],
    )
    return client_with(office.drive.url, credentials)


def robot(
    office: Office, *, subject: str | None = None, scope: str = FULL, may_impersonate: tuple[str, ...] = ()
) -> Any:
    """Drive with the key of a service account."""
    key = office.drive.service_account(ROBOT, may_impersonate=may_impersonate)
    credentials = google.oauth2.service_account.Credentials.from_service_account_info(  # type: ignore[no-untyped-call]  # google-auth types some calls
        key, scopes=[scope], subject=subject
    )
    return client_with(office.drive.url, credentials)


def who(service: Any) -> str:
    address: str = service.about().get(fields="user(emailAddress)").execute()["user"]["emailAddress"]
    return address


def test_a_refresh_token_brings_access(office: Office) -> None:
    with user(office, BEN) as service:
        assert who(service) == BEN
        assert office.drive.log.count("token") == 1


def test_a_token_that_has_run_out_is_renewed_by_the_client(office: Office) -> None:
    with user(office, BEN) as service:
        who(service)
        office.world.clock.advance(timedelta(hours=1))

        assert who(service) == BEN
        assert [entry.status for entry in office.drive.log.of("drive.about.get")] == [200, 401, 200]


def test_after_consent_is_taken_back_there_is_no_new_token(office: Office) -> None:
    with user(office, BEN) as service:
        who(service)
        office.drive.tokens.revoke(BEN)

        with pytest.raises(google.auth.exceptions.RefreshError, match="invalid_grant"):
            who(service)


def test_a_token_that_cannot_be_renewed_is_no_http_error(office: Office) -> None:
    office.drive.tokens.expire_access(ROBOT)

    with pytest.raises(google.auth.exceptions.RefreshError):
        office.robot.files().list().execute()


def test_a_service_account_signs_for_itself(office: Office) -> None:
    with robot(office) as service:
        assert who(service) == ROBOT


def test_a_service_account_acts_for_those_whom_it_may(office: Office) -> None:
    with robot(office, subject=BEN, may_impersonate=(BEN,)) as service:
        assert who(service) == BEN
    with (
        robot(office, subject=BEN) as service,
        pytest.raises(google.auth.exceptions.RefreshError, match="unauthorized_client"),
    ):
        who(service)


def test_a_suspended_user_cannot_be_acted_for(office: Office) -> None:
    office.drive.tokens.revoke(BEN)

    with (
        robot(office, subject=BEN, may_impersonate=(BEN,)) as service,
        pytest.raises(google.auth.exceptions.RefreshError, match="invalid_grant"),
    ):
        who(service)


def test_a_key_that_is_not_the_accounts_signs_nothing(office: Office) -> None:
    with robot(office) as service:
        office.drive.service_account(ROBOT)  # another key takes its place

        with pytest.raises(google.auth.exceptions.RefreshError, match="invalid_grant"):
            who(service)


def test_a_scope_for_reading_does_not_write(office: Office) -> None:
    with robot(office, scope=READ_ONLY) as service:
        assert service.files().get(fileId=office.file).execute()["name"] == "plan.md"
        assert refused(service.files().create(body={"name": "x"}))[:2] == (403, "insufficientPermissions")


def test_a_call_without_a_token_or_with_an_unknown_one_is_refused(office: Office) -> None:
    address = f"{office.drive.url}/drive/v3/files"
    http = office.robot._http.http

    for headers in ({}, {"Authorization": "Bearer unknown"}, {"Authorization": "Basic dTpw"}):
        answer, body = http.request(address, headers=headers)
        assert answer.status == 401
        assert b'"locationType": "header"' in body


def test_a_token_in_the_query_string_is_neither_taken_nor_kept(office: Office) -> None:
    token = office.drive.token(BEN)

    answer, _ = office.robot._http.http.request(f"{office.drive.url}/drive/v3/files?access_token={token}&pageSize=7")

    assert answer.status == 401
    assert [entry.parameters for entry in office.drive.log.of()] == [{"pageSize": "7"}]


def test_a_deleted_account_has_no_access(office: Office) -> None:
    office.world.delete_user(BEN)

    with pytest.raises(google.auth.exceptions.RefreshError):
        office.ben.files().list().execute()


def test_the_token_endpoint_can_fail_too(office: Office) -> None:
    office.drive.faults.add(Fault("token", status=503))

    with user(office, BEN) as service:
        assert who(service) == BEN
        assert [entry.status for entry in office.drive.log.of("token")] == [503, 200]


def test_nothing_that_the_log_keeps_or_shows_is_a_token(office: Office) -> None:
    with user(office, BEN) as service:
        who(service)
    held = office.drive.authorized_user(BEN)

    shown = repr(office.drive) + repr(office.drive.log.of("*"))

    assert held["refresh_token"] not in shown
    assert "access-" not in shown
