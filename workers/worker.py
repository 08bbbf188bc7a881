"""Runs one Temporal worker for each role, on what `served` gives it."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Final

from temporalio.client import Client
from temporalio.worker import Worker

from activities.embedder_source import EmbedderSource
from activities.store import Store
from activities.telemetry import Tell
from workers.options import WorkerOptions
from workers.payloads import strict
from workers.schedules import ensure_collecting
from workers.served import WORKFLOWS, Activities, db_activities, embed_activities, io_activities
from workers.tenant_guard import tenant_guards
from workflows import queues
from workflows.sync_tick import SyncTick

# Time for what is under way to reach its next commit; the next worker goes on from there.
GRACEFUL: Final = timedelta(seconds=30)
# Heartbeats bring a cancellation back; the default holds them back for most of their timeout.
HEARTBEAT_THROTTLE: Final = timedelta(seconds=1)

# How long a workflow waits for the worker that has it in memory before another one may read its history, which is short.
# The default is 10 s, and a sync stood still for as long after every restart.
STICKY: Final = timedelta(seconds=1)


@contextlib.asynccontextmanager
async def running_workers(
    client: Client, store: Store, options: WorkerOptions, *, embedders: EmbedderSource | None = None
) -> AsyncIterator[Sequence[Worker]]:
    """Workers for ``options.roles``, polling until the block is left; then they finish what is under way."""
    with contextlib.ExitStack() as tools:
        workers = _workers(strict(client), store, options, embedders or EmbedderSource(), tools)
        async with contextlib.AsyncExitStack() as running:
            for worker in workers:
                await running.enter_async_context(worker)
            if "control" in options.roles and options.collect_every is not None:
                await ensure_collecting(client, every=options.collect_every, tenants=options.tenants)
            yield workers


def _workers(
    client: Client, store: Store, options: WorkerOptions, embedders: EmbedderSource, tools: contextlib.ExitStack
) -> list[Worker]:
    tell = _tell(options, tools)

    def serve(queue: str, slots: int, activities: Activities) -> Worker:
        executor = tools.enter_context(ThreadPoolExecutor(slots, thread_name_prefix=queue))
        return Worker(
            client,
            task_queue=queue,
            activities=activities,
            activity_executor=executor,
            max_concurrent_activities=slots,
            interceptors=tenant_guards(options.tenants),
            graceful_shutdown_timeout=GRACEFUL,
            max_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
            default_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
        )

    workers: list[Worker] = []
    if "control" in options.roles:
        control = Worker(
            client,
            task_queue=queues.CONTROL,
            workflows=WORKFLOWS,
            sticky_queue_schedule_to_start_timeout=STICKY,
        )
        workers.append(control)
        if options.serves_schedules:
            workers.append(Worker(client, task_queue=queues.TICKS, workflows=[SyncTick]))
    if "io" in options.roles:
        workers.append(serve(queues.IO, 8, io_activities(store, embedders, options, tools, tell=tell)))
    if "embed" in options.roles:
        workers.append(serve(queues.EMBED, options.cores, embed_activities(store, embedders, tell=tell)))
    if "db" in options.roles:
        workers.append(serve(queues.DB, 4, db_activities(store, embedders, options, tell=tell)))
    return workers


def _tell(options: WorkerOptions, tools: contextlib.ExitStack) -> Tell | None:
    if options.otlp_endpoint is None:
        return None
    from workers.otlp import telling_to  # an extra: for those alone who ask for it

    return tools.enter_context(telling_to(options.otlp_endpoint))
