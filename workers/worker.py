"""Builds the tools, hands them to the activities, and runs one Temporal worker for each role."""

import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from temporalio.client import Client
from temporalio.worker import Worker

from activities.accept_ingest import IngestKeeper
from activities.begin_reindex import ReindexBeginner
from activities.collect_garbage import GarbageCollector
from activities.contracts.deletion import Handler
from activities.delete_sources import SourceDeleter
from activities.embed_batch import BatchEmbedder
from activities.embedder_source import EmbedderSource
from activities.keep_build import BuildKeeper
from activities.keep_pass import PassKeeper
from activities.keep_request import RequestKeeper
from activities.list_page import PageLister
from activities.parsers import CURRENT
from activities.parsers.pool import ParserPool
from activities.prepare_page import PagePreparer
from activities.propagate_deletion import DeletionPropagator
from activities.publish_page import PagePublisher
from activities.read_document import FETCHER, size_limit
from activities.restage_page import PageRestager
from activities.set_access import AccessKeeper
from activities.set_generation import PointerMover
from activities.stage_green import GreenStager
from activities.store import Store
from workers.cores import usable_cores
from workers.schedules import ensure_collecting
from workers.tenant_guard import tenant_guards
from workflows import queues
from workflows.collect_garbage import CollectGarbage
from workflows.collect_tick import CollectTick
from workflows.delete_sources import DeleteSources
from workflows.ingest_sources import IngestSources
from workflows.propagate_deletion import PropagateDeletion
from workflows.reindex_corpus import ReindexCorpus
from workflows.retire_build import RetireBuild
from workflows.set_generation import SetGeneration
from workflows.set_source_access import SetSourceAccess
from workflows.sync_corpus import SyncCorpus

ROLES: Final = ("control", "io", "embed", "db")
# Time for what is under way to reach its next commit; the next worker goes on from there.
GRACEFUL: Final = timedelta(seconds=30)
# Heartbeats bring a cancellation back; the default holds them back for most of their timeout.
HEARTBEAT_THROTTLE: Final = timedelta(seconds=1)

# How long a workflow waits for the worker that has it in memory before another one may read its history, which is short.
# The default is 10 s, and a sync stood still for as long after every restart.
STICKY: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What varies between deployments."""

    max_document_bytes: int
    embedder: str = "hash:384"  # of new corpora and re-indexes
    chunk_size: int = 1000
    chunk_overlap: int = 100
    tenants: Collection[str] = ()
    service_principals: Collection[tuple[str, str]] = ()  # (tenant, principal): may act on sources without a grant
    deletion_handlers: Sequence[Handler] = ()  # of hosts, for what they derived from sources; in this order
    keep_generations: int = 100
    keep_days: float = 7.0
    collect_every: timedelta | None = None  # None: no schedule of these workers' making
    partition_chunks: int = 20_000  # from this many on, a build gets a partition of its own
    roles: Collection[str] = ROLES
    cores: int = field(default_factory=usable_cores)


@contextlib.asynccontextmanager
async def running_workers(
    client: Client, store: Store, options: WorkerOptions, *, embedders: EmbedderSource | None = None
) -> AsyncIterator[Sequence[Worker]]:
    """Workers for ``options.roles``, polling until the block is left; then they finish what is under way."""
    with contextlib.ExitStack() as tools:
        workers = _workers(client, store, options, embedders or EmbedderSource(), tools)
        async with contextlib.AsyncExitStack() as running:
            for worker in workers:
                await running.enter_async_context(worker)
            if "control" in options.roles and options.collect_every is not None:
                await ensure_collecting(client, every=options.collect_every, tenants=options.tenants)
            yield workers


def _workers(
    client: Client, store: Store, options: WorkerOptions, embedders: EmbedderSource, tools: contextlib.ExitStack
) -> list[Worker]:
    parsers = CURRENT | {FETCHER, size_limit(options.max_document_bytes)}

    def serve(queue: str, slots: int, methods: Sequence[Callable[..., Any]]) -> Worker:
        executor = tools.enter_context(ThreadPoolExecutor(slots, thread_name_prefix=queue))
        return Worker(
            client,
            task_queue=queue,
            activities=methods,
            activity_executor=executor,
            max_concurrent_activities=slots,
            interceptors=tenant_guards(options.tenants),
            graceful_shutdown_timeout=GRACEFUL,
            max_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
            default_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
        )

    workers: list[Worker] = []
    if "control" in options.roles:
        workers.append(
            Worker(
                client,
                task_queue=queues.CONTROL,
                workflows=[
                    SyncCorpus,
                    IngestSources,
                    ReindexCorpus,
                    RetireBuild,
                    SetSourceAccess,
                    DeleteSources,
                    PropagateDeletion,
                    SetGeneration,
                    CollectGarbage,
                    CollectTick,
                ],
                sticky_queue_schedule_to_start_timeout=STICKY,
            )
        )
    if "io" in options.roles:
        pool = ParserPool(options.cores)
        tools.callback(pool.close)
        lister = PageLister(store, parsers=parsers)
        preparer = PagePreparer(store, embedders, pool, max_bytes=options.max_document_bytes)
        beginner = ReindexBeginner(
            store,
            embedders,
            embedder=options.embedder,
            size=options.chunk_size,
            overlap=options.chunk_overlap,
            large_chunks=options.partition_chunks,
            keep_days=options.keep_days,
        )
        reindexing = [
            beginner.begin_reindex,
            GreenStager(store, embedders).stage_green,
            PageRestager(store, embedders).restage_page,
            BuildKeeper(store).index_slab,
        ]
        pushed = _ingest_keeper(store, embedders, options)
        workers.append(
            serve(queues.IO, 8, [*reindexing, pushed.accept_ingest, lister.list_page, preparer.prepare_page])
        )
    if "embed" in options.roles:
        workers.append(serve(queues.EMBED, options.cores, [BatchEmbedder(store, embedders).embed_batch]))
    if "db" in options.roles:
        keeper, publisher, requests = PassKeeper(store), PagePublisher(store), RequestKeeper(store)
        propagator = DeletionPropagator(
            store, service_principals=options.service_principals, handlers=options.deletion_handlers
        )
        builds = BuildKeeper(store)
        collector = GarbageCollector(
            store,
            keep_generations=options.keep_generations,
            keep_days=options.keep_days,
            partition_chunks=options.partition_chunks,
        )
        methods: list[Callable[..., Any]] = [
            builds.list_green,
            builds.publish_green,
            builds.flip_build,
            builds.abort_reindex,
            builds.retire_build,
            _ingest_keeper(store, embedders, options).end_ingest,
            AccessKeeper(store).set_access,
            PointerMover(store).set_generation,
            collector.collect_page,
            collector.list_scopes,
            collector.list_outgrown,
            SourceDeleter(store).delete_sources,
            propagator.propagate_deletion,
            propagator.remove_rag,
            propagator.note_layer,
            keeper.begin_pass,
            keeper.advance_checkpoint,
            keeper.end_pass,
            publisher.publish_page,
            requests.begin_request,
            requests.end_request,
        ]
        workers.append(serve(queues.DB, 4, methods))
    return workers


def _ingest_keeper(store: Store, embedders: EmbedderSource, options: WorkerOptions) -> IngestKeeper:
    return IngestKeeper(
        store,
        embedders,
        embedder=options.embedder,
        chunk_size=options.chunk_size,
        chunk_overlap=options.chunk_overlap,
    )
