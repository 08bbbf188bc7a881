"""`make demo`, as a person runs it. The demo checks its own steps; here it is seen to fail, and to leave nothing behind."""

import base64
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from tests.acceptance.home_processes import lent_folders, processes_of, wait_until
from tests.demo.workplace import is_lent
from workers.embedded import attach

pytestmark = pytest.mark.long  # minutes: it goes the whole way several times

CHECKOUT: Final = Path(__file__).parent.parent.parent


def demo(workplace: Path, *arguments: str | Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.demo", "--workplace", workplace, *arguments],
        cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    )  # fmt: skip


@dataclass(frozen=True)
class Demonstrated:
    """A demo that was shown, and what it left behind."""

    workplace: Path
    status: int
    output: str


@pytest.fixture(scope="module")
def demonstrated() -> Iterator[Demonstrated]:
    workplace = Path(tempfile.mkdtemp(prefix="headwater-demo-"))
    workplace.chmod(0o711)
    running = demo(workplace)
    output, _ = running.communicate()
    yield Demonstrated(workplace, running.returncode, output)
    wait_until(lambda: not processes_of(workplace), "everything that was started has ended")
    shutil.rmtree(workplace)


def test_the_demo_shows_all_it_promises_and_leaves_nothing_running(demonstrated: Demonstrated) -> None:
    assert demonstrated.status == 0, demonstrated.output
    for line in (
        "stands for HEADWATER_HOME=",
        f"✓ running; their data are in {demonstrated.workplace}/home",
        "✓ 38 documents are published: 37 in ",
        "✓ answered by people/leave.md",
        "✓ answered by product/TW-4 field manual.md",
        "✓ answered by product/price-list.pdf",
        "✓ mara finds the open page people/career-levels.md; none of the 32 passages nearest to her question comes from ",
        "✓ agnes finds hr/pay-bands.md",
        "✓ embedded again: 1 of its 107 passages",
        "Remove sand, threads and duckweed",
        "✓ the answer has the new words",
        "✓ before: answered by people/bicycle-scheme.txt",
        "✓ after: nothing of its text is found",
        "✓ finance/scan of the lease.pdf is reported",
        "Where to go next",
        f"What the demo holds is in {demonstrated.workplace}/home.",
    ):
        assert line in demonstrated.output
    assert not processes_of(demonstrated.workplace)
    assert not lent_folders(demonstrated.workplace)


async def test_the_histories_of_a_whole_demo_hold_ids_and_counts_alone(demonstrated: Demonstrated) -> None:
    with attach(demonstrated.workplace / "home") as services:
        assert services.temporal_address is not None
        client = await Client.connect(services.temporal_address, data_converter=pydantic_data_converter)
        histories = [
            json.loads((await client.get_workflow_handle(run.id, run_id=run.run_id).fetch_history()).to_json())
            async for run in client.list_workflows()
        ]
        with psycopg.connect(services.database_url) as connection:
            texts = [row[0] for row in connection.execute("SELECT text FROM headwater.document_version")]
        secrets = [str(conninfo_to_dict(url)["password"]) for url in (services.database_url, services.reader_url)]

    # The first sync, the edited document and the deletion.
    assert len(histories) == 3
    assert sum(len(history["events"]) for history in histories) > 60
    phrases = {line.strip() for text in texts for line in text.splitlines() if len(line.strip()) >= 20}
    assert len(phrases) > 1_000
    assert found_in(histories, phrases) == []
    assert found_in(histories, secrets) == []
    assert found_in(histories, ["user:", "group:", "principal_ids", "group_ids", "everyone"]) == []
    assert "ines" not in [value for value in values_of(histories) if isinstance(value, str)]
    assert longest_list_of_numbers(histories) < 5


def test_the_search_of_histories_sees_into_payloads() -> None:
    data = base64.b64encode(json.dumps({"text": "Sick “leave”", "vector": [0.5] * 7}).encode()).decode()
    history = {"events": [{"input": {"payloads": [{"data": data}]}}]}

    assert found_in([history], ["Sick “leave”", "nothing of it"]) == ["Sick “leave”"]
    assert longest_list_of_numbers([history]) == 7


def test_the_demo_on_an_own_folder_writes_nothing_there(tmp_folder: Path) -> None:
    folder, workplace = tmp_folder / "my notes", tmp_folder / "workplace"
    folder.mkdir()
    for source in (
        "people/leave.md",
        "people/remote-work.html",
        "people/bicycle-scheme.txt",
        "finance/scan of the lease.pdf",
    ):
        shutil.copy(CHECKOUT / "tests/samples/handbook" / source, folder)
    before = {path.name: path.stat() for path in [folder, *folder.iterdir()]}

    running = demo(workplace, "--docs", folder)
    output, _ = running.communicate()

    assert running.returncode == 0, output
    assert "✓ 3 of 4 documents can be asked" in output
    for question, path in (
        ("What is said about Leave?", "leave.md, whose title"),
        ("What is said about Working from elsewhere?", "remote-work.html, whose title"),
        ("What is said about bicycle scheme?", "bicycle-scheme.txt, whose file name"),
    ):
        assert question in output
        assert f"✓ the best answer comes from {path}" in output
    assert output.index("about Leave?") < output.index("about bicycle scheme?")
    assert re.search(r"failed: folder:my-notes-[0-9a-f]{6}/scan%20of%20the%20lease\.pdf: It is damaged", output)
    asked = re.search(r"(HEADWATER_HOME=.* search )'your question'( --corpus .*)", output)
    assert asked is not None
    assert "Leave" in subprocess.check_output(
        ["sh", "-c", f"{asked[1]}'How long is leave?'{asked[2]}"], cwd=CHECKOUT, text=True
    )
    assert f"sync folder '{folder}' --corpus me/home/documents" in output
    after = {path.name: path.stat() for path in [folder, *folder.iterdir()]}
    assert {name: (was.st_mtime_ns, was.st_ctime_ns) for name, was in before.items()} == {
        name: (now.st_mtime_ns, now.st_ctime_ns) for name, now in after.items()
    }
    assert not processes_of(tmp_folder)


def test_a_folder_without_a_document_is_said_to_be_one(tmp_folder: Path) -> None:
    folder = tmp_folder / "empty"
    folder.mkdir()
    running = demo(tmp_folder / "workplace", "--docs", folder)
    output, _ = running.communicate()

    assert running.returncode == 1
    assert f"The demo failed: No document of {folder} could be read." in output
    assert "none" not in output


@pytest.mark.skipif(os.geteuid() != 0, reason="only root lends PostgreSQL a folder elsewhere")
def test_what_root_put_elsewhere_is_deleted_with_the_workplace(tmp_folder: Path) -> None:
    folder, workplace = tmp_folder / "notes", tmp_folder / "closed/workplace"
    folder.mkdir()
    shutil.copy(CHECKOUT / "tests/samples/handbook/people/leave.md", folder)
    workplace.parent.mkdir(mode=0o700)
    running = demo(workplace, "--docs", folder)
    output, _ = running.communicate()
    assert running.returncode == 0, output
    (lent,) = lent_folders(workplace)
    assert is_lent(lent)
    assert f"whose account cannot enter that, in {lent}" in output
    neighbours = {*lent.parent.iterdir()} - {lent}

    forgotten = subprocess.run(
        [sys.executable, "-S", "-m", "tests.demo.workplace", workplace], cwd=CHECKOUT, capture_output=True, encoding="utf-8",
        check=False,
    )  # fmt: skip

    assert (forgotten.returncode, forgotten.stderr) == (0, "")
    assert not workplace.exists()
    assert not lent.exists()
    assert all(neighbour.exists() for neighbour in neighbours if neighbour.name.startswith("programs-"))


def test_a_folder_that_is_not_there_is_said_before_anything_is_started(tmp_folder: Path) -> None:
    running = demo(tmp_folder / "workplace", "--docs", tmp_folder / "nowhere")
    output, _ = running.communicate()

    assert (running.returncode, output.count("\n")) == (2, 1)
    assert "is not a folder" in output
    assert not (tmp_folder / "workplace").exists()


def test_ctrl_c_stops_everything_and_until_then_a_second_demo_is_refused(tmp_folder: Path) -> None:
    running = demo(tmp_folder)
    assert running.stdout is not None
    lines = _until(running.stdout, "$ headwater sync folder")
    second = demo(tmp_folder)
    refusal, _ = second.communicate()
    running.send_signal(signal.SIGINT)
    rest = running.stdout.read()
    running.stdout.close()

    assert second.returncode == 1
    assert "The demo failed: another demo, or a command that it left behind, is at work in" in refusal
    assert running.wait() == 130, lines + rest
    assert "everything that was started has been stopped" in rest
    wait_until(lambda: not processes_of(tmp_folder), "everything that was started has ended")


@pytest.mark.long
def test_a_fresh_clone_needs_nothing_but_make(tmp_folder: Path) -> None:
    """With another home, no settings, and a space in the checkout's path; on a terminal, where the bar is drawn."""
    checkout = tmp_folder / "a clone"
    subprocess.run(["git", "clone", "--quiet", CHECKOUT, checkout], check=True)
    (tmp_folder / "home").mkdir()
    kept = ("PATH", "TMPDIR", *(name for name in os.environ if name.startswith(("PIP_", "SSL_", "REQUESTS_"))))
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"HOME": str(tmp_folder / "home"), "LC_ALL": "C", "TERM": "xterm", "COLUMNS": "200"}

    output = "".join(_on_a_terminal(["make", "-C", str(checkout), "demo"], environment))

    assert "Where to go next" in output, output
    assert "embedding" in output and "of 178 chunks" in output
    assert not (tmp_folder / "home/.headwater").exists()
    assert not processes_of(checkout)


def found_in(histories: object, phrases: Iterable[str]) -> list[str]:
    """The phrases that stand in the histories, payloads included."""
    said = "\n".join(value for value in values_of(histories) if isinstance(value, str))
    return [phrase for phrase in phrases if phrase in said]


def longest_list_of_numbers(histories: object) -> int:
    return max(
        (len(value) for value in values_of(histories) if isinstance(value, list)
         if all(isinstance(number, float | int) for number in value)),
        default=0,
    )  # fmt: skip


def values_of(node: object) -> Iterator[object]:
    """Everything in a JSON document, keys too; what is a payload's data is decoded, and looked into if it is JSON."""
    yield node
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from values_of(_decoded(value) if key == "data" and isinstance(value, str) else value)
    elif isinstance(node, list):
        for value in node:
            yield from values_of(value)


def _decoded(data: str) -> object:
    plain = base64.b64decode(data)
    try:
        return json.loads(plain)
    except ValueError:
        return plain.decode("utf-8", "replace")


def _until(stream: "Iterator[str]", words: str) -> str:
    """Reads as far as the line that holds ``words``."""
    seen = ""
    for line in stream:
        seen += line
        if words in line:
            return seen
    raise AssertionError(f"{words!r} was never said:\n{seen}")


def _on_a_terminal(command: list[str], environment: dict[str, str]) -> Iterator[str]:
    """What a command writes to its terminal. Raises if it does not end with 0."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        running = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        while True:
            try:
                data = screen.read(65536)
            except OSError:  # how Linux says that the last writer has left
                break
            if not data:
                break
            yield data.decode("utf-8", "replace")
        assert running.wait() == 0
