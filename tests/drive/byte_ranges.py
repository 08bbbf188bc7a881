"""The part of a body that a `Range` header asks for."""

import re

from tests.drive.call import Reply


def ranged(data: bytes, *, media_type: str, wanted: str | None) -> Reply:
    """All of it (200), one part of it (206), or nothing (416) where it ends before the part begins.

    What is no range, and several ranges at once, get the whole, as HTTP allows.
    """
    asked = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted or "")
    if asked is None or not _makes_sense(asked.group(1), asked.group(2)):
        return Reply(data, media_type=media_type)
    first, last = _first_and_last(asked.group(1), asked.group(2), len(data))
    if first >= len(data) or last < first:
        return Reply(
            status=416,
            media_type="text/html; charset=UTF-8",
            headers={"Content-Range": f"bytes */{len(data)}"},
            reason="requestedRangeNotSatisfiable",
        )
    headers = {"Content-Range": f"bytes {first}-{last}/{len(data)}"}
    return Reply(data[first : last + 1], status=206, media_type=media_type, headers=headers)


def _makes_sense(first: str, last: str) -> bool:
    return int(first) <= int(last) if first and last else bool(first or last)


def _first_and_last(first: str, last: str, length: int) -> tuple[int, int]:
    if not first:
        return max(0, length - int(last)), length - 1
    return int(first), min(int(last), length - 1) if last else length - 1
