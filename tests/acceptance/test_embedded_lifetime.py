"""The servers live exactly as long as some command needs them, however commands, servers and guards end."""

import os
import signal
import sys
from pathlib import Path

import psycopg
import pytest
from temporalio.client import Client

from tests.acceptance.attached import Attached, command
from tests.acceptance.home_processes import guard_of, postgres_of, processes_of, temporal_of, wait_until
from workers.embedded import EmbeddedError, attach, mark_up

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")


def test_a_command_finds_both_servers_and_leaves_nothing_running(home: Path) -> None:
    with attach(home) as services:
        assert _select(services.database_url) == 1
        assert postgres_of(home) and temporal_of(home) and guard_of(home)
    assert processes_of(home) == {}
    assert not (home / "services.json").exists()


def test_temporal_starts_when_the_first_command_needs_it(home: Path) -> None:
    with attach(home, temporal=False) as first:
        assert first.temporal_address is None
        assert temporal_of(home) is None
        with attach(home) as second:
            assert second.database_url == first.database_url
            assert second.temporal_address
            assert temporal_of(home)


def test_commands_at_once_share_one_pair_of_servers_and_the_last_one_ends_it(home: Path) -> None:
    started = [Attached(home, temporal=temporal) for temporal in (False, True, True)]
    addresses = {attached.attached()["database_url"] for attached in started}
    assert len(addresses) == 1
    assert temporal_of(home)
    for attached in started:
        assert _answers(*addresses)
        attached.leave()
    assert processes_of(home) == {}


def test_a_guard_that_is_told_to_end_takes_its_servers_with_it(home: Path) -> None:
    with command(home):
        guard = guard_of(home)
        assert guard
        os.kill(guard, signal.SIGTERM)
        wait_until(lambda: guard_of(home) is None and postgres_of(home) is None, "guard and PostgreSQL have ended")


def test_the_servers_end_with_a_command_that_is_killed(home: Path) -> None:
    killed = Attached(home, temporal=True)
    killed.attached()
    killed.kill()
    wait_until(lambda: not processes_of(home), "the servers of the killed command have ended")


def test_a_command_killed_while_starting_leaves_nothing_and_the_next_one_starts(home: Path) -> None:
    killed = Attached(home)
    wait_until(lambda: guard_of(home) is not None, "the guard has been started")
    killed.kill()
    with command(home) as services:
        assert _select(services["database_url"]) == 1


def test_the_servers_end_with_a_killed_guard_and_the_next_command_starts_them(home: Path) -> None:
    left_behind = Attached(home, temporal=True)
    left_behind.attached()
    _kill(guard_of(home))
    with command(home, temporal=True) as services:
        assert _select(services["database_url"]) == 1
        assert postgres_of(home) and temporal_of(home)
    left_behind.leave()


def test_a_killed_postgres_comes_back_on_its_port_with_its_data(home: Path) -> None:
    with attach(home, temporal=False) as services:
        with psycopg.connect(services.database_url, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
        killed = postgres_of(home)
        _kill(killed)
        wait_until(
            lambda: postgres_of(home) not in (None, killed) and _answers(services.database_url), "PostgreSQL is back"
        )
        with psycopg.connect(services.database_url) as connection:
            assert connection.execute("SELECT number FROM kept").fetchone() == (7,)
        assert services.trouble() is None


async def test_a_killed_temporal_comes_back_on_its_address_with_its_data(home: Path) -> None:
    with attach(home) as services:
        assert services.temporal_address
        client = await Client.connect(services.temporal_address)
        await client.start_workflow("Unknown", id="kept", task_queue="nobody")
        killed = temporal_of(home)
        _kill(killed)
        wait_until(lambda: temporal_of(home) not in (None, killed), "Temporal is being started again")
        # The client that was connected before tries again until its call is answered.
        assert (await client.get_workflow_handle("kept").describe()).id == "kept"


def test_a_server_that_cannot_come_back_is_explained_until_it_can(home: Path) -> None:
    version, hidden = home / "postgres" / "PG_VERSION", home / "hidden"
    with attach(home, temporal=False) as services:
        version.rename(hidden)
        _kill(postgres_of(home))
        wait_until(lambda: services.trouble() is not None, "the guard has tried")
        with pytest.raises(EmbeddedError, match="PostgreSQL did not start on"), attach(home, temporal=False):
            pytest.fail("attached to a server that is not there")
        hidden.rename(version)
        wait_until(lambda: services.trouble() is None, "the guard has tried again")
        assert _select(services.database_url) == 1


def test_a_host_finds_the_servers_where_they_were_last_time(home: Path) -> None:
    with attach(home, temporal=False) as services:
        before = services.database_url
    with attach(home, temporal=False) as services:
        assert services.database_url == before


def test_at_most_one_up_runs_and_other_commands_see_it(home: Path) -> None:
    with attach(home, temporal=False) as services:
        assert not services.has_running_up
        with mark_up(home):
            assert services.has_running_up
            with pytest.raises(EmbeddedError, match="already runs on"), mark_up(home):
                pytest.fail("a second `headwater up`")
        assert not services.has_running_up


def _kill(pid: int | None) -> None:
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def _select(address: str) -> int:
    with psycopg.connect(address) as connection:
        row = connection.execute("SELECT 1").fetchone()
    assert row is not None
    return int(row[0])


def _answers(address: str) -> bool:
    try:
        return _select(address) == 1
    except psycopg.OperationalError:
        return False
