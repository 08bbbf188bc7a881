"""What a folder lists: every regular file once, in a stable order, whatever it is called, and nothing outside."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.connectors import AccessRule, LocalFolder
from activities.connectors.folder_ids import decode_path
from activities.connectors.folder_walk import DEPTH_MAX
from headwater.connectors import Change, ChangePage, GrantSet, SourceUnavailable, Unlisted
from headwater.errors import ValidationError
from tests.unit.folder_as_nobody import as_nobody, public_folder


def folder(root: Path) -> LocalFolder:
    return LocalFolder(root, name="docs")


def put(root: Path, *paths: str | bytes) -> None:
    for path in paths:
        file = Path(os.fsdecode(os.path.join(os.fsencode(root), os.fsencode(path))))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"text")


def one_pass(root: Path, *, cursor: str | None = None, limit: int = 100) -> list[ChangePage]:
    """The pages, each from a connector of its own."""
    pages = [folder(root).list_page(cursor, limit=limit)]
    while not pages[-1].done:
        pages.append(folder(root).list_page(pages[-1].cursor, limit=limit))
    return pages


def listed(root: Path, *, cursor: str | None = None, limit: int = 100) -> list[str]:
    return [change.path for page in one_pass(root, cursor=cursor, limit=limit) for change in page.changes]


def unlisted(root: Path, *, cursor: str | None = None) -> list[Unlisted]:
    return [part for page in one_pass(root, cursor=cursor) for part in page.unlisted]


def test_files_are_listed_depth_first_in_byte_order(tmp_path: Path) -> None:
    put(tmp_path, "b.md", "a/z.md", "a.md", "a/b/c.md", "B.md", "a-b.md", "é.md")
    assert listed(tmp_path) == ["B.md", "a/b/c.md", "a/z.md", "a-b.md", "a.md", "b.md", "é.md"]


def test_a_change_tells_all_about_the_file(tmp_path: Path) -> None:
    put(tmp_path, "hr/pay day.md")
    seen = (tmp_path / "hr/pay day.md").stat()
    connector = LocalFolder(tmp_path, name="docs", access=AccessRule.from_grants(["group:hr"]))
    (change,) = connector.list_page(None, limit=10).changes
    assert change.source_id == "folder:docs/hr/pay%20day.md"
    assert change.locator == "hr/pay%20day.md"
    assert change.path == "hr/pay day.md"
    assert change.version == f"4-{seen.st_mtime_ns}-{seen.st_ctime_ns}-{seen.st_ino}"
    assert change.grants == GrantSet(group_ids=("hr",))


def test_without_a_rule_the_listing_says_nothing_about_grants(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    assert folder(tmp_path).list_page(None, limit=1).changes[0].grants is None


def test_dot_files_and_dot_folders_are_not_listed(tmp_path: Path) -> None:
    put(tmp_path, ".hidden.md", ".git/config", "a/.b/c.md", "a/d.md")
    assert listed(tmp_path) == ["a/d.md"]


@pytest.mark.parametrize("spelling", ["{root}/rules/access.yaml", "rules/access.yaml", "{root}/link.yaml"])
def test_the_access_file_is_not_listed(tmp_path: Path, spelling: str) -> None:
    put(tmp_path, "a.md", "rules/access.yaml", "access.yaml")
    (tmp_path / "link.yaml").symlink_to("rules/access.yaml")
    connector = LocalFolder(tmp_path, name="docs", access_file=spelling.format(root=tmp_path))
    assert [change.path for change in connector.list_page(None, limit=10).changes] == ["a.md", "access.yaml"]


def test_links_pipes_and_sockets_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "docs/a.md", "outside/secret.md")
    root = tmp_path / "docs"
    (root / "out.md").symlink_to("../outside/secret.md")
    (root / "out").symlink_to("../outside")
    (root / "loop").symlink_to(".")
    (root / "inside.md").symlink_to("a.md")
    (root / "dangling.md").symlink_to("nowhere")
    os.mkfifo(root / "pipe.md")
    assert listed(root) == ["a.md"]
    assert unlisted(root) == []


HOSTILE = [
    b"new\nline.md", b"hash#tag.md", b"100%.md", b"%41.md", b" lead and trail ", "手册.md".encode(), "🙂.md".encode(),
    b"x" * 255, b"caf\xe9.md", b"\xff\xfe/\x80.md", b"quote'\"back\\slash", b"~" + b"0" * 64, b"a:b", b"\x01\x1b[31m",
]  # fmt: skip


def test_hostile_names_are_listed_and_found_again(tmp_path: Path) -> None:
    put(tmp_path, *HOSTILE)
    connector = folder(tmp_path)
    changes = connector.list_page(None, limit=100).changes
    assert sorted(decode_path(change.locator) for change in changes) == sorted(HOSTILE)
    assert len({change.source_id for change in changes}) == len(HOSTILE)
    assert all(connector.fetch(change, max_bytes=10).data == b"text" for change in changes)


def test_a_listing_resumes_after_any_hostile_name(tmp_path: Path) -> None:
    put(tmp_path, *HOSTILE)
    assert listed(tmp_path, limit=1) == listed(tmp_path)


trees = st.sets(
    st.lists(st.sampled_from(["a", "b", "a-", "a.md", "é"]), min_size=1, max_size=4).map("/".join), max_size=12
).map(lambda paths: {f"{path}.txt" for path in paths})


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(paths=trees, limit=st.integers(1, 5))
def test_any_tree_is_listed_the_same_in_pages_of_any_size(
    tmp_path_factory: pytest.TempPathFactory, paths: set[str], limit: int
) -> None:
    root = tmp_path_factory.mktemp("tree")
    put(root, *paths)
    assert listed(root, limit=limit) == sorted(paths, key=lambda path: path.encode().split(b"/"))


def test_a_hundred_levels_are_listed_and_read_though_the_path_is_longer_than_a_call_takes(tmp_path: Path) -> None:
    name = b"d" * 200
    depth = 100
    fd = os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=fd)
        inner = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(os.open("deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    connector = folder(tmp_path)
    (change,) = connector.list_page(None, limit=10).changes
    assert len(change.source_id) < 100
    assert connector.fetch(change, max_bytes=10).data == b""
    remove_tree(tmp_path, name, depth)


def remove_tree(root: Path, name: bytes, depth: int) -> None:
    """What pytest's clean-up cannot remove, because the path is too long for it."""
    fds = [os.open(root, os.O_RDONLY)]
    for _ in range(depth):
        fds.append(os.open(name, os.O_RDONLY, dir_fd=fds[-1]))
    os.unlink("deep.md", dir_fd=fds[-1])
    os.close(fds.pop())
    while fds:
        os.rmdir(name, dir_fd=fds[-1])
        os.close(fds.pop())


def test_folders_that_are_too_deep_are_unlisted(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "/".join(["d"] * (DEPTH_MAX - 1)) + "/fits.md", "/".join(["d"] * DEPTH_MAX) + "/deep.md")
    assert [path.rpartition("/")[2] for path in listed(tmp_path)] == ["a.md", "fits.md"]
    assert [part.path.count("/") for part in unlisted(tmp_path)] == [DEPTH_MAX - 1]


class TestWhileItChanges:
    def test_a_file_that_goes_before_its_turn_is_not_listed(self, tmp_path: Path) -> None:
        put(tmp_path, "a.md", "b.md", "c.md", "d.md")
        connector = folder(tmp_path)
        page = connector.list_page(None, limit=1)
        (tmp_path / "c.md").unlink()
        rest = connector.list_page(page.cursor, limit=10)
        assert [change.path for change in rest.changes] == ["b.md", "d.md"]
        assert rest.done

    def test_a_folder_that_goes_before_its_turn_is_not_unlisted(self, tmp_path: Path) -> None:
        put(tmp_path, "a.md", "b.md", "c/d.md")
        connector = folder(tmp_path)
        page = connector.list_page(None, limit=1)
        (tmp_path / "c/d.md").unlink()
        (tmp_path / "c").rmdir()
        rest = connector.list_page(page.cursor, limit=10)
        assert [change.path for change in rest.changes] == ["b.md"]
        assert rest.unlisted == []

    def test_a_resumed_listing_sees_new_files_behind_its_place_only(self, tmp_path: Path) -> None:
        put(tmp_path, "b/b.md", "b/d.md", "d.md")
        page = folder(tmp_path).list_page(None, limit=1)
        put(tmp_path, "a.md", "b/a.md", "b/c.md", "c.md")
        assert listed(tmp_path, cursor=page.cursor) == ["b/c.md", "b/d.md", "c.md", "d.md"]

    def test_a_resumed_listing_goes_on_where_the_file_of_its_place_is_gone(self, tmp_path: Path) -> None:
        put(tmp_path, "a/a.md", "a/b.md", "c.md")
        page = folder(tmp_path).list_page(None, limit=1)
        (tmp_path / "a/a.md").unlink()
        assert listed(tmp_path, cursor=page.cursor) == ["a/b.md", "c.md"]

    def test_a_folder_that_takes_the_place_of_a_file_is_listed(self, tmp_path: Path) -> None:
        put(tmp_path, "a", "b.md")
        page = folder(tmp_path).list_page(None, limit=1)
        (tmp_path / "a").unlink()
        put(tmp_path, "a/new.md")
        assert listed(tmp_path, cursor=page.cursor) == ["a/new.md", "b.md"]

    def test_a_file_that_takes_the_place_of_a_folder_is_passed(self, tmp_path: Path) -> None:
        put(tmp_path, "a/x.md", "b.md")
        page = folder(tmp_path).list_page(None, limit=1)
        (tmp_path / "a/x.md").unlink()
        (tmp_path / "a").rmdir()
        put(tmp_path, "a")
        assert listed(tmp_path, cursor=page.cursor) == ["b.md"]

    def test_a_folder_that_is_swapped_for_a_link_is_not_entered(self, tmp_path: Path) -> None:
        put(tmp_path, "root/a.md", "root/b.md", "root/c/d.md", "outside/secret.md")
        connector = folder(tmp_path / "root")
        page = connector.list_page(None, limit=1)
        (tmp_path / "root/c").rename(tmp_path / "c")
        (tmp_path / "root/c").symlink_to("../outside")
        assert [change.path for change in connector.list_page(page.cursor, limit=10).changes] == ["b.md"]

    def test_a_dropped_listing_leaves_no_descriptor_open(self, tmp_path: Path) -> None:
        put(tmp_path, "a/b/c.md", "a/b/d.md", "a/b/e.md")
        before = len(os.listdir("/dev/fd"))
        connector = folder(tmp_path)
        connector.list_page(None, limit=1)
        del connector
        assert len(os.listdir("/dev/fd")) == before


class TestWhatCannotBeListed:
    def test_a_missing_root_is_unavailable(self, tmp_path: Path) -> None:
        with pytest.raises(SourceUnavailable, match="does not exist"):
            folder(tmp_path / "gone").list_page(None, limit=1)

    def test_a_root_that_is_a_file_is_unavailable(self, tmp_path: Path) -> None:
        put(tmp_path, "a.md")
        with pytest.raises(SourceUnavailable, match="is not a folder"):
            folder(tmp_path / "a.md").list_page(None, limit=1)

    @pytest.mark.parametrize("mode", [0o000, 0o444])
    def test_a_root_that_may_not_be_read_is_unavailable(self, mode: int) -> None:
        with public_folder() as root:
            put(root, "a.md")
            root.chmod(mode)
            with as_nobody(), pytest.raises(SourceUnavailable, match="may not be read by this user"):
                folder(root).list_page(None, limit=1)
            root.chmod(0o755)

    @pytest.mark.parametrize("mode", [0o000, 0o444])
    def test_a_folder_that_may_not_be_read_is_unlisted_and_the_rest_is_listed(self, mode: int) -> None:
        with public_folder() as root:
            put(root, "a.md", "b/closed/1.md", "b/closed/2.md", "b/open.md", "c.md")
            (root / "b/closed").chmod(mode)
            with as_nobody():
                assert listed(root) == ["a.md", "b/open.md", "c.md"]
                assert [part.path for part in unlisted(root)] == ["b/closed"]
            (root / "b/closed").chmod(0o755)

    def test_a_file_that_may_not_be_read_is_listed(self) -> None:
        with public_folder() as root:
            put(root, "a.md")
            (root / "a.md").chmod(0)
            with as_nobody():
                assert listed(root) == ["a.md"]


class TestUnmounted:
    """An unmounted disk leaves an empty folder behind. The cursor of the last pass tells it from an emptied one."""

    def after_a_pass(self, root: Path) -> str:
        return one_pass(root)[-1].cursor

    def test_a_folder_that_was_emptied_lists_nothing(self, tmp_path: Path) -> None:
        put(tmp_path, "a.md")
        cursor = self.after_a_pass(tmp_path)
        (tmp_path / "a.md").unlink()
        (page,) = one_pass(tmp_path, cursor=cursor)
        assert page.done and not page.changes and not page.unlisted

    def test_another_folder_that_is_empty_looks_unmounted(self, tmp_path: Path) -> None:
        put(tmp_path, "docs/a.md")
        cursor = self.after_a_pass(tmp_path / "docs")
        (tmp_path / "docs").rename(tmp_path / "away")
        (tmp_path / "docs").mkdir()
        put(tmp_path, "docs/.not-mounted")
        with pytest.raises(SourceUnavailable, match="looks unmounted"):
            folder(tmp_path / "docs").list_page(cursor, limit=10)

    def test_another_folder_with_files_takes_the_place(self, tmp_path: Path) -> None:
        put(tmp_path, "docs/a.md", "new/b.md")
        cursor = self.after_a_pass(tmp_path / "docs")
        (tmp_path / "docs").rename(tmp_path / "away")
        (tmp_path / "new").rename(tmp_path / "docs")
        pages = one_pass(tmp_path / "docs", cursor=cursor)
        assert [change.path for change in pages[0].changes] == ["b.md"]
        assert pages[0].unlisted == []
        (tmp_path / "docs/b.md").unlink()
        assert listed(tmp_path / "docs", cursor=pages[-1].cursor) == []

    def test_a_root_that_is_unmounted_within_a_pass_is_unlisted(self, tmp_path: Path) -> None:
        put(tmp_path, "docs/a.md", "docs/b.md")
        page = folder(tmp_path / "docs").list_page(None, limit=1)
        (tmp_path / "docs").rename(tmp_path / "away")
        (tmp_path / "docs").mkdir()
        (rest,) = one_pass(tmp_path / "docs", cursor=page.cursor)
        assert rest.done and not rest.changes
        assert [part.path for part in rest.unlisted] == [""]
        with pytest.raises(SourceUnavailable, match="looks unmounted"):  # and it is not forgotten
            folder(tmp_path / "docs").list_page(rest.cursor, limit=10)

    def with_mounts(self, cursor: str, *mounts: str) -> str:
        return json.dumps(json.loads(cursor) | {"mounts": mounts})

    def test_a_mount_point_that_is_an_empty_folder_now_is_unlisted_until_it_is_mounted_or_removed(
        self, tmp_path: Path
    ) -> None:
        put(tmp_path, "a.md", "nas/.keep")
        cursor = self.with_mounts(self.after_a_pass(tmp_path), "nas")
        for _ in range(2):
            pages = one_pass(tmp_path, cursor=cursor)
            assert [part.path for part in pages[-1].unlisted] == ["nas"]
            cursor = pages[-1].cursor
        (tmp_path / "nas/.keep").unlink()
        (tmp_path / "nas").rmdir()
        pages = one_pass(tmp_path, cursor=cursor)
        assert pages[-1].unlisted == []
        assert json.loads(pages[-1].cursor)["mounts"] == []

    def test_a_mount_point_that_is_unmounted_within_a_pass_is_unlisted(self, tmp_path: Path) -> None:
        put(tmp_path, "nas/a.md", "nas/b.md")
        cursor = self.with_mounts(folder(tmp_path).list_page(None, limit=1).cursor, "nas")
        (tmp_path / "nas/a.md").unlink()
        (tmp_path / "nas/b.md").unlink()
        assert [part.path for part in unlisted(tmp_path, cursor=cursor)] == ["nas"]

    def test_a_mount_point_with_files_is_a_folder_like_any_other(self, tmp_path: Path) -> None:
        put(tmp_path, "nas/b.md")
        pages = one_pass(tmp_path, cursor=self.with_mounts(self.after_a_pass(tmp_path), "nas"))
        assert [change.path for change in pages[0].changes] == ["nas/b.md"]
        assert json.loads(pages[-1].cursor)["mounts"] == []

    def test_a_mount_point_below_a_folder_that_may_not_be_read_stays_remembered(self) -> None:
        with public_folder() as root:
            put(root, "closed/nas/.keep", "a.md")
            cursor = self.with_mounts(self.after_a_pass(root), "closed/nas")
            (root / "closed").chmod(0)
            with as_nobody():
                pages = one_pass(root, cursor=cursor, limit=1)
            (root / "closed").chmod(0o755)
            assert json.loads(pages[-1].cursor)["mounts"] == ["closed/nas"]

    def test_a_file_system_below_the_root_is_remembered(self) -> None:
        page = LocalFolder("/dev", name="dev").list_page(None, limit=100_000)
        mounts = [name for name in os.listdir("/dev") if os.path.ismount(f"/dev/{name}")]
        if not mounts or os.path.islink(f"/dev/{mounts[0]}"):
            pytest.skip("nothing is mounted below /dev here")
        assert set(mounts) <= set(json.loads(page.cursor)["mounts"])


@pytest.mark.parametrize(
    "cursor", ["", "null", "{}", '{"v":2,"root":[1,2]}', '{"v":1,"root":[1,2],"next":"x"}', "a.md"]
)
def test_a_cursor_of_another_kind_is_refused(tmp_path: Path, cursor: str) -> None:
    with pytest.raises(ValidationError, match="cursor"):
        folder(tmp_path).list_page(cursor, limit=1)


def test_a_connector_goes_on_with_its_own_walk(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "b.md", "c.md")
    connector = folder(tmp_path)
    changes: list[Change] = []
    cursor = None
    done = False
    while not done:
        page = connector.list_page(cursor, limit=1)
        changes += page.changes
        cursor, done = page.cursor, page.done
        put(tmp_path, "bb.md")  # too late for a walk that has read the folder already
    assert [change.path for change in changes] == ["a.md", "b.md", "c.md"]
