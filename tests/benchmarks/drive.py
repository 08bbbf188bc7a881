"""(n) Drive: a first sync of many files with small pages, and what it costs to see one change afterwards."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from temporalio.client import WorkflowHandle

from activities.connectors.drive.config import DriveConfig
from activities.store.connectors import ensure_connector
from activities.store.scopes import SpaceSpec, ensure_scope
from headwater.chunking.profile import ChunkingProfile
from headwater.contracts import SyncResult
from headwater.models import Scope
from headwater.workflow_ids import sync_workflow_id
from tests.benchmarks.measuring import Figure, Reading, peak_memory_mb
from tests.benchmarks.options import Options
from tests.benchmarks.site import Site, running_servers, scratch_folder
from tests.benchmarks.worker_process import resolve
from tests.drive.clock import Clock
from tests.drive.modes import Modes
from tests.drive.serving import RunningDrive, running_drive
from tests.drive.world import World
from workflows import queues

EMBEDDER: Final = "hash:64"  # the model's memory and time are figures of their own
SCOPE: Final = Scope(tenant_id="t1", resource_id="bench", corpus_id="n")
OWNER, ROBOT = "ada@a.test", "robot@b.test"
PER_FOLDER: Final = 100
PER_ANSWER: Final = 20  # of the files that there are, as Drive may do at any time

MEMORY_MB: Final = 350.0
REQUESTS_PER_FILE: Final = 4.0
FILES_PER_S: Final = 20.0
EVENTS: Final = 10_000.0  # Temporal warns from 10,240 on
REQUESTS_OF_A_CHANGE: Final = 10.0
SECONDS_OF_A_CHANGE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What one sync took."""

    seconds: float
    requests: int
    events: int


async def measure(options: Options) -> Figure:
    files = options.drive_files
    with scratch_folder() as scratch, running_drive(_world(files)) as drive:
        async with running_servers() as servers:
            with servers.site() as site:
                await site.warm_up(scratch, embedder=EMBEDDER)
                before_mb = peak_memory_mb(site.worker_pid)
                _register(site, drive, scratch)
                first = await _sync(site, drive, published=files)
                peak_mb = peak_memory_mb(site.worker_pid)
                changes = [await _after_one_change(site, drive, number) for number in range(options.pairs)]
    most = max(change.requests for change in changes)
    return Figure(
        f"(n) Drive: {files:,} files in folders of {PER_FOLDER}, {PER_ANSWER} an answer; then one change, {options.pairs} times",
        [
            Reading("peak memory of the workers", peak_mb, "MB", at_most=MEMORY_MB, digits=0),
            Reading("  before, after a small sync", before_mb, "MB", digits=0),
            Reading("the first sync", first.seconds, "s", digits=1),
            Reading("  files", files / first.seconds, "per s", at_least=FILES_PER_S, digits=0),
            Reading("  requests", first.requests / files, "per file", at_most=REQUESTS_PER_FILE),
            Reading("  its longest history", first.events, "events", at_most=EVENTS, digits=0),
            Reading("a sync after one change, requests", most, "", at_most=REQUESTS_OF_A_CHANGE, digits=0),
            Reading("  p50", median(each.seconds for each in changes), "s", at_most=SECONDS_OF_A_CHANGE),
        ],
    )


def _world(files: int) -> World:
    """A folder of folders, for an account that may share all of it."""
    world = World(clock=Clock(follow_real_time=True), modes=Modes(page_cap=PER_ANSWER))
    for email in (OWNER, ROBOT):
        world.add_user(email)
    top = world.add_folder("Top", owner=OWNER, file_id="top").id
    world.share(top, ROBOT, role="writer")
    folder = top
    for number in range(files):
        if number % PER_FOLDER == 0:
            folder = world.add_folder(f"folder {number // PER_FOLDER}", parent=top, owner=OWNER).id
        world.add_file(f"{number}.txt", _text(number), parent=folder, owner=OWNER, file_id=_id(number))
    return world


def _id(number: int) -> str:
    return f"file-{number:06}"


def _text(number: int, edition: int = 0) -> str:
    return f"Document {number}, edition {edition}. It says little, so that what is measured is everything around it."


def _register(site: Site, drive: RunningDrive, scratch: Path) -> None:
    model = resolve(EMBEDDER)
    space = SpaceSpec(
        embedder_spec=EMBEDDER,
        embedder_identity=model.identity,
        dimensions=model.dimensions,
        max_tokens=model.max_tokens,
        chunker=ChunkingProfile.for_embedder(model).fingerprint,
    )
    build = ensure_scope(site.store, SCOPE, space)
    key = drive.authorized_user_file(scratch, ROBOT)
    config = DriveConfig.parse({"folder_ids": ["top"], "credentials": str(key), "root_url": f"{drive.url}/"})
    ensure_connector(site.store, build.scope_id, "drive", "drive", config.to_config(), new_rule=False)


async def _after_one_change(site: Site, drive: RunningDrive, number: int) -> Cost:
    drive.world.write(_id(number), _text(number, edition=1))
    return await _sync(site, drive, published=1)


async def _sync(site: Site, drive: RunningDrive, *, published: int) -> Cost:
    """One sync, as often as Drive was asked meanwhile. The token endpoint is not counted."""
    site.checkpoint()
    before, begins = drive.log.mark(), time.monotonic()
    workflow_id = sync_workflow_id(SCOPE, "drive")
    handle: WorkflowHandle[Any, SyncResult] = await site.client.start_workflow(
        "SyncCorpus",
        {"scope": SCOPE.model_dump(), "connector": "drive"},
        id=workflow_id,
        task_queue=queues.CONTROL,
        result_type=SyncResult,
    )
    result = await handle.result()
    took = time.monotonic() - begins
    assert (result.upserted, result.failed, result.withheld) == (published, 0, 0), json.dumps(result.model_dump())
    return Cost(took, drive.log.count(since=before), await _longest_history(site, workflow_id))


async def _longest_history(site: Site, workflow_id: str) -> int:
    """Of a long sync's runs, each of which goes on where the one before ended."""
    runs = [run async for run in site.client.list_workflows(f"WorkflowId = '{workflow_id}'")]
    return max((run.history_length for run in runs), default=0)
