"""The library's README does what it says."""

import re
import runpy
from pathlib import Path

import pytest


def test_its_examples_run(reading: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="they use the local model, an extra")
    text = Path(__file__).parents[3].joinpath("retrieval", "README.md").read_text("utf-8")
    example, around, ordered, _of_the_client = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    program = tmp_path / "example.py"
    program.write_text(example, "utf-8")

    names = runpy.run_path(str(program), {"dsn": reading})

    assert names["prompt"] == "" and names["result"].generation is None  # there is no such corpus here

    program.write_text(around, "utf-8")
    names = runpy.run_path(str(program), {"dsn": reading})

    assert names["blocks"] == names["evidence"] == [] and names["answer"].text == names["found"].text == ""
    assert names["found"].searched == ("hr",)

    program.write_text(ordered, "utf-8")
    names = runpy.run_path(str(program), {"dsn": reading})

    assert names["better"].hits == names["newest"].hits == () and names["recall"].questions == 0
