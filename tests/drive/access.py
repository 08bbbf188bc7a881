"""Who may do what with a file: its own permissions and those that come down from the folders above it.

Inheritance is worked out at the moment of asking, by walking up; nothing is copied down, so nothing can be left behind.
A folder with limited access lets nothing through from above except a shared drive's organizers; whoever would have
inherited sees that the folder is there (a permission with the view ``metadata``) and nothing below it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from tests.drive.items import RANK, File, Group, Permission, Role, View
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
    """All that one grantee has on one item, merged as Drive shows it: the best role, and the details."""

    permission: Permission
    details: tuple[Detail, ...]

    @property
    def role(self) -> Role:
        return max((detail.role for detail in self.details), key=RANK.__getitem__)

    @property
    def expires(self) -> datetime | None:
        """When the last of it ends; ``None`` if any of it stays."""
        ends = [detail.expires for detail in self.details]
        return None if None in ends else max(end for end in ends if end is not None)

    @property
    def is_pending(self) -> bool:
        """Nothing but an ownership that was offered and not accepted."""
        return all(detail.pending for detail in self.details)

    @property
    def is_inherited(self) -> bool:
        return all(detail.inherited for detail in self.details)

    def opens(self, now: datetime) -> bool:
        """It gives its grantee the content, now."""
        return self.permission.view is None and not self.is_pending and (self.expires is None or self.expires > now)

    @property
    def is_link(self) -> bool:
        """It opens to whoever has the link, and shows nobody that there is anything."""
        return self.permission.type in ("anyone", "domain") and not self.permission.allow_file_discovery


class Access(State):
    """Permissions as they come out, and the truth about who may read."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._standings: dict[str, dict[str, Standing]] = {}
        self._memberships: dict[str, frozenset[str]] = {}
        self._worked_out_at = -1

    @locked
    def standings(self, file_id: str) -> dict[str, Standing]:
        """The permissions in force on the item, by permission id: its own, and the inherited ones."""
        if self._worked_out_at != self.changes_made:
            self._standings.clear()
            self._memberships.clear()
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
        role = self.role_of(email, file_id)
        return role is not None and RANK[role] >= RANK[need]

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
        """Those of the users who `may_read` it."""
        return {
            user.email
            for user in self.users.values()
            if self.may_read(user.email, file_id, discoverable_as_everyone=discoverable_as_everyone)
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
        now = self.clock.now()
        return any(
            (standing.opens(now) or standing.permission.view == "metadata")
            and standing.permission.type in ("user", "group")
            and self._is_for(standing, email)
            for standing in self.standings(file_id).values()
        )

    @locked
    def may_share(self, email: str, file_id: str) -> bool:
        """The user may change who has access."""
        file = self._files[file_id]
        if file.drive_id is not None:
            return self.may(email, file_id, "organizer" if file.is_root else "fileOrganizer")
        return self.may(email, file_id, "writer" if file.writers_can_share else "owner")

    @locked
    def may_download(self, email: str, file_id: str) -> bool:
        file = self._files[file_id]
        restricted = file.copy_requires_writer and not self.may(email, file_id, "writer")
        return not file.download_restricted and not restricted and self.may_open(email, file_id)

    @locked
    def groups_of(self, email: str) -> frozenset[str]:
        """The addresses of the groups the user is in, by way of other groups too."""
        member = email.lower()
        if self._worked_out_at != self.changes_made or member not in self._memberships:
            found: set[str] = set()
            todo = [member]
            for address in todo:
                inside = [group.email.lower() for group in self.groups.values() if address in group.members]
                todo += [group for group in inside if group not in found]
                found.update(inside)
            self._memberships[member] = frozenset(found)
        return self._memberships[member]

    def _is_for(self, standing: Standing, email: str) -> bool:
        """The permission's grantee is this user, or something this user belongs to."""
        permission, address = standing.permission, email.lower()
        user = self.users.get(address)
        if user is not None and user.deleted:
            return False
        match permission.type:
            case "user":
                return permission.email is not None and permission.email.lower() == address
            case "group":
                group = None if permission.email is None else self._live_group(permission.email)
                return group is not None and group.email.lower() in self.groups_of(address)
            case "domain":
                return permission.domain is not None and address.endswith("@" + permission.domain.lower())
            case "anyone":
                return True

    def _live_group(self, email: str) -> Group | None:
        group = self.groups.get(email.lower())
        return None if group is None or group.deleted else group

    def _merge(self, file: File) -> dict[str, Standing]:
        """Gathers what stands on the item and what comes down to it."""
        gathered: dict[tuple[str, View | None], list[tuple[Permission, Detail]]] = {}
        for source, permission in self._coming_down(file):
            detail = Detail(
                role=permission.role,
                source=source.id,
                inherited=source is not file,
                expires=permission.expires,
                pending=permission.pending_owner,
            )
            gathered.setdefault((permission.id, permission.view), []).append((permission, detail))
        merged: dict[str, Standing] = {}
        for (key, view), found in gathered.items():
            if view == "metadata" and (key, None) in gathered:
                continue
            is_discoverable = any(permission.allow_file_discovery for permission, _ in found)
            permission = replace(found[0][0], allow_file_discovery=is_discoverable)
            details = [detail for _, detail in found]
            merged[key] = Standing(permission, tuple(details[:1] if details[0].role == "owner" else details))
        return merged

    def _coming_down(self, file: File) -> Iterator[tuple[File, Permission]]:
        """What the item has, nearest first, with the item it stands on."""
        sources = self._sources(file)
        for permission in file.permissions.values():
            yield file, permission
        for source in sources[1:]:
            for permission in _heritable(source):
                yield source, permission
        drive_root = self._files.get(file.drive_id or "")
        if drive_root is not None and drive_root not in sources:
            yield from ((drive_root, held) for held in _heritable(drive_root) if held.role == "organizer")
        if file.inherited_permissions_disabled:
            for parent in (self._files[parent] for parent in file.parents if parent in self._files):
                for source in self._sources(parent):
                    for permission in _heritable(source):
                        yield source, replace(permission, role="reader", view="metadata")

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
    """What items below get. Views stay where they are, and so does an ownership that nobody has accepted; whoever
    owns a folder may edit what others put into it. The root of a My Drive gives nothing: it cannot be shared."""
    for permission in () if source.is_root and source.drive_id is None else source.permissions.values():
        if permission.view is None and not permission.pending_owner:
            yield replace(permission, role="writer") if permission.role == "owner" else permission
