"""`files`: listing them, and everything that changes one."""

from collections.abc import Mapping
from typing import Any, Final

from tests.drive.call import Answer, Call, Handler, moment
from tests.drive.errors import DriveError, invalid
from tests.drive.items import FOLDER, SHORTCUT, File
from tests.drive.routes_content import media

_NATIVE: Final = "application/vnd.google-apps."

# The fields of a file that a client may set, and what the world calls them.
_EDITABLE: Final[Mapping[str, str]] = {
    "name": "name",
    "description": "description",
    "copyRequiresWriterPermission": "copy_requires_writer",
    "writersCanShare": "writers_can_share",
    "inheritedPermissionsDisabled": "inherited_permissions_disabled",
}
_AT_CREATION: Final = {"id", "parents", "createdTime", "shortcutDetails"}
_ALWAYS: Final = {*_EDITABLE, "kind", "mimeType", "modifiedTime", "originalFilename"}
_LATER: Final = {"trashed", "viewedByMeTime"}


def _list(call: Call) -> Answer:
    page = call.world.list_files(
        call.viewer,
        q=call.text("q"),
        corpora=call.text("corpora") or call.text("corpus"),
        drive_id=call.drive_id,
        include_items_from_all_drives=call.includes_all_drives,
        supports_all_drives=call.supports_all_drives,
        page_size=call.number("pageSize") or 100,
        page_token=call.text("pageToken"),
        order_by=call.text("orderBy"),
        view=call.view,
    )
    return {
        "kind": "drive#fileList",
        "incompleteSearch": page.incomplete_search,
        "files": page.files,
        **({"nextPageToken": page.next_page_token} if page.next_page_token else {}),
    }


def _get(call: Call) -> Answer:
    return (
        media(call) if call.text("alt") == "media" else call.world.resource_of(_file(call), call.viewer, view=call.view)
    )


def _file(call: Call) -> File:
    """The file that the call names, if the caller may see it."""
    return call.world.get(
        call.file_id,
        call.viewer,
        supports_all_drives=call.supports_all_drives,
        resource_keys=call.resource_keys,
    )


def _create(call: Call) -> Answer:
    _only_writable(call, _ALWAYS | _AT_CREATION)
    body = call.body
    parents = body.get("parents", [])
    if len(parents) > 1:
        raise DriveError(400, "multipleParentsNotSupported", "A file can have one parent only.", location="parents")
    for parent in parents:
        call.world.get(parent, call.viewer, supports_all_drives=call.supports_all_drives)
    more: dict[str, Any] = {
        "parent": parents[0] if parents else None,
        "by": call.viewer,
        "file_id": body.get("id"),
        "created": moment(body, "createdTime"),
        "modified": moment(body, "modifiedTime"),
        **{ours: body[theirs] for theirs, ours in _EDITABLE.items() if theirs in body and theirs != "name"},
    }
    return call.world.resource_of(_made(call, more), call.viewer, view=call.view)


def _made(call: Call, more: Mapping[str, Any]) -> File:
    """The new file, of the kind that its type and the upload say."""
    body, uploaded = call.body, call.media
    name = body.get("name", "Untitled")
    mime_type = body.get("mimeType") or (uploaded.media_type if uploaded else None)
    data = uploaded.data if uploaded else b""
    if mime_type == FOLDER:
        return call.world.add_folder(name, **more)
    if mime_type == SHORTCUT:
        if "targetId" not in body.get("shortcutDetails", {}):
            raise invalid("shortcutDetails.targetId", "A shortcut needs a target.")
        return call.world.add_shortcut(name, body["shortcutDetails"]["targetId"], **more)
    if mime_type and mime_type.startswith(_NATIVE):
        return call.world.add_document(
            name, {"text/plain": data, "text/markdown": data}, kind=mime_type.removeprefix(_NATIVE), **more
        )
    return call.world.add_file(name, data, mime_type=mime_type, **more)


def _update(call: Call) -> Answer:
    """`files.update`: one call may do several things at once, and the world does them one after another."""
    file, body, world = _file(call), call.body, call.world
    if "parents" in body:
        message = "The parents field is not directly writable in update requests. Use addParents and removeParents."
        raise DriveError(403, "fieldNotWritable", message)
    _only_writable(call, _ALWAYS | _LATER)
    add, remove = _ids(call, "addParents"), _ids(call, "removeParents")
    if add or remove:
        world.move(file.id, add=add, remove=remove, by=call.viewer)
    if call.media is not None or body.get("mimeType", file.mime_type) != file.mime_type:
        _write(call, file)
    fields: dict[str, Any] = {ours: body[theirs] for theirs, ours in _EDITABLE.items() if theirs in body}
    if "modifiedTime" in body and call.media is None:
        fields["modified"] = moment(body, "modifiedTime")
    if fields:
        world.edit(file.id, by=call.viewer, **fields)
    if "viewedByMeTime" in body:
        world.view(file.id, by=call.viewer)
    if "trashed" in body:
        (world.trash if body["trashed"] else world.untrash)(file.id, by=call.viewer)
    return world.resource_of(file.id, call.viewer, view=call.view)


def _write(call: Call, file: File) -> None:
    """New content, or another type, or both."""
    mime_type = call.body.get("mimeType") or (None if file.is_native or call.media is None else call.media.media_type)
    content: dict[str, Any] = {}
    if call.media is not None and (mime_type or file.mime_type).startswith(_NATIVE):
        content["exports"] = {"text/plain": call.media.data, "text/markdown": call.media.data}
    elif call.media is not None:
        content["data"] = call.media.data
    modified = moment(call.body, "modifiedTime")
    call.world.write(file.id, **content, mime_type=mime_type, modified=modified, by=call.viewer)


def _copy(call: Call) -> Answer:
    """`files.copy`: a new file of the caller's, beside the original or where the body says."""
    original = _file(call)
    if original.is_folder:
        raise DriveError(403, "cannotCopyFile", "This file cannot be copied by the user.")
    more: dict[str, Any] = {
        "parent": call.body["parents"][0] if call.body.get("parents") else None,
        "by": call.viewer,
        "modified": moment(call.body, "modifiedTime"),
    }
    name = call.body.get("name", f"Copy of {original.name}")
    if original.target is not None:
        made = call.world.add_shortcut(name, original.target.file_id, **more)
    elif original.is_native:
        kind = original.mime_type.removeprefix(_NATIVE)
        made = call.world.add_document(name, original.exports, kind=kind, **more)
    else:
        body = call.world.content(original.id, call.viewer, supports_all_drives=call.supports_all_drives)
        made = call.world.add_file(name, body.data, mime_type=original.mime_type, **more)
    return call.world.resource_of(made, call.viewer, view=call.view)


def _delete(call: Call) -> Answer:
    call.world.delete(_file(call).id, by=call.viewer)
    return None


def _only_writable(call: Call, writable: set[str]) -> None:
    for name in call.body:
        if name not in writable:
            message = f"The resource body includes fields which are not directly writable: {name}."
            raise DriveError(403, "fieldNotWritable", message)


def _ids(call: Call, name: str) -> list[str]:
    return [file_id for file_id in (call.text(name) or "").split(",") if file_id]


HANDLERS: Final[Mapping[str, Handler]] = {
    "drive.files.copy": _copy,
    "drive.files.create": _create,
    "drive.files.delete": _delete,
    "drive.files.get": _get,
    "drive.files.list": _list,
    "drive.files.update": _update,
}
