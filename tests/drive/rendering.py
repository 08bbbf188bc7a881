"""How things look to one viewer: the API's resources, whole. The HTTP side cuts them by the mask."""

from datetime import datetime
from typing import Any, TypeAlias
from urllib.parse import urlencode

from tests.drive.access import Access, Standing
from tests.drive.clock import rfc3339
from tests.drive.errors import drive_not_found, forbidden, not_found
from tests.drive.items import RANK, File, SharedDrive
from tests.drive.native import EXPORT_FORMATS, native_type, web_link
from tests.drive.state import locked

Resource: TypeAlias = dict[str, Any]
"""A resource of the API, whole."""

EXPORT_PATH = "/feeds/download/documents/export/Export"
"""Where `exportLinks` point to, below `base_url`, with ``id`` and ``mimeType``."""

_NATIVE_SIZE = 1024  # Drive says something about a document's size; it foretells nothing about an export's


class Rendering(Access):
    """Resources for a viewer."""

    @locked
    def resource_of(self, file: File | str, viewer: str, *, view: str | None = None) -> Resource:
        """The whole `File` resource as this viewer gets it. ``view`` is ``includePermissionsForView``."""
        item = self._files[file] if isinstance(file, str) else file
        resource: Resource = {
            "kind": "drive#file",
            "id": item.id,
            "name": item.name,
            "mimeType": item.mime_type,
            "description": item.description,
            "createdTime": rfc3339(item.created),
            "modifiedTime": rfc3339(item.modified),
            "version": str(item.version),
            "spaces": ["drive"],
            "starred": False,
            "trashed": self.is_trashed(item.id),
            "explicitlyTrashed": item.explicitly_trashed,
            "webViewLink": web_link(item.id, item.mime_type),
            "iconLink": f"https://drive-thirdparty.googleusercontent.com/16/type/{item.mime_type}",
            "resourceKey": item.resource_key,
            "viewedByMe": viewer.lower() in item.viewed,
            "viewedByMeTime": _time(item.viewed.get(viewer.lower())),
            "modifiedByMe": item.last_modified_by == viewer.lower(),
            "lastModifyingUser": self._user(item.last_modified_by, viewer),
            "copyRequiresWriterPermission": item.copy_requires_writer,
            "inheritedPermissionsDisabled": item.inherited_permissions_disabled,
            "isAppAuthorized": True,
            "hasThumbnail": False,
            "thumbnailVersion": "0",
            "quotaBytesUsed": "0",
            "parents": [parent for parent in item.parents if self.sees(viewer, parent)] or None,
            "capabilities": self._capabilities(item, viewer),
        }
        resource |= self._place(item, viewer)
        resource |= self._content(item)
        resource |= self._sharing(item, viewer, view)
        return {key: value for key, value in resource.items() if value is not None}

    @locked
    def permission_resources(self, file_id: str, *, view: str | None = None) -> list[Resource]:
        """All permissions of the item that a list shows: its own and the inherited ones."""
        file = self._files[file_id]
        return [
            self._permission(standing, file)
            for key, standing in self.standings(file_id).items()
            if (file_id, key) not in self.modes.hidden_permissions
            if standing.permission.view != "published" or view == "published"
        ]

    @locked
    def drive_resource(self, drive_id: str, viewer: str) -> Resource:
        """`drives.get`: for members only."""
        drive = self._membership(drive_id, viewer)
        return {
            "kind": "drive#drive",
            "id": drive.id,
            "name": drive.name,
            "createdTime": rfc3339(drive.created),
            "hidden": drive.hidden,
            "colorRgb": "#4285f4",
            "capabilities": {
                "canAddChildren": self.may(viewer, drive_id, "writer"),
                "canDeleteDrive": self.may(viewer, drive_id, "organizer"),
                "canDownload": True,
                "canEdit": self.may(viewer, drive_id, "writer"),
                "canListChildren": True,
                "canManageMembers": self.may(viewer, drive_id, "organizer"),
                "canShare": self.may(viewer, drive_id, "fileOrganizer"),
            },
        }

    @locked
    def about(self, viewer: str) -> Resource:
        """`about.get`."""
        return {
            "kind": "drive#about",
            "user": self._user(viewer.lower(), viewer),
            "storageQuota": {"limit": "16106127360", "usage": "0", "usageInDrive": "0", "usageInDriveTrash": "0"},
            "exportFormats": {native_type(kind): list(formats) for kind, formats in EXPORT_FORMATS.items()},
            "maxUploadSize": "5242880000000",
            "appInstalled": True,
            "canCreateDrives": True,
        }

    def _visible(self, file_id: str, viewer: str) -> File:
        """The file, or `DriveError` 404 for whoever may not know that it is there."""
        if not self.sees(viewer, file_id):
            raise not_found(file_id)
        return self._files[file_id]

    def _membership(self, drive_id: str, viewer: str) -> SharedDrive:
        """The shared drive, or a refusal for whoever is no member (or when it is gone)."""
        drive = self.drives.get(drive_id)
        if drive is not None and self.is_named(viewer, drive_id):
            return drive
        if self.modes.lost_drive_status == 403:
            message = "The attempted action requires shared drive membership."
            raise forbidden(message, reason="teamDriveMembershipRequired")
        raise drive_not_found(drive_id)

    def _place(self, item: File, viewer: str) -> Resource:
        """Whose it is: a shared drive's items have no owner, and other fields instead."""
        if item.drive_id is None:
            return {
                "owners": [owner] if (owner := self._user(item.owner, viewer)) else None,
                "ownedByMe": item.owner == viewer.lower(),
                "writersCanShare": item.writers_can_share,
                "shared": any(standing.role != "owner" for standing in self.standings(item.id).values()),
            }
        return {
            "driveId": item.drive_id,
            "teamDriveId": item.drive_id,
            "hasAugmentedPermissions": bool(item.permissions) and not item.is_root,
            "trashedTime": _time(item.trashed_at),
            "trashingUser": self._user(item.trashed_by, viewer),
        }

    def _content(self, item: File) -> Resource:
        if item.target is not None:
            target = {
                "targetId": item.target.file_id,
                "targetMimeType": item.target.mime_type,
                "targetResourceKey": item.target.resource_key,
            }
            return {"shortcutDetails": {key: value for key, value in target.items() if value is not None}}
        if item.is_native:
            links = {
                mime_type: f"{self.base_url}{EXPORT_PATH}?{urlencode({'id': item.id, 'mimeType': mime_type})}"
                for mime_type in item.exports
            }
            return {"exportLinks": links or None, "size": str(_NATIVE_SIZE)}
        if not item.has_bytes:
            return {}
        head = item.revisions[-1]
        _, dot, extension = item.name.partition(".")
        return {
            "size": str(len(head.data)),
            "quotaBytesUsed": str(len(head.data)),
            "md5Checksum": head.md5,
            "sha1Checksum": head.sha1,
            "sha256Checksum": head.sha256,
            "headRevisionId": head.id,
            "originalFilename": item.name,
            "fullFileExtension": extension if dot else None,
            "fileExtension": extension.rpartition(".")[2] if dot else None,
            "webContentLink": f"https://drive.google.com/uc?id={item.id}&export=download",
        }

    def _sharing(self, item: File, viewer: str, view: str | None) -> Resource:
        """Who has access: only for those who may share, and in full only outside shared drives."""
        if not self.may_share(viewer, item.id):
            return {}
        ids = [
            key
            for key, standing in self.standings(item.id).items()
            if standing.permission.view != "published" or view == "published"
        ]
        if item.drive_id is not None or self.modes.omit_permissions:
            return {"permissionIds": ids}
        return {"permissionIds": ids, "permissions": self.permission_resources(item.id, view=view)}

    def _permission(self, standing: Standing, file: File) -> Resource:
        permission = standing.permission
        in_drive = file.drive_id is not None
        account = self.users.get((permission.email or "").lower()) or self.groups.get((permission.email or "").lower())
        is_link = permission.type in ("anyone", "domain")
        resource: Resource = {
            "kind": "drive#permission",
            "id": permission.id,
            "type": permission.type,
            "role": standing.role,
            "emailAddress": permission.email,
            "domain": permission.domain,
            "displayName": permission.domain or (account.name if account else permission.email),
            "allowFileDiscovery": permission.allow_file_discovery if is_link else None,
            "expirationTime": _time(standing.expires),
            "deleted": None if is_link else account is not None and account.deleted,
            "pendingOwner": standing.is_pending if permission.type == "user" and not in_drive else None,
            "view": permission.view,
            "permissionDetails": [
                {
                    "permissionType": "member" if detail.source == file.drive_id else "file",
                    "role": detail.role,
                    "inherited": detail.inherited,
                    **({"inheritedFrom": detail.source} if detail.inherited and in_drive else {}),
                }
                for detail in standing.details
            ],
        }
        return {key: value for key, value in resource.items() if value is not None}

    def _capabilities(self, item: File, viewer: str) -> Resource:
        role = self.role_of(viewer, item.id)
        rank = -1 if role is None else RANK[role]
        may_read, may_write = rank >= RANK["reader"], rank >= RANK["writer"]
        may_remove = rank >= RANK["owner" if item.drive_id is None else "fileOrganizer"] and not item.is_root
        may_share = self._shares(item, rank)
        may_limit = may_share if item.drive_id is None else rank >= RANK["organizer"]
        may_limit = may_limit and item.is_folder and not item.is_root
        may_download = self._downloads(item, rank)
        capabilities: Resource = {
            "canAddChildren": item.is_folder and may_write,
            "canComment": rank >= RANK["commenter"],
            "canCopy": not item.is_folder and may_download,
            "canDelete": may_remove and (item.drive_id is None or rank >= RANK["organizer"]),
            "canDisableInheritedPermissions": may_limit and not item.inherited_permissions_disabled,
            "canDownload": not item.is_folder and may_download,
            "canEdit": may_write,
            "canEnableInheritedPermissions": may_limit and item.inherited_permissions_disabled,
            "canListChildren": item.is_folder and may_read,
            "canModifyContent": may_write,
            "canReadRevisions": may_write and not item.is_folder,
            "canRename": may_write and not item.is_root,
            "canShare": may_share,
            "canTrash": may_remove,
            "canUntrash": may_remove,
        }
        if item.drive_id is not None:
            capabilities["canReadDrive"] = self.is_named(viewer, item.drive_id)
        return capabilities

    def _user(self, email: str | None, viewer: str) -> Resource | None:
        user = self.users.get((email or "").lower())
        if user is None:
            return None
        return {
            "kind": "drive#user",
            "displayName": user.name,
            "emailAddress": user.email,
            "permissionId": user.permission_id,
            "me": user.email.lower() == viewer.lower(),
        }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else rfc3339(moment)
