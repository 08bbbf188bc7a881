"""What a connector's memory can keep, whichever keeps it."""

import json
from dataclasses import replace
from typing import Final

from headwater.connectors.protocol import Forgotten, Link
from headwater.errors import ValidationError
from headwater.ids import UNSTORABLE

KEY_MAX: Final = 512  # both names of a link stand in one entry of an index


def as_stored(change: Link | Forgotten) -> Link | Forgotten:
    """``change`` as a memory keeps it: JSON, and a copy. `ValidationError` if it holds what no memory can keep."""
    if isinstance(change, Forgotten):
        return change
    try:
        record = json.dumps(dict(change.record), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValidationError(f"The record of link {change.node[:80]!r} must be a JSON object.") from error
    if not 1 <= len(change.node) <= KEY_MAX or len(change.parent) > KEY_MAX:
        raise ValidationError(f"The names of link {change.node[:80]!r} must have at most {KEY_MAX} characters.")
    if any(UNSTORABLE.search(text) for text in (change.node, change.parent, change.due or "")) or _is_unstorable(
        record
    ):
        raise ValidationError(f"Link {change.node[:80]!r} must hold no NUL and no lone surrogate.")
    return replace(change, record=json.loads(record))


def _is_unstorable(record: str) -> bool:
    """JSON writes a NUL as an escape, whose backslash may itself be escaped."""
    return bool(UNSTORABLE.search(record)) or "\\u0000" in record.replace("\\\\", "")
