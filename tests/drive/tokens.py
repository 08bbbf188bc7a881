"""Who is calling: bearer tokens, and the endpoint at which Google's libraries get them.

It knows the two grants that the connector uses, refresh tokens and the signed assertions of service accounts, domain-wide
delegation (`sub`) included, and refuses as Google does: `invalid_grant`, `unauthorized_client`.
"""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock
from typing import Any, Final

import google.auth.exceptions
import google.auth.jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.drive.clock import Clock
from tests.drive.errors import DriveError

FULL: Final = "https://www.googleapis.com/auth/drive"
READ_ONLY: Final = "https://www.googleapis.com/auth/drive.readonly"
JWT_GRANT: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
LIFETIME: Final = timedelta(hours=1)


class TokenRefused(Exception):
    """No token: OAuth's own JSON, which is not Google's."""

    def __init__(self, error: str, description: str, *, status: int = 400) -> None:
        super().__init__(f"{error}: {description}")
        self.status = status
        self.body = {"error": error, "error_description": description}


@dataclass(frozen=True)
class Bearer:
    """Whoever holds an access token, and what it may be used for."""

    email: str
    scopes: frozenset[str]
    expires: datetime | None


@dataclass
class _Refresh:
    email: str
    scopes: frozenset[str]


@dataclass
class _ServiceAccount:
    email: str
    public_key: bytes = field(repr=False)
    may_impersonate: frozenset[str]


class Tokens:
    """All tokens of one server. Its methods may be called from any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._bearers: dict[str, Bearer] = {}
        self._refreshes: dict[str, _Refresh] = {}
        self._accounts: dict[str, _ServiceAccount] = {}
        self._without_consent: set[str] = set()

    def issue(self, email: str, *, scopes: Iterable[str] = (FULL,), lifetime: timedelta | None = None) -> str:
        """An access token for a user; without a lifetime it stays good until it is revoked."""
        token = f"access-{secrets.token_urlsafe(24)}"
        expires = None if lifetime is None else self._clock.now() + lifetime
        with self._lock:
            self._bearers[token] = Bearer(email.lower(), frozenset(scopes), expires)
        return token

    def expire_access(self, email: str) -> None:
        """Every access token of a user stops working; refresh tokens and service accounts bring new ones."""
        with self._lock:
            self._bearers = {token: held for token, held in self._bearers.items() if held.email != email.lower()}

    def revoke(self, email: str) -> None:
        """The user takes back all consent, or is suspended: access tokens stop, and asking for new ones, by a service
        account too, is an `invalid_grant` until `consent`."""
        self.expire_access(email)
        with self._lock:
            self._without_consent.add(email.lower())
            self._refreshes = {token: held for token, held in self._refreshes.items() if held.email != email.lower()}

    def consent(self, email: str) -> None:
        """The user is back; refresh tokens are made anew by `authorized_user`."""
        with self._lock:
            self._without_consent.discard(email.lower())

    def bearer(self, token: str | None) -> Bearer:
        """Who holds this token."""
        if token is None:
            raise DriveError(401, "required", "Login Required.", location="Authorization")
        with self._lock:
            bearer = self._bearers.get(token)
        if bearer is None or (bearer.expires is not None and bearer.expires <= self._clock.now()):
            raise DriveError(401, "authError", "Invalid Credentials", location="Authorization")
        return bearer

    def authorized_user(self, email: str, *, token_uri: str, scopes: Iterable[str] = (FULL,)) -> dict[str, Any]:
        """What stands in the credentials file of an OAuth user, as the `gcloud` tool writes it."""
        refresh_token = f"refresh-{secrets.token_urlsafe(24)}"
        with self._lock:
            self._refreshes[refresh_token] = _Refresh(email.lower(), frozenset(scopes))
        return {
            "type": "authorized_user",
            "client_id": "emulator.apps.test",
            "client_secret": f"client-{secrets.token_urlsafe(12)}",
            "refresh_token": refresh_token,
            "token_uri": token_uri,
        }

    def service_account(self, email: str, *, token_uri: str, may_impersonate: Iterable[str] = ()) -> dict[str, Any]:
        """What stands in the key file of a service account, which may act for those users (domain-wide delegation)."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        public_key = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        private_key = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        account = _ServiceAccount(email.lower(), public_key, frozenset(user.lower() for user in may_impersonate))
        with self._lock:
            self._accounts[account.email] = account
        return {
            "type": "service_account",
            "project_id": "emulator",
            "private_key_id": secrets.token_hex(20),
            "private_key": private_key.decode("ascii"),
            "client_email": account.email,
            "client_id": "100000000000000000000",
            "token_uri": token_uri,
        }

    def disable_account(self, email: str) -> None:
        """The service account's key is deleted: its assertions are an `invalid_grant`."""
        with self._lock:
            self._accounts.pop(email.lower(), None)
        self.expire_access(email)

    def delegate(self, email: str, *, may_impersonate: Iterable[str]) -> None:
        """Whom the service account may act for from now on."""
        with self._lock:
            self._accounts[email.lower()].may_impersonate = frozenset(user.lower() for user in may_impersonate)

    def grant(self, form: Mapping[str, str]) -> dict[str, Any]:
        """What the token endpoint answers to a form; what it does not grant is `TokenRefused`."""
        match form.get("grant_type"):
            case "refresh_token":
                email, scopes = self._refreshed(form.get("refresh_token", ""))
            case str(grant) if grant == JWT_GRANT:
                email, scopes = self._asserted(form.get("assertion", ""))
            case _:
                raise TokenRefused("unsupported_grant_type", "Invalid grant_type")
        return {
            "access_token": self.issue(email, scopes=scopes, lifetime=LIFETIME),
            "expires_in": int(LIFETIME.total_seconds()),
            "scope": " ".join(sorted(scopes)),
            "token_type": "Bearer",
        }

    def _refreshed(self, refresh_token: str) -> tuple[str, frozenset[str]]:
        with self._lock:
            refresh = self._refreshes.get(refresh_token)
        if refresh is None:
            raise TokenRefused("invalid_grant", "Token has been expired or revoked.")
        return refresh.email, refresh.scopes

    def _asserted(self, assertion: str) -> tuple[str, frozenset[str]]:
        """The account that signed, or the user in `sub` for whom it may act."""
        try:
            claimed = google.auth.jwt.decode(assertion, verify=False)  # type: ignore[no-untyped-call]  # it has no types
            with self._lock:
                account = self._accounts.get(str(claimed.get("iss", "")).lower())
            if account is None:
                raise TokenRefused("invalid_grant", "Invalid grant: account not found")
            claims = google.auth.jwt.decode(  # type: ignore[no-untyped-call]  # it has no types
                assertion, certs=account.public_key, clock_skew_in_seconds=300
            )
        except (ValueError, google.auth.exceptions.GoogleAuthError):
            raise TokenRefused("invalid_grant", "Invalid JWT Signature.") from None
        scopes = frozenset(str(claims.get("scope", "")).split())
        if not scopes:
            raise TokenRefused("invalid_scope", "Empty or missing scope not allowed.")
        subject = str(claims.get("sub", account.email)).lower()
        if subject not in account.may_impersonate | {account.email}:
            raise TokenRefused(
                "unauthorized_client",
                "Client is unauthorized to retrieve access tokens using this method, or client not authorized for any "
                "of the scopes requested.",
                status=401,
            )
        with self._lock:
            if subject in self._without_consent:
                raise TokenRefused("invalid_grant", "Invalid email or User ID")
        return subject, scopes
