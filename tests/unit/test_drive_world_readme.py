"""What the emulator's README shows is run as it stands there, and what it lists is all there is."""

import re
import runpy
from pathlib import Path

import pytest

from tests.drive.modes import Modes
from tests.drive.world import World

pytestmark = pytest.mark.long  # of the emulator itself: the connector is tried on it in every run

README = Path(__file__).parents[1] / "drive" / "README.md"


def test_the_example_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    (tmp_path / "example.py").write_text(example, "utf-8")
    runpy.run_path(str(tmp_path / "example.py"))


def test_every_mode_and_method_is_listed() -> None:
    listed = set(re.findall(r"`(?:modes\.)?(\w+)", README.read_text("utf-8")))
    methods = {name for name in dir(World) if not name.startswith("_")}
    assert {*Modes.__slots__, *methods} - listed == set()
