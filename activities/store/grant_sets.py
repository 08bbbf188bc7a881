"""A set of grants as the store keeps it, and whether it may replace the one that is there: pure functions.

Names are resolved to the numbers of the grantee table by the caller, who makes those that are missing. A name that is given both
for good and with an end has that end, and the earliest of several: what can be read in two ways lets fewer people read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from headwater.contracts import Grants

EVERYONE = ("everyone", "")  # the one grantee of a tenant that stands for all its principals


class AccessChange(StrEnum):
    SET = "set"  # it replaces the stored one
    UNCHANGED = "unchanged"  # it is the stored one
    CONFLICT = "conflict"  # the stored one is newer, or another one of the same version


@dataclass(frozen=True, slots=True)
class Access:
    """Who may read a source: grantees without an end, in order, and when the grants of the others end."""

    lasting: Sequence[int] = ()
    ending: Mapping[int, datetime] = field(default_factory=dict)

    @property
    def expiring(self) -> list[int]:
        """What `source.expiring` holds."""
        return sorted(self.ending)


def grantee_names(grants: Grants) -> list[tuple[str, str]]:
    """Kind and name of each grantee, once."""
    names = [("principal", name) for name in grants.principal_ids]
    names += [("group", name) for name in grants.group_ids]
    names += [EVERYONE] if grants.everyone else []
    names += [name for name, _ in _ends(grants)]
    return list(dict.fromkeys(names))


def resolve(grants: Grants, grantees: Mapping[tuple[str, str], int]) -> Access:
    """``grants`` by the numbers of their ``grantees``. The end of the whole set ends each of its grants."""
    ends = {} if grants.expires_at is None else dict.fromkeys(grantee_names(grants), grants.expires_at)
    for name, end in _ends(grants):
        ends[name] = min(end, ends.get(name, end))
    lasting = {grantees[name] for name in grantee_names(grants) if name not in ends}
    return Access(sorted(lasting), {grantees[name]: end for name, end in ends.items()})


def compare(stored: Access, stored_version: int, wanted: Access, wanted_version: int) -> AccessChange:
    """What becomes of ``wanted``. Late writers lose: a version is given to one set, and none goes back."""
    if wanted_version > stored_version:
        return AccessChange.SET
    same = list(wanted.lasting) == sorted(stored.lasting) and dict(wanted.ending) == dict(stored.ending)
    return AccessChange.UNCHANGED if wanted_version == stored_version and same else AccessChange.CONFLICT


def _ends(grants: Grants) -> list[tuple[tuple[str, str], datetime]]:
    return [
        (("principal", each.principal_id) if each.principal_id else ("group", each.group_id or ""), each.expires_at)
        for each in grants.expiring
    ]
