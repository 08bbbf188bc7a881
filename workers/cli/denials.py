"""Why documents are withheld, in words for a person, with what to do about it: the codes that an origin or a tombstone gives."""

from collections.abc import Mapping
from typing import Final

_WORDS: Final[Mapping[str, str]] = {
    "grants_unreadable": "their origin does not tell {account} who may read them: let it share them, as an editor of "
    "the folder in Drive, or a content manager of the shared drive",
    "grants_incomplete": "their origin names only some of those who may read them, as Drive does of limited-access folders: let "
    "{account} edit what is limited too",
    "too_many_grantees": "more than 1,024 people or 32 groups may read them: share them with a group in place of these",
    "drive_failed": "Drive fails at them, and is well otherwise: the next syncs ask again",
    "shared_with_nobody": "they are shared by link only, or with nobody who is known here",
    "forgotten": "they were forgotten when their deletion was propagated, and come again with their next version",
    "revoked": "they were revoked when a deletion was propagated",
    "corrected": "they were corrected when a deletion was propagated",
    "legal_hold": "they are under legal hold",
    "hidden": "they rest on what must not be served: `headwater status --state STATE` names it",
    "refused": "their origin refuses to give what is in them: `headwater status --state denied` names each with the reason",
}


def in_words(code: str, *, account: str | None = None) -> str:
    """What a reason means that is a code; any other is a sentence already. ``account``: as whom the origin is asked."""
    words = _WORDS.get(code)
    return code if words is None else words.format(account=account or "the connector's account")


def withheld_lines(reasons: Mapping[str, int], *, account: str | None = None) -> list[str]:
    """Of how many documents nobody is shown anything and why, the commonest reason first."""
    most_first = sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    return [f"{count:,} withheld ({code}): {in_words(code, account=account)}." for code, count in most_first]
