"""`files.list` of the emulated Drive: corpora, queries, pages and tokens; and downloads and exports."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any, Literal

import pytest

from tests.drive.errors import DriveError
from tests.drive.native import DOCX
from tests.drive.world import World

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run

ANN, BOB, EVE = "ann@a.test", "bob@a.test", "eve@b.test"
ALL: dict[str, Any] = {"supports_all_drives": True, "include_items_from_all_drives": True}


@pytest.fixture
def world() -> World:
    world = World()
    for email in (ANN, BOB, EVE):
        world.add_user(email)
    return world


def listed(world: World, viewer: str, **how: Any) -> list[str]:
    """The names, over all pages."""
    names: list[str] = []
    token = None
    while True:
        page = world.list_files(viewer, page_token=token, **how)
        names += [file["name"] for file in page.files]
        token = page.next_page_token
        if token is None:
            return names


def test_a_users_corpus_is_theirs_and_what_names_them(world: World) -> None:
    world.add_group("eng@a.test", members=[ANN])
    for name, grantee in (("user", ANN), ("group", "eng@a.test"), ("domain", "a.test"), ("link", "anyone")):
        file = world.add_file(name, owner=BOB)
        world.share(file.id, grantee, discoverable=name == "domain")
    world.add_file("mine", owner=ANN)
    world.add_file("not mine", owner=BOB)
    assert listed(world, ANN) == ["user", "group", "mine"]
    assert listed(world, ANN, corpora="domain") == ["domain"]
    assert listed(world, EVE, corpora="domain") == []
    world.view(world.list_files(BOB, q="name = 'link'").files[0]["id"], by=ANN)
    assert listed(world, ANN) == ["user", "group", "link", "mine"]


def test_what_has_expired_is_listed_no_more_though_nothing_changed(world: World) -> None:
    file = world.add_file("a", owner=ANN)
    world.share(file.id, BOB, expires=world.clock.now() + timedelta(hours=1))
    assert listed(world, BOB) == ["a"]
    world.clock.advance(timedelta(hours=1))
    assert listed(world, BOB) == []


def test_trashed_files_are_listed_until_the_query_says_otherwise(world: World) -> None:
    world.trash(world.add_file("gone", owner=ANN).id)
    world.add_file("there", owner=ANN)
    assert listed(world, ANN) == ["gone", "there"]
    assert listed(world, ANN, q="trashed = false") == ["there"]
    assert listed(world, ANN, q="trashed=true") == ["gone"]


def test_shared_drives_are_out_of_sight_without_the_flags(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    file = world.add_file("in drive", parent=drive.id)
    assert listed(world, ANN) == listed(world, ANN, supports_all_drives=True) == []
    with pytest.raises(DriveError) as refused:
        world.get(file.id, ANN)
    assert refused.value.status == 404
    assert world.get(file.id, ANN, supports_all_drives=True) is file
    assert listed(world, ANN, corpora="drive", drive_id=drive.id, **ALL) == ["in drive"]
    assert listed(world, ANN, corpora="allDrives", **ALL) == ["in drive"]


def test_membership_alone_does_not_bring_items_into_the_users_corpus(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    world.share(drive.id, BOB, "writer")
    world.add_file("member's", parent=drive.id)
    used, shared = world.add_file("used", parent=drive.id), world.add_file("shared", parent=drive.id)
    world.view(used.id, by=BOB)
    world.share(shared.id, BOB)
    world.add_file("made", parent=drive.id, by=BOB)
    assert listed(world, BOB, **ALL) == ["used", "shared", "made"]


@pytest.mark.parametrize(
    "how",
    [
        {"corpora": "drive", **ALL},
        {"drive_id": "D", **ALL},
        {"corpora": "user", "drive_id": "D", **ALL},
        {"corpora": "everything"},
        {"corpora": "allDrives"},
        {"include_items_from_all_drives": True},
    ],
)
def test_parameters_that_do_not_go_together_are_refused(world: World, how: dict[str, Any]) -> None:
    drive = world.add_drive("D", organizer=ANN)
    how = {name: drive.id if value == "D" else value for name, value in how.items()}
    with pytest.raises(DriveError) as refused:
        world.list_files(ANN, **how)
    assert refused.value.status == 400


@pytest.mark.parametrize("status", [403, 404])
def test_a_drive_of_others_is_refused(world: World, status: Any) -> None:
    world.modes.lost_drive_status = status
    drive = world.add_drive("D", organizer=ANN)
    with pytest.raises(DriveError) as refused:
        world.list_files(BOB, corpora="drive", drive_id=drive.id, **ALL)
    assert refused.value.status == status
    assert world.list_drives(BOB).resources == []


def test_a_search_over_all_drives_can_be_incomplete_and_says_so(world: World) -> None:
    drive = world.add_drive("D", organizer=ANN)
    for number in range(4):
        world.add_file(f"{number}", parent=drive.id)
    world.modes.incomplete_search = True
    page = world.list_files(ANN, corpora="allDrives", **ALL)
    assert (page.incomplete_search, len(page.files)) == (True, 2)
    page = world.list_files(ANN, corpora="drive", drive_id=drive.id, **ALL)
    assert (page.incomplete_search, len(page.files)) == (False, 4)


@pytest.mark.parametrize(
    ("q", "names"),
    [
        ("name = 'REPORT.pdf'", ["report.pdf"]),
        ("name = 'it\\'s'", ["it's"]),
        (r"name = 'a\\b'", ["a\\b"]),
        ("name contains 'rep'", ["report.pdf"]),
        ("name contains 'port'", []),
        ("name != 'report.pdf' and mimeType != 'application/vnd.google-apps.folder'", ["it's", "a\\b"]),
        ("mimeType = 'application/pdf' or name = 'it\\'s'", ["report.pdf", "it's"]),
        ("not (mimeType = 'application/pdf' or name = 'it\\'s') and mimeType contains 'octet'", ["a\\b"]),
        ("'root' in parents", ["F", "it's"]),
        ("'FOLDER' in parents and trashed = false", ["report.pdf", "a\\b"]),
        ("modifiedTime > '2026-03-02T09:00:02Z' and modifiedTime <= '2026-03-02T09:00:03'", ["a\\b"]),
        ("modifiedTime >= '2026-03-02T09:00:03Z'", ["a\\b"]),
        ("createdTime < '2026-03-02T09:00:01Z'", ["F"]),
        ("createdTime = '2026-03-02T09:00:01Z'", ["report.pdf"]),
        ("createdTime != '2026-03-02T09:00:01Z' and mimeType != 'application/octet-stream'", ["F"]),
        ("'ann@a.test' in owners and 'bob@a.test' in readers", ["it's"]),
        ("'bob@a.test' in writers", []),
        ("sharedWithMe", []),
    ],
)
def test_queries_find_what_they_say(world: World, q: str, names: Sequence[str]) -> None:
    folder = world.add_folder("F", owner=ANN)
    world.add_file("report.pdf", parent=folder.id)
    world.share(world.add_file("it's", owner=ANN).id, BOB)
    world.clock.advance(timedelta(seconds=-1))  # the share took one
    world.add_file("a\\b", parent=folder.id)
    assert listed(world, ANN, q=q.replace("FOLDER", folder.id)) == list(names)


@pytest.mark.parametrize(
    "q",
    ["name", "name = ", "name = 'a", "name ~ 'a'", "colour = 'red'", "(name = 'a'", "name = 'a' 'b'", "trashed = 1"],
)
def test_a_query_that_is_not_understood_is_refused(world: World, q: str) -> None:
    with pytest.raises(DriveError) as refused:
        world.list_files(ANN, q=q)
    assert (refused.value.status, refused.value.location) == (400, "q")


def test_two_parents_in_one_query_may_find_nothing(world: World) -> None:
    one, two = world.add_folder("1", owner=ANN), world.add_folder("2", owner=ANN)
    world.add_file("a", parent=one.id)
    q = f"('{one.id}' in parents) or ('{two.id}' in parents)"
    assert listed(world, ANN, q=q) == ["a"]
    world.modes.or_parents_finds_nothing = True
    assert listed(world, ANN, q=q) == []
    assert listed(world, ANN, q=f"'{one.id}' in parents") == ["a"]
    assert listed(world, ANN) == ["1", "2", "a"]


def test_what_is_shared_with_me_is_what_names_me(world: World) -> None:
    folder = world.add_folder("f", owner=BOB)
    world.add_file("below", parent=folder.id)
    world.share(folder.id, ANN)
    assert listed(world, ANN) == ["f", "below"]
    assert listed(world, ANN, q="sharedWithMe = true") == ["f"]


def test_pages_hold_everything_once_whatever_their_size(world: World) -> None:
    names = [f"{number}" for number in range(25)]
    for name in names:
        world.add_file(name, owner=ANN)
    world.modes.page_cap = 4
    assert listed(world, ANN, page_size=1000) == listed(world, ANN, page_size=1) == names
    world.modes.empty_pages = True
    assert listed(world, ANN) == names
    lengths: list[int] = []
    token = world.list_files(ANN, page_size=1).next_page_token
    for _ in range(3):
        page = world.list_files(ANN, page_size=1, page_token=token)
        lengths, token = [*lengths, len(page.files)], page.next_page_token
    assert lengths == [1, 0, 1]
    world.modes.duplicate_across_pages = True
    assert sorted({*listed(world, ANN)}) == sorted(names)
    assert len(listed(world, ANN)) > len(names)


def test_a_listing_that_is_changed_under_way_skips_or_repeats(world: World) -> None:
    files = [world.add_file(f"{number}", owner=ANN) for number in range(4)]
    first = world.list_files(ANN, page_size=2)
    world.delete(files[0].id)
    rest = world.list_files(ANN, page_size=2, page_token=first.next_page_token)
    assert [file["name"] for file in (*first.files, *rest.files)] == ["0", "1", "3"]
    world.modes.newest_first = True
    first = world.list_files(ANN, page_size=2)
    world.write(files[1].id, "new")
    rest = world.list_files(ANN, page_size=2, page_token=first.next_page_token)
    assert [file["name"] for file in (*first.files, *rest.files)] == ["3", "2", "2"]


def test_a_token_goes_with_its_question_for_a_few_hours(world: World) -> None:
    for number in range(3):
        world.add_file(f"{number}", owner=ANN)
    token = world.list_files(ANN, page_size=1).next_page_token
    assert token is not None
    others: list[dict[str, Any]] = [
        {"q": "trashed = false"},
        {"viewer": BOB},
        {"page_token": "x" + token},
        {"page_token": "[]"},
    ]
    base: dict[str, Any] = {"viewer": ANN, "page_token": token}
    for other in others:
        with pytest.raises(DriveError) as refused:
            world.list_files(**base | other)
        assert (refused.value.status, refused.value.location) == (400, "pageToken")
    world.list_files(ANN, page_size=1, page_token=token)
    world.clock.advance(timedelta(hours=5))
    with pytest.raises(DriveError):
        world.list_files(ANN, page_size=1, page_token=token)
    world.modes.refuse_list_tokens = 410
    with pytest.raises(DriveError) as refused:
        world.list_files(ANN, page_token=world.list_files(ANN, page_size=1).next_page_token)
    assert refused.value.status == 410


def test_orders_are_those_that_were_asked_for(world: World) -> None:
    for name in ("b", "c", "a"):
        world.add_file(name, owner=ANN)
    world.add_folder("d", owner=ANN)
    assert listed(world, ANN, order_by="name") == ["a", "b", "c", "d"]
    assert listed(world, ANN, order_by="folder,name desc") == ["d", "c", "b", "a"]
    assert listed(world, ANN, order_by="createdTime desc") == ["d", "a", "c", "b"]
    with pytest.raises(DriveError):
        listed(world, ANN, order_by="colour")


def test_drives_come_ten_at_a_time(world: World) -> None:
    for number in range(25):
        world.add_drive(f"D{number}", organizer=ANN)
    page = world.list_drives(ANN)
    assert len(page.resources) == 10
    rest = world.list_drives(ANN, page_size=1000, page_token=None)
    assert len(rest.resources) == 25
    assert [drive["name"] for drive in world.list_drives(ANN, q="name contains 'D24'").resources] == ["D24"]


def test_a_download_is_refused_with_the_reason(world: World) -> None:
    document = world.add_document("d", {"text/plain": "x"}, owner=ANN)
    kept = world.add_file("kept", "x", owner=ANN, copy_requires_writer=True)
    bad = world.add_file("bad", "x", owner=ANN, is_abusive=True)
    for file in (document, kept, bad):
        world.share(file.id, BOB)
    assert _refusal(world, document.id) == "fileNotDownloadable"
    assert _refusal(world, world.add_shortcut("s", kept.id, owner=BOB).id) == "fileNotDownloadable"
    assert _refusal(world, kept.id) == "cannotDownloadFile"
    assert world.resource_of(kept, BOB)["capabilities"]["canDownload"] is False
    assert _refusal(world, bad.id) == "cannotDownloadAbusiveFile"
    assert _refusal(world, bad.id, acknowledge_abuse=True) == "cannotDownloadAbusiveFile"
    assert world.content(bad.id, ANN, acknowledge_abuse=True).data == b"x"
    assert _refusal(world, world.add_file("not mine", owner=ANN).id) == "notFound"


def _refusal(world: World, file_id: str, **how: Any) -> str:
    with pytest.raises(DriveError) as refused:
        world.content(file_id, BOB, **how)
    return refused.value.reason


def test_a_link_with_a_key_opens_with_the_key(world: World) -> None:
    file = world.add_file("a", "x", owner=ANN, resource_key="0-k")
    world.share(file.id)
    with pytest.raises(DriveError):
        world.content(file.id, BOB)
    assert world.content(file.id, BOB, resource_keys={file.id: "0-k"}).data == b"x"
    world.share(file.id, BOB)
    assert world.content(file.id, BOB).data == b"x"


def test_exports_are_what_the_document_has(world: World) -> None:
    document = world.add_document("d", {"text/plain": "x", "text/markdown": "# x", DOCX: b"zip"}, owner=ANN)
    assert world.export(document.id, ANN, "text/plain").data == b"\xef\xbb\xbfx"
    assert world.export(document.id, ANN, "text/markdown").data == b"# x"
    world.modes.byte_order_mark = False
    assert world.export(document.id, ANN, "text/plain").data == b"x"
    for file_id, mime_type, reason in (
        (document.id, "image/png", "badRequest"),
        (world.add_document("f", {}, kind="form", owner=ANN).id, "text/plain", "fileNotExportable"),
        (world.add_file("a.txt", owner=ANN).id, "text/plain", "fileNotExportable"),
    ):
        with pytest.raises(DriveError) as refused:
            world.export(file_id, ANN, mime_type)
        assert refused.value.reason == reason


def test_a_large_export_is_refused_and_its_link_is_not(world: World) -> None:
    document = world.add_document("d", {"text/markdown": b"x" * (10 * 1024 * 1024 + 1)}, owner=ANN)
    with pytest.raises(DriveError) as refused:
        world.export(document.id, ANN, "text/markdown")
    assert refused.value.reason == "exportSizeLimitExceeded"
    assert len(world.export(document.id, ANN, "text/markdown", limited=False).data) == 10 * 1024 * 1024 + 1


def test_a_file_can_be_changed_while_somebody_downloads_it(world: World) -> None:
    file = world.add_file("a", "one", owner=ANN)
    world.on_download(file.id, lambda: world.write(file.id, "two"))
    world.on_download(file.id, lambda: world.write(file.id, "three"), nth=3, when="before")
    assert [world.content(file.id, ANN).data for _ in range(4)] == [b"one", b"two", b"three", b"three"]


def test_a_document_can_be_changed_around_its_export(world: World) -> None:
    document = world.add_document("d", {"text/markdown": "one"}, owner=ANN)
    hooks: list[tuple[str, Literal["before", "after"]]] = [("two", "before"), ("three", "after")]
    for text, when in hooks:
        exports = {"text/markdown": text}
        world.on_download(document.id, partial(world.write, document.id, exports=exports), when=when)
    assert [world.export(document.id, ANN, "text/markdown").data for _ in range(2)] == [b"two", b"three"]


def test_a_file_can_be_gone_by_the_time_it_is_downloaded(world: World) -> None:
    file = world.add_file("a", "one", owner=ANN)
    world.on_download(file.id, lambda: world.delete(file.id), when="before")
    with pytest.raises(DriveError) as refused:
        world.content(file.id, ANN)
    assert refused.value.status == 404
