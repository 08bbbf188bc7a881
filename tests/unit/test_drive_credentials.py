"""Where credentials are taken from, what is said when they cannot be, and that nothing of them is ever repeated."""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from google.oauth2 import credentials as of_person
from google.oauth2 import service_account

from activities.connectors.drive.credentials import CredentialSource, is_private
from headwater.connectors import SourceUnavailable
from headwater.errors import HeadwaterError, ValidationError

PERSON: dict[str, Any] = {
    "type": "authorized_user",
    "client_id": "1234.apps.googleusercontent.com",
    "client_secret": "GOCSPX-secret-of-the-client",
    "refresh_token": "1//secret-refresh-token",
}
SERVICE: dict[str, Any] = {
    "type": "service_account",
    "client_email": "ingest@project.iam.gserviceaccount.com",
    "token_uri": "https://oauth2.googleapis.com/token",
    "private_key_id": "secret-key-id",
}


@cache
def pem(kind: str = "rsa") -> str:
    key = ec.generate_private_key(ec.SECP256R1()) if kind == "ec" else rsa.generate_private_key(65537, 2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def service(**changed: Any) -> dict[str, Any]:
    return {**SERVICE, "private_key": pem(), **changed}


def put(folder: Path, content: object) -> str:
    file = folder / "credentials.json"
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return str(file)


def without(info: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in info.items() if key != name}


def refused(folder: Path, content: object, *, subject: str | None = None) -> HeadwaterError:
    file = put(folder, content)
    with pytest.raises(HeadwaterError) as raised:
        CredentialSource(file, subject).sign_in()
    told = "".join(traceback.format_exception(raised.value))
    assert "secret" not in told.replace("client_secret", "") and "BEGIN" not in told, "not even as a cause"
    assert raised.value.__context__ is None or raised.value.__suppress_context__, "whatever a library's message holds"
    assert file in str(raised.value)
    return raised.value


def test_a_service_accounts_key_signs_in_as_itself_for_reading_only(tmp_path: Path) -> None:
    found = CredentialSource(put(tmp_path, service())).sign_in()
    assert isinstance(found.credentials, service_account.Credentials)
    assert found.account == SERVICE["client_email"]
    assert list(found.credentials.scopes or ()) == ["https://www.googleapis.com/auth/drive.readonly"]
    assert found.credentials._subject is None


def test_a_service_account_acts_for_the_subject(tmp_path: Path) -> None:
    found = CredentialSource(put(tmp_path, service()), "ada@a.test").sign_in()
    assert found.account == "ada@a.test", "files are shared with the one it acts for"
    assert isinstance(found.credentials, service_account.Credentials)
    assert found.credentials._subject == "ada@a.test"


def test_a_persons_file_is_read_as_gcloud_and_as_googles_quickstart_write_it(tmp_path: Path) -> None:
    quickstart = {**without(PERSON, "type"), "token": "ya29.secret", "scopes": ["x"], "expiry": "2020-01-01T00:00:00Z"}
    for info in (PERSON, quickstart, {**PERSON, "account": "ada@a.test"}):
        found = CredentialSource(put(tmp_path, info)).sign_in()
        assert isinstance(found.credentials, of_person.Credentials)
        assert found.credentials.refresh_token == PERSON["refresh_token"]
        assert found.credentials.token is None, "an old token is not tried first"
        assert found.credentials.token_uri == "https://oauth2.googleapis.com/token"
    assert found.account == "ada@a.test"


def test_a_token_server_of_the_file_is_used(tmp_path: Path) -> None:
    for info in (service(token_uri="http://127.0.0.1:1/token"), {**PERSON, "token_uri": "http://127.0.0.1:1/token"}):
        found: Any = CredentialSource(put(tmp_path, info)).sign_in().credentials
        assert found._token_uri == "http://127.0.0.1:1/token"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no JSON object"),
        (b"{", "no JSON object"),
        (b"[]", "no JSON object"),
        (b"\xff\xfe", "no JSON object"),
        (b"[" * 60_000, "no JSON object"),
        (b" " * 70_000, "more than 65,536 bytes"),
        ({}, "has no type"),
        ({"type": "external_account", "secret": "secret"}, "GOOGLE_APPLICATION_CREDENTIALS"),
        ({"type": ["secret"]}, "neither"),
        ({"installed": {"client_secret": "secret"}}, "nobody who authorised it"),
        ({"web": {"client_secret": "secret"}}, "nobody who authorised it"),
        (without(PERSON, "refresh_token"), "refresh_token (a token alone ends within the hour)"),
        ({**PERSON, "client_secret": ""}, "lacks client_secret"),
        ({**PERSON, "client_id": 7}, "lacks client_id"),
        ({**PERSON, "token_uri": "http://tokens.example.com/secret"}, "must begin with https://"),
        ({**SERVICE}, "lacks private_key"),
        ({**SERVICE, "private_key": "-----BEGIN secret"}, "private key"),
        ({**SERVICE, "private_key": "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n"}, "private key"),
        ({**SERVICE, "private_key": "x", "client_email": None}, "lacks client_email"),
        ({**SERVICE, "private_key": "x", "token_uri": "ftp://x"}, "must begin with https://"),
    ],
)
def test_a_file_that_is_no_key_is_refused_with_what_is_wrong(tmp_path: Path, content: object, says: str) -> None:
    error = refused(tmp_path, content)
    assert isinstance(error, SourceUnavailable)
    assert says in str(error)


def test_a_person_cannot_act_for_somebody_else(tmp_path: Path) -> None:
    assert "domain-wide delegation" in str(refused(tmp_path, PERSON, subject="bob@a.test"))


def test_a_file_that_is_not_there_or_is_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="does not exist where the worker runs"):
        CredentialSource(str(tmp_path / "none.json")).sign_in()
    with pytest.raises(SourceUnavailable, match="cannot be read: Is a directory"):
        CredentialSource(str(tmp_path)).sign_in()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceUnavailable, match="no JSON object"):
        CredentialSource(str(tmp_path / "pipe")).sign_in()


@pytest.mark.parametrize("subject", ["", "ada", "a@b@c", "ada @a.test", "ada\n@a.test"])
def test_a_subject_is_an_address(subject: str) -> None:
    with pytest.raises(ValidationError, match="subject"):
        CredentialSource(subject=subject)


@pytest.mark.parametrize("file", ["", "credentials.json", "~/credentials.json", "/a\0b", "/a\nb"])
def test_a_path_that_another_place_would_read_otherwise_is_refused(file: str) -> None:
    with pytest.raises(ValidationError, match="absolute path"):
        CredentialSource(file)


def test_nothing_of_the_credentials_is_in_what_a_log_would_show(tmp_path: Path) -> None:
    for info in (PERSON, service()):
        source = CredentialSource(put(tmp_path, info))
        shown = f"{source!r} {source.sign_in()!r} {source.sign_in()}"
        assert "secret" not in shown and "BEGIN" not in shown
        assert "credentials=" not in repr(source.sign_in()), "whatever Google's class may show one day"


def test_a_replaced_file_is_noticed(tmp_path: Path) -> None:
    source = CredentialSource(put(tmp_path, PERSON))
    before = source.stamp()
    assert source.stamp() == before
    other = tmp_path / "other"
    other.write_text(json.dumps(PERSON))
    seen = os.stat(tmp_path / "credentials.json")
    os.utime(other, ns=(seen.st_atime_ns, seen.st_mtime_ns))  # as a copy that keeps the times does
    os.replace(other, tmp_path / "credentials.json")
    assert source.stamp() != before
    (tmp_path / "credentials.json").unlink()
    assert source.stamp() == CredentialSource().stamp() == ()


def test_the_machines_own_credentials_are_used_where_no_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", put(tmp_path, service(project_id="p")))
    assert CredentialSource().sign_in().account == SERVICE["client_email"]
    found: Any = CredentialSource(subject="ada@a.test").sign_in()
    assert found.account == "ada@a.test" == found.credentials._subject
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", put(tmp_path, {**PERSON, "quota_project_id": "p"}))
    assert CredentialSource().sign_in().account == "the application default account"
    with pytest.raises(SourceUnavailable, match=r"cannot act for ada@a\.test"):
        CredentialSource(subject="ada@a.test").sign_in()


def test_a_machine_without_credentials_says_how_it_gets_some(tmp_path: Path) -> None:
    program = """
from activities.connectors.drive.credentials import CredentialSource
from headwater.connectors import SourceUnavailable
try:
    CredentialSource().sign_in()
except SourceUnavailable as error:
    assert "GOOGLE_APPLICATION_CREDENTIALS" in str(error) and error.__cause__ is None
else:
    raise SystemExit("signed in as somebody")
"""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("GOOGLE_", "GCE_", "GCLOUD_"))},
        "HOME": str(tmp_path), "CLOUDSDK_CONFIG": str(tmp_path), "NO_GCE_CHECK": "true",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }  # fmt: skip
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, env=environment)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.test/token", True),
        ("http://127.0.0.1:8085/", True),
        ("http://localhost/", True),
        ("http://[::1]/", True),
        ("http://emulator:8085/", True),
        ("http://drive_emulator-2/", True),
        ("http://a.test/", False),
        ("http://a\u3002test/", False),
        ("http://127\u30020\u30020\u30021/", False),
        ("http://3627734734/", False),
        ("http://0xd83ad6ce/", False),
        ("http://0/", False),
        ("http://\u0430/", False),
        ("http://10.0.0.1/", False),
        ("http://[2001:db8::1]/", False),
        ("//a.test", False),
        ("https://", False),
        ("https://[", False),
    ],
)
def test_a_secret_goes_over_tls_or_nowhere_far(url: str, expected: bool) -> None:
    assert is_private(url) is expected
