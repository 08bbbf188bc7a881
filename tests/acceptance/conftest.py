"""Homes that are gone after the test, with all that was started in them."""

import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.home_processes import processes_of, wait_until
from workers.embedded import attach


@pytest.fixture(scope="session")
def made_home() -> Iterator[Path]:
    """A home in which PostgreSQL's data have been made, and nothing runs. As root it may be passed through,
    so that the data stay in it. Tests copy it: making the data takes a second."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-home-"))
    folder.chmod(0o711)
    with attach(folder, temporal=False):
        pass
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(made_home: Path) -> Iterator[Path]:
    """A home of the test's own."""
    folder = made_home.with_name(made_home.name + f"-{next(_numbers)}")
    subprocess.run(["cp", "-a", made_home, folder], check=True)  # with owners, which shutil leaves behind
    yield folder
    wait_until(lambda: not processes_of(folder), "everything that was started in the home has ended")
    shutil.rmtree(folder)


@pytest.fixture
def tmp_folder() -> Iterator[Path]:
    """An empty folder that every account may pass through; pytest's own are closed to all but one."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-home-"))
    folder.chmod(0o711)
    yield folder
    wait_until(lambda: not processes_of(folder), "everything that was started in the folder has ended")
    shutil.rmtree(folder)


_numbers = itertools.count(1)


@pytest.fixture
def lent_home() -> Iterator[Path]:
    """A new home that nobody but its owner may enter, as commands make it."""
    parent = Path(tempfile.mkdtemp(prefix="headwater-home-"))
    folder = parent / "home"
    yield folder
    wait_until(lambda: not processes_of(folder), "everything that was started in the home has ended")
    record = folder / "postgres.location"
    if record.exists():
        lent = Path(record.read_text()).parent
        shutil.rmtree(lent)
        shutil.rmtree(lent.with_name(lent.name + ".former"), ignore_errors=True)
    shutil.rmtree(parent)
