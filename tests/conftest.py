"""A real PostgreSQL for the whole session, and a database of its own for each test that asks for one."""

import asyncio
import contextlib
import gc
import itertools
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError

from activities.store import migrate
from tests.throwaway import throwaway_folder
from workers.guard.account import can_reach, server_account
from workers.guard.binaries import TEMPORAL_IS_MISSING, copy_postgres, postgres_programs, temporal_program
from workers.guard.home import Home
from workers.guard.postgres import Postgres
from workers.guard.temporal import TemporalServer

# Nothing a test writes has to survive the machine.
_FAST = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=200", "max_wal_size=256MB")
_SCHEMA = "headwater"

# How long an example takes says something of the machine, and of what else it does. Several processes run tests here.
settings.register_profile("here", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("here")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A name that holds an object's address is another one in each process, and nothing runs in several."""
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid} has an address in its name: give the parameter an id.")


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay to the end. Looking through all of them again and again took a twentieth of the time."""
    gc.freeze()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of an empty server's superuser. Stopped at the end, and with us if we are killed."""
    with throwaway_folder("headwater-tests-") as place, tempfile.TemporaryDirectory(prefix="headwater-tests-") as named:
        folder = Path(named)
        programs, account = postgres_programs(), server_account(folder)
        if account:
            for each in (place, folder):
                each.chmod(0o711)
            if not can_reach(account, programs.install):
                programs = copy_postgres(programs, folder / "programs")
        server = Postgres(programs, place / "data", log=folder / "log", account=account, settings=_FAST)
        server.initialise("test")
        server.start()
        try:
            yield f"postgresql://headwater:test@127.0.0.1:{server.port}/postgres"
        finally:
            server.stop()


@pytest.fixture(scope="session")
def template_db(postgres: str) -> str:
    """The name of a migrated database that is never connected to, so that it can be copied at any time."""
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute('CREATE DATABASE "template"')
    migrate.migrate(_address(postgres, "template"), _SCHEMA)
    return "template"


@pytest.fixture
def database(postgres: str, template_db: str) -> Iterator[str]:
    """The address of a migrated database of this test's own."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute(_CREATE.format(sql.Identifier(name), sql.Identifier(template_db)))
        try:
            yield _address(postgres, name)
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def temporal_server() -> Iterator[str]:
    """The address of a real dev server, as the embedded default starts it."""
    program = temporal_program()
    assert program is not None, TEMPORAL_IS_MISSING
    with throwaway_folder("headwater-tests-") as folder:
        server = TemporalServer(program, Home(folder))
        try:
            server.start()
            yield server.address
        finally:
            server.stop()


@pytest.fixture
async def temporal_client(temporal_server: str) -> AsyncIterator[Client]:
    """A client that speaks the project's payloads. No run outlives the test that began it.

    Tests of a process share a server, the names of the queues and the ids of workflows: whatever is left open would
    hand its steps to the workers of the next test, which has another database.
    """
    client = await Client.connect(temporal_server, data_converter=pydantic_data_converter)
    yield client
    await end_all_runs(client)


async def end_all_runs(client: Client) -> None:
    """Returns when the server names no open run: the listing follows what happens a little later."""
    async with asyncio.timeout(30):
        while open_runs := [run async for run in client.list_workflows("ExecutionStatus = 'Running'")]:
            for run in open_runs:
                with contextlib.suppress(RPCError):  # has ended, and the listing does not know yet
                    await client.get_workflow_handle(run.id, run_id=run.run_id).terminate()


_numbers = itertools.count(1)
_CREATE = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY = FILE_COPY")


def _address(postgres: str, database: str) -> str:
    return postgres.rpartition("/")[0] + "/" + database
