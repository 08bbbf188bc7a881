"""The documents that a connector can come to with one account and one scope: the whole that it is compared with.

What the account cannot see is out of reach, and so is what it cannot tell to be in scope: Drive shows an item's parents
only to those who see them, so a file within a folder that is hidden from the account is in no folder for it.
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

    Without either it is all that is the viewer's own or shared with them, outside shared drives. A shortcut that is in
    reach brings its target in, wherever that is; one to a folder brings in the folder with all below it.
    """
    with world.lock:
        starts = [drive_id] if drive_id is not None else list(folders)
        if starts:
            todo = [world.file(start) for start in starts if world.exists(start)]
        else:
            mine = (file for file in world.all_files() if world.is_in_corpus(viewer, file.id))
            todo = [file for file in mine if file.drive_id is None]
        seen = {file.id for file in todo}
        found: dict[str, File] = {}
        for file in todo:
            if world.is_trashed(file.id) or not world.may_open(viewer, file.id):
                continue
            if not file.is_folder and not file.is_shortcut:
                found[file.id] = file
            nexts = world.children_of(file.id) if file.is_folder else _target(world, file, follow_shortcuts)
            todo += [item for item in nexts if item.id not in seen]
            seen.update(item.id for item in nexts)
        return found


def _target(world: World, file: File, follow_shortcuts: bool) -> list[File]:
    if file.target is None or not follow_shortcuts or not world.exists(file.target.file_id):
        return []
    return [world.file(file.target.file_id)]
