"""Who may do what with a file: its own permissions and those that come down from the folders above it.

Inheritance is worked out at the moment of asking, by walking up; nothing is copied down, so nothing can be left behind.
A folder with limited access lets nothing through from above except a shared drive's organizers; whoever would have
inherited sees that the folder is there (a permission with the view ``metadata``) and nothing below it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from tests.drive.items import RANK, File, Permission, Role, View
from tests.drive.state import State, locked

Need = Literal["reader", "commenter", "writer", "fileOrganizer", "organizer", "owner"]


@dataclass(frozen=True, slots=True)
class Detail:
    """Where a permission comes from: the item it stands on, and what it gives."""

    role: Role
    source: str
    inherited: bool
    expires: datetime | None
    pending: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """All that one grantee has on one item, merged as Drive shows it.

    ``role`` is the best of the details'; ``expires`` is when the last of them ends (``None`` if any stays);
    ``is_pending`` says that there is nothing but an ownership that was offered and not accepted.
    """

    permission: Permission
    details: tuple[Detail, ...]
    role: Role
    expires: datetime | None
    is_pending: bool

    @classmethod
    def of(cls, permission: Permission, details: Sequence[Detail]) -> "Standing":
        ends = [detail.expires for detail in details if detail.expires is not None]
        return cls(
            permission=permission,
            details=tuple(details),
            role=max((detail.role for detail in details), key=lambda role: RANK[role]),
            expires=max(ends) if len(ends) == len(details) else None,
            is_pending=all(detail.pending for detail in details),
        )

    @property
    def is_inherited(self) -> bool:
        return all(detail.inherited for detail in self.details)

    @property
    def is_link(self) -> bool:
        """It opens to whoever has the link, and shows nobody that there is anything."""
        return self.permission.type in ("anyone", "domain") and not self.permission.allow_file_discovery

    def opens(self, now: datetime) -> bool:
        """It gives its grantee the content, now."""
        return self.permission.view is None and not self.is_pending and (self.expires is None or self.expires > now)


class Access(State):
    """Permissions as they come out, and the truth about who may read."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._standings: dict[str, dict[str, Standing]] = {}
        self._members_of: dict[str, frozenset[str]] = {}
        self._worked_out_at = -1

    @locked
    def standings(self, file_id: str) -> dict[str, Standing]:
        """The permissions in force on the item, by permission id: its own, and the inherited ones."""
        if self._worked_out_at != self.changes_made:
            self._standings.clear()
            self._members_of.clear()
            self._worked_out_at = self.changes_made
        if file_id not in self._standings:
            self._standings[file_id] = self._merge(self._files[file_id])
        return self._standings[file_id]

    @locked
    def role_of(self, email: str, file_id: str, *, by_link: bool = True) -> Role | None:
        """The best role the user has on the item."""
        now = self.clock.now()
        roles: list[Role] = [
            standing.role
            for standing in self.standings(file_id).values()
            if standing.opens(now) and (by_link or not standing.is_link) and self._is_for(standing, email)
        ]
        return max(roles, key=lambda role: RANK[role], default=None)

    @locked
    def may(self, email: str, file_id: str, need: Need) -> bool:
        return self._rank(email, file_id) >= RANK[need]

    @locked
    def may_open(self, email: str, file_id: str) -> bool:
        """Drive would open it for this user, a link included."""
        return self.may(email, file_id, "reader")

    @locked
    def may_read(self, email: str, file_id: str, *, discoverable_as_everyone: bool = False) -> bool:
        """Search may show it to this user: there is a permission in force now that names the user, a group of theirs
        or (discoverable) their domain, and it is not in the trash. Links count for nobody, ``anyone`` only if
        discoverable and told so."""
        if file_id not in self._files or self.is_trashed(file_id):
            return False
        now = self.clock.now()
        return any(
            standing.opens(now)
            and not standing.is_link
            and (discoverable_as_everyone or standing.permission.type != "anyone")
            and RANK[standing.role] >= RANK["reader"]
            and self._is_for(standing, email)
            for standing in self.standings(file_id).values()
        )

    @locked
    def readers_of(self, file_id: str, *, discoverable_as_everyone: bool = False) -> set[str]:
        """Those of the users who `may_read` it, by their addresses in lower case."""
        return {
            email
            for email in self.users
            if self.may_read(email, file_id, discoverable_as_everyone=discoverable_as_everyone)
        }

    @locked
    def sees(self, email: str, file_id: str) -> bool:
        """Drive admits to this user that the item is there."""
        if file_id not in self._files:
            return False
        return self.may_open(email, file_id) or any(
            standing.permission.view == "metadata" and self._is_for(standing, email)
            for standing in self.standings(file_id).values()
        )

    @locked
    def is_named(self, email: str, file_id: str) -> bool:
        """A permission in force names the user or one of their groups: it needs no link and no search to get there."""
        return email.lower() in self.named_on(file_id)

    @locked
    def named_on(self, file_id: str) -> set[str]:
        """The users for whom `is_named` holds; among them those who see no more of a folder than that it is there."""
        now = self.clock.now()
        found: set[str] = set()
        for standing in self.standings(file_id).values():
            if standing.permission.email is not None and (
                standing.opens(now) or standing.permission.view == "metadata"
            ):
                found |= self._behind(standing.permission)
        return found

    @locked
    def may_share(self, email: str, file_id: str) -> bool:
        """The user may change who has access."""
        return self._shares(self._files[file_id], self._rank(email, file_id))

    @locked
    def may_download(self, email: str, file_id: str) -> bool:
        """The user may have the content, and not only look at it."""
        return self._downloads(self._files[file_id], self._rank(email, file_id))

    def _rank(self, email: str, file_id: str) -> int:
        role = self.role_of(email, file_id)
        return -1 if role is None else RANK[role]

    def _shares(self, file: File, rank: int) -> bool:
        if file.drive_id is not None:
            return rank >= RANK["organizer" if file.is_root else "fileOrganizer"]
        return rank >= RANK["writer" if file.writers_can_share else "owner"]

    def _downloads(self, file: File, rank: int) -> bool:
        return not file.download_restricted and rank >= RANK["writer" if file.copy_requires_writer else "reader"]

    @locked
    def groups_of(self, email: str) -> frozenset[str]:
        """The addresses of the groups the user is in, by way of other groups too: what a host says of a person."""
        return frozenset(group for group in self.groups if email.lower() in self._expanded(group))

    def _is_for(self, standing: Standing, email: str) -> bool:
        """The permission's grantee is this user, or something this user belongs to."""
        permission, address = standing.permission, email.lower()
        user = self.users.get(address)
        if user is None or user.deleted:
            return False
        if permission.type == "anyone":
            return True
        if permission.type == "domain":
            return permission.domain is not None and address.endswith("@" + permission.domain.lower())
        return address in self._behind(permission)

    def _behind(self, permission: Permission) -> frozenset[str]:
        """The users that a permission for a user or a group is for."""
        address = (permission.email or "").lower()
        if permission.type == "user":
            user = self.users.get(address)
            return frozenset() if user is None or user.deleted else frozenset((address,))
        if address not in self._members_of:
            self._members_of[address] = self._expanded(address)
        return self._members_of[address]

    def _expanded(self, address: str) -> frozenset[str]:
        """The users in a group, by way of other groups too."""
        seen: dict[str, None] = {address: None}
        todo = [address]
        for name in todo:
            group = self.groups.get(name)
            inside = () if group is None or group.deleted else sorted(group.members)
            todo += [member for member in inside if member not in seen]
            seen.update(dict.fromkeys(inside))
        return frozenset(name for name in seen if name in self.users and not self.users[name].deleted)

    def _merge(self, file: File) -> dict[str, Standing]:
        """Gathers what stands on the item and what comes down to it."""
        gathered: dict[tuple[str, View | None], list[tuple[Permission, Detail]]] = {}
        for source, permission, role, view in self._coming_down(file):
            detail = Detail(role, source.id, source is not file, permission.expires, permission.pending_owner)
            gathered.setdefault((permission.id, view), []).append((permission, detail))
        merged: dict[str, Standing] = {}
        for (key, view), found in gathered.items():
            if view == "metadata" and (key, None) in gathered:
                continue
            permission, first = found[0]
            is_discoverable = any(held.allow_file_discovery for held, _ in found)
            if permission.view != view or permission.allow_file_discovery != is_discoverable:
                permission = replace(permission, view=view, allow_file_discovery=is_discoverable)
            merged[key] = Standing.of(permission, [first] if first.role == "owner" else [detail for _, detail in found])
        return merged

    def _coming_down(self, file: File) -> Iterator[tuple[File, Permission, Role, View | None]]:
        """What the item has, nearest first: where it stands, and the role and view it has here."""
        sources = self._sources(file)
        for permission in file.permissions.values():
            yield file, permission, permission.role, permission.view
        for source in sources[1:]:
            for permission in _heritable(source):
                yield source, permission, _inherited(permission.role), None
        drive_root = self._files.get(file.drive_id or "")
        if drive_root is not None and drive_root not in sources:
            for permission in _heritable(drive_root):
                if permission.role == "organizer":
                    yield drive_root, permission, "organizer", None
        if file.inherited_permissions_disabled:
            for parent in (self._files[parent] for parent in file.parents if parent in self._files):
                for source in self._sources(parent):
                    for permission in _heritable(source):
                        yield source, permission, "reader", "metadata"

    def _sources(self, file: File) -> list[File]:
        """The item and those above it whose permissions come down to it: up to a folder with limited access."""
        sources = {file.id: file}
        todo = [file]
        for item in todo:
            if not item.inherited_permissions_disabled:
                above = [self._files[parent] for parent in item.parents if parent in self._files]
                todo += [parent for parent in above if parent.id not in sources]
                sources.update((parent.id, parent) for parent in above)
        return todo


def _heritable(source: File) -> Iterator[Permission]:
    """What items below get. Views stay where they are, and so does an ownership that nobody has accepted. The root of
    a My Drive gives nothing: it cannot be shared."""
    if not source.is_root or source.drive_id is not None:
        for permission in source.permissions.values():
            if permission.view is None and not permission.pending_owner:
                yield permission


def _inherited(role: Role) -> Role:
    """Whoever owns a folder may edit what others put into it."""
    return "writer" if role == "owner" else role
