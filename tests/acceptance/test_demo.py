"""`make demo`, as a person runs it. The demo checks its own steps; here it is seen to fail, and to leave nothing behind."""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.home_processes import processes_of, wait_until
from tests.demo.own_folder import titles

CHECKOUT: Final = Path(__file__).parent.parent.parent


def demo(workplace: Path, *arguments: str | Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.demo", "--workplace", workplace, *arguments],
        cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    )  # fmt: skip


def test_the_demo_shows_all_it_promises_and_leaves_nothing_running(tmp_folder: Path) -> None:
    running = demo(tmp_folder)
    output, _ = running.communicate()

    assert running.returncode == 0, output
    for line in (
        "✓ 37 documents are indexed in ",
        "✓ answered by people/leave.md",
        "✓ answered by product/TW-4 field manual.md",
        "✓ answered by product/price-list.pdf",
        "✓ mara finds the open page people/career-levels.md",
        "✓ agnes finds hr/pay-bands.md",
        "✓ embedded again: 1 of its 107 passages",
        "✓ the answer has the new words",
        "✓ after: nothing of its text is found",
        "✓ finance/scan of the lease.pdf is reported",
        "Where to go next",
    ):
        assert line in output
    assert not processes_of(tmp_folder)


def test_the_demo_on_an_own_folder_writes_nothing_there(tmp_folder: Path) -> None:
    folder, workplace = tmp_folder / "my notes", tmp_folder / "workplace"
    folder.mkdir()
    for source in (
        "people/leave.md",
        "people/remote-work.html",
        "people/bicycle-scheme.txt",
        "finance/scan of the lease.pdf",
    ):
        shutil.copy(CHECKOUT / "tests/samples/handbook" / source, folder)
    before = {path.name: path.stat() for path in [folder, *folder.iterdir()]}

    running = demo(workplace, "--docs", folder)
    output, _ = running.communicate()

    assert running.returncode == 0, output
    assert "✓ 3 of 4 documents can be asked" in output
    for question in ("What is said about Leave?", "What is said about Working from elsewhere?"):
        assert question in output
    assert re.search(r"failed: folder:my-notes-[0-9a-f]{6}/scan%20of%20the%20lease\.pdf: It is damaged", output)
    after = {path.name: path.stat() for path in [folder, *folder.iterdir()]}
    assert {name: (was.st_mtime_ns, was.st_ctime_ns) for name, was in before.items()} == {
        name: (now.st_mtime_ns, now.st_ctime_ns) for name, now in after.items()
    }
    assert not processes_of(tmp_folder)


def test_a_folder_that_is_not_there_is_said_before_anything_is_started(tmp_folder: Path) -> None:
    running = demo(tmp_folder / "workplace", "--docs", tmp_folder / "nowhere")
    output, _ = running.communicate()

    assert (running.returncode, output.count("\n")) == (2, 1)
    assert "is not a folder" in output
    assert not (tmp_folder / "workplace").exists()


def test_ctrl_c_stops_everything_and_until_then_a_second_demo_is_refused(tmp_folder: Path) -> None:
    running = demo(tmp_folder)
    assert running.stdout is not None
    lines = _until(running.stdout, "$ headwater sync folder")
    second = demo(tmp_folder)
    refusal, _ = second.communicate()
    running.send_signal(signal.SIGINT)
    rest = running.stdout.read()
    running.stdout.close()

    assert second.returncode == 1
    assert "The demo failed: another demo, or a command that it left behind, is at work in" in refusal
    assert running.wait() == 130, lines + rest
    assert "everything that was started has been stopped" in rest
    wait_until(lambda: not processes_of(tmp_folder), "everything that was started has ended")


def test_a_document_without_a_title_goes_by_its_files_name() -> None:
    hits = [
        {"source_id": "a", "title": "Leave", "metadata": {"path": "people/leave.md"}},
        {"source_id": "a", "title": "Leave", "metadata": {"path": "people/leave.md"}},
        {"source_id": "b", "title": None, "metadata": {"path": "people/bicycle-scheme_2026.txt"}},
    ]

    assert titles({"hits": hits}) == ["Leave", "bicycle scheme 2026"]


@pytest.mark.long
def test_a_fresh_clone_needs_nothing_but_make(tmp_folder: Path) -> None:
    """With another home, no settings, and a space in the checkout's path; on a terminal, where the bar is drawn."""
    checkout = tmp_folder / "a clone"
    subprocess.run(["git", "clone", "--quiet", CHECKOUT, checkout], check=True)
    (tmp_folder / "home").mkdir()
    kept = ("PATH", "TMPDIR", *(name for name in os.environ if name.startswith(("PIP_", "SSL_", "REQUESTS_"))))
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"HOME": str(tmp_folder / "home"), "LC_ALL": "C", "TERM": "xterm", "COLUMNS": "200"}

    output = "".join(_on_a_terminal(["make", "-C", str(checkout), "demo"], environment))

    assert "Where to go next" in output, output
    assert "embedding" in output and "of 178 chunks" in output
    assert not (tmp_folder / "home/.headwater").exists()
    assert not processes_of(checkout)


def _until(stream: "Iterator[str]", words: str) -> str:
    """Reads as far as the line that holds ``words``."""
    seen = ""
    for line in stream:
        seen += line
        if words in line:
            return seen
    raise AssertionError(f"{words!r} was never said:\n{seen}")


def _on_a_terminal(command: list[str], environment: dict[str, str]) -> Iterator[str]:
    """What a command writes to its terminal. Raises if it does not end with 0."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        running = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        while True:
            try:
                data = screen.read(65536)
            except OSError:  # how Linux says that the last writer has left
                break
            if not data:
                break
            yield data.decode("utf-8", "replace")
        assert running.wait() == 0
