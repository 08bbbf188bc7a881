"""`deploy/install.sh` on machines that lack something: one sentence that says what to do."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

INSTALL: Final = Path(__file__).parent.parent.parent / "deploy/install.sh"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The PATH of a machine that has a shell and no Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "dirname", "rm"):
        found = shutil.which(tool)
        assert found
        (folder / tool).symlink_to(found)
    return folder


def python(machine: Path, name: str, *, minor: int, has_ensurepip: bool) -> None:
    """A stand-in that answers the two questions the script asks."""
    program = machine / name
    program.write_text(
        "#!/bin/sh\n"
        'case "$2" in\n'
        f"    *version_info*) exit {int(minor < 11)} ;;\n"
        f"    *ensurepip*) exit {int(not has_ensurepip)} ;;\n"
        "esac\n"
        f'echo "{name} was asked: $*"\n'
        "exit 3\n"
    )
    program.chmod(0o755)


def install(machine: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [INSTALL, *arguments],
        env={"PATH": str(machine)}, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip


def test_without_python_it_says_which_one_is_needed(machine: Path, tmp_path: Path) -> None:
    done = install(machine, str(tmp_path / "venv"))

    assert done.returncode == 1
    assert "needs Python 3.11 or newer, and none was found on PATH" in done.stderr
    assert "PYTHON=" in done.stderr and "\n" not in done.stderr.strip()


def test_an_older_python_is_passed_over_for_a_newer_one(machine: Path, tmp_path: Path) -> None:
    python(machine, "python3", minor=9, has_ensurepip=True)
    python(machine, "python3.12", minor=12, has_ensurepip=True)

    done = install(machine, str(tmp_path / "venv"))

    assert "python3.12 was asked: -m venv" in done.stdout
    assert "python3 was asked" not in done.stdout


def test_a_python_that_cannot_make_environments_is_named_with_the_package_that_is_missing(
    machine: Path, tmp_path: Path
) -> None:
    python(machine, "python3.11", minor=11, has_ensurepip=False)

    done = install(machine, str(tmp_path / "venv"))

    assert done.returncode == 1
    assert "python3.11 cannot make virtual environments" in done.stderr and "python3-venv" in done.stderr
    assert "\n" not in done.stderr.strip()


def test_an_environment_that_was_copied_from_elsewhere_is_made_anew(machine: Path, tmp_path: Path) -> None:
    python(machine, "python3.11", minor=11, has_ensurepip=True)
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/python").symlink_to("/nowhere/python3.11")

    done = install(machine, str(tmp_path / "venv"))

    assert "python3.11 was asked: -m venv" in done.stdout
    assert not os.path.lexists(tmp_path / "venv/bin/python")


def test_wrong_usage_is_told_so(machine: Path) -> None:
    done = install(machine)

    assert (done.returncode, done.stderr) == (2, "usage: deploy/install.sh [--editable] [--extra NAME] VENV\n")
