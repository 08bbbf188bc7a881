"""What becomes of an answer that is broken, endless, late or not Drive's; and to whom a token is sent."""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from activities.connectors.drive.addresses import Addresses
from activities.connectors.drive.credentials import CredentialSource, SignIn
from activities.connectors.drive.errors import Call, DriveFault, Of
from activities.connectors.drive.service import DriveService, check_root_url, discovery_document
from activities.connectors.drive.transport import LEAST
from headwater.connectors import (
    DocumentDenied,
    DocumentGone,
    DocumentRefused,
    DocumentTooLarge,
    SourceUnavailable,
    Throttled,
)
from headwater.errors import HeadwaterError, TransientError, ValidationError
from tests.unit.raw_drive import RawDrive, Reply, packed, person, refuses, running_raw_drive, says, token_reply

Connect = Callable[..., DriveService]
FILES = "/drive/v3/files"
FILE = "/drive/v3/files/1AbC"
LIST = Call("list the files", account="ada@a.test")
READ = Call("download file 1AbC", Of.FILE, account="ada@a.test")
LINK = Call("export file 1AbC by its link", Of.LINK)
SECRETS = ("ya29", "1//a-refresh-token", "GOCSPX", "the text of a document")


@pytest.fixture
def drive() -> Iterator[RawDrive]:
    with running_raw_drive() as running:
        running.script("/token", token_reply())
        yield running


@pytest.fixture
def sign_in(drive: RawDrive, tmp_path: Path) -> SignIn:
    file = tmp_path / "person.json"
    file.write_text(json.dumps(person(drive)))
    return CredentialSource(str(file)).sign_in()


@pytest.fixture
def connect(drive: RawDrive, sign_in: SignIn) -> Iterator[Connect]:
    """Makes services, which end with the test."""
    with ExitStack() as made:

        def connect(**settings: Any) -> DriveService:
            service = DriveService(sign_in, **{"root_url": drive.url, **settings})
            made.callback(service.close)
            return service

        yield connect


@pytest.fixture
def service(connect: Connect) -> DriveService:
    return connect()


def listed(service: DriveService) -> dict[str, Any]:
    return service.answer(service.client.files().list(), LIST)


def media(service: DriveService, *, max_bytes: int = 1_000) -> bytes:
    return service.media(service.client.files().get_media(fileId="1AbC"), READ, max_bytes=max_bytes)


def failure(service: DriveService, *, max_bytes: int | None = None) -> HeadwaterError:
    """What a listing raises, or a download with a limit."""
    with pytest.raises(HeadwaterError) as raised:
        if max_bytes is None:
            listed(service)
        else:
            media(service, max_bytes=max_bytes)
    error = raised.value
    assert (error.__cause__ is None and error.__suppress_context__) or error.__context__ is None
    assert not [secret for secret in SECRETS if secret in f"{error!r} {error.__dict__}"]
    return error


def test_an_answer_comes_from_the_root_url_with_the_token_that_was_fetched(
    drive: RawDrive, service: DriveService
) -> None:
    drive.script(FILES, says({"files": []}))
    assert listed(service) == {"files": []}
    (asked,) = drive.asked(FILES)
    assert asked.token == "Bearer ya29.fresh"
    assert b"refresh_token=1%2F%2Fa-refresh-token" in drive.asked("/token")[0].body
    assert b"scope" not in drive.asked("/token")[0].body, "a grant of more than reading would be refused"


@pytest.mark.parametrize(
    "body", [b'{"files": [{"id": "1', b"", b"[]", b'"text"', b"1", b"null", b"\xff\xfe", b"[" * 99_999]
)
def test_an_answer_that_is_no_object_is_asked_for_again_and_never_taken_for_one(
    drive: RawDrive, service: DriveService, body: bytes
) -> None:
    drive.script(FILES, Reply(body), says({"files": []}))
    assert type(failure(service)) is DriveFault
    assert listed(service) == {"files": []}


@pytest.mark.parametrize(
    "broken",
    [
        Reply(b'{"files": []}', sends=5),
        Reply(b'{"files": []}', sends=0),
        Reply(b'{"files": []}', length=500),
        Reply(b"5\r\n{\"fil", headers={"transfer-encoding": "chunked"}, sends=8),
        Reply(b"junk that is not gzip", headers={"content-encoding": "gzip"}),
    ],
)  # fmt: skip
def test_an_answer_that_breaks_off_is_asked_for_again_on_a_new_connection(
    drive: RawDrive, service: DriveService, broken: Reply
) -> None:
    for path in (FILES, FILE):
        drive.script(path, broken, says({"files": []}))
    assert type(failure(service)) is TransientError
    assert listed(service) == {"files": []}
    assert type(failure(service, max_bytes=1_000)) is TransientError
    assert media(service) == b'{"files": []}'


def test_a_connection_that_was_closed_meanwhile_is_opened_again(drive: RawDrive, service: DriveService) -> None:
    drive.script(FILES, Reply(b"{}", closes=True))
    for _ in range(3):
        assert listed(service) == {}


def test_a_server_on_this_machine_is_asked_past_a_proxy_and_another_one_is_not(
    drive: RawDrive, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    drive.script(FILES, says({}))
    assert listed(connect()) == {}
    error = failure(connect(root_url="http://emulator/"))
    assert type(error) is SourceUnavailable and "proxy" in str(error)


def test_a_server_that_is_away_is_waited_for(connect: Connect) -> None:
    with running_raw_drive() as gone:
        service = connect(root_url=gone.url)
    assert type(failure(service)) is TransientError


def test_a_server_that_says_nothing_is_not_waited_for_without_end(drive: RawDrive, connect: Connect) -> None:
    service = connect(timeout_s=0.2)
    drive.script(FILES, Reply(is_silent=True))
    assert type(failure(service)) is TransientError
    assert drive.hung_up.wait(10)


def test_an_answer_that_trickles_is_given_up_after_its_time(drive: RawDrive, connect: Connect) -> None:
    service = connect(answer_s=0.3, answer_max=10**12)
    drive.script(FILES, Reply(is_endless=True))
    assert type(failure(service)) is TransientError
    assert drive.hung_up.wait(10)


def test_what_is_asked_within_a_time_ends_with_it_however_often_it_is_asked(
    drive: RawDrive, service: DriveService
) -> None:
    drive.script(FILE, Reply(is_endless=True))
    drive.script(FILES, says({"files": []}))
    with service.within(0.3):
        assert type(failure(service, max_bytes=10**12)) is TransientError
        assert not drive.log or drive.hung_up.wait(10)  # on a busy machine the time is over before anything is asked
        asked = len(drive.log)
        assert type(failure(service)) is TransientError
        assert len(drive.log) == asked, "nothing is asked any more"
    assert listed(service) == {"files": []}


def test_a_throttle_says_how_long_and_is_not_retried_here(drive: RawDrive, service: DriveService) -> None:
    for refusal in (
        refuses(429, "rateLimitExceeded", retry_after="7"),
        refuses(403, "userRateLimitExceeded", retry_after="7"),
    ):
        drive.script(FILES, refusal)
        error = failure(service)
        assert isinstance(error, Throttled)
        assert error.retry_after_s == 7
    assert len(drive.asked(FILES)) == 2


def test_a_fault_is_not_retried_here(drive: RawDrive, service: DriveService) -> None:
    drive.script(FILES, refuses(500, "internalError"))
    assert type(failure(service)) is DriveFault
    assert len(drive.asked(FILES)) == 1


@pytest.mark.parametrize(
    "body", [{"error": "status of a kind"}, [], {"error": None}, {"error": {"errors": 1, "message": 1}}, 1]
)
def test_a_refusal_in_an_odd_shape_is_classified_all_the_same(
    drive: RawDrive, service: DriveService, body: object, caplog: pytest.LogCaptureFixture
) -> None:
    drive.script(FILES, says(body, 403))
    assert type(failure(service)) is SourceUnavailable
    assert caplog.text == ""


def test_a_refused_token_is_replaced_once(drive: RawDrive, service: DriveService) -> None:
    drive.script("/token", token_reply("ya29.old"), token_reply("ya29.new"))
    drive.script(FILES, refuses(401, "authError"), says({}))
    listed(service)
    assert [asked.token for asked in drive.asked(FILES)] == ["Bearer ya29.old", "Bearer ya29.new"]


def test_a_token_that_is_refused_again_and_again_stops_the_connector(drive: RawDrive, service: DriveService) -> None:
    drive.script(FILES, refuses(401, "authError"))
    assert type(failure(service)) is SourceUnavailable
    assert len(drive.asked(FILES)) == 2


@pytest.mark.parametrize("before", [(), (token_reply("ya29.old"),)])
def test_a_revoked_sign_in_stops_the_connector_at_first_and_in_the_middle(
    drive: RawDrive, service: DriveService, before: tuple[Reply, ...]
) -> None:
    revoked = says({"error": "invalid_grant", "error_description": "Token 1//a-refresh-token has been revoked."}, 400)
    drive.script("/token", *before, revoked)
    drive.script(FILES, refuses(401, "authError"))
    error = failure(service)
    assert type(error) is SourceUnavailable
    assert "invalid_grant" in str(error)


def test_a_sign_in_that_breaks_off_is_waited_out(drive: RawDrive, service: DriveService) -> None:
    drive.script("/token", Reply(b"{}", sends=0), token_reply())
    drive.script(FILES, says({}))
    assert type(failure(service)) is TransientError
    assert listed(service) == {}


def test_threads_that_share_a_sign_in_fetch_one_token(drive: RawDrive, connect: Connect) -> None:
    drive.script(FILES, says({}))
    together = threading.Barrier(6)

    def ask() -> None:
        service = connect()
        together.wait(10)
        listed(service)

    with ThreadPoolExecutor(6) as pool:
        for asked in [pool.submit(ask) for _ in range(6)]:
            asked.result(timeout=30)
    assert len(drive.asked("/token")) == 1
    assert len(drive.asked(FILES)) == 6


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"x" * (LEAST + 1)),
        Reply(b"", length=LEAST + 1),
        Reply(is_endless=True),
        packed(b" " * (LEAST + 1)),
    ],
)
def test_an_answer_without_end_is_not_read_to_its_end(drive: RawDrive, connect: Connect, reply: Reply) -> None:
    service = connect(answer_max=LEAST)
    for path in (FILES, FILE):
        drive.script(path, reply, says({"files": []}))
    error = failure(service)
    assert type(error) is DriveFault and "more than" in str(error)
    assert listed(service) == {"files": []}
    assert type(failure(service, max_bytes=LEAST)) is DocumentTooLarge
    assert media(service) == b'{"files": []}'


def test_a_document_may_have_as_many_bytes_as_allowed_and_not_one_more(drive: RawDrive, service: DriveService) -> None:
    for reply in (Reply(b"x" * 1_000), packed(b"x" * 1_000)):
        drive.script(FILE, reply)
        assert media(service, max_bytes=1_000) == b"x" * 1_000
        assert type(failure(service, max_bytes=999)) is DocumentTooLarge
    drive.script(FILE, Reply(b"x" * (LEAST + 5)))
    assert len(media(service, max_bytes=LEAST + 5)) == LEAST + 5
    assert type(failure(service, max_bytes=LEAST + 4)) is DocumentTooLarge


def test_an_empty_document_has_no_bytes(drive: RawDrive, service: DriveService) -> None:
    drive.script(FILE, Reply(b""))
    assert media(service) == b""


def test_a_document_is_whatever_its_bytes_are_and_never_read_as_an_answer(
    drive: RawDrive, service: DriveService
) -> None:
    for body in (b"1", b"null", b'{"error": {"code": 404}}', b"\x1f\x8b\x08 not packed", b"\xff\x00"):
        drive.script(FILE, Reply(body))
        assert media(service) == body


def test_a_refusal_of_a_document_is_told_from_its_bytes_and_from_its_size(
    drive: RawDrive, service: DriveService
) -> None:
    long = {"error": {"code": 403, "message": "x" * 100_000, "errors": [{"reason": "cannotDownloadFile"}]}}
    drive.script(FILE, refuses(404, "notFound"), says(long, 403), Reply(status=403, is_endless=True))
    assert type(failure(service, max_bytes=10)) is DocumentGone
    assert type(failure(service, max_bytes=10)) is DocumentDenied
    assert type(failure(service, max_bytes=10)) is TransientError, "no document is too large because a refusal is"


def test_no_log_holds_a_secret_a_refusal_or_a_text_however_much_is_logged(
    drive: RawDrive, service: DriveService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    drive.script("/token", token_reply("ya29.old"), token_reply("ya29.new"))
    text = b"the text of a document"
    refusal = says(
        {"error": {"code": 403, "message": text.decode(), "errors": [{"reason": "cannotDownloadFile"}]}}, 403
    )
    drive.script(FILE, refuses(401, "authError"), Reply(text), refusal, Reply(text, 403), Reply(text, sends=3))
    assert media(service) == text
    for _ in range(3):
        failure(service, max_bytes=100)
    drive.script(FILES, Reply(text))
    failure(service)
    assert len(drive.log) == 2 + 5 + 1
    assert not [secret for secret in SECRETS if secret in caplog.text]


def test_a_link_of_drive_is_followed_with_the_token_and_another_is_not(drive: RawDrive, service: DriveService) -> None:
    drive.script("/export", Reply(b"text"))
    assert service.link(f"{drive.url}/export?id=1AbC", LINK, max_bytes=100) == b"text"
    assert drive.asked("/export")[0].token == "Bearer ya29.fresh"
    port = drive.url.rpartition(":")[2]
    for elsewhere in (
        f"http://localhost:{port}/export",
        f"{drive.url.replace('http', 'https')}/export",
        "https://google.com.example.test/export",
        "https://notgoogle.com/export",
        "http://docs.google.com/export",
        f"http://docs.google.com@127.0.0.1:{port}/export",
        "file:///etc/passwd",
        "",
        "https://[/",
        "https://docs.google.com:x/",
        "https://docs.google.com/a b",
        "https://evil.test\\@docs.google.com/",
        "https://docs.google.com:8443/export",
        "https://7.6.5.4.bc.googleusercontent.com/export",
        "https://googleusercontent.com.evil.test/export",
    ):
        with pytest.raises(DocumentRefused):
            service.link(elsewhere, LINK, max_bytes=100)
    assert len(drive.log) == 2, "the token and the link"


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.google.com/export?id=1",
        "https://doc-0s-1k-docs.googleusercontent.com/x",
        "https://www.googleapis.com/x",
    ],
)
def test_where_google_has_what_it_exports_is_known(url: str) -> None:
    assert Addresses("https://www.googleapis.com/").has(url)


def test_a_redirect_of_a_download_is_followed_within_drive_and_without_the_token(
    drive: RawDrive, service: DriveService
) -> None:
    drive.script("/bytes", Reply(b"text"))
    drive.script(FILE, Reply(b"", 302, {"location": f"{drive.url}/bytes"}))
    request = service.client.files().get_media(fileId="1AbC")
    request.headers["X-Goog-Drive-Resource-Keys"] = "1AbC/0-key"
    assert service.media(request, READ, max_bytes=100) == b"text"
    (followed,) = drive.asked("/bytes")
    assert followed.token is None and "x-goog-drive-resource-keys" not in followed.headers


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_elsewhere_is_not_followed_at_all(drive: RawDrive, service: DriveService, status: int) -> None:
    with running_raw_drive() as elsewhere:
        elsewhere.script("/bytes", Reply(b"text"))
        drive.script(FILE, Reply(b"", status, {"location": f"{elsewhere.url}/bytes"}))
        assert isinstance(failure(service, max_bytes=100), TransientError)
        assert elsewhere.log == []


def test_a_redirect_is_no_answer_to_what_drive_is_asked(drive: RawDrive, service: DriveService) -> None:
    drive.script("/elsewhere", says({"files": []}))
    drive.script(FILES, Reply(b"", 302, {"location": f"{drive.url}/elsewhere"}))
    assert isinstance(failure(service), SourceUnavailable)
    assert drive.asked("/elsewhere") == []


def test_a_token_server_that_redirects_is_told_no_secret_elsewhere(drive: RawDrive, service: DriveService) -> None:
    with running_raw_drive() as elsewhere:
        for status in (301, 302, 303, 307, 308):
            elsewhere.script("/token", token_reply())
            drive.script("/token", Reply(b"", status, {"location": f"{elsewhere.url}/token"}))
            drive.script(FILES, says({"files": []}))
            failure(service)
        assert elsewhere.log == []


def test_a_redirect_to_nowhere_or_without_end_is_no_defect_and_no_document(
    drive: RawDrive, service: DriveService
) -> None:
    for location in (
        f"{drive.url}{FILE}",
        "ftp://127.0.0.1/x",
        "file:///etc/passwd",
        "https://[/",
        "http://127.0.0.1:x/",
    ):
        drive.script(FILE, Reply(b"", 302, {"location": location}))
        assert isinstance(failure(service, max_bytes=10), TransientError)


@pytest.mark.parametrize(
    "url",
    ["https://drive.test", "https://drive.test/", "http://127.0.0.1:1/", "http://emulator:8085", "http://[::1]:1"],
)
def test_a_root_url_is_any_server_over_tls_or_one_nearby(url: str) -> None:
    assert check_root_url(url) == url.rstrip("/") + "/"


@pytest.mark.parametrize(
    "url",
    ["", "drive.test", "http://www.googleapis.com/", "http://[2001:db8::1]/", "ftp://localhost/", "https:///x", "https://[/",
     "https://u:p@drive.test/", "https://drive.test/?q=1", "https://drive.test/#x", "file:///x"],
)  # fmt: skip
def test_a_root_url_to_which_a_token_must_not_go_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="root URL"):
        check_root_url(url)


def test_the_discovery_document_leads_nowhere_but_to_the_root_url() -> None:
    document = discovery_document("https://drive.test/")
    urls = {value for value in document.values() if isinstance(value, str) and value.startswith("https://")}
    assert {url for url in urls if "googleapis.com" in url} == set()
    assert document["rootUrl"] == "https://drive.test/" and document["baseUrl"] == "https://drive.test/drive/v3/"
