"""Homes that are gone after the test, with all that was started in them."""

import itertools
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.command_line import CommandLine
from tests.acceptance.home_processes import lent_folders, processes_of, wait_until
from tests.acceptance.host_workflows import Host
from tests.throwaway import throwaway_folder
from workers.embedded import attach


@pytest.fixture(scope="session")
def made_home() -> Iterator[Path]:
    """A home in which PostgreSQL's data have been made, and nothing runs. As root it may be passed through,
    so that the data stay in it. Tests copy it: making the data takes a second."""
    with throwaway_folder("headwater-home-") as folder:
        folder.chmod(0o711)
        with attach(folder, temporal=False):
            pass
        yield folder


@pytest.fixture
def home(made_home: Path) -> Iterator[Path]:
    """A home of the test's own."""
    folder = made_home.with_name(made_home.name + f"-{next(_numbers)}")
    subprocess.run(["cp", "-a", made_home, folder], check=True)  # with owners, which shutil leaves behind
    yield folder
    _clear_away(folder)


@pytest.fixture(scope="session")
def up(made_home: Path) -> Iterator[CommandLine]:
    """The command line of a home where `headwater up` runs, once for all tests that ask for it: each takes a corpus of its own."""
    folder = made_home.with_name(made_home.name + "-up")
    subprocess.run(["cp", "-a", made_home, folder], check=True)
    headwater = CommandLine(folder, {"HEADWATER_SERVICE_PRINCIPALS": "me:janitor"})
    with headwater.running("up") as running:
        running.said("Ready:")
        yield headwater
        running.interrupt()
        assert running.ended().status == 0
    _clear_away(folder)


@pytest.fixture(scope="session")
def services(up: CommandLine) -> dict[str, str]:
    """Where everything of `up` is, for programs."""
    return dict(json.loads((up.home / "services.json").read_text()))


@pytest.fixture(scope="session")
def host(services: dict[str, str]) -> Host:
    """A host that starts workflows there by JSON alone."""
    return Host(services["temporal_address"])


_numbers = itertools.count(1)


@pytest.fixture
def tmp_folder() -> Iterator[Path]:
    """An empty folder that every account may pass through; pytest's own are closed to all but one."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-home-"))
    folder.chmod(0o711)
    yield folder
    _clear_away(folder)


@pytest.fixture
def lent_home(tmp_folder: Path) -> Path:
    """A home that is not there yet: a command makes it, and nobody but its owner may enter."""
    return tmp_folder / "home"


def _clear_away(folder: Path) -> None:
    """The folder, and what homes in it were lent elsewhere; not before all that was started there has ended."""
    wait_until(lambda: not processes_of(folder), f"everything that was started in {folder} has ended")
    for lent in lent_folders(folder):
        shutil.rmtree(lent)
        shutil.rmtree(lent.with_name(lent.name + ".former"), ignore_errors=True)
    shutil.rmtree(folder)
