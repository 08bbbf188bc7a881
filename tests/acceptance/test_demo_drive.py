"""`make demo-drive`, as a person runs it. The demo checks its own steps; here it is seen to leave nothing behind."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.home_processes import lent_folders, processes_of, wait_until

CHECKOUT: Final = Path(__file__).parent.parent.parent


@pytest.fixture
def workplace() -> Iterator[Path]:
    # PostgreSQL's account must be able to pass through, so that its data stay in it.
    folder = Path(tempfile.mkdtemp(prefix="headwater-demo-"))
    folder.chmod(0o711)
    yield folder
    wait_until(lambda: not processes_of(folder), "everything that was started has ended")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.long
def test_the_demo_of_drive_shows_all_it_promises_and_leaves_what_can_be_forgotten(workplace: Path) -> None:
    running = [sys.executable, "-m", "tests.demo", "--drive", "--workplace", str(workplace)]
    shown = subprocess.run(
        running, cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        encoding="utf-8", check=False,
    )  # fmt: skip

    assert shown.returncode == 0, shown.stdout
    told = " ".join(shown.stdout.replace("│", "").split())  # what commands say is folded to the terminal
    for line in (
        "✓ it listens at http://127.0.0.1:",
        "$ headwater connector add drive office --corpus tarnfield/drive/handbook --folder-id ",
        "Connector office (drive) of tarnfield/drive/handbook can be reached",
        "connector office: 10 published, 0 unchanged, 0 deleted, 0 failed; 22 chunks embedded",
        "10 of them for documents",
        "✓ people/Leave answers mara; it is a Google document",
        "✓ of the same folder mara finds nothing",
        "✓ agnes finds nothing of the folder any more",
        "✓ hr/pay-bands.md still answers ines",
        "✓ all 3 documents below it are gone",
        "connector office: 3 published, 0 unchanged, 0 deleted, 0 failed; 0 chunks embedded, 7 reused",
        "✓ offices/ghent.md answers mara again",
        "✓ nothing of it is found, by ines neither",
        f"What the demo holds is in {workplace}/home.",
    ):
        assert line in told, shown.stdout
    assert "PRIVATE KEY" not in shown.stdout
    assert not processes_of(workplace)
    assert not lent_folders(workplace)

    forgetting = [sys.executable, "-S", "-m", "tests.demo.workplace", str(workplace)]
    forgotten = subprocess.run(forgetting, cwd=CHECKOUT, capture_output=True, encoding="utf-8", check=False)
    assert (forgotten.returncode, forgotten.stderr) == (0, "")
    assert not workplace.exists()
