"""A connector whose origin is away: everybody who looks is told at once, and it can be removed."""

from pathlib import Path

import pytest

from tests.acceptance.command_line import CommandLine
from tests.drive.serving import running_drive
from tests.drive.world import World

CORPUS = "me/drive/away"
AWAY = "http://127.0.0.1:9"  # where nobody listens
TOLD = f"Drive at {AWAY} could not be asked to "


@pytest.mark.long
def test_a_sync_that_waits_is_told_of_and_ended_with_its_connector(up: CommandLine, tmp_path: Path) -> None:
    world = World()
    world.add_user("robot@b.test")
    with running_drive(world) as drive:
        key = drive.service_account_file(tmp_path, "robot@b.test")
        add = ("connector", "add", "drive", "away", "--corpus", CORPUS, "--credentials", key, "--root-url", AWAY)
        up.json_here(*add, "--folder-id", "plans-folder")
        tried = up.run_here("connector", "test", "away")
        assert tried.status == 1 and TOLD in tried.err and "connection refused" in tried.err

        with up.running("sync", "connector", "away") as sync:
            sync.said(f"The sync waits, and tries again: {TOLD}")
            (listed,) = up.json_here("connector", "list", "--corpus", CORPUS)["connectors"]
            assert listed["error"].startswith(f"waiting: {TOLD}")
            (corpus,) = up.json_here("status", "--corpus", CORPUS)["corpora"]
            assert corpus["connectors"][0]["error"] == listed["error"]

            removed = up.run_here("connector", "remove", "away", "--delete-sources")
            assert removed.status == 0, removed.err
            assert removed.err == f"A sync of connector away of {CORPUS} is running: it is ended first.\n"
            assert removed.out == f"Connector away of {CORPUS} is removed; 0 documents are deleted.\n"
            ended = sync.ended()
            assert ended.status == 1 and "cancelled" in ended.err
    assert up.json_here("connector", "list", "--corpus", CORPUS)["connectors"] == []
