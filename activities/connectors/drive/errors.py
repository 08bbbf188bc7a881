"""What Drive, Google's sign-in and the network raise, as this project's errors: what waiting helps, and whose fault it is.

The reason decides, not the status: 403 is a throttle as often as a lost right. What is in no table has a rule of its own
too: of one file it is that file's, of anything else the connector stops, visibly, and deletes nothing.
"""

import http.client
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final

import google.auth.exceptions as auth
import httplib2
import httplib2.decode

from activities.connectors.drive.told import Told
from activities.connectors.drive.unreachable import why
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

LATER_S: Final = 3600.0  # until a quota that counts for a day is asked after again


class DriveFault(TransientError):
    """Drive itself failed, or what came back is not Drive's. If one file's call does so again and again, it is that file's."""


def is_fault(error: Exception) -> bool:
    """Whether Drive failed, or the way to it: not whether it wants to be left alone, or whoever asks is to end."""
    return type(error) in (DriveFault, TransientError)


class SharedDriveGone(SourceUnavailable):
    """A shared drive is not there any more, or not for this account."""


class Of(StrEnum):
    """What a call is about: whose fault a refusal is that says nothing else."""

    ACCOUNT = "account"
    DRIVE = "drive"  # one shared drive, or what is in it
    FILE = "file"
    LINK = "link"  # bytes of one file at an address that Drive gave: errors there are pages for people


@dataclass(frozen=True, slots=True)
class Call:
    """What Drive was asked. ``action`` completes "Drive refused to …" and names the file or drive."""

    action: str
    of: Of = Of.ACCOUNT
    has_cursor: bool = False
    account: str = "the connector's account"
    root_url: str = ""

    @property
    def is_of_file(self) -> bool:
        return self.of in (Of.FILE, Of.LINK)


class _Rule(Enum):
    """In the order in which they win when a refusal gives several reasons: what loses least comes first."""

    LATER = "asked again in an hour"
    WAIT = "asked again when it says so"
    STOP = "nothing can be read until an operator acts"
    TOO_LARGE = "this file cannot be exported whole"
    UNSUPPORTED = "this file has no bytes"
    REFUSED = "this file cannot be read now"
    DENIED = "this file may not be read"


_REASONS: Final[Mapping[_Rule, str]] = {
    _Rule.LATER: "dailyLimitExceeded quotaExceeded resourceQuotaExceeded",
    _Rule.WAIT: "rateLimitExceeded userRateLimitExceeded sharingRateLimitExceeded tooManyRequests resourceExhausted",
    _Rule.STOP: "accessNotConfigured serviceDisabled insufficientPermissions insufficientScope accessTokenScopeInsufficient "
    "authError unauthenticated invalidCredentials accessTokenExpired accessTokenTypeUnsupported credentialsMissing "
    "dailyLimitExceededUnreg rateLimitExceededUnreg keyInvalid keyExpired apiKeyInvalid consumerInvalid "
    "consumerSuspended billingDisabled userProjectDenied accountDisabled accountDeleted accountStateInvalid "
    "delegationDenied unauthorizedClient invalidGrant",
    _Rule.TOO_LARGE: "exportSizeLimitExceeded",
    _Rule.UNSUPPORTED: "fileNotDownloadable fileNotExportable conversionUnsupportedConversionPath",
    # Its own quota: the others can still be read, so that this does not stop them.
    _Rule.REFUSED: "downloadQuotaExceeded",
    _Rule.DENIED: "insufficientFilePermissions insufficientParentPermissions cannotDownloadFile cannotDownloadAbusiveFile "
    "cannotExportFile exportRestricted appNotAuthorizedToFile domainPolicy",
}
_RULES: Final = {reason.lower(): rule for rule, reasons in _REASONS.items() for reason in reasons.split()}
_OF_FILE: Final = frozenset({_Rule.TOO_LARGE, _Rule.UNSUPPORTED, _Rule.REFUSED, _Rule.DENIED})
_MEMBERSHIP: Final = "teamdrivemembershiprequired"
_TRANSPORT: Final = (
    OSError,  # sockets, TLS, timeouts
    http.client.HTTPException,
    httplib2.HttpLib2Error,
    auth.TransportError,
    auth.TimeoutError,
    auth.ResponseError,
)
_AMPLIFIED: Final = (httplib2.decode.DecodeLimitError, httplib2.decode.DecodeRatioError)
_CODE: Final = re.compile(r"[a-z_]{1,40}(?=:|\Z)")


def translate(error: Exception, call: Call) -> HeadwaterError | None:
    """``error`` as one of ours, or ``None``: then it is a defect, and must be raised as it is.

    None of the sentences holds what Drive wrote, beyond a reason's name: it may quote people, files and tokens.
    """
    if isinstance(error, HeadwaterError):
        return error
    if isinstance(error, auth.GoogleAuthError):
        return _of_sign_in(error, call)
    if isinstance(error, ssl.SSLCertVerificationError):
        return SourceUnavailable(
            f"The certificate that answered when asked to {call.action} is not trusted: check the root URL, the clock, "
            "and SSL_CERT_FILE behind a proxy that inspects."
        )
    if isinstance(error, FileNotFoundError):
        return SourceUnavailable("The file of trusted certificates does not exist: check HTTPLIB2_CA_CERTS.")
    if isinstance(error, httplib2.error.ProxiesUnavailableError):
        return SourceUnavailable(
            "The environment names a proxy, for which Google's client needs the package PySocks: install it beside the "
            "worker, or except Drive's host with no_proxy."
        )
    if isinstance(error, _AMPLIFIED):
        return DriveFault(f"The answer to the call to {call.action} unpacks to more than is read.")
    if isinstance(error, _TRANSPORT):
        return _unreachable(error, call)
    return None


def classify(told: Told, call: Call) -> HeadwaterError:
    """What a refusal means."""
    rules = {_RULES[key] for key in told.keys if key in _RULES}
    if told.status == 429:
        rules &= {_Rule.LATER}
    elif told.status in (401, 408) or not 400 <= told.status < 500:
        rules = set()
    for rule in _Rule:
        if rule in rules and (call.is_of_file or rule not in _OF_FILE):
            return _by_rule(rule, told, call)
    return _of_status(told, call)


def _by_rule(rule: _Rule, told: Told, call: Call) -> HeadwaterError:
    match rule:
        case _Rule.LATER:
            wait_s = max(told.retry_after_s or 0.0, LATER_S)
            return Throttled(
                f"Drive refused to {call.action} ({told}): a quota of the Google Cloud project is used up, which counts for a day. "
                "Raise it if this happens every day.",
                retry_after_s=wait_s,
            )
        case _Rule.WAIT:
            return _throttled(told, call)
        case _Rule.STOP:
            return SourceUnavailable(f"Drive refused to {call.action} ({told}): {_remedy(told, call)}.")
        case _Rule.TOO_LARGE:
            return DocumentTooLarge(f"Drive refused to {call.action} ({told}): it exports at most 10 MB of a file.")
        case _Rule.UNSUPPORTED:
            return DocumentUnsupported(
                f"Drive cannot {call.action} ({told}): a file of this type has no content to give."
            )
        case _Rule.REFUSED:
            return DocumentRefused(
                f"Drive refused to {call.action} ({told}): too many have read this file today. Sync with --full tomorrow."
            )
        case _Rule.DENIED:
            return _denied(told, call)


def _of_status(told: Told, call: Call) -> HeadwaterError:
    """What a refusal means that gives no reason we know."""
    status = told.status
    if status == 429:
        return _throttled(told, call)
    if status == 408 or status >= 500:
        return DriveFault(f"Drive failed to {call.action} ({told}).", retry_after_s=told.retry_after_s)
    if status == 401 and call.of is not Of.LINK:
        return SourceUnavailable(f"Drive refused to {call.action} ({told}): {_remedy(told, call)}.")
    if call.has_cursor and _is_of_cursor(told):
        return InvalidCursor(
            f"Drive does not know the page any more with which it was asked to {call.action} ({told})."
        )
    if status < 400 or (not told.is_shaped and call.of is not Of.LINK):
        return _not_from_drive(told, call)
    if call.is_of_file:
        return _of_file(told, call)
    if call.of is Of.DRIVE and (status in (404, 410) or _MEMBERSHIP in told.keys):
        return SharedDriveGone(
            f"Drive refused to {call.action} ({told}): the shared drive is gone, or {call.account} is no member any more."
        )
    return SourceUnavailable(f"Drive refused to {call.action} ({told}): {_remedy(told, call)}.")


def _of_file(told: Told, call: Call) -> HeadwaterError:
    # A link may be gone without its file.
    if told.status in (404, 410) and call.of is Of.FILE:
        return DocumentGone(f"Drive could not {call.action} ({told}): it is deleted, or hidden from {call.account}.")
    if told.status in (401, 403):
        return _denied(told, call)
    return DocumentRefused(f"Drive refused to {call.action} ({told}). It is tried again when the file changes.")


def _is_of_cursor(told: Told) -> bool:
    """A page token was sent, and nothing says that it was another parameter that Drive did not like."""
    if told.parameter == "pagetoken":
        return True
    return told.is_shaped and told.status in (400, 410) and told.parameter is None


def _denied(told: Told, call: Call) -> DocumentDenied:
    return DocumentDenied(
        f"Drive refused to {call.action} ({told}). Let {call.account} read and download it, or remove it from the source."
    )


def _throttled(told: Told, call: Call) -> Throttled:
    wait = "" if told.retry_after_s is None else f", and no other for {told.retry_after_s:.0f} s"
    return Throttled(
        f"Drive refused to {call.action} ({told}): it wants fewer calls{wait}.", retry_after_s=told.retry_after_s
    )


def _not_from_drive(told: Told, call: Call) -> HeadwaterError:
    """A redirect, or an error in nobody's format: a proxy, or a root URL that is none of Drive's.

    Of a file it is waited out: taken at its word, a proxy's page "not found" would delete every document there is.
    """
    sentence = f"What answered when asked to {call.action} is not Drive ({told}): check the root URL and the proxy."
    return DriveFault(sentence) if call.is_of_file else SourceUnavailable(sentence)


def _remedy(told: Told, call: Call) -> str:
    keys = set(told.keys)
    if keys & {"accessnotconfigured", "servicedisabled"}:
        return "enable the Google Drive API in the credentials' Google Cloud project"
    if keys & {"insufficientpermissions", "insufficientscope", "accesstokenscopeinsufficient"}:
        return f"authorise {call.account} for the scope drive.readonly"
    if told.status == 401 or any(_RULES.get(key) is _Rule.STOP for key in keys):
        return f"its sign-in as {call.account} is not accepted; renew or replace the credentials"
    if told.status == 404:
        return "check the root URL"
    if told.status == 400:
        return "this version asked in a way that Drive does not take; please report it"
    return f"give {call.account} the right to do so"


def _of_sign_in(error: auth.GoogleAuthError, call: Call) -> HeadwaterError:
    causes = (error, *(each for each in error.args if isinstance(each, Exception)))
    # google-auth tells an outage of its servers by this mark; that of a metadata server it wraps unmarked.
    if error.retryable or any(isinstance(each, _TRANSPORT) for each in causes):
        return TransientError(
            f"Google could not be asked to sign in {call.account}, so as to {call.action} ({why(error)})."
        )
    code = _sign_in_code(error)
    told = f" ({code})" if code else f" ({_name(error)})"
    return SourceUnavailable(f"Google refused the sign-in as {call.account}{told}: {_SIGN_IN.get(code, _RENEW)}.")


_RENEW: Final = "renew or replace the credentials"
_SIGN_IN: Final[Mapping[str, str]] = {
    "invalid_grant": "they expired or were revoked, or the user to act for is unknown or suspended, or this clock is wrong; "
    + _RENEW,
    "unauthorized_client": "allow the service account's client id the scope drive.readonly in the domain-wide delegation",
    "access_denied": "allow the service account's client id the scope drive.readonly in the domain-wide delegation",
    "invalid_scope": "authorise the credentials for the scope drive.readonly",
}


def _sign_in_code(error: auth.GoogleAuthError) -> str:
    """``invalid_grant``: the code of an OAuth error. Its description may name a person and is not kept."""
    for each in error.args:
        if isinstance(each, dict):
            each = each.get("error")
        if isinstance(each, str) and (found := _CODE.match(each)):
            return found[0]
    return ""


def _unreachable(error: Exception, call: Call) -> TransientError:
    where = f"Drive at {call.root_url.rstrip('/')}" if call.root_url else "Drive"
    return TransientError(f"{where} could not be asked to {call.action} ({why(error)}).")


def _name(error: Exception) -> str:
    return type(error).__name__


__all__ = ["LATER_S", "Call", "DriveFault", "Of", "SharedDriveGone", "classify", "is_fault", "translate"]
