"""Commands that start what they need, share it, and leave nothing behind, however they end."""

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.acceptance.command_line import CommandLine, files
from tests.acceptance.home_processes import processes_of, wait_until

CORPUS = "t1/docs/handbook"


@pytest.fixture
def headwater(home: Path) -> CommandLine:
    return CommandLine(home)


@contextmanager
def _publishing_held(home: Path) -> Iterator[None]:
    """While this lasts, a sync reads and embeds, and waits before it publishes."""
    url = json.loads((home / "services.json").read_text())["database_url"]
    with psycopg.connect(url) as connection:
        connection.execute("SELECT 1 FROM headwater.scope FOR SHARE")  # a page may still be listed
        yield


def test_a_lone_sync_works_by_itself_and_leaves_nothing_running(headwater: CommandLine, tmp_path: Path) -> None:
    folder = files(tmp_path / "docs", {"a.md": "# Alpha\n\nThe first letter.\n"})
    assert headwater.json("sync", "folder", folder, "--corpus", CORPUS, "--grant", "everyone")["upserted"] == 1
    wait_until(lambda: not processes_of(headwater.home), "nothing of the home runs")


def test_a_second_sync_waits_and_ctrl_c_stops_only_ones_own(headwater: CommandLine, tmp_path: Path) -> None:
    folder = files(tmp_path / "docs", {"a.md": "# Alpha\n\nThe first letter.\n"})
    sync = ("sync", "folder", folder, "--corpus", CORPUS, "--grant", "everyone")
    with headwater.running("up") as up:
        up.said("Ready")
        headwater.json(*sync)
        files(folder, {"b.md": "# Beta\n\nThe second letter.\n"})

        with _publishing_held(headwater.home), headwater.running(*sync) as own:
            own.said("of 2 documents")
            own.interrupt()
            stopped = own.ended()
        assert stopped.status == 130
        assert stopped.out == ""
        assert "the next sync goes on" in stopped.err
        assert "Traceback" not in stopped.err

        files(folder, {"c.md": "# Gamma\n\nThe third letter.\n"})
        with ExitStack() as started:
            with _publishing_held(headwater.home):
                first = started.enter_context(headwater.running(*sync))
                first.said("of 3 documents")
                joined, second = (started.enter_context(headwater.running(*sync)) for _ in range(2))
                joined.said("of 3 documents")
                second.said("of 3 documents")
                joined.interrupt()
                left = joined.ended()
            results = [first.ended(), second.ended()]
        assert left.status == 130
        assert "started elsewhere and goes on" in left.err
        assert [ended.status for ended in results] == [0, 0], [ended.err for ended in results]
        # The second waited for a pass that began after it had asked.
        assert "2 published, 1 unchanged" in results[0].out
        assert "0 published, 3 unchanged" in results[1].out
        assert headwater.json("status")["corpora"][0]["by_state"] == {"indexed": 3}

        again = headwater.run("up")
        assert again.status == 1
        assert "already runs" in again.err

        up.process.send_signal(signal.SIGTERM)
        ended = up.ended()
    assert ended.status == 0
    assert "Traceback" not in ended.err
