"""The documents that a connector can come to with one account and one scope: the whole that it is compared with.

What the account cannot see is out of reach. A folder of which it sees no more than that it is there is searched like any
other: Drive lists what lies in it and is shared with the account by itself.
"""

from collections.abc import Iterable

from tests.drive.items import File
from tests.drive.world import World


def reach(
    world: World,
    viewer: str,
    *,
    folders: Iterable[str] = (),
    drive_id: str | None = None,
    follow_shortcuts: bool = True,
) -> dict[str, File]:
    """By id, the files with content, not in the trash, that the viewer may open in these folders or that drive.

    Without either it is all that is the viewer's own or shared with them, and every shared drive of which they are a
    member. A shortcut that is in reach brings its target in, wherever that is; one to a folder brings in the folder with
    all below it.
    """
    with world.lock:
        todo = _starts(world, viewer, list(folders), drive_id)
        seen = {file.id for file in todo}
        found: dict[str, File] = {}
        for file in todo:
            if world.is_trashed(file.id) or not world.sees(viewer, file.id):
                continue
            if not file.is_folder and not file.is_shortcut and world.may_open(viewer, file.id):
                found[file.id] = file
            if file.is_folder:
                nexts = [child for child in world.children_of(file.id) if _is_listed(world, viewer, child)]
            else:
                nexts = _target(world, file, follow_shortcuts)
            todo += [item for item in nexts if item.id not in seen]
            seen.update(item.id for item in nexts)
        return found


def _starts(world: World, viewer: str, folders: list[str], drive_id: str | None) -> list[File]:
    if drive_id is not None:
        is_member = world.exists(drive_id) and world.is_named(viewer, drive_id)
        return [file for file in world.all_files() if is_member and file.drive_id == drive_id]
    if folders:
        return [world.file(start) for start in folders if world.exists(start)]
    return [file for file in world.all_files() if _is_listed(world, viewer, file)]


def _is_listed(world: World, viewer: str, file: File) -> bool:
    """A listing shows it to the viewer: members of a shared drive see what they may open there, a link included."""
    if file.drive_id is not None and world.is_named(viewer, file.drive_id):
        return world.sees(viewer, file.id)
    return world.is_in_corpus(viewer, file.id)


def _target(world: World, file: File, follow_shortcuts: bool) -> list[File]:
    """Shortcuts to shortcuts lead nowhere."""
    if file.target is None or not follow_shortcuts or not world.exists(file.target.file_id):
        return []
    target = world.file(file.target.file_id)
    return [] if target.is_shortcut else [target]
