"""Where tests write what they throw away."""

import os
import subprocess
import sys
from pathlib import Path

from tests.throwaway import throwaway_folder

PREFIX = "headwater-throwaway-test-"


def test_a_folder_is_gone_at_the_end() -> None:
    with throwaway_folder(PREFIX) as folder:
        (folder / "file").write_text("text")
        assert folder.name.startswith(f"{PREFIX}{os.getpid()}-")
    assert not folder.exists()


def test_what_a_killed_process_left_is_taken_away_and_nothing_of_a_living_one() -> None:
    program = (
        f"import os, signal; from tests.throwaway import throwaway_folder\n"
        f"with throwaway_folder({PREFIX!r}) as folder: print(folder, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, check=False
    )
    left = Path(killed.stdout.decode().strip())
    with throwaway_folder(PREFIX) as mine:
        assert not left.exists()
        with throwaway_folder(PREFIX):
            assert mine.exists()
