"""The library's README does what it says."""

import re
import runpy
from pathlib import Path

import pytest


def test_the_example_runs(reading: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the example uses the local model, an extra")
    text = Path(__file__).parents[3].joinpath("retrieval", "README.md").read_text("utf-8")
    example, _of_the_client = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    program = tmp_path / "example.py"
    program.write_text(example, "utf-8")

    names = runpy.run_path(str(program), {"dsn": reading})

    assert names["prompt"] == "" and names["result"].generation is None  # there is no such corpus here
