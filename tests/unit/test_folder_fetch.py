"""What a folder gives when a listed file is read: its bytes and a version to rely on, or the reason why not."""

import os
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from activities.connectors import LocalFolder
from headwater.connectors import (
    Change,
    ChangeKind,
    DocumentGone,
    DocumentRefused,
    DocumentTooLarge,
    SourceUnavailable,
)
from headwater.errors import TransientError
from tests.unit.folder_as_nobody import as_nobody, public_folder

SECOND = 1_000_000_000


def change(locator: str) -> Change:
    return Change(ChangeKind.UPSERT, f"folder:docs/{locator}", locator)


def folder(root: Path) -> LocalFolder:
    return LocalFolder(root, name="docs")


def put(file: Path, data: bytes = b"text") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def read_later(root: Path, file: Path, *, seconds: float) -> str | None:
    """The version of ``file``, read so long after its last change."""
    (listed,) = folder(root).list_page(None, limit=10).changes
    now_ns = file.stat().st_ctime_ns + int(seconds * SECOND)
    version = LocalFolder(root, name="docs", now_ns=lambda: now_ns).fetch(listed, max_bytes=100).version
    assert version in (None, listed.version)
    return version


def test_the_bytes_the_name_and_the_path_are_given(tmp_path: Path) -> None:
    put(tmp_path / "hr/pay day.md", b"\x00\xffbytes")
    document = folder(tmp_path).fetch(change("hr/pay%20day.md"), max_bytes=100)
    assert document.data == b"\x00\xffbytes"
    assert document.name == "pay day.md"
    assert document.metadata == {"path": "hr/pay day.md"}


def test_a_version_is_relied_upon_two_seconds_after_the_last_change(tmp_path: Path) -> None:
    file = put(tmp_path / "a.md")
    assert read_later(tmp_path, file, seconds=2) is not None
    assert read_later(tmp_path, file, seconds=1.999) is None


def test_a_young_ctime_counts_though_the_mtime_was_set_back(tmp_path: Path) -> None:
    file = put(tmp_path / "a.md")
    os.utime(file, ns=(0, 0))
    assert read_later(tmp_path, file, seconds=1) is None


def test_an_mtime_in_the_future_is_not_relied_upon(tmp_path: Path) -> None:
    file = put(tmp_path / "a.md")
    future = file.stat().st_ctime_ns + 3600 * SECOND
    os.utime(file, ns=(future, future))
    assert read_later(tmp_path, file, seconds=60) is None


def test_an_edit_that_keeps_size_and_mtime_changes_the_version(tmp_path: Path) -> None:
    file = put(tmp_path / "a.md", b"one")
    before = read_later(tmp_path, file, seconds=3)
    mtime = file.stat().st_mtime_ns
    put(tmp_path / "new", b"two")
    os.utime(tmp_path / "new", ns=(mtime, mtime))
    (tmp_path / "new").replace(file)
    assert read_later(tmp_path, file, seconds=3) != before


def test_a_file_whose_size_is_not_told_is_read_to_its_end_and_never_relied_upon() -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("there is no /proc here")
    much_later = LocalFolder("/proc/self", name="self", now_ns=lambda: 1 << 62)
    document = much_later.fetch(change("status"), max_bytes=100_000)
    assert b"Name:" in document.data and b"\nPid:" in document.data
    assert document.version is None


@pytest.mark.parametrize("locator", ["status", "cmdline"])
def test_a_file_whose_size_is_not_told_keeps_to_the_limit(locator: str) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("there is no /proc here")
    with pytest.raises(DocumentTooLarge):
        LocalFolder("/proc/self", name="self").fetch(change(locator), max_bytes=3)


def test_a_file_is_too_large_from_one_byte_over_the_limit(tmp_path: Path) -> None:
    put(tmp_path / "a.md", b"12345")
    assert folder(tmp_path).fetch(change("a.md"), max_bytes=5).data == b"12345"
    with pytest.raises(DocumentTooLarge, match=r"'a\.md' has more than 4 bytes"):
        folder(tmp_path).fetch(change("a.md"), max_bytes=4)


def test_a_huge_file_is_refused_by_its_size(tmp_path: Path) -> None:
    os.truncate(put(tmp_path / "sparse.bin"), 1 << 42)  # four terabytes of nothing: reading them would not end
    with pytest.raises(DocumentTooLarge):
        folder(tmp_path).fetch(change("sparse.bin"), max_bytes=1 << 25)


@pytest.mark.parametrize("locator", ["gone.md", "gone/a.md", "b.md/a.md"])
def test_a_file_that_is_not_there_is_gone(tmp_path: Path, locator: str) -> None:
    put(tmp_path / "b.md")
    with pytest.raises(DocumentGone):
        folder(tmp_path).fetch(change(locator), max_bytes=10)


def test_a_link_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "outside/secret.md")
    put(tmp_path / "root/b.md")
    (tmp_path / "root/a.md").symlink_to("../outside/secret.md")
    with pytest.raises(DocumentRefused, match="only regular files"):
        folder(tmp_path / "root").fetch(change("a.md"), max_bytes=10)


def test_a_folder_that_was_swapped_for_a_link_does_not_lead_out(tmp_path: Path) -> None:
    put(tmp_path / "outside/secret.md")
    put(tmp_path / "root/b.md")
    (tmp_path / "root/a").symlink_to("../outside")
    with pytest.raises(DocumentGone):
        folder(tmp_path / "root").fetch(change("a/secret.md"), max_bytes=10)


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(DocumentRefused, match="only regular files"):
        folder(tmp_path).fetch(change("pipe.md"), max_bytes=10)


def test_a_device_is_refused() -> None:
    with pytest.raises(DocumentRefused, match="only regular files"):
        LocalFolder("/dev", name="dev").fetch(change("zero"), max_bytes=10)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "a/b.md")
    with pytest.raises(DocumentRefused, match="only regular files"):
        folder(tmp_path).fetch(change("a"), max_bytes=10)


@pytest.mark.parametrize("locator", ["../secret.md", "a/../../secret.md", "/etc/hostname", "a//b", ".", "", "a%00b"])
def test_a_locator_that_no_listing_wrote_is_refused(tmp_path: Path, locator: str) -> None:
    put(tmp_path / "secret.md")
    put(tmp_path / "root/a/b.md")
    with pytest.raises(DocumentRefused, match="locator"):
        folder(tmp_path / "root").fetch(change(locator), max_bytes=10)


@pytest.mark.parametrize("closed", ["a/b.md", "a"])
def test_a_file_that_may_not_be_read_is_refused(closed: str) -> None:
    with public_folder() as root:
        put(root / "a/b.md")
        (root / closed).chmod(0)
        with as_nobody(), pytest.raises(DocumentRefused, match="may not be read by this user"):
            folder(root).fetch(change("a/b.md"), max_bytes=10)
        (root / closed).chmod(0o755)


def test_a_root_that_went_is_unavailable_and_not_a_document_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="does not exist"):
        folder(tmp_path / "gone").fetch(change("a.md"), max_bytes=10)


def test_a_root_that_became_empty_is_unavailable_and_not_a_document_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="became empty"):
        folder(tmp_path).fetch(change("a.md"), max_bytes=10)


def test_a_file_whose_disk_is_unmounted_is_unavailable_and_not_gone(tmp_path: Path) -> None:
    put(tmp_path / "a.md")
    (tmp_path / "nas").mkdir()
    with pytest.raises(SourceUnavailable, match="'nas' was unmounted"):
        folder(tmp_path).fetch(change("nas/b.md?nas"), max_bytes=10)


def test_a_file_that_went_from_a_mounted_disk_is_gone() -> None:
    if not os.path.ismount("/dev/shm"):
        pytest.skip("nothing is mounted at /dev/shm here")
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        (listed,) = (
            found
            for found in LocalFolder("/dev", name="dev").list_page(None, limit=100_000).changes
            if found.path == file.name.removeprefix("/dev/")
        )
        assert listed.locator.endswith("?shm")
        assert LocalFolder("/dev", name="dev").fetch(listed, max_bytes=10).data == b""
    with pytest.raises(DocumentGone):
        LocalFolder("/dev", name="dev").fetch(listed, max_bytes=10)


def test_reading_leaves_no_descriptor_open(tmp_path: Path) -> None:
    put(tmp_path / "a/b/c.md")
    connector = folder(tmp_path)
    before = len(os.listdir("/dev/fd"))
    connector.fetch(change("a/b/c.md"), max_bytes=10)
    with pytest.raises(DocumentTooLarge):
        connector.fetch(change("a/b/c.md"), max_bytes=1)
    with pytest.raises(DocumentGone):
        connector.fetch(change("a/b/d.md"), max_bytes=10)
    assert len(os.listdir("/dev/fd")) == before


def test_a_process_that_is_out_of_descriptors_can_try_again_later(tmp_path: Path) -> None:
    put(tmp_path / "a/b.md")
    connector = folder(tmp_path)
    with no_more_descriptors():
        with pytest.raises(TransientError, match="cannot be listed now"):
            connector.list_page(None, limit=1)
        with pytest.raises(TransientError):
            connector.fetch(change("a/b.md"), max_bytes=10)
    with no_more_descriptors(but=1), pytest.raises(TransientError, match=r"'a/b\.md' cannot be read now"):
        connector.fetch(change("a/b.md"), max_bytes=10)
    assert connector.fetch(change("a/b.md"), max_bytes=10).data == b"text"


@contextmanager
def no_more_descriptors(*, but: int = 0) -> Iterator[None]:
    """Within it, this process may open ``but`` files more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = [os.open("/dev/null", os.O_RDONLY) for _ in range(but + 1)]
    limit = max(spare) + 1
    filled: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        with suppress(OSError):
            while True:
                filled.append(os.open("/dev/null", os.O_RDONLY))
        for _ in range(but):
            os.close(spare.pop())
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for fd in spare + filled:
            os.close(fd)
