"""Permissions as people give and take them: on files, folders and shared drives."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from tests.drive.access import Standing
from tests.drive.changing import Changing
from tests.drive.errors import DriveError, forbidden, invalid, not_found
from tests.drive.ids import permission_id
from tests.drive.items import File, GranteeType, Permission, Role, View
from tests.drive.pages import Cut, Page
from tests.drive.rendering import Resource
from tests.drive.state import locked


class Sharing(Changing):
    """Gives, changes and takes permissions."""

    @locked
    def share(
        self,
        file_id: str,
        with_: str = "anyone",
        role: Role = "reader",
        *,
        type: GranteeType | None = None,
        discoverable: bool = False,
        expires: datetime | None = None,
        pending_owner: bool = False,
        view: View | None = None,
        by: str | None = None,
    ) -> Permission:
        """`permissions.create`, on a file, folder or shared drive. ``with_`` is an address, a domain or ``anyone``.

        Somebody who has a permission on the item already gets this one instead; an owner stays the owner.
        """
        file = self._need_sharing(file_id, by)
        if role == "owner":
            self.transfer(file_id, with_, by=by)
            return file.permissions[permission_id(with_)]
        self._check_grant(file, with_, role, expires, by)
        permission = self._permission_for(with_, role, type, discoverable, view)
        permission = replace(permission, expires=expires, pending_owner=pending_owner)
        held = file.permissions.get(permission.id)
        if held is not None and held.role == "owner":
            return held
        self._may_expire = self._may_expire or expires is not None
        with self._access_changing(file):
            file.permissions[permission.id] = permission
        return permission

    @locked
    def update_permission(
        self,
        file_id: str,
        permission_id: str,
        *,
        role: Role | None = None,
        expires: datetime | None = None,
        remove_expiration: bool = False,
        pending_owner: bool | None = None,
        by: str | None = None,
    ) -> Permission:
        """`permissions.update`. What is inherited gets a permission of its own, as Drive does it."""
        file = self._need_sharing(file_id, by)
        standing = self._standing(file, permission_id)
        held = file.permissions.get(permission_id) or replace(standing.permission, role=standing.role)
        if held.role == "owner" and role not in (None, "owner"):
            raise forbidden("The owner of a file cannot be removed.", reason="cannotModifyOwner")
        self._check_grant(file, held.email or "", role or held.role, expires, by)
        changed = replace(
            held,
            role=role or held.role,
            expires=None if remove_expiration else expires or held.expires,
            pending_owner=held.pending_owner if pending_owner is None else pending_owner,
        )
        self._may_expire = self._may_expire or expires is not None
        with self._access_changing(file):
            file.permissions[permission_id] = changed
        return changed

    @locked
    def unshare(self, file_id: str, grantee_or_permission_id: str, *, by: str | None = None) -> None:
        """`permissions.delete`: by permission id, address, domain or ``anyone`` (link or not). What is inherited is
        refused (403), and so is the owner's. Everybody may give back what is their own."""
        wanted = grantee_or_permission_id
        key = wanted.lower()
        file = self._visible(file_id, by) if by is not None else self._files[file_id]
        found = [
            held.id
            for held in file.permissions.values()
            if wanted == held.id or key in ((held.email or "").lower(), (held.domain or "").lower())
            if held.role != "owner"
        ]
        if wanted == "anyone":
            found = [held.id for held in file.permissions.values() if held.type == "anyone"]
        if not found:
            standing = self._standing(file, wanted if wanted in self.standings(file_id) else permission_id(wanted))
            message = "The owner of a file cannot be removed." if standing.role == "owner" else "It is inherited."
            raise forbidden(
                message, reason="cannotDeleteInheritedPermission" if standing.is_inherited else "cannotModifyOwner"
            )
        if by is not None and any((file.permissions[own].email or "").lower() != by.lower() for own in found):
            self._need_sharing(file_id, by)
        with self._access_changing(file):
            for permission in found:
                del file.permissions[permission]

    @locked
    def transfer(self, file_id: str, to: str, *, move_to_root: bool = False, by: str | None = None) -> File:
        """Another owner; the former one becomes a writer. The file stays where it is unless it moves to the new
        owner's root, so the new owner may not see its parent."""
        file = self._need(file_id, by, "owner")
        if file.drive_id is not None or file.is_root:
            raise forbidden("Items in shared drives have no owner.", reason="ownerOnTeamDriveItemNotSupported")
        with self._access_changing(file):
            for held in [held for held in file.permissions.values() if held.role == "owner"]:
                file.permissions[held.id] = replace(held, role="writer")
            self._give_to(file, to)
        if move_to_root:
            self.set_parents(file_id, [self.root_of(to)])
        return file

    @locked
    def expire(self) -> int:
        """Drive's housekeeping: permissions that have expired go, with a change each. Returns how many."""
        now, count = self.clock.now(), 0
        for file in list(self._files.values()):
            over = [held.id for held in file.permissions.values() if held.expires is not None and held.expires <= now]
            for permission in over:
                with self._access_changing(file):
                    del file.permissions[permission]
                count += 1
        return count

    @locked
    def list_permissions(
        self,
        file_id: str,
        viewer: str,
        *,
        page_size: int | None = None,
        page_token: str | None = None,
        supports_all_drives: bool = False,
        view: str | None = None,
    ) -> Page:
        """`permissions.list`, inherited ones included. Who may only read is refused (403)."""
        file = self._listable(file_id, viewer, supports_all_drives=supports_all_drives)
        everything = self.permission_resources(file.id, view=view)
        whole = 100 if file.drive_id is not None else max(len(everything), 1)
        size = whole if page_size is None else min(max(page_size, 1), 100)
        cut = Cut(("permissions", file.id, viewer, view), page_token, size, self.clock.now()).of(everything, self.modes)
        return Page(cut.found, cut.next_page_token)

    @locked
    def permission_resource(
        self, file_id: str, permission_id: str, viewer: str, *, supports_all_drives: bool = False
    ) -> Resource:
        """`permissions.get`."""
        file = self._listable(file_id, viewer, supports_all_drives=supports_all_drives)
        for resource in self.permission_resources(file.id, view="published"):
            if resource["id"] == permission_id:
                return resource
        raise _permission_not_found(permission_id)

    def _listable(self, file_id: str, viewer: str, *, supports_all_drives: bool) -> File:
        file = self._visible(self._alias(file_id, viewer), viewer)
        if file.drive_id is not None and not supports_all_drives:
            raise not_found(file_id)
        if not self.may(viewer, file.id, "writer"):
            raise forbidden()
        return file

    @contextmanager
    def _access_changing(self, file: File) -> Iterator[None]:
        """Within it a permission on the item changes; on a drive's root, its membership."""
        members = self._members(file.id) if file.id in self.drives else None
        with self._changing(file.id, reach="access"):
            yield
        if members is not None:
            self._note_drive(file.id, members)

    def _need_sharing(self, file_id: str, by: str | None) -> File:
        if by is None:
            return self._need(file_id, None, "reader")
        file = self._visible(file_id, by)
        if not self.may_share(by, file.id):
            raise forbidden()
        return file

    def _standing(self, file: File, permission_id: str) -> Standing:
        if permission_id not in self.standings(file.id):
            raise _permission_not_found(permission_id)
        return self.standings(file.id)[permission_id]

    def _check_grant(self, file: File, with_: str, role: Role, expires: datetime | None, by: str | None) -> None:
        """The rules of the API; a test may make by hand what has expired already."""
        if role in ("organizer", "fileOrganizer") and file.drive_id is None:
            raise forbidden("The role is for shared drives only.", reason="cannotShareTeamDriveRole")
        if role == "organizer" and not file.is_root:
            raise forbidden("Only members of the drive can be organizers.", reason="cannotShareTeamDriveRole")
        if expires is not None and "@" not in with_:
            raise forbidden("Expiration dates are for users and groups.", reason="expirationDateNotAllowed")
        if by is not None and expires is not None and expires <= self.clock.now():
            raise forbidden("The expiration time must be in the future.", reason="expirationDateInPast")

    def _kind_of(self, with_: str) -> GranteeType:
        if with_ == "anyone":
            return "anyone"
        if "@" not in with_:
            return "domain"
        return "group" if with_.lower() in self.groups else "user"

    def _permission_for(
        self, with_: str, role: Role, type: GranteeType | None, discoverable: bool, view: View | None
    ) -> Permission:
        kind = type or self._kind_of(with_)
        key = permission_id(with_)
        if kind == "domain":
            key += "k"
        if kind == "anyone":
            key = "anyone" if discoverable else "anyoneWithLink"
        if view is not None:
            key = permission_id(f"{view}:{with_}")
        if kind in ("user", "group") and "@" not in with_:
            raise invalid("permission.emailAddress", "The specified emailAddress is invalid or not applicable.")
        return Permission(
            id=key,
            type=kind,
            role="publishedReader" if view == "published" else role,
            email=with_ if kind in ("user", "group") else None,
            domain=with_ if kind == "domain" else None,
            allow_file_discovery=discoverable,
            view=view,
        )


def _permission_not_found(permission_id: str) -> DriveError:
    return DriveError(404, "notFound", f"Permission not found: {permission_id}.", location="permissionId")
