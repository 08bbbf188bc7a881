"""What a refusal of Drive, of Google's sign-in or of the network means: whether waiting helps, and whose fault it is."""

import errno
import http.client
import json
import socket
import ssl
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import google.auth.exceptions
import httplib2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.connectors.drive.errors import LATER_S, Call, DriveFault, Of, SharedDriveGone, classify, translate
from activities.connectors.drive.told import MARGIN_S, read_refusal
from headwater.connectors import (
    DocumentDenied,
    DocumentGone,
    DocumentRefused,
    DocumentTooLarge,
    DocumentUnsupported,
    InvalidCursor,
    SourceUnavailable,
    Throttled,
)
from headwater.errors import HeadwaterError, TransientError

auth: Any = google.auth.exceptions  # typed, but for its constructors
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
SECRET = "ya29.a-token of ada@a.test"
ACCOUNT = Call("list the shared drives")
LISTING = Call("list the changes", has_cursor=True)
DRIVE = Call("list shared drive 0ADrive", Of.DRIVE)
DRIVE_LISTING = Call("list the changes of shared drive 0ADrive", Of.DRIVE, has_cursor=True)
FILE = Call("download file 1AbC", Of.FILE, account="ingest@p.iam.gserviceaccount.com")
LINK = Call("download file 1AbC as a text", Of.LINK)
ALL = (ACCOUNT, LISTING, DRIVE, DRIVE_LISTING, FILE, LINK)


def classic(reason: str, **entry: str) -> dict[str, Any]:
    """The older vocabulary."""
    errors = [{"domain": "global", "reason": reason, "message": SECRET, **entry}]
    return {"error": {"code": 0, "message": SECRET, "errors": errors}}


def snake(reason: str) -> str:
    return "".join(f"_{char}" if char.isupper() else char.upper() for char in reason)


def modern(reason: str, status: str = "PERMISSION_DENIED") -> dict[str, Any]:
    """The newer one."""
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": snake(reason), "domain": "googleapis.com"}
    return {"error": {"code": 0, "message": SECRET, "status": status, "details": [info]}}


def both(reason: str, modern_reason: str | None = None) -> dict[str, Any]:
    return {"error": {**classic(reason)["error"], **modern(modern_reason or reason)["error"]}}


def refused(
    status: int, body: object = None, call: Call = FILE, *, headers: Mapping[str, str] | None = None
) -> HeadwaterError:
    content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
    error = classify(read_refusal(status, headers or {}, content, now=NOW), call)
    assert SECRET not in str(error) and "\n" not in str(error)
    assert str(status) in str(error), "it says what Drive answered"
    return error


@pytest.mark.parametrize("call", ALL)
@pytest.mark.parametrize("reason", ["userRateLimitExceeded", "rateLimitExceeded", "sharingRateLimitExceeded"])
def test_a_403_that_asks_for_fewer_calls_is_a_throttle_in_either_vocabulary(reason: str, call: Call) -> None:
    for body in (classic(reason), modern(reason), both(reason)):
        assert type(refused(403, body, call)) is Throttled


@pytest.mark.parametrize("call", ALL)
@pytest.mark.parametrize(
    "body", [None, b"<html>Sorry", classic("rateLimitExceeded"), classic("notFound"), {"error": 1}]
)
def test_a_429_is_a_throttle_whatever_it_says(body: object, call: Call) -> None:
    assert type(refused(429, body, call)) is Throttled


@pytest.mark.parametrize("status", [403, 429])
def test_a_quota_of_the_day_is_asked_after_once_an_hour(status: int) -> None:
    for reason in ("dailyLimitExceeded", "quotaExceeded"):
        for body in (classic(reason), modern(reason), both(reason, "rateLimitExceeded")):
            error = refused(status, body, LISTING)
            assert isinstance(error, Throttled)
            assert error.retry_after_s == LATER_S
    error = refused(status, classic("quotaExceeded"), headers={"retry-after": "7200"})
    assert isinstance(error, Throttled) and error.retry_after_s == 7200


@pytest.mark.parametrize("call", ALL)
@pytest.mark.parametrize("status", [408, 500, 501, 502, 503, 504])
def test_a_fault_of_drive_is_waited_out(status: int, call: Call) -> None:
    for body in (None, b"<html>", classic("backendError"), classic("insufficientFilePermissions")):
        assert type(refused(status, body, call)) is DriveFault


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("insufficientFilePermissions", DocumentDenied),
        ("cannotDownloadFile", DocumentDenied),
        ("cannotDownloadAbusiveFile", DocumentDenied),
        ("cannotExportFile", DocumentDenied),
        ("exportRestricted", DocumentDenied),
        ("appNotAuthorizedToFile", DocumentDenied),
        ("domainPolicy", DocumentDenied),
        ("aReasonOfNextYear", DocumentDenied),
        ("fileNotDownloadable", DocumentUnsupported),
        ("fileNotExportable", DocumentUnsupported),
        ("exportSizeLimitExceeded", DocumentTooLarge),
        ("downloadQuotaExceeded", DocumentRefused),
    ],
)
def test_a_refused_file_costs_that_file(reason: str, expected: type[HeadwaterError]) -> None:
    for body in (classic(reason), modern(reason), both(reason)):
        error = refused(403, body)
        assert type(error) is expected
        assert "1AbC" in str(error)


def test_a_denied_file_says_with_whom_to_share_it() -> None:
    assert "ingest@p.iam.gserviceaccount.com" in str(refused(403, classic("insufficientFilePermissions")))


@pytest.mark.parametrize("call", [ACCOUNT, LISTING, DRIVE, DRIVE_LISTING])
@pytest.mark.parametrize("reason", ["insufficientFilePermissions", "domainPolicy", "aReasonOfNextYear"])
def test_what_costs_one_file_stops_the_connector_where_it_lists(reason: str, call: Call) -> None:
    assert type(refused(403, classic(reason), call)) is SourceUnavailable


@pytest.mark.parametrize("call", ALL)
@pytest.mark.parametrize(
    "reason",
    ["accessNotConfigured", "serviceDisabled", "insufficientPermissions", "accessTokenScopeInsufficient", "authError"],
)
def test_lost_rights_of_the_account_stop_the_connector_whatever_it_asked(reason: str, call: Call) -> None:
    for body in (classic(reason), modern(reason), both(reason)):
        assert type(refused(403, body, call)) is SourceUnavailable


def test_a_stop_says_what_an_operator_can_do() -> None:
    assert "enable the Google Drive API" in str(refused(403, classic("accessNotConfigured")))
    assert "drive.readonly" in str(refused(403, modern("accessTokenScopeInsufficient")))
    assert "renew or replace the credentials" in str(refused(401, classic("authError")))
    assert "root URL" in str(refused(404, classic("notFound"), ACCOUNT))


@pytest.mark.parametrize("body", [None, b"<html>", classic("authError"), modern("accessTokenExpired"), {"error": "x"}])
def test_a_401_stops_the_connector_except_at_a_link(body: object) -> None:
    for call in ALL:
        error = refused(401, body, call)
        assert type(error) is (DocumentDenied if call is LINK else SourceUnavailable)


def test_a_refusal_with_several_reasons_means_the_one_that_loses_least() -> None:
    assert type(refused(403, both("insufficientFilePermissions", "rateLimitExceeded"))) is Throttled
    assert type(refused(403, both("insufficientPermissions", "userRateLimitExceeded"), LISTING)) is Throttled
    assert type(refused(403, both("cannotDownloadFile", "exportSizeLimitExceeded"))) is DocumentTooLarge


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, classic("invalid", location="pageToken", locationType="parameter")),
        (400, classic("invalid")),
        (400, {"error": {"code": 400, "message": "Invalid Value"}}),
        (400, {"error": {"status": "INVALID_ARGUMENT", "details": [{"fieldViolations": [{"field": "page_token"}]}]}}),
        (404, classic("notFound", location="pageToken")),
        (410, classic("gone")),
        (410, classic("deleted", location="pageToken")),
    ],
)
def test_a_refused_page_token_is_an_invalid_cursor_where_one_was_sent(status: int, body: object) -> None:
    for call in (LISTING, DRIVE_LISTING):
        assert type(refused(status, body, call)) is InvalidCursor
    for call in (ACCOUNT, DRIVE, FILE):
        assert not isinstance(refused(status, body, call), InvalidCursor)


def test_a_parameter_that_is_no_page_token_is_no_invalid_cursor() -> None:
    for body in (
        classic("invalidParameter", location="fields"),
        {"error": {"status": "INVALID_ARGUMENT", "details": [{"fieldViolations": [{"field": "q"}]}]}},
    ):
        error = refused(400, body, LISTING)
        assert type(error) is SourceUnavailable
        assert "please report it" in str(error)


@pytest.mark.parametrize("status", [404, 410])
def test_a_missing_file_is_gone_and_a_missing_drive_is_gone(status: int) -> None:
    assert type(refused(status, classic("notFound", location="fileId"))) is DocumentGone
    assert type(refused(status, classic("notFound", location="driveId"), DRIVE)) is SharedDriveGone
    assert type(refused(404, classic("notFound"), DRIVE_LISTING)) is SharedDriveGone
    assert type(refused(403, classic("teamDriveMembershipRequired"), DRIVE)) is SharedDriveGone
    assert issubclass(SharedDriveGone, SourceUnavailable), "who knows nothing of shared drives deletes nothing"


@pytest.mark.parametrize("status", [400, 403, 404, 410, 302])
@pytest.mark.parametrize("body", [b"", b"<html>Not found", b"[]", b'"no"', b"{}", b"\xff", b"[" * 100_000])
def test_a_page_that_drive_did_not_write_deletes_and_withholds_nothing(status: int, body: bytes) -> None:
    assert type(refused(status, body)) is DriveFault
    for call in (ACCOUNT, LISTING, DRIVE, DRIVE_LISTING):
        assert type(refused(status, body, call)) is SourceUnavailable


def test_a_link_answers_in_pages_and_they_are_taken_at_their_word() -> None:
    assert type(refused(404, b"<html>", LINK)) is DocumentRefused, "the link is gone, and perhaps not the file"
    assert type(refused(410, classic("notFound"), LINK)) is DocumentRefused
    assert type(refused(403, b"<html>", LINK)) is DocumentDenied
    assert type(refused(302, b"", LINK)) is DriveFault


def test_another_error_of_one_file_is_that_files() -> None:
    for status in (400, 402, 405, 409, 416, 418, 451):
        assert type(refused(status, classic("badRequest"))) is DocumentRefused
        assert type(refused(status, classic("badRequest"), ACCOUNT)) is SourceUnavailable


@pytest.mark.parametrize(
    ("headers", "error", "seconds"),
    [
        ({}, {}, None),
        ({"retry-after": "7"}, {}, 7),
        ({"retry-after": " 0.5 "}, {}, 0.5),
        ({"retry-after": "soon"}, {}, None),
        ({"retry-after": "-1"}, {}, None),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, {}, 30 + MARGIN_S),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, {}, 0),
        # Its clock is a minute behind ours: what counts is the difference on its own.
        ({"retry-after": "Sun, 01 Mar 2026 11:59:30 GMT", "date": "Sun, 01 Mar 2026 11:59:00 GMT"}, {}, 30 + MARGIN_S),
        ({}, {"message": "User-rate limit exceeded.  Retry after 2026-03-01T12:00:10.500Z"}, 10.5 + MARGIN_S),
        ({}, {"message": "Retry after 2026-03-01T13:00:10+01:00"}, 10 + MARGIN_S),
        ({}, {"message": "Retry after 2026-13-01T13:00:10Z"}, None),
        ({}, {"details": [{"@type": "google.rpc.RetryInfo", "retryDelay": "3.5s"}]}, 3.5),
        ({"retry-after": "2"}, {"details": [{"retryDelay": "9s"}], "message": "x"}, 9),
    ],
)
def test_how_long_to_wait_is_read_wherever_it_stands(
    headers: dict[str, str], error: dict[str, Any], seconds: float | None
) -> None:
    for status in (429, 503):
        found = refused(status, {"error": {"code": status, **error}}, LISTING, headers=headers)
        assert isinstance(found, TransientError)
        assert found.retry_after_s == seconds


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["error", "errors", "details", "reason", "message", "status"]), inner)
    ),
)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from([400, 403, 404, 410, 429, 500]), json_values, st.text(), st.sampled_from(ALL))
def test_no_answer_is_too_odd_to_be_classified(status: int, body: object, header: str, call: Call) -> None:
    told = read_refusal(status, {"retry-after": header, "date": header}, json.dumps(body).encode(), now=NOW)
    assert all(reason.isascii() and len(reason) <= 64 for reason in told.reasons)
    refused(status, body, call, headers={"retry-after": header})


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (TimeoutError("timed out"), "no answer in time"),
        (ConnectionRefusedError(SECRET), "connection refused; check the root URL, the network and the proxy"),
        (ConnectionResetError(SECRET), "the connection was closed"),
        (socket.gaierror(SECRET), "nobody knows a host of that name"),
        (ssl.SSLEOFError(SECRET), "no secure connection"),
        (OSError(errno.EHOSTUNREACH, SECRET), "no route to host"),
        (PermissionError(errno.EACCES, SECRET), "permission denied"),  # a firewall of this machine
        (OSError(SECRET), "OSError"),
        (http.client.IncompleteRead(SECRET.encode()), "the answer broke off"),
        (http.client.RemoteDisconnected(SECRET), "the connection was closed"),
        (http.client.BadStatusLine(SECRET), "what came is no answer of HTTP"),
        (httplib2.ServerNotFoundError(SECRET), "nobody knows a host of that name"),
        (auth.TransportError(SECRET), "TransportError"),
        (auth.TransportError(ConnectionRefusedError(SECRET)), "connection refused"),
        (auth.RefreshError(SECRET, retryable=True), "RefreshError"),
        (auth.RefreshError("internal_failure: None", {"error": "internal_failure"}, retryable=True), "RefreshError"),
        (auth.RefreshError(auth.TransportError(socket.gaierror(SECRET))), "nobody knows a host of that name"),
    ],
)
def test_a_broken_connection_is_waited_out_and_quotes_nothing(error: Exception, says: str) -> None:
    for call in ALL:
        found = translate(error, replace(call, root_url="https://drive.test/"))
        assert type(found) is TransientError
        assert SECRET not in str(found)
        assert says in str(found) and call.action in str(found)
        who = "Google could" if isinstance(error, auth.GoogleAuthError) else "Drive at https://drive.test could"
        assert str(found).startswith(who)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (auth.RefreshError("invalid_grant: Token revoked " + SECRET, {"error": "invalid_grant"}), "revoked"),
        (auth.RefreshError("invalid_grant: " + SECRET), "invalid_grant"),
        (auth.RefreshError("unauthorized_client: " + SECRET), "domain-wide delegation"),
        (auth.RefreshError("invalid_scope: " + SECRET, {"error": "invalid_scope"}), "drive.readonly"),
        (auth.RefreshError(SECRET), "RefreshError"),
        (auth.RefreshError({"error": {"nested": SECRET}}), "RefreshError"),
        (auth.ReauthFailError(SECRET), "ReauthFailError"),
        (auth.DefaultCredentialsError(SECRET), "renew or replace"),
        (auth.InvalidOperation(SECRET), "renew or replace"),
        (auth.MutualTLSChannelError(SECRET), "renew or replace"),
        (auth.GoogleAuthError(SECRET), "renew or replace"),
        (ssl.SSLCertVerificationError(SECRET), "certificate"),
        (FileNotFoundError(2, SECRET), "certificates"),
        (httplib2.error.ProxiesUnavailableError(SECRET), "PySocks"),
    ],
)
def test_a_sign_in_that_is_refused_stops_the_connector_and_quotes_nothing(error: Exception, says: str) -> None:
    for call in ALL:
        found = translate(error, call)
        assert type(found) is SourceUnavailable
        assert SECRET not in str(found)
        assert says in str(found)


def test_what_is_ours_already_stays_and_a_defect_is_none_of_drives() -> None:
    ours = DocumentTooLarge("It has 9 bytes.")
    assert translate(ours, FILE) is ours
    for defect in (KeyError(SECRET), ValueError(SECRET), TypeError(SECRET), RuntimeError(SECRET)):
        assert translate(defect, FILE) is None
