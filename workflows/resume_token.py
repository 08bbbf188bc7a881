"""The cursor of ``RepointSource``: opaque to hosts, bound to a corpus and a pair, and checked before anything is read."""

import base64
import binascii
import json
from typing import Any, Final

from temporalio.exceptions import ApplicationError

from headwater.contracts.repoint import CURSOR_MAX, RepointSourceInput
from headwater.models import Scope

VERSION: Final = 1


def resume_token(scope: Scope, from_id: str, to_id: str, after: str) -> str:
    """The cursor of the page that goes on after ``after``."""
    text = json.dumps({**_bound_to(scope, from_id, to_id), "after": after}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def resumed_after(request: RepointSourceInput) -> str | None:
    """Where the request goes on; None if it begins. `InvalidInput` if its cursor was not given out for it."""
    if request.cursor is None:
        return None
    token = _decoded(request.cursor)
    after = token.pop("after", None)
    if not isinstance(after, str) or token.get("v") != VERSION:
        raise _refused("is not a resume token")
    if token != _bound_to(request.scope, request.from_id, request.to_id):
        raise _refused("is of another scope or source pair")
    return after


def _bound_to(scope: Scope, from_id: str, to_id: str) -> dict[str, Any]:
    corpus = {"tenant": scope.tenant_id, "resource": scope.resource_id, "corpus": scope.corpus_id}
    return {"v": VERSION, "from": from_id, "to": to_id, **corpus}


def _decoded(cursor: str) -> dict[str, Any]:
    try:
        if len(cursor) > CURSOR_MAX:
            raise ValueError
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        token = json.loads(text)
    except (ValueError, binascii.Error, RecursionError):
        raise _refused("is not a resume token") from None
    if not isinstance(token, dict):
        raise _refused("is not a resume token")
    return token


def _refused(why: str) -> ApplicationError:
    sentence = f"cursor: {why}: send the one that the page before returned, or none to begin."
    return ApplicationError(sentence, type="InvalidInput", non_retryable=True)
