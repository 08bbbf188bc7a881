"""Who may read a Drive item: its permissions as principals and groups. What is not certain grants nothing.

Drive leaves `permissions` out where the caller may not share the item, and always on shared drives. Absent is therefore
neither private nor public: it is unknown, and the unknown is denied and said.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, Literal, cast

from headwater.connectors import ExpiringGrant, GrantSet
from headwater.contracts.access import PRINCIPALS_MAX
from headwater.ids import UNSTORABLE
from headwater.models import GROUPS_MAX

NAME_MAX: Final = 256
_KINDS: Final = ("user", "group", "domain", "anyone")
_READING_ROLES: Final = frozenset({"owner", "organizer", "fileOrganizer", "writer", "commenter", "reader"})
# Who gets into a limited-access folder without being named on it.
_UNLIMITED_ROLES: Final = frozenset({"owner", "organizer"})
_NOBODY: Final = GrantSet()


class Denial(StrEnum):
    """Why nobody may read an item although Drive lets somebody."""

    INCOMPLETE = "grants_incomplete"  # fewer permissions could be read than the item has
    UNREADABLE = "grants_unreadable"  # none could be read
    FAULT = "drive_failed"  # Drive fails at this item, again and again, and is well otherwise
    TOO_MANY = "too_many_grantees"


@dataclass(frozen=True, slots=True)
class Grantee:
    """Whom one permission names. ``is_link_only``: whoever has the link, but nobody finds the item by searching."""

    kind: Literal["user", "group", "domain", "anyone"]
    name: str = ""  # lower-cased address or domain; ``anyone`` has none
    is_link_only: bool = False

    @property
    def key(self) -> str:
        """As an access map writes it: ``user:ada@a.test``, ``domain-link:a.test``, ``anyone``."""
        kind = f"{self.kind}-link" if self.is_link_only else self.kind
        return f"{kind}:{self.name}" if self.name else kind


@dataclass(frozen=True, slots=True)
class DriveGrants:
    """Who may read an item. With a ``denial`` nobody may, and the item is to be flagged with it."""

    grants: GrantSet = _NOBODY
    denial: Denial | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all permissions of the item were seen."""
        return self.denial in (None, Denial.TOO_MANY)

    def let_anybody_in(self, now: datetime) -> bool:
        """Whether anybody may read the item at ``now`` or later: if not, its content is not worth a request."""
        grants = self.grants
        is_lasting = bool(grants.principal_ids or grants.group_ids or grants.everyone)
        return is_lasting or any(each.expires_at > now for each in grants.expiring)


# What a grantee gets instead of the default; ``None``: the default. An `AccessMap`, or a function of the host.
MapGrantee = Callable[[Grantee], GrantSet | None]


@dataclass(frozen=True, slots=True)
class GrantRules:
    """What the connector's settings say about permissions."""

    discoverable_as_everyone: bool = False
    map_grantee: MapGrantee | None = None

    def grants_for(self, grantee: Grantee) -> GrantSet:
        """The grants of one grantee. A link lets nobody in who searches, so by default it grants nothing."""
        mapped = self.map_grantee(grantee) if self.map_grantee else None
        if mapped is not None:
            return mapped
        if grantee.is_link_only:
            return _NOBODY
        match grantee.kind:
            case "user":
                return GrantSet(principal_ids=(grantee.name,))
            case "group":
                return GrantSet(group_ids=(grantee.name,))
            case "domain":
                return GrantSet(group_ids=(f"domain:{grantee.name}",))
            case "anyone":
                return GrantSet(everyone=self.discoverable_as_everyone)


def must_be_listed(file: Mapping[str, Any]) -> bool:
    """Whether ``permissions.list`` has to be asked: the file's own ``permissions`` are absent or not all of them."""
    embedded = file.get("permissions")
    if not isinstance(embedded, list) or not embedded or not all(isinstance(each, Mapping) for each in embedded):
        return True
    return _are_missing(file, embedded)


def read_grants(
    file: Mapping[str, Any], permissions: Sequence[Mapping[str, Any]] | None, *, rules: GrantRules
) -> DriveGrants:
    """The grants of ``file``. ``permissions`` are those that it came with or that were listed; ``None``: unreadable."""
    if permissions is None:
        return DriveGrants(denial=Denial.UNREADABLE)
    return _read(file, permissions, rules, is_limited=_is_limited(file))


def inherited_grants(
    file: Mapping[str, Any], permissions: Sequence[Mapping[str, Any]], *, rules: GrantRules
) -> DriveGrants:
    """The grants of a ``file`` on which nothing stands itself, by the permissions of the folder that hands them down.

    The folder must be open to everybody whom these name. If the file says which permissions it has, these must be all of them.
    """
    if _is_limited(file):
        return DriveGrants(denial=Denial.INCOMPLETE)
    return _read(file, permissions, rules, is_limited=False)


def _read(
    file: Mapping[str, Any], permissions: Sequence[Mapping[str, Any]], rules: GrantRules, *, is_limited: bool
) -> DriveGrants:
    if _are_missing(file, permissions):
        return DriveGrants(denial=Denial.INCOMPLETE)
    found = _Found()
    for permission in permissions:
        grantee = _grantee(permission)
        if grantee is None or not _lets_read(permission, is_limited=is_limited):
            continue
        is_lasting, expires_at = _expiry(permission)
        if is_lasting:
            found.add(rules.grants_for(grantee))
        elif expires_at is not None:
            found.add(rules.grants_for(grantee), until=expires_at)
    return found.grants()


def _are_missing(file: Mapping[str, Any], permissions: Iterable[Mapping[str, Any]]) -> bool:
    """Drive now and then gives fewer permissions than it names ids of."""
    named = file.get("permissionIds")
    if named is None:
        return False
    shown = {id_ for permission in permissions if isinstance(id_ := permission.get("id"), str)}
    return not isinstance(named, list) or any(not isinstance(each, str) or each not in shown for each in named)


def _is_limited(file: Mapping[str, Any]) -> bool:
    """Whatever is not plainly no counts: it lets in fewer."""
    return file.get("inheritedPermissionsDisabled") not in (None, False)


def _grantee(permission: Mapping[str, Any]) -> Grantee | None:
    """Whom the permission names; ``None`` if that is nobody who could be known."""
    kind = permission.get("type")
    if kind not in _KINDS:
        return None
    is_link_only = kind in ("domain", "anyone") and permission.get("allowFileDiscovery") is not True
    if kind == "anyone":
        return Grantee("anyone", is_link_only=is_link_only)
    name = permission.get("domain" if kind == "domain" else "emailAddress")
    name = name.strip().lower() if isinstance(name, str) else ""
    if not 1 <= len(name) <= NAME_MAX - len("domain:") or UNSTORABLE.search(name):
        return None
    # An address that is none could be taken for a domain's group, and a domain that is an address for nothing.
    if ("@" in name) is (kind == "domain") or ":" in name:
        return None
    return Grantee(cast(Literal["user", "group", "domain"], kind), name, is_link_only)


def _lets_read(permission: Mapping[str, Any], *, is_limited: bool) -> bool:
    """Whether the permission opens the content now. One of a view shows a published copy, or the name alone."""
    if permission.get("deleted") or permission.get("pendingOwner") or permission.get("view"):
        return False
    role = permission.get("role")
    if not isinstance(role, str) or role not in _READING_ROLES:
        return False
    is_limited = is_limited or _is_limited(permission)
    return not (is_limited and is_inherited_only(permission)) or role in _UNLIMITED_ROLES


def is_inherited_only(permission: Mapping[str, Any]) -> bool:
    """A permission may be inherited and given on the item too: one detail of the second kind is enough.

    Details that nobody can read are none of that kind.
    """
    details = permission.get("permissionDetails")
    if not details:
        return False
    return not isinstance(details, list) or all(
        not isinstance(detail, Mapping) or detail.get("inherited") is not False for detail in details
    )


def _expiry(permission: Mapping[str, Any]) -> tuple[bool, datetime | None]:
    """Whether the permission lasts, or else until when. A time that nobody can read is over."""
    written = permission.get("expirationTime")
    if written is None:
        return True, None
    try:
        expires_at = datetime.fromisoformat(written)
        return False, expires_at.astimezone(UTC) if expires_at.tzinfo is not None else None
    except (TypeError, ValueError, OverflowError):
        return False, None


class _Found:
    """The grants so far. Of several for the same grantee the longest counts."""

    def __init__(self) -> None:
        self._principals: dict[str, datetime | None] = {}
        self._groups: dict[str, datetime | None] = {}
        self._everyone = False

    def add(self, grants: GrantSet, *, until: datetime | None = None) -> None:
        """Add what one permission grants, until it ends. ``everyone`` cannot end by itself, and is left out then."""
        self._everyone = self._everyone or (grants.everyone and until is None)
        for name in grants.principal_ids:
            _prolong(self._principals, name, until)
        for name in grants.group_ids:
            _prolong(self._groups, name, until)
        for each in grants.expiring:
            ends = self._principals if each.kind == "principal" else self._groups
            _prolong(ends, each.name, each.expires_at if until is None else min(each.expires_at, until))

    def grants(self) -> DriveGrants:
        if len(self._principals) > PRINCIPALS_MAX or len(self._groups) > GROUPS_MAX:
            return DriveGrants(denial=Denial.TOO_MANY)
        principals, groups = sorted(self._principals.items()), sorted(self._groups.items())
        return DriveGrants(
            GrantSet(
                principal_ids=tuple(name for name, end in principals if end is None),
                group_ids=tuple(name for name, end in groups if end is None),
                everyone=self._everyone,
                expiring=(
                    *(ExpiringGrant("principal", name, end) for name, end in principals if end is not None),
                    *(ExpiringGrant("group", name, end) for name, end in groups if end is not None),
                ),
            )
        )


def _prolong(ends: dict[str, datetime | None], name: str, until: datetime | None) -> None:
    """``None`` is for ever."""
    known = ends.get(name, until)
    ends[name] = None if known is None or until is None else max(known, until)
