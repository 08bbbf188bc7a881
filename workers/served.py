"""What the worker of each role serves: the tools are built here, and handed to the activities that use them."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Final

from activities.accept_ingest import IngestKeeper
from activities.begin_reindex import ReindexBeginner
from activities.collect_garbage import GarbageCollector
from activities.connectors import WorkersConnectors
from activities.delete_sources import SourceDeleter
from activities.embed_batch import BatchEmbedder
from activities.embedder_source import EmbedderSource
from activities.keep_build import BuildKeeper
from activities.keep_pass import PassKeeper
from activities.keep_request import RequestKeeper
from activities.list_page import PageLister
from activities.parsers.pool import ParserPool
from activities.prepare_page import PagePreparer
from activities.propagate_deletion import DeletionPropagator
from activities.publish_page import PagePublisher
from activities.read_document import readers
from activities.remove_connector import ConnectorRemover
from activities.remove_schedule import remove_schedule
from activities.repoint import SourceMover
from activities.restage_page import PageRestager
from activities.set_access import AccessKeeper
from activities.set_generation import PointerMover
from activities.stage_green import GreenStager
from activities.store import Store
from activities.telemetry import Tell
from activities.try_connector import ConnectorTrier
from workers.options import WorkerOptions
from workflows.collect_garbage import CollectGarbage
from workflows.collect_tick import CollectTick
from workflows.delete_sources import DeleteSources
from workflows.ingest_sources import IngestSources
from workflows.propagate_deletion import PropagateDeletion
from workflows.reindex_corpus import ReindexCorpus
from workflows.remove_connector import RemoveConnector
from workflows.rename_sources import RenameSources
from workflows.repoint_source import RepointSource
from workflows.retire_build import RetireBuild
from workflows.set_generation import SetGeneration
from workflows.set_source_access import SetSourceAccess
from workflows.sync_corpus import SyncCorpus
from workflows.sync_tick import SyncTick
from workflows.try_connector import TryConnector

Activities = Sequence[Callable[..., Any]]

WORKFLOWS: Final[Sequence[type]] = (
    SyncCorpus,
    SyncTick,
    IngestSources,
    SetSourceAccess,
    DeleteSources,
    PropagateDeletion,
    RepointSource,
    RenameSources,
    ReindexCorpus,
    RetireBuild,
    SetGeneration,
    CollectGarbage,
    CollectTick,
    RemoveConnector,
    TryConnector,
)


def io_activities(
    store: Store,
    embedders: EmbedderSource,
    options: WorkerOptions,
    tools: contextlib.ExitStack,
    *,
    tell: Tell | None = None,
) -> Activities:
    """Listing, reading and cutting, and what loads an embedder to decide. ``tools`` closes what was opened for it."""
    pool = ParserPool(options.cores)
    tools.callback(pool.close)
    connectors = WorkersConnectors()
    tools.callback(connectors.close)
    parsers = readers(options.max_document_bytes)
    beginner = ReindexBeginner(
        store,
        embedders,
        embedder=options.embedder,
        size=options.chunk_size,
        overlap=options.chunk_overlap,
        language=options.language,
        large_chunks=options.partition_chunks,
        keep_days=options.keep_days,
    )
    return (
        PageLister(store, parsers=parsers, connectors=connectors, tell=tell).list_page,
        PagePreparer(store, embedders, pool, max_bytes=options.max_document_bytes, connectors=connectors).prepare_page,
        _ingest_keeper(store, embedders, options).accept_ingest,
        PageRestager(store, embedders).restage_page,
        beginner.begin_reindex,
        GreenStager(store, embedders).stage_green,
        BuildKeeper(store).index_slab,
        ConnectorTrier(store, make=connectors).try_connector,
    )


def embed_activities(store: Store, embedders: EmbedderSource, *, tell: Tell | None = None) -> Activities:
    """What the model works for."""
    return (BatchEmbedder(store, embedders, tell=tell).embed_batch,)


def db_activities(
    store: Store, embedders: EmbedderSource, options: WorkerOptions, *, tell: Tell | None = None
) -> Activities:
    """Short transactions."""
    passes, requests, builds = PassKeeper(store), RequestKeeper(store), BuildKeeper(store, tell=tell)
    propagator = DeletionPropagator(
        store, service_principals=options.service_principals, handlers=options.deletion_handlers
    )
    mover = SourceMover(store, service_principals=options.service_principals, handlers=options.repoint_handlers)
    remover = ConnectorRemover(store)
    collector = GarbageCollector(
        store,
        keep_generations=options.keep_generations,
        keep_days=options.keep_days,
        partition_chunks=options.partition_chunks,
    )
    return (
        passes.begin_pass,
        passes.advance_checkpoint,
        passes.end_pass,
        PagePublisher(store, tell=tell).publish_page,
        requests.begin_request,
        requests.end_request,
        _ingest_keeper(store, embedders, options).end_ingest,
        AccessKeeper(store).set_access,
        SourceDeleter(store).delete_sources,
        propagator.propagate_deletion,
        propagator.remove_rag,
        propagator.note_layer,
        mover.move_page,
        mover.note_failed_move,
        builds.list_green,
        builds.publish_green,
        builds.flip_build,
        builds.abort_reindex,
        builds.retire_build,
        PointerMover(store).set_generation,
        collector.collect_page,
        collector.list_scopes,
        collector.list_outgrown,
        remover.begin_removal,
        remover.sweep_page,
        remover.keep_sources,
        remover.drop_connector,
        remove_schedule,
    )


def _ingest_keeper(store: Store, embedders: EmbedderSource, options: WorkerOptions) -> IngestKeeper:
    return IngestKeeper(
        store,
        embedders,
        embedder=options.embedder,
        chunk_size=options.chunk_size,
        chunk_overlap=options.chunk_overlap,
        language=options.language,
    )
