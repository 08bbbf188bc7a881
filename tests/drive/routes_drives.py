"""`drives` and `about`."""

from collections.abc import Mapping
from typing import Final

from tests.drive.call import Answer, Call, Handler
from tests.drive.errors import DriveError, forbidden


def _list(call: Call) -> Answer:
    _as_oneself(call)
    page = call.world.list_drives(
        call.viewer,
        page_size=call.number("pageSize") or 10,
        page_token=call.text("pageToken"),
        q=call.text("q"),
    )
    return {
        "kind": "drive#driveList",
        "drives": page.resources,
        **({"nextPageToken": page.next_page_token} if page.next_page_token else {}),
    }


def _get(call: Call) -> Answer:
    _as_oneself(call)
    return call.world.drive_resource(call.given("driveId"), call.viewer)


def _create(call: Call) -> Answer:
    if not call.body.get("name"):
        raise DriveError(400, "required", "A shared drive needs a name.", location="name")
    return call.world.drive_resource(call.world.add_drive(call.body["name"], organizer=call.viewer).id, call.viewer)


def _update(call: Call) -> Answer:
    _as_oneself(call)
    drive_id = call.given("driveId")
    call.world.drive_resource(drive_id, call.viewer)
    if "name" in call.body:
        call.world.rename_drive(drive_id, call.body["name"], by=call.viewer)
    return call.world.drive_resource(drive_id, call.viewer)


def _delete(call: Call) -> Answer:
    _as_oneself(call)
    drive_id = call.given("driveId")
    call.world.drive_resource(drive_id, call.viewer)
    call.world.delete_drive(drive_id, by=call.viewer, with_items=call.flag("allowItemDeletion"))
    return None


def _about(call: Call) -> Answer:
    return call.world.about(call.viewer)


def _as_oneself(call: Call) -> None:
    """Nobody in the emulated domain administers it."""
    if call.flag("useDomainAdminAccess"):
        raise forbidden()


HANDLERS: Final[Mapping[str, Handler]] = {
    "drive.about.get": _about,
    "drive.drives.create": _create,
    "drive.drives.delete": _delete,
    "drive.drives.get": _get,
    "drive.drives.list": _list,
    "drive.drives.update": _update,
}
