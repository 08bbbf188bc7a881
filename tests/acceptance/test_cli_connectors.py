"""Connectors by their names: listed, synced, synced by themselves."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from temporalio.client import Client

from headwater import Scope
from headwater.workflow_ids import sync_schedule_id
from tests.acceptance.command_line import CommandLine, files
from tests.acceptance.home_processes import processes_of, wait_until
from workers.sync_schedules import SyncSchedules

CORPUS: Final = "me/docs/connected"
OTHER: Final = "me/docs/connected-too"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return files(tmp_path_factory.mktemp("rack"), {"a.md": "# One\n", "b.md": "# Two\n"})


@pytest.fixture(scope="module")
def headwater(up: CommandLine, folder: Path) -> CommandLine:
    """The folder is connector `rack` of one corpus and `both` of two."""
    for corpus, name in ((CORPUS, "rack"), (CORPUS, "both"), (OTHER, "both")):
        up.json_here("sync", "folder", folder, "--corpus", corpus, "--name", name, "--grant", "everyone")
    return up


def listed(headwater: CommandLine, corpus: str = CORPUS) -> dict[str, Any]:
    return {each["name"]: each for each in headwater.json_here("connector", "list", "--corpus", corpus)["connectors"]}


def test_connectors_are_listed(headwater: CommandLine, folder: Path) -> None:
    rack = listed(headwater)["rack"]
    assert (rack["corpus"], rack["kind"], rack["sources"], rack["error"]) == (CORPUS, "folder", 2, None)
    assert rack["config"]["root"] == str(folder.resolve())
    everywhere = headwater.json_here("connector", "list")["connectors"]
    assert {(each["corpus"], each["name"]) for each in everywhere} >= {
        (CORPUS, "rack"),
        (CORPUS, "both"),
        (OTHER, "both"),
    }

    shown = headwater.run_here("connector", "list", "--corpus", CORPUS)
    assert shown.status == 0 and str(folder.resolve()) in shown.out
    empty = headwater.run_here("connector", "list", "--corpus", "me/docs/nowhere")
    assert empty.out.startswith("No connector yet")


def test_a_connector_is_synced_by_its_name(headwater: CommandLine, folder: Path) -> None:
    (folder / "c.md").write_text("# Three\n")
    result = headwater.json("sync", "connector", "rack")
    assert (result["corpus"], result["connector"]) == (CORPUS, "rack")
    assert (result["upserted"], result["skipped"], result["deleted"]) == (1, 2, 0)

    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing that follows\n")
    strict = headwater.run_here("sync", "connector", "rack", "--full", "--strict")
    (folder / "broken.pdf").unlink()
    assert strict.status == 1
    assert "1 failed" in strict.out


def test_a_name_that_several_corpora_have_needs_the_corpus(headwater: CommandLine) -> None:
    refused = headwater.run_here("sync", "connector", "both")
    assert (refused.status, refused.out) == (2, "")
    assert f"({CORPUS}, {OTHER}): say which with --corpus" in refused.err
    assert headwater.json_here("sync", "connector", "both", "--corpus", OTHER)["corpus"] == OTHER


@pytest.mark.parametrize(
    "command",
    [("sync", "connector"), ("schedule", "pause"), ("schedule", "set", "--every", "1h")],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_connector_that_is_not_there_is_no_wrong_usage_and_makes_none(
    headwater: CommandLine, command: tuple[str, ...]
) -> None:
    for corpus, words in (
        ((), "There is no connector unheard-of"),
        (("--corpus", CORPUS), f"Corpus {CORPUS} has no connector unheard-of"),
    ):
        ended = headwater.run_here(*command, "unheard-of", *corpus)
        assert (ended.status, ended.out) == (1, "")
        assert f"{words}: `headwater connector list` lists those that there are." in ended.err
    assert "unheard-of" not in listed(headwater)


def test_a_connector_is_synced_by_itself(headwater: CommandLine, services: dict[str, str], folder: Path) -> None:
    made = headwater.json_here("schedule", "set", "rack", "--every", "15m")
    assert (made["corpus"], made["connector"], made["every"], made["paused"]) == (CORPUS, "rack", "15m", False)
    assert made["next_at"]

    (folder / "later.md").write_text("# Later\n")
    before = listed(headwater)["rack"]["last_sync_at"]
    asyncio.run(_trigger(services["temporal_address"], "rack"))
    wait_until(lambda: listed(headwater)["rack"]["sources"] == 4, "what the schedule starts has synced")
    assert listed(headwater)["rack"]["last_sync_at"] >= before


def test_a_schedule_is_paused_resumed_and_removed(headwater: CommandLine) -> None:
    set_ = headwater.run_here("schedule", "set", "both", "--every", "2h", "--corpus", OTHER)
    assert set_.out.startswith(f"Connector both of {OTHER} is synced every 2h; next at 20")
    assert headwater.run_here("schedule", "pause", "both", "--corpus", OTHER).status == 0
    (paused,) = headwater.json_here("schedule", "list", "--corpus", OTHER)["schedules"]
    assert (paused["every"], paused["paused"], paused["next_at"]) == ("2h", True, None)
    changed = headwater.run_here("schedule", "set", "both", "--every", "90s", "--corpus", OTHER)
    assert "every 90s; but it is paused: `headwater schedule resume` lets it go on" in changed.out

    headwater.json_here("schedule", "resume", "both", "--corpus", OTHER)
    shown = headwater.run_here("schedule", "list", "--corpus", OTHER)
    assert "90s" in shown.out and "paused" not in shown.out

    removed = headwater.run_here("schedule", "remove", "both", "--corpus", OTHER)
    assert removed.out == f"The schedule of connector both of {OTHER} is removed.\n"
    assert headwater.json_here("schedule", "list", "--corpus", OTHER) == {"schedules": []}
    again = headwater.run_here("schedule", "remove", "both", "--corpus", OTHER)
    assert (again.status, again.out) == (1, "")
    assert "has no schedule: `headwater schedule set both --every 15m` makes one" in again.err


@pytest.mark.parametrize("every", ["15", "0m", "9s", "400d", "1h30m", "often"])
def test_what_is_no_time_is_wrong_usage(headwater: CommandLine, every: str) -> None:
    ended = headwater.run_here("schedule", "set", "rack", "--every", every)
    assert (ended.status, ended.out) == (2, "")
    assert f"--every {every} must be a number with s, m, h or d" in ended.err


def test_a_trial_says_in_one_sentence_what_it_found(headwater: CommandLine, tmp_path: Path) -> None:
    shelf = files(tmp_path / "tried", {"a.md": "# One\n"})
    corpus = "me/docs/tried"
    headwater.json_here("sync", "folder", shelf, "--corpus", corpus, "--name", "tried", "--grant", "everyone")
    tried = headwater.run_here("connector", "test", "tried")
    assert (tried.status, tried.out) == (
        0,
        f"Connector tried (folder) of {corpus} can be reached: it lists 1 document.\n",
    )
    assert headwater.json_here("connector", "test", "tried") == {
        "corpus": corpus, "connector": "tried", "kind": "folder", "account": None, "listed": 1, "withheld": {}, "is_all": True,
        "unlisted": [],
    }  # fmt: skip

    shelf.rename(shelf.with_name("gone"))
    wrong = headwater.run_here("connector", "test", "tried", "--json")
    assert (wrong.status, wrong.out) == (1, "")
    assert str(shelf) in wrong.err and wrong.err.count("\n") == 1


def test_a_connector_is_removed_with_its_schedule_and_without_its_documents(
    headwater: CommandLine, tmp_path: Path
) -> None:
    shelf = files(tmp_path / "left", {"a.md": "# One\n", "b.md": "# Two\n"})
    corpus = "me/docs/left"
    sync = ("sync", "folder", shelf, "--corpus", corpus, "--name", "left", "--grant", "everyone")
    headwater.json_here(*sync)
    headwater.json_here("schedule", "set", "left", "--every", "1h")
    for both in ((), ("--keep-sources", "--delete-sources")):
        refused = headwater.run_here("connector", "remove", "left", *both)
        assert (refused.status, refused.out) == (2, "")
        assert "--keep-sources or --delete-sources" in refused.err

    kept = headwater.run_here("connector", "remove", "left", "--keep-sources")
    assert kept.out.startswith(
        f"Connector left of {corpus} is removed; 2 documents are kept, as stale. Its schedule is removed too. "
    )
    assert "To delete it later, add left again as it was, sync it and remove it" in kept.out
    assert listed(headwater, corpus) == {}
    assert {each["freshness"] for each in headwater.json_here("status", "--corpus", corpus)["sources"]} == {"stale"}
    hits = headwater.json_here("search", "one", "--corpus", corpus, "--as", "me")["hits"]
    assert {hit["provenance"]["provider"] for hit in hits} == {"folder"}

    headwater.json_here(*sync)
    assert {each["freshness"] for each in headwater.json_here("status", "--corpus", corpus)["sources"]} == {"current"}
    assert headwater.json_here("schedule", "list", "--corpus", corpus) == {"schedules": []}
    deleted = headwater.json_here("connector", "remove", "left", "--delete-sources")
    assert deleted == {"corpus": corpus, "connector": "left", "kept": 0, "deleted": 2, "schedule": False}
    assert headwater.json_here("status", "--corpus", corpus)["sources"] == []
    assert (shelf / "a.md").exists()


def test_a_schedule_whose_connector_is_gone_can_be_ended(headwater: CommandLine, services: dict[str, str]) -> None:
    asyncio.run(_leave_schedule(services["temporal_address"], "ghost"))
    unknown = headwater.run_here("schedule", "remove", "ghost")
    assert unknown.status == 1 and "There is no connector ghost" in unknown.err
    ended = headwater.run_here("schedule", "remove", "ghost", "--corpus", CORPUS)
    assert ended.out == f"The schedule of connector ghost of {CORPUS} is removed.\n"
    assert headwater.run_here("schedule", "remove", "ghost", "--corpus", CORPUS).status == 1


def test_what_is_asked_of_a_connector_is_written_down(
    headwater: CommandLine, services: dict[str, str], tmp_path: Path
) -> None:
    shelf, corpus = files(tmp_path / "asked", {"a.md": "# One\n"}), "me/docs/asked"
    sync = ("sync", "folder", shelf, "--corpus", corpus, "--name", "asked")
    for command in (
        (*sync, "--grant", "everyone"),
        (*sync, "--grant", "user:me"),
        sync,
        ("connector", "test", "asked"),
        ("schedule", "set", "asked", "--every", "90m"),
        ("schedule", "pause", "asked"),
        ("schedule", "resume", "asked"),
        ("schedule", "remove", "asked"),
    ):
        headwater.json_here(*command)
    assert headwater.run_here("schedule", "pause", "asked").status == 1  # it changes nothing, and is not written down
    with psycopg.connect(services["database_url"]) as connection:
        found = connection.execute(
            "SELECT actor, action, detail - 'connector_id' - 'kind' - 'connector' FROM headwater.audit"
            " WHERE detail ->> 'connector' = 'asked' AND action <> 'sync' ORDER BY id"
        ).fetchall()
    assert found == [
        ("headwater sync folder", "add_connector", {}),
        ("headwater sync folder", "change_connector", {"changed": ["access"]}),
        ("headwater connector test", "try_connector", {"is_reached": True}),
        ("headwater schedule", "set_schedule", {"every": "90m"}),
        ("headwater schedule", "pause_schedule", {}),
        ("headwater schedule", "resume_schedule", {}),
        ("headwater schedule", "remove_schedule", {}),
    ]


@pytest.mark.long
def test_commands_alone_do_the_same_and_leave_nothing_running(home: Path, tmp_path: Path) -> None:
    alone = CommandLine(home)
    shelf, corpus = files(tmp_path / "alone", {"a.md": "# One\n"}), "me/docs/alone"
    alone.json("sync", "folder", shelf, "--corpus", corpus, "--name", "alone", "--grant", "everyone")
    scheduled = alone.run("schedule", "set", "alone", "--every", "10s")
    assert scheduled.status == 0, scheduled.err
    assert "Schedules run while `headwater up` does, and it does not run now." in scheduled.err
    assert alone.run("connector", "test", "alone").out.endswith("can be reached: it lists 1 document.\n")
    assert alone.json("sync", "connector", "alone")["skipped"] == 1
    removed = alone.json("connector", "remove", "alone", "--keep-sources")
    assert (removed["kept"], removed["schedule"]) == (1, True)
    wait_until(lambda: not processes_of(home), "nothing of the home runs")


async def _trigger(address: str, connector: str) -> None:
    client = await Client.connect(address)
    await client.get_schedule_handle(sync_schedule_id(Scope.parse(CORPUS), connector)).trigger()


async def _leave_schedule(address: str, connector: str) -> None:
    await SyncSchedules(await Client.connect(address)).set(Scope.parse(CORPUS), connector, every=timedelta(hours=1))
