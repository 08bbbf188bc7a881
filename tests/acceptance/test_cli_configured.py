"""Commands against a PostgreSQL and a Temporal that somebody else runs."""

import itertools
import time
from pathlib import Path

import pytest
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client

from activities.store import Store, scopes
from headwater.models import Scope
from tests.acceptance.command_line import CommandLine, files

CORPUS = "t1/docs/handbook"
SPACE = scopes.SpaceSpec(
    embedder_spec="hash:64", embedder_identity="hash:64", dimensions=64, max_tokens=512, chunker="none"
)  # fmt: skip
_numbers = itertools.count(1)


@pytest.fixture
def store_only(tmp_path: Path, database: str) -> CommandLine:
    """A database, and no Temporal."""
    return CommandLine(tmp_path / "home", {"HEADWATER_DATABASE_URL": database})


@pytest.fixture
async def headwater(store_only: CommandLine, temporal_server: str, temporal_client: Client) -> CommandLine:
    """A database, and a Temporal namespace that no worker has ever polled."""
    namespace = f"cli-{next(_numbers)}"
    request = RegisterNamespaceRequest(namespace=namespace)
    request.workflow_execution_retention_period.FromSeconds(24 * 3600)
    await temporal_client.workflow_service.register_namespace(request)
    return store_only.with_variables(TEMPORAL_ADDRESS=temporal_server, TEMPORAL_NAMESPACE=namespace)


def test_what_needs_only_the_database_runs_without_temporal(store_only: CommandLine, tmp_path: Path) -> None:
    assert store_only.json_here("status") == {"corpora": []}
    assert not store_only.home.exists()
    folder = files(tmp_path / "docs", {"a.md": "# Alpha\n"})
    ended = store_only.run_here("sync", "folder", folder, "--corpus", CORPUS)
    assert ended.status == 2
    assert "set TEMPORAL_ADDRESS" in ended.err
    ended = store_only.run_here("worker")
    assert ended.status == 2
    assert "set TEMPORAL_ADDRESS" in ended.err
    ended = store_only.run_here("up")
    assert ended.status == 2
    assert "unset HEADWATER_DATABASE_URL" in ended.err


def test_a_schema_is_migrated_by_whoever_runs_it(store_only: CommandLine) -> None:
    other = store_only.with_variables(HEADWATER_SCHEMA='other "schema" %s')
    ended = other.run_here("status")
    assert ended.status == 1
    assert "run `headwater migrate`" in ended.err
    with other.running("migrate", "--json") as one, other.running("migrate", "--json") as two:
        applied = [ended.json["applied"] for ended in (one.ended(), two.ended())]
    assert min(map(len, applied)) == 0
    assert any(names and names[0].startswith("0001_") for names in applied)
    assert other.json_here("migrate")["applied"] == []
    assert other.json_here("status") == {"corpora": []}


def test_a_sync_that_nobody_works_on_says_so_soon(headwater: CommandLine, tmp_path: Path) -> None:
    folder = files(tmp_path / "docs", {"a.md": "# Alpha\n"})
    begun = time.monotonic()
    ended = headwater.run_here("sync", "folder", folder, "--corpus", CORPUS, "--json")
    assert time.monotonic() - begun < 10
    assert (ended.status, ended.out) == (1, "")
    assert "headwater-control, headwater-io, headwater-embed, headwater-db" in ended.err
    assert "start workers there with `headwater worker`" in ended.err


def test_a_request_that_nobody_works_on_says_so_soon(
    headwater: CommandLine, store_only: CommandLine, database: str
) -> None:
    with Store.open(database) as store:
        scopes.ensure_scope(store, Scope.parse(CORPUS), SPACE)
    begun = time.monotonic()
    for command in (("source", "delete", "a"), ("source", "grant", "a", "--grant", "everyone"), ("reindex",)):
        ended = headwater.run_here(*command, "--corpus", CORPUS, "--json")
        assert (ended.status, ended.out) == (1, "")
        assert "Nobody polls the task queue(s) headwater-control, " in ended.err
        assert ("headwater-embed" in ended.err) is (command == ("reindex",))
    assert time.monotonic() - begun < 3 * 10
    ended = store_only.run_here("source", "delete", "a", "--corpus", CORPUS)
    assert ended.status == 2
    assert "set TEMPORAL_ADDRESS" in ended.err


def test_a_root_that_only_workers_see_is_not_taken_for_gone(headwater: CommandLine, tmp_path: Path) -> None:
    folder = files(tmp_path / "docs", {"a.md": "# Alpha\n"})
    sync = ("--corpus", CORPUS, "--name", "docs", "--grant", "everyone")
    unattended = headwater.run_here("sync", "folder", "/documents-of-workers", *sync)
    assert unattended.status == 1, unattended.err
    for _again in range(2):
        ended = headwater.run_here("sync", "folder", folder, *sync)
        assert ended.status == 2
        assert "root at /documents-of-workers, and only its workers can see whether that is gone" in ended.err
    assert headwater.run_here("sync", "folder", "/documents-of-workers", *sync).status == 1


def test_workers_of_separate_roles_do_the_work(headwater: CommandLine, tmp_path: Path) -> None:
    folder = files(tmp_path / "docs", {"a.md": "# Alpha\n\nThe first letter.\n"})
    sync = ("sync", "folder", folder, "--corpus", CORPUS, "--grant", "everyone")
    with (
        headwater.running("worker", "--role", "control", "--role", "db") as thinking,
        headwater.running("worker", "--role", "io", "--role", "embed") as working,
    ):
        assert "control, db" in thinking.said("Ctrl-C stops")
        assert "io, embed" in working.said("Ctrl-C stops")
        assert headwater.json(*sync)["upserted"] == 1
        assert headwater.json_here("search", "letter", "--corpus", CORPUS, "--as", "alice")["hits"] != []
        assert headwater.json_here("doctor")["ok"]

        unseen = headwater.run_here("sync", "folder", "/nowhere/that/exists", "--corpus", CORPUS, "--grant", "everyone")
        assert unseen.status == 1
        assert "/nowhere/that/exists" in unseen.err
        assert headwater.json_here("status")["corpora"][0]["sources"] == 1
        for worker in (thinking, working):
            worker.process.terminate()
        ends = [thinking.ended(), working.ended()]
    assert [ended.status for ended in ends] == [0, 0]
    assert not headwater.home.exists()


def test_services_that_are_away_are_named_without_a_password(store_only: CommandLine, tmp_path: Path) -> None:
    away = store_only.with_variables(HEADWATER_DATABASE_URL="postgresql://me:hidden@127.0.0.1:1/db")
    ended = away.run_here("status", "--json")
    assert (ended.status, ended.out) == (1, "")
    assert "check HEADWATER_DATABASE_URL" in ended.err
    assert "hidden" not in ended.err

    folder = files(tmp_path / "docs", {"a.md": "# Alpha\n"})
    ended = store_only.with_variables(TEMPORAL_ADDRESS="127.0.0.1:1").run_here(
        "sync", "folder", folder, "--corpus", CORPUS
    )
    assert ended.status == 1
    assert "Temporal at 127.0.0.1:1 does not answer" in ended.err
    assert ended.err.count("\n") <= 2, ended.err

    found = {check["name"]: check for check in away.run_here("doctor", "--json").json["checks"]}
    assert found["services"]["status"] == "fault" if "services" in found else found["postgres"]["status"] == "fault"
    assert all(check["advice"] for check in found.values() if check["status"] == "fault")


def test_a_wrong_setting_is_wrong_usage_and_a_fault(store_only: CommandLine) -> None:
    wrong = store_only.with_variables(HEADWATER_CHUNK_SIZE="many", HEADWATER_EMBEDER="hash:8")
    ended = wrong.run("status")
    assert ended.status == 2
    assert ended.err.startswith("headwater: HEADWATER_CHUNK_SIZE is not usable")
    ended = wrong.run_here("doctor", "--json")
    assert ended.status == 1
    assert [check["name"] for check in ended.json["checks"] if check["status"] == "fault"] == ["settings"]
    shown = store_only.with_variables(HEADWATER_EMBEDER="hash:8").json_here("config")
    assert shown["unknown"] == ["HEADWATER_EMBEDER is not a setting; HEADWATER_EMBEDDER is."]
    assert {row["name"]: row["value"] for row in shown["settings"]}["HEADWATER_DATABASE_URL"] == "(hidden)"
