"""What may be done to files of the emulated Drive, and what becomes of what is below, beside and behind them."""

import hashlib
from datetime import UTC, datetime

import pytest

from tests.drive.errors import DriveError
from tests.drive.items import FOLDER, SHORTCUT
from tests.drive.native import DOCX, XLSX
from tests.drive.world import World

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run

ANN, BOB = "ann@a.test", "bob@a.test"


@pytest.fixture
def world() -> World:
    world = World()
    world.add_user(ANN)
    world.add_user(BOB)
    return world


def test_a_file_has_bytes_and_says_which(world: World) -> None:
    file = world.add_file("a.tar.gz", b"data", owner=ANN)
    resource = world.resource_of(file, ANN)
    assert resource["md5Checksum"] == hashlib.md5(b"data").hexdigest()
    assert resource["sha256Checksum"] == hashlib.sha256(b"data").hexdigest()
    assert (resource["size"], resource["fileExtension"], resource["fullFileExtension"]) == ("4", "gz", "tar.gz")
    assert world.resource_of(world.add_file("empty.txt", owner=ANN), ANN)["size"] == "0"


def test_new_content_is_a_new_revision_of_the_same_file(world: World) -> None:
    file = world.add_file("a.txt", "one", owner=ANN)
    before = world.resource_of(file, ANN)
    world.write(file.id, "two")
    after = world.resource_of(file, ANN)
    assert {"headRevisionId", "md5Checksum", "modifiedTime", "version"} <= {
        name for name in after if after[name] != before[name]
    }
    assert int(after["version"]) > int(before["version"])


def test_a_client_may_say_when_a_file_was_modified(world: World) -> None:
    long_ago = datetime(2015, 1, 1, tzinfo=UTC)
    file = world.add_file("a.txt", owner=ANN, modified=long_ago)
    assert world.resource_of(file, ANN)["modifiedTime"] == "2015-01-01T00:00:00.000Z"
    world.write(file.id, "new", modified=long_ago)
    assert world.file(file.id).modified == long_ago


def test_renames_moves_and_shares_leave_the_time_and_the_content_alone(world: World) -> None:
    folder, file = world.add_folder("f", owner=ANN), world.add_file("a.txt", "x", owner=ANN)
    before = world.resource_of(file, ANN)
    world.rename(file.id, "b.txt")
    world.move(file.id, folder.id)
    world.share(file.id, BOB)
    after = world.resource_of(file, ANN)
    same = ("modifiedTime", "md5Checksum", "headRevisionId", "createdTime")
    assert [after[name] for name in same] == [before[name] for name in same]
    assert int(after["version"]) == int(before["version"]) + 3


def test_a_document_has_exports_and_no_bytes(world: World) -> None:
    document = world.add_document("d", {"text/markdown": "# d", DOCX: b"zip"}, owner=ANN)
    resource = world.resource_of(document, ANN)
    assert resource["mimeType"] == "application/vnd.google-apps.document"
    assert set(resource["exportLinks"]) == {"text/markdown", DOCX}
    assert not {"md5Checksum", "sha256Checksum", "headRevisionId", "webContentLink"} & set(resource)
    form = world.add_document("f", {}, kind="form", owner=ANN)
    assert "exportLinks" not in world.resource_of(form, ANN)


def test_a_file_may_turn_into_another_kind(world: World) -> None:
    file = world.add_file("a.csv", "1,2", owner=ANN)
    world.write(file.id, exports={XLSX: b"zip"}, mime_type="application/vnd.google-apps.spreadsheet")
    assert "md5Checksum" not in world.resource_of(file, ANN)
    world.write(file.id, "1,2", mime_type="text/csv")
    assert "exportLinks" not in world.resource_of(file, ANN)
    assert world.resource_of(file, ANN)["size"] == "3"


def test_folders_and_shortcuts_have_no_size(world: World) -> None:
    folder = world.add_folder("f", owner=ANN)
    shortcut = world.add_shortcut("s", folder.id, owner=ANN)
    assert world.file(folder.id).mime_type == FOLDER
    assert world.file(shortcut.id).mime_type == SHORTCUT
    assert "size" not in world.resource_of(folder, ANN)
    assert "size" not in world.resource_of(shortcut, ANN)


def test_a_shortcut_remembers_the_type_its_target_had(world: World) -> None:
    target = world.add_file("a.txt", "x", owner=ANN)
    shortcut = world.add_shortcut("s", target.id, owner=ANN)
    world.write(target.id, "%PDF", mime_type="application/pdf")
    details = {"targetId": target.id, "targetMimeType": "text/plain"}
    assert world.resource_of(shortcut, ANN)["shortcutDetails"] == details
    world.delete(target.id)
    assert world.resource_of(shortcut, ANN)["shortcutDetails"] == details


def test_a_shortcut_is_shared_for_itself(world: World) -> None:
    target = world.add_file("a.txt", owner=ANN)
    shortcut = world.add_shortcut("s", target.id, owner=ANN)
    world.share(shortcut.id, BOB)
    assert world.may_read(BOB, shortcut.id)
    assert not world.may_read(BOB, target.id)


def test_names_are_anybodys(world: World) -> None:
    names = ["report.pdf", "report.pdf", "a/b", "it's", "back\\slash", "trailing ", "😀", ""]
    files = [world.add_file(name, owner=ANN) for name in names]
    assert len({file.id for file in files}) == len(names)
    assert [world.resource_of(file, ANN)["name"] for file in files] == names


def test_parents_are_shown_to_those_who_see_them(world: World) -> None:
    folder = world.add_folder("f", owner=ANN)
    file = world.add_file("a.txt", parent=folder.id)
    world.share(file.id, BOB)
    assert "parents" not in world.resource_of(file, BOB)
    world.share(folder.id, BOB)
    assert world.resource_of(file, BOB)["parents"] == [folder.id]
    assert "parents" not in world.resource_of(folder, BOB)


def test_a_move_takes_all_below_with_it(world: World) -> None:
    one, two = world.add_folder("1", owner=ANN), world.add_folder("2", owner=ANN)
    file = world.add_file("a.txt", parent=one.id)
    world.share(two.id, BOB)
    world.move(one.id, two.id)
    assert world.path_of(file.id) == "2/1/a.txt"
    assert world.may_read(BOB, file.id)
    world.move(one.id, add=[world.root_of(ANN)], remove=[two.id])
    assert not world.may_read(BOB, file.id)


def test_a_move_keeps_the_rules(world: World) -> None:
    one = world.add_folder("1", owner=ANN)
    two = world.add_folder("2", parent=one.id)
    file = world.add_file("a.txt", parent=one.id)
    with pytest.raises(DriveError) as refused:
        world.move(one.id, two.id)
    assert refused.value.status == 400
    with pytest.raises(DriveError) as refused:
        world.move(file.id, add=[two.id])
    assert refused.value.reason == "cannotAddParent"
    with pytest.raises(DriveError):
        world.move(two.id, file.id)
    with pytest.raises(DriveError):
        world.move(world.root_of(ANN), one.id)
    assert world.path_of(two.id) == "1/2"


def test_a_shared_drive_owns_what_comes_into_it(world: World) -> None:
    drive = world.add_drive("D", organizer=BOB)
    folder = world.add_folder("f", owner=ANN)
    file = world.add_file("a.txt", parent=folder.id)
    world.move(folder.id, drive.id)
    assert (file.owner, file.drive_id, world.readers_of(file.id)) == (None, drive.id, {BOB})
    resource = world.resource_of(file, BOB)
    assert resource["driveId"] == drive.id
    assert not {"owners", "ownedByMe", "shared", "writersCanShare", "permissions"} & set(resource)
    world.move(folder.id, world.root_of(BOB), by=BOB)
    assert (file.owner, file.drive_id) == (BOB, None)


def test_the_root_of_a_drive_is_called_drive(world: World) -> None:
    drive = world.add_drive("Sales", organizer=ANN)
    assert world.resource_of(drive.id, ANN)["name"] == "Drive"
    assert world.drive_resource(drive.id, ANN)["name"] == "Sales"


def test_the_trash_reaches_down_and_says_who_was_meant(world: World) -> None:
    folder = world.add_folder("f", owner=ANN)
    file = world.add_file("a.txt", parent=folder.id)
    world.trash(folder.id)
    shown = world.resource_of(file, ANN)
    assert (shown["trashed"], shown["explicitlyTrashed"]) == (True, False)
    world.trash(file.id)
    world.untrash(folder.id)
    assert world.is_trashed(file.id)
    assert world.documents() == []
    world.untrash(file.id)
    assert world.documents() == [file]


def test_a_deleted_folder_takes_what_is_its_owners_and_orphans_the_rest(world: World) -> None:
    folder, elsewhere = world.add_folder("f", owner=ANN), world.add_folder("g", owner=ANN)
    world.share(folder.id, BOB, "writer")
    anns, bobs = world.add_file("a.txt", parent=folder.id), world.add_file("b.txt", parent=folder.id, by=BOB)
    twice = world.add_file("c.txt", parent=folder.id)
    world.set_parents(twice.id, [folder.id, elsewhere.id])
    world.delete(folder.id)
    assert not world.exists(anns.id)
    assert (bobs.parents, twice.parents) == ([], [elsewhere.id])
    assert world.readers_of(bobs.id) == {BOB}


def test_an_id_that_comes_again_goes_on_counting_and_remembers_nobody(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, BOB)
    version = file.version
    world.delete(file.id)
    again = world.add_file("b.txt", owner=ANN, file_id=file.id)
    assert again.version > version
    assert world.readers_of(again.id) == {ANN}


def test_what_a_deleted_account_owned_is_gone_for_everybody(world: World) -> None:
    folder = world.add_folder("f", owner=ANN)
    world.share(folder.id, BOB, "writer")
    bobs, anns = world.add_file("b.txt", parent=folder.id, by=BOB), world.add_file("a.txt", parent=folder.id)
    world.delete_user(ANN)
    assert not world.exists(anns.id)
    assert (bobs.parents, world.readers_of(bobs.id)) == ([], {BOB})


@pytest.mark.parametrize("action", ["rename", "write", "trash", "delete", "move"])
def test_a_reader_changes_nothing(world: World, action: str) -> None:
    file = world.add_file("a.txt", owner=ANN)
    with pytest.raises(DriveError) as refused:
        _act(world, action, file.id)
    assert refused.value.status == 404
    world.share(file.id, BOB)
    version = file.version
    with pytest.raises(DriveError) as refused:
        _act(world, action, file.id)
    assert (refused.value.status, refused.value.reason) == (403, "insufficientFilePermissions")
    assert file.version == version


def _act(world: World, action: str, file_id: str) -> None:
    match action:
        case "rename":
            world.rename(file_id, "b.txt", by=BOB)
        case "write":
            world.write(file_id, "x", by=BOB)
        case "move":
            world.move(file_id, world.root_of(BOB), by=BOB)
        case "trash":
            world.trash(file_id, by=BOB)
        case _:
            world.delete(file_id, by=BOB)


def test_an_editor_neither_trashes_nor_deletes(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    world.share(file.id, BOB, "writer")
    world.rename(file.id, "b.txt", by=BOB)
    for action in ("trash", "delete"):
        with pytest.raises(DriveError):
            _act(world, action, file.id)


def test_a_field_that_files_do_not_have_is_refused(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    with pytest.raises(TypeError, match="no field colour"):
        world.edit(file.id, colour="red")


def test_only_folders_can_have_limited_access(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    with pytest.raises(DriveError):
        world.edit(file.id, inherited_permissions_disabled=True)


def test_permissions_are_shown_to_those_who_may_share(world: World) -> None:
    file = world.add_file("a.txt", owner=ANN)
    made = world.share(file.id, BOB)
    anns, bobs = world.resource_of(file, ANN), world.resource_of(file, BOB)
    assert anns["permissionIds"] == [held["id"] for held in anns["permissions"]]
    assert not {"permissionIds", "permissions"} & set(bobs)
    with pytest.raises(DriveError) as refused:
        world.list_permissions(file.id, BOB)
    assert (refused.value.status, refused.value.reason) == (403, "insufficientFilePermissions")
    world.modes.omit_permissions = True
    assert "permissions" not in world.resource_of(file, ANN)
    world.modes.omit_permissions = False
    world.modes.hidden_permissions.add((file.id, made.id))
    short = world.resource_of(file, ANN)
    assert (len(short["permissionIds"]), len(short["permissions"])) == (2, 1)
    assert len(world.list_permissions(file.id, ANN).resources) == 1


def test_items_of_shared_drives_show_ids_of_permissions_and_a_list_has_them(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    file = world.add_file("a.txt", parent=drive.id)
    world.share(drive.id, BOB)
    resource = world.resource_of(file, ANN)
    assert ("permissions" in resource, len(resource["permissionIds"])) == (False, 2)
    with pytest.raises(DriveError) as refused:
        world.list_permissions(file.id, ANN)
    assert refused.value.status == 404
    page = world.list_permissions(file.id, ANN, supports_all_drives=True, page_size=1)
    rest = world.list_permissions(file.id, ANN, supports_all_drives=True, page_size=1, page_token=page.next_page_token)
    assert [held["role"] for held in (*page.resources, *rest.resources)] == ["organizer", "reader"]
    assert rest.next_page_token is None
