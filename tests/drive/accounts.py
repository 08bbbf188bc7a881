"""Accounts, groups and shared drives: what a world is peopled with."""

from collections.abc import Iterable

from tests.drive.errors import forbidden, invalid, not_found
from tests.drive.feed import Feed
from tests.drive.ids import permission_id
from tests.drive.items import FOLDER, File, Group, Permission, SharedDrive, User
from tests.drive.pages import Cut, Page
from tests.drive.rendering import Resource
from tests.drive.state import locked


class Accounts(Feed):
    """Who there is, and which drives they share."""

    @locked
    def add_user(self, email: str, *, name: str | None = None) -> User:
        """An account with an empty My Drive. Addresses compare without case and are shown as they were given."""
        address, now = email.lower(), self.clock.stamp()
        user = User(
            email=email,
            name=name or email.partition("@")[0],
            permission_id=permission_id(email),
            root_id=self._ids.root(),
        )
        root = File(
            id=user.root_id,
            name="My Drive",
            mime_type=FOLDER,
            parents=[],
            owner=address,
            drive_id=None,
            created=now,
            modified=now,
            is_root=True,
        )
        root.permissions[user.permission_id] = Permission(user.permission_id, "user", "owner", email=email)
        self.users[address] = user
        self._keep(root)
        self.changes_made += 1
        return user

    @locked
    def delete_user(self, email: str) -> None:
        """The account goes: its permissions stay and say ``deleted``; what it owned goes with it, for everybody."""
        address = email.lower()
        owned = [file.id for file in self._files.values() if file.owner == address]
        elsewhere = [
            file.id for file in self._files.values() if file.owner != address and set(file.parents) & set(owned)
        ]
        with self._changing(*owned, *elsewhere, reach="trash"):
            for file_id in elsewhere:
                self._set_parents(self._files[file_id], [p for p in self._files[file_id].parents if p not in owned])
            for file_id in owned:
                self._drop(file_id)
            self.users[address].deleted = True

    @locked
    def add_group(self, email: str, *, members: Iterable[str] = (), name: str | None = None) -> Group:
        """A group of users and groups. Drive shows its address and nothing else."""
        group = Group(email=email, name=name or email.partition("@")[0], permission_id=permission_id(email))
        self.groups[email.lower()] = group
        self.set_members(email, members)
        return group

    @locked
    def set_members(self, group: str, members: Iterable[str]) -> None:
        """Membership changes in silence: no change log says anything."""
        self.groups[group.lower()].members = {member.lower() for member in members}
        self.changes_made += 1

    @locked
    def delete_group(self, email: str) -> None:
        """The group goes, in silence: its permissions stay and say ``deleted``."""
        self.groups[email.lower()].deleted = True
        self.changes_made += 1

    @locked
    def add_drive(self, name: str, *, organizer: str, drive_id: str | None = None) -> SharedDrive:
        """A shared drive with one member. More come by `share` on its id."""
        drive = SharedDrive(id=drive_id or self._ids.root(), name=name, created=self.clock.stamp())
        user = self.user(organizer)
        root = File(
            id=drive.id,
            name="Drive",  # the folder's name, whatever the drive is called
            mime_type=FOLDER,
            parents=[],
            owner=None,
            drive_id=drive.id,
            created=drive.created,
            modified=drive.created,
            is_root=True,
        )
        root.permissions[user.permission_id] = Permission(user.permission_id, "user", "organizer", email=user.email)
        self.drives[drive.id] = drive
        self._keep(root)
        self.changes_made += 1
        self._note_drive(drive.id, ())
        return drive

    @locked
    def rename_drive(self, drive_id: str, name: str, *, by: str | None = None) -> SharedDrive:
        self._need_organizer(drive_id, by)
        self.drives[drive_id].name = name
        self.changes_made += 1
        self.clock.tick()
        self._note_drive(drive_id, ())
        return self.drives[drive_id]

    @locked
    def delete_drive(self, drive_id: str, *, by: str | None = None, with_items: bool = True) -> None:
        """The drive goes for everybody. Its own log can be read by nobody any more; the members' logs say it."""
        self._need_organizer(drive_id, by)
        if by is not None and not with_items and self.below(drive_id):
            raise forbidden("The shared drive has items in it.", reason="cannotDeleteSharedDriveWithItems")
        members = self._members(drive_id)
        items = self.below(drive_id)
        with self._changing(drive_id, reach="trash"):
            for file_id in (*items, drive_id):
                self._drop(file_id)
            del self.drives[drive_id]
        self._note_drive(drive_id, members)

    @locked
    def list_drives(
        self, viewer: str, *, page_size: int = 10, page_token: str | None = None, q: str | None = None
    ) -> Page:
        """`drives.list`: at most 100 a page, 10 unless told. Of queries, ``name contains '…'`` is understood."""
        wanted = _name_wanted(q)
        mine = [
            drive.id
            for drive in self.drives.values()
            if self.is_named(viewer, drive.id) and wanted.lower() in drive.name.lower()
        ]
        cut = Cut(("drives", viewer, q), page_token, min(max(page_size, 1), 100), self.clock.now()).of(mine, self.modes)
        resources: list[Resource] = [self.drive_resource(drive_id, viewer) for drive_id in cut.found]
        return Page(resources, cut.next_page_token)

    def _need_organizer(self, drive_id: str, by: str | None) -> None:
        if drive_id not in self.drives:
            raise not_found(drive_id)
        if by is not None:
            self._membership(drive_id, by)
            if not self.may(by, drive_id, "organizer"):
                raise forbidden()


def _name_wanted(q: str | None) -> str:
    if q is None:
        return ""
    head, _, rest = q.strip().partition(" contains '")
    if head != "name" or not rest.endswith("'"):
        raise invalid("q")
    return rest[:-1]
