"""As whom Drive is asked: a service account, a person, or whatever the machine offers.

A connector's row, a payload and a log hold the path of a file; what is in it is read where it is used, and its words are in no
error: a library's message about a malformed key may quote the key, so none is kept as a cause either.
"""

import ipaddress
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final
from urllib.parse import urlsplit

import google.auth
import google.auth.exceptions
import google.oauth2.credentials
import google.oauth2.service_account
from cryptography.exceptions import UnsupportedAlgorithm
from google.auth.credentials import Credentials

from headwater.connectors import SourceUnavailable
from headwater.errors import ValidationError

SCOPES: Final = ("https://www.googleapis.com/auth/drive.readonly",)
# A name without a domain. Of letters that resolvers take for letters: some take others for a full stop, and a number for an address.
_NEIGHBOUR: Final = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)
TOKEN_URI: Final = "https://oauth2.googleapis.com/token"
FILE_MAX: Final = 65_536  # a key file has 2 KB
_OF_SERVICE: Final = ("client_email", "private_key", "token_uri")
_OF_PERSON: Final = ("client_id", "client_secret", "refresh_token")


@dataclass(frozen=True, slots=True)
class SignIn:
    """Credentials that fetch a token when they are first used, and the name to which a file must be shared.

    Threads may share them; ``refreshing`` is held while a token is fetched, so that one of them does it for all.
    """

    credentials: Credentials = field(repr=False)
    account: str
    refreshing: Lock = field(default_factory=Lock, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class CredentialSource:
    """Where credentials are. No ``file``: application default. ``subject``: for whom a service account acts in its domain."""

    file: str | None = None
    subject: str | None = None

    def __post_init__(self) -> None:
        if self.file is not None and not (os.path.isabs(self.file) and self.file.isprintable()):
            raise ValidationError(
                f"The credentials file {self.file!r} needs an absolute path: workers stand elsewhere."
            )
        subject = self.subject
        if subject is not None and (subject.count("@") != 1 or not subject.isprintable() or " " in subject):
            raise ValidationError(f"The subject {subject!r} is no address of a person, such as ada@example.com.")

    def stamp(self) -> tuple[int, ...]:
        """Differs once the file was replaced, as when a key is rotated. It may be missing: then signing in says so."""
        if self.file is None:
            return ()
        try:
            seen = os.stat(self.file)
        except OSError:
            return ()
        return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns

    def sign_in(self) -> SignIn:
        """The credentials. Asks nobody yet; raises `SourceUnavailable` with what is wrong with the file."""
        if self.file is None:
            return _of_machine(self.subject)
        info = _read(self.file)
        kind = info.get("type") or ("authorized_user" if "refresh_token" in info else None)
        if kind == "service_account":
            return _of_service(info, self.file, self.subject)
        if kind == "authorized_user":
            return _of_person(info, self.file, self.subject)
        raise SourceUnavailable(f"The credentials file {self.file} {_unusable(kind, info)}.")


def _read(file: str) -> Mapping[str, Any]:
    try:
        with open(file, "rb", opener=_without_waiting) as opened:
            data = opened.read(FILE_MAX + 1)
    except FileNotFoundError:
        raise SourceUnavailable(
            f"The credentials file {file} does not exist where the worker runs: put it there."
        ) from None
    except OSError as error:
        raise SourceUnavailable(f"The credentials file {file} cannot be read: {error.strerror}.") from None
    if len(data) > FILE_MAX:
        raise SourceUnavailable(f"The credentials file {file} has more than {FILE_MAX:,} bytes: it is no key.")
    try:
        info = json.loads(data)
    except (ValueError, RecursionError):
        info = None
    if not isinstance(info, dict):
        raise SourceUnavailable(f"The credentials file {file} is no JSON object: download it anew.")
    return info


def _without_waiting(path: str, flags: int) -> int:
    """A pipe without a writer is empty; opened as usual, it would hold the activity for ever."""
    return os.open(path, flags | os.O_NONBLOCK)


def _of_service(info: Mapping[str, Any], file: str, subject: str | None) -> SignIn:
    _require(info, _OF_SERVICE, file)
    _check_token_uri(info["token_uri"], file)
    load: Any = google.oauth2.service_account.Credentials.from_service_account_info  # untyped
    try:
        credentials: Credentials = load(info, scopes=SCOPES, subject=subject)
    except (ValueError, TypeError, KeyError, UnsupportedAlgorithm):
        raise SourceUnavailable(
            f"The private key in the credentials file {file} is malformed: download it anew."
        ) from None
    return SignIn(credentials, subject or info["client_email"])


def _of_person(info: Mapping[str, Any], file: str, subject: str | None) -> SignIn:
    if subject is not None:
        raise SourceUnavailable(
            f"The credentials file {file} is a person's, who cannot act for {subject}: leave the subject out, or use a "
            "service account with domain-wide delegation."
        )
    _require(info, _OF_PERSON, file)
    token_uri = info.get("token_uri") or TOKEN_URI
    _check_token_uri(token_uri, file)
    # No scopes: a refresh may only name those that were granted word for word, and a grant of more than reading does too.
    credentials = google.oauth2.credentials.Credentials(  # type: ignore[no-untyped-call]
        token=None,
        refresh_token=info["refresh_token"],
        client_id=info["client_id"],
        client_secret=info["client_secret"],
        token_uri=token_uri,
        quota_project_id=info.get("quota_project_id"),
    )
    return SignIn(credentials, info.get("account") or "the person who authorised the connector")


def _of_machine(subject: str | None) -> SignIn:
    try:
        credentials, _ = google.auth.default(scopes=SCOPES)
    except google.auth.exceptions.DefaultCredentialsError:
        raise SourceUnavailable(
            "There are no application default credentials where the worker runs: set GOOGLE_APPLICATION_CREDENTIALS there, "
            "or name a file with --credentials."
        ) from None
    if subject is not None:
        if not isinstance(credentials, google.oauth2.service_account.Credentials):
            raise SourceUnavailable(
                f"The application default credentials are no service account's key and cannot act for {subject}: leave the "
                "subject out, or name a key file with --credentials."
            )
        credentials = credentials.with_subject(subject)  # type: ignore[no-untyped-call]
    address = getattr(credentials, "service_account_email", None)
    known = address if isinstance(address, str) and "@" in address else "the application default account"
    return SignIn(credentials, subject or known)


def _require(info: Mapping[str, Any], names: tuple[str, ...], file: str) -> None:
    missing = [name for name in names if not isinstance(info.get(name), str) or not info[name].strip()]
    if missing:
        hint = " (a token alone ends within the hour)" if "refresh_token" in missing else ""
        raise SourceUnavailable(f"The credentials file {file} lacks {', '.join(missing)}{hint}: download it anew.")


def _check_token_uri(uri: str, file: str) -> None:
    if not is_private(uri):
        raise SourceUnavailable(f"The token_uri in the credentials file {file} must begin with https://.")


def is_private(url: str) -> bool:
    """Whether a secret may be sent there: over TLS, or to this machine or a neighbour without a domain, as in a compose file."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    if not host or parts.scheme not in ("http", "https"):
        return False
    return parts.scheme == "https" or is_loopback(host) or _NEIGHBOUR.fullmatch(host) is not None


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _unusable(kind: object, info: Mapping[str, Any]) -> str:
    if "installed" in info or "web" in info:
        return "names an OAuth client and nobody who authorised it: authorise it, and use the file that this writes"
    if kind is None:
        return "has no type: download a service account's key, or authorise as a person"
    return (
        "is neither a service account's key nor a person's: use it as application default, by "
        "GOOGLE_APPLICATION_CREDENTIALS and without --credentials"
    )


__all__ = ["SCOPES", "CredentialSource", "SignIn", "is_loopback", "is_private"]
