"""The README's commands are run as they stand, and every link leads somewhere."""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.command_line import CommandLine
from tests.acceptance.home_processes import processes_of, wait_until

CHECKOUT: Final = Path(__file__).parent.parent.parent
README: Final = (CHECKOUT / "README.md").read_text("utf-8")
PROGRAM: Final = ".venv/bin/headwater"


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[str]:
    """What a person may type, of blocks of both kinds."""
    typed = [line for block in blocks(text, "bash") for line in block.splitlines()]
    shown = [line for block in blocks(text, "console") for line in block.splitlines() if line.startswith("$ ")]
    return [line.removeprefix("$ ").partition(" # ")[0].strip() for line in [*typed, *shown] if line]


def committed(pattern: str) -> Iterator[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", pattern], cwd=CHECKOUT, capture_output=True, encoding="utf-8", check=True
    )
    yield from (CHECKOUT / name for name in listed.stdout.split("\0") if name and "samples/handbook" not in name)


def test_every_target_of_make_that_is_named_exists_and_is_explained() -> None:
    listed = subprocess.run(["make", "help"], cwd=CHECKOUT, capture_output=True, encoding="utf-8", check=True)
    explained = set(re.findall(r"^  make (\S+)", listed.stdout, re.MULTILINE))
    named = {
        command.split()[1]
        for document in committed("*.md")
        for command in commands(document.read_text("utf-8"))
        if command.startswith("make ")
    }

    assert {"demo", "test", "test-all", "check", "bench"} <= named <= explained


def test_every_link_leads_to_a_file() -> None:
    for document in committed("*.md"):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text("utf-8")):
            assert "://" in target or (document.parent / target).exists(), f"{document}: {target}"


def test_every_folder_of_code_explains_itself() -> None:
    for folder in ("activities", "activities/connectors", "activities/parsers", "activities/store", "deploy", "retrieval",
                   "tests", "tests/samples", "workers", "workers/embedded", "workflows"):  # fmt: skip
        assert (CHECKOUT / folder / "README.md").stat().st_size > 500, folder


def test_every_command_of_headwater_that_is_named_has_help(tmp_path: Path) -> None:
    named = {
        words[1:3] if words[1] in ("sync", "source", "generation", "connector", "schedule") else words[1:2]
        for document in committed("*.md")
        for command in commands(document.read_text("utf-8"))
        if (words := tuple(shlex.split(command))) and words[0].endswith("bin/headwater")
    }

    assert len(named) >= 6
    headwater = CommandLine(tmp_path)
    for words in named:
        assert headwater.run_here(*words, "--help").status == 0


@pytest.fixture
def person(tmp_folder: Path) -> Iterator[Path]:
    """The home directory of somebody who follows the README."""
    (tmp_folder / "Documents").mkdir()
    (tmp_folder / "Documents/lease.md").write_text("# The lease\n\nThe lease ends on 30 June 2031.\n")
    (tmp_folder / "handbook/hr").mkdir(parents=True)
    (tmp_folder / "handbook/hr/pay.md").write_text("# Pay bands\n\nThe pay band of level 3 is 40,000 to 50,000.\n")
    yield tmp_folder
    wait_until(lambda: not processes_of(tmp_folder), "everything that was started has ended")


def test_five_minutes_with_an_own_folder(person: Path) -> None:
    """All commands of that chapter that are ours, in order, with `headwater up` where it stands."""
    chapter = README.partition("## Five minutes with your own folder")[2].partition("\n## ")[0]
    (person / "access.yml").write_text(blocks(chapter, "yaml")[0])
    by_itself, for_good = blocks(chapter, "bash")
    said = [_shell(line, person) for line in by_itself.splitlines()]
    assert "1 published" in said[0]
    assert "The lease ends on 30 June 2031." in said[1]

    with _running(for_good.strip(), person):
        shown = [line for line in commands(chapter) if line.startswith(PROGRAM) and line not in by_itself + for_good]
        assert [line.split()[1] for line in shown] == ["sync", "search"]
        assert "40,000 to 50,000" in [_shell(line, person) for line in shown][1]
        snippet = blocks(chapter, "python")[0]
        from_python = subprocess.run(
            [sys.executable, "-c", snippet],
            cwd=person, env=_environment(person), capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip

    assert (from_python.returncode, from_python.stderr) == (0, "")
    assert "40,000 to 50,000" in from_python.stdout


@pytest.mark.long
def test_the_rest_of_a_documents_life(person: Path) -> None:
    """The whole chapter as it stands, after the first sync of the one before it."""
    chapter = README.partition("## The rest of a document's life")[2].partition("\n## ")[0]
    with _running(f"{PROGRAM} up", person):
        _shell(f"{PROGRAM} sync folder ~/Documents --corpus me/home/documents --grant user:me", person)
        pushed = blocks(chapter, "sh")[0].replace(".venv/bin/", f"{shlex.quote(str(Path(sys.executable).parent))}/")
        subprocess.run(["sh", "-ec", pushed], cwd=person, env=_environment(person), capture_output=True, check=True)
        said = {line.split(" ", 1)[1]: _shell(line, person) for line in commands(chapter)}
        assert "The lease ends" in next(text for line, text in said.items() if line.startswith("search"))
        assert _shell(f"{PROGRAM} search lease --corpus me/home/documents --as me", person).count("The lease ends") == 1
        assert "memo" not in _shell(f"{PROGRAM} status --corpus me/home/documents", person)


@contextlib.contextmanager
def _running(up: str, person: Path) -> Iterator[None]:
    """`headwater up` while the context lasts, stopped by Ctrl-C. What fails in between is told, and not waited behind."""
    process = subprocess.Popen(
        ["sh", "-c", f"exec {_ours(up)}"], cwd=person, env=_environment(person),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    with process:
        try:
            assert process.stderr is not None
            assert any("Ready:" in line for line in process.stderr)
            threading.Thread(target=process.stderr.read, daemon=True).start()  # so that it never waits to be heard
            yield
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()  # nothing, once it has ended


def _program() -> Path:
    return Path(sys.executable).parent / "headwater"


def _ours(command: str) -> str:
    assert command.startswith(PROGRAM), command
    return shlex.quote(str(_program())) + command.removeprefix(PROGRAM)


def _environment(person: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(person), "LC_ALL": "C.UTF-8"}


def _shell(command: str, person: Path) -> str:
    done = subprocess.run(
        ["sh", "-c", _ours(command)],
        cwd=person, env=_environment(person), capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout
