"""`permissions`: of files, folders and shared drives, which all have file ids."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast

from tests.drive.call import Answer, Call, Handler, moment
from tests.drive.errors import DriveError, forbidden, invalid
from tests.drive.items import RANK, Role


def _list(call: Call) -> Answer:
    _as_oneself(call)
    page = call.world.list_permissions(
        call.file_id,
        call.viewer,
        page_size=call.number("pageSize"),
        page_token=call.text("pageToken"),
        supports_all_drives=call.supports_all_drives,
        view=call.view,
    )
    return {
        "kind": "drive#permissionList",
        "permissions": page.resources,
        **({"nextPageToken": page.next_page_token} if page.next_page_token else {}),
    }


def _get(call: Call) -> Answer:
    _as_oneself(call)
    return _resource(call, call.given("permissionId"))


def _resource(call: Call, permission_id: str) -> Answer:
    return call.world.permission_resource(
        call.file_id, permission_id, call.viewer, supports_all_drives=call.supports_all_drives
    )


def _create(call: Call) -> Answer:
    body = call.body
    _seen(call)
    kind = body.get("type")
    if kind not in ("user", "group", "domain", "anyone"):
        raise invalid("permission.type", "The permission type field is required.")
    role = _role(body.get("role"))
    grantee = {"user": body.get("emailAddress"), "group": body.get("emailAddress"), "domain": body.get("domain")}
    with_ = grantee.get(kind, "anyone")
    if with_ is None:
        raise invalid("permission.emailAddress", f"A permission for a {kind} names it.")
    if role == "owner":
        return _owned_by(call, with_)
    made = call.world.share(
        call.file_id,
        with_,
        role,
        type=kind,
        discoverable=body.get("allowFileDiscovery", False),
        expires=_expiry(body),
        pending_owner=body.get("pendingOwner", False),
        view=body.get("view"),
        by=call.viewer,
    )
    return _resource(call, made.id)


def _role(named: Any) -> Role:
    if named not in RANK:
        raise invalid("permission.role", f"There is no role {named!r}.")
    return cast("Role", named)


def _owned_by(call: Call, email: str) -> Answer:
    """Ownership, which goes to somebody only where the call says that it is meant."""
    if not call.flag("transferOwnership"):
        message = "The transferOwnership parameter must be enabled when the permission role is 'owner'."
        raise DriveError(403, "forbidden", message, location="transferOwnership")
    try:
        owner = call.world.user(email)
    except KeyError:
        raise invalid("permission.emailAddress", "Only an account can own a file.") from None
    call.world.transfer(call.file_id, owner.email, move_to_root=call.flag("moveToNewOwnersRoot"), by=call.viewer)
    return _resource(call, owner.permission_id)


def _update(call: Call) -> Answer:
    _seen(call)
    permission_id, body = call.given("permissionId"), call.body
    role = _role(body["role"]) if "role" in body else None
    if role == "owner":
        resource = call.world.permission_resource(
            call.file_id, permission_id, call.viewer, supports_all_drives=call.supports_all_drives
        )
        return _owned_by(call, resource["emailAddress"])
    call.world.update_permission(
        call.file_id,
        permission_id,
        role=role,
        expires=_expiry(body),
        remove_expiration=call.flag("removeExpiration"),
        pending_owner=body.get("pendingOwner"),
        by=call.viewer,
    )
    return _resource(call, permission_id)


def _delete(call: Call) -> Answer:
    _seen(call)
    call.world.unshare(call.file_id, call.given("permissionId"), by=call.viewer)
    return None


def _seen(call: Call) -> None:
    """What the caller cannot see, the caller cannot share."""
    _as_oneself(call)
    call.world.get(call.file_id, call.viewer, supports_all_drives=call.supports_all_drives)


def _expiry(body: Mapping[str, Any]) -> datetime | None:
    return moment(body, "expirationTime")


def _as_oneself(call: Call) -> None:
    """Nobody in the emulated domain administers it."""
    if call.flag("useDomainAdminAccess"):
        raise forbidden()


HANDLERS: Final[Mapping[str, Handler]] = {
    "drive.permissions.create": _create,
    "drive.permissions.delete": _delete,
    "drive.permissions.get": _get,
    "drive.permissions.list": _list,
    "drive.permissions.update": _update,
}
