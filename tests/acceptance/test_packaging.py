"""What a host gets that installs the library: `headwater`, and no package of a generic name."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

CHECKOUT: Final = Path(__file__).parent.parent.parent
# Both brings a top-level package `workflows`; ours must never meet it in a host's site-packages.
NEIGHBOUR: Final = "llama-index-workflows"
SAY_WHERE: Final = "import headwater, json, workflows; print(json.dumps([headwater.__file__, workflows.__file__]))"
# Threads of Temporal's core may abort an interpreter that ends; what matters has been said by then.
CONNECT: Final = """
import asyncio, os
from headwater.client import HeadwaterClient
try: asyncio.run(HeadwaterClient.connect(None, "127.0.0.1:1"))
except Exception as error: print(error, flush=True)
os._exit(0)
"""


def run(*command: str | Path, **variables: str) -> str:
    # The checkout and this environment's packages must not be what is imported.
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= {"PIP_CONSTRAINT": "constraints.txt", "PIP_BUILD_CONSTRAINT": "constraints.txt", **variables}
    done = subprocess.run(
        command, cwd=CHECKOUT, env=environment, capture_output=True, encoding="utf-8", check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, built as for a package index."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, "retrieval")
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_headwater_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    assert {name.partition("/")[0] for name in names} == {"headwater", "headwater-0.1.0.dist-info"}
    assert {"headwater/store/queries/search.sql", "headwater/py.typed", "headwater/testing/__init__.py"} <= set(names)
    assert "headwater-0.1.0.dist-info/licenses/LICENSE" in names


@pytest.fixture(scope="module")
def host(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a host that installed the library beside its neighbour, by constraints of its own (none)."""
    folder = tmp_path_factory.mktemp("host")
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, NEIGHBOUR, PIP_CONSTRAINT="")
    return python


@pytest.mark.long
def test_the_library_lives_beside_other_peoples_workflows(host: Path) -> None:
    ours, theirs = json.loads(run(host, "-I", "-c", SAY_WHERE))

    folder = host.parent.parent
    assert Path(ours).is_relative_to(folder) and Path(theirs).is_relative_to(folder)
    _, _, files = run(host, "-m", "pip", "show", "--files", "headwater").partition("Files:\n")
    assert {line.strip().partition("/")[0] for line in files.splitlines()} == {"headwater", "headwater-0.1.0.dist-info"}


@pytest.mark.long
def test_the_library_imports_without_its_extras_and_names_one_when_it_is_needed(host: Path) -> None:
    run(
        host, "-I", "-W", "error", "-c", "import headwater, headwater.testing; headwater.chunk_text('a', source_id='s')"
    )
    absent = run(
        host, "-I", "-c",
        "from headwater import resolve_embedder\n"
        "try: resolve_embedder('onnx:minilm').embed(['x'])\n"
        "except Exception as error: print(error)",
    )  # fmt: skip
    assert "headwater[onnx]" in absent
    assert "headwater[client]" in run(host, "-I", "-c", CONNECT)


@pytest.mark.long
def test_the_client_comes_with_its_extra(host: Path, wheel: Path) -> None:
    run(host, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[client]", PIP_CONSTRAINT="")
    assert "Temporal at 127.0.0.1:1 does not answer" in run(host, "-I", "-c", CONNECT)
