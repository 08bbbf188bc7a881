"""Google's JSON around a refusal.

Google has two vocabularies, and a client meets either or both: the classic `errors[].reason` (`rateLimitExceeded`) and
the `details` of `google.rpc` (`RATE_LIMIT_EXCEEDED`). Which of them an answer speaks is for the fault script to say.
"""

import re
from typing import Any, Final, Literal, TypeAlias

from tests.drive.errors import DriveError

Vocabulary: TypeAlias = Literal["errors", "details", "both"]

_STATUS_NAMES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    410: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def error_json(error: DriveError, *, vocabulary: Vocabulary = "errors") -> dict[str, Any]:
    """The body of an answer that is an error."""
    inner: dict[str, Any] = {"code": error.status, "message": error.message}
    if vocabulary != "details":
        inner["errors"] = [_classic(error)]
    if vocabulary != "errors":
        inner["status"] = _STATUS_NAMES.get(error.status, "UNKNOWN")
        inner["details"] = [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": _in_capitals(error.reason),
                "domain": "googleapis.com",
                "metadata": {"service": "drive.googleapis.com"},
            }
        ]
    return {"error": inner}


def _classic(error: DriveError) -> dict[str, str]:
    classic = {"message": error.message, "domain": error.domain, "reason": error.reason}
    if error.location is not None:
        classic["location"] = error.location
        classic["locationType"] = "header" if error.location == "Authorization" else "parameter"
    return classic


def _in_capitals(reason: str) -> str:
    """`rateLimitExceeded` as google.rpc spells it: `RATE_LIMIT_EXCEEDED`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", reason).upper()


def invalid_parameter(name: str, message: str) -> DriveError:
    """A parameter that no call may have, or not with that value."""
    return DriveError(400, "invalidParameter", message, location=name)


def required_parameter(name: str, message: str) -> DriveError:
    return DriveError(400, "required", message, location=name)
