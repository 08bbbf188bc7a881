"""The bytes of files: downloads, with ranges; exports; and the export links for what is too large to export."""

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request as HttpRequest

from tests.drive.byte_ranges import ranged
from tests.drive.call import Answer, Call, Handler, Reply
from tests.drive.errors import invalid
from tests.drive.tokens import Bearer
from tests.drive.world import World


def media(call: Call) -> Reply:
    """`files.get?alt=media`."""
    body = call.world.content(
        call.file_id,
        call.viewer,
        acknowledge_abuse=call.flag("acknowledgeAbuse"),
        supports_all_drives=call.supports_all_drives,
        resource_keys=call.resource_keys,
    )
    return ranged(body.data, media_type=body.media_type, wanted=call.headers.get("range"))


def _export(call: Call) -> Answer:
    """`files.export`: in chunks and whole, whatever range is asked for. It takes no `supportsAllDrives` and needs none."""
    body = call.world.export(
        call.file_id,
        call.viewer,
        call.given("mimeType"),
        supports_all_drives=True,
        resource_keys=call.resource_keys,
    )
    return Reply(body.data, media_type=body.media_type, has_length=False)


def export_link(world: World, request: HttpRequest, bearer: Bearer) -> Reply:
    """What an entry of `exportLinks` leads to: the same bytes, without the limit."""
    file_id, mime_type = request.query_params.get("id"), request.query_params.get("mimeType")
    if file_id is None or mime_type is None:
        raise invalid("mimeType" if file_id else "id")
    body = world.export(file_id, bearer.email, mime_type, limited=False, supports_all_drives=True)
    return Reply(body.data, media_type=body.media_type, has_length=False)


HANDLERS: Final[Mapping[str, Handler]] = {"drive.files.export": _export}
