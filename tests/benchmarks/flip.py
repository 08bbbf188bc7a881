"""Flip and rollback of a corpus with 10,000 sources, next to the rows that they write; and how fast a build is copied."""

import asyncio
import contextlib
from collections.abc import Iterator
from statistics import median
from time import perf_counter
from typing import Final

import psycopg

from activities.store import Store
from activities.store.builds import builds, green, slabs
from activities.store.generations import set_generation
from activities.store.migrate import migrate
from activities.store.scopes import SpaceSpec, ensure_scope
from headwater.models import Scope
from tests.benchmarks.measuring import Figure, Reading
from tests.benchmarks.options import Options
from tests.benchmarks.site import SCHEMA, running_servers

SOURCES: Final = 10_000
CHUNKS: Final = 3  # of each
FLIP_MS: Final = 50.0
SCOPE: Final = Scope(tenant_id="t1", resource_id="bench", corpus_id="flip")
SPACE: Final = SpaceSpec("hash:64", "hash", 64, 512, "chars/1 size=1000 overlap=100 tokens=any")


async def measure(options: Options) -> Figure:
    async with running_servers() as servers:
        return await asyncio.to_thread(_measure, servers.services.database_url, max(options.pairs, 5))


def _measure(url: str, times: int) -> Figure:
    migrate(url, SCHEMA)
    with Store.open(url, schema=SCHEMA) as store:
        live = ensure_scope(store, SCOPE, SPACE)
        _fill(store, live.scope_id, live.build_id)
        started = perf_counter()
        begun = builds.begin_build(store, SCOPE, space=None, large_chunks=1)
        slabs.ensure_slab(store, begun.slab)
        listing_s, copying_s = _copy_all(store, begun.build_id)
        indexing = perf_counter()
        slabs.index_slab(store, begun.slab, dimensions=SPACE.dimensions)
        ended = perf_counter()
        flips, locks, rollbacks, bare = [], [], [], []
        for _ in range(times):
            before = perf_counter()
            flipped = builds.flip_build(store, begun.build_id)
            flips.append(perf_counter() - before)
            assert flipped.generation is not None
            assert builds.built_size(store, begun.build_id) == (SOURCES, SOURCES * CHUNKS)
            before = perf_counter()
            set_generation(store, SCOPE, flipped.generation - 1)
            rollbacks.append(perf_counter() - before)
            bare.append(_bare(store, live.scope_id, live.build_id))
            _forget_flip(store, begun.build_id)
            with _waiting(url) as waited:  # by itself: who asks and is timed are one process
                flipped = builds.flip_build(store, begun.build_id)
            locks.append(max(waited))
            assert flipped.generation is not None
            set_generation(store, SCOPE, flipped.generation - 1)
            _forget_flip(store, begun.build_id)
    return Figure(
        f"Flip of {SOURCES:,} sources, {times} times",
        [
            Reading("flip, with the look at whether the build is level", median(flips) * 1e3, "ms", at_most=FLIP_MS),
            Reading("  of it, what another writer of the corpus waits at most", median(locks) * 1e3, "ms"),
            Reading("rollback over it", median(rollbacks) * 1e3, "ms", at_most=FLIP_MS),
            Reading("  the bare rows of a flip", median(bare) * 1e3, "ms"),
            Reading("copying a build, for each chunk", copying_s / (SOURCES * CHUNKS) * 1e3, "ms"),
            Reading("  listing all that it lacks", listing_s * 1e3, "ms"),
            Reading("  the index at the end, for each chunk", (ended - indexing) / (SOURCES * CHUNKS) * 1e3, "ms"),
            Reading("  all of it", ended - started, "s"),
        ],
    )


def _fill(store: Store, scope_id: int, build_id: int) -> None:
    """Sources with one version each, published at generation 1."""
    with store.connection() as connection, connection.transaction():
        connection.execute(_SOURCES, {"scope_id": scope_id, "sources": SOURCES})
        for statement in (_VERSIONS, _REVISIONS, _SPANS, _CHUNKS, _POINTER):
            connection.execute(statement, {"scope_id": scope_id, "build_id": build_id, "chunks": CHUNKS})


def _copy_all(store: Store, build_id: int) -> tuple[float, float]:
    started = perf_counter()
    listed = green.list_missing(store, build_id, round_no=1, hold=False)
    begun = perf_counter()
    for seq in range(listed.first_seq, listed.last_seq + 1):
        page = green.green_page(store, build_id, seq)
        assert page is not None
        green.copy_page(store, page)
        green.publish_green(store, page.page_id, build_id)
    return begun - started, perf_counter() - begun


@contextlib.contextmanager
def _waiting(url: str) -> Iterator[list[float]]:
    """How long others wait for the corpus's lock meanwhile, one of them asking again and again."""
    import threading

    waited = [0.0]
    stop = threading.Event()

    def ask() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            while not stop.is_set():
                before = perf_counter()
                with connection.transaction():
                    connection.execute("SELECT FROM headwater.scope FOR NO KEY UPDATE")
                waited.append(perf_counter() - before)
                stop.wait(0.001)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield waited
    finally:
        stop.set()
        asking.join()


def _bare(store: Store, scope_id: int, build_id: int) -> float:
    """What a flip writes, and nothing that it looks at; undone afterwards."""
    with store.connection() as connection, connection.transaction(force_rollback=True):
        before = perf_counter()
        connection.execute("SELECT FROM headwater.scope WHERE scope_id = %s FOR NO KEY UPDATE", (scope_id,))
        connection.execute("UPDATE headwater.build SET ended_at = now() WHERE build_id = %s", (build_id,))
        connection.execute("UPDATE headwater.scope SET live_gen = head_gen WHERE scope_id = %s", (scope_id,))
        connection.execute(
            "INSERT INTO headwater.pointer_log (scope_id, build_id, gen, kind) VALUES (%s, %s, 0, 'flip')",
            (scope_id, build_id),
        )
        return perf_counter() - before


def _forget_flip(store: Store, build_id: int) -> None:
    """The build is one that is being made, as it was before it was flipped to."""
    with store.connection() as connection, connection.transaction():
        connection.execute("DELETE FROM headwater.pointer_log WHERE build_id = %s", (build_id,))
        connection.execute("UPDATE headwater.build SET state = 'building' WHERE build_id = %s", (build_id,))


_SOURCES = """
    INSERT INTO headwater.source (scope_id, source_id, revision)
    SELECT %(scope_id)s, 'doc-' || n, 1 FROM generate_series(1, %(sources)s::int) n"""
_VERSIONS = """
    INSERT INTO headwater.document_version (scope_id, source_pk, revision, content_hash, source_seq, text)
    SELECT scope_id, source_pk, 1, sha256(source_id::bytea), 1, repeat(source_id || ' ', 300)
    FROM headwater.source WHERE scope_id = %(scope_id)s"""
_REVISIONS = """
    INSERT INTO headwater.revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, base_gen, n_chunks)
    SELECT scope_id, %(build_id)s, source_pk, version_id, 1, 1, 0, %(chunks)s
    FROM headwater.document_version WHERE scope_id = %(scope_id)s"""
_SPANS = """
    INSERT INTO headwater.span (rev_id, gen_from, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)
    SELECT rev_id, 1, build_id, source_pk, version_id, 1, 1, false FROM headwater.revision WHERE build_id = %(build_id)s"""
_CHUNKS = """
    INSERT INTO headwater.chunk (slab, rev_id, chunk_no, scope_id, start_cp, end_cp, emb, input_sha256, body)
    SELECT 0, r.rev_id, n, r.scope_id, 0, 600,
           (SELECT array_agg(sin(r.rev_id * d + n)) FROM generate_series(1, 64) d)::real[]::halfvec,
           sha256((r.rev_id || ' ' || n)::bytea), repeat('x', 600)
    FROM headwater.revision r CROSS JOIN generate_series(1, %(chunks)s::int) n WHERE r.build_id = %(build_id)s"""
_POINTER = """
    WITH b AS (UPDATE headwater.build SET head_gen = 1 WHERE build_id = %(build_id)s),
    s AS (UPDATE headwater.scope SET head_gen = 1, live_gen = 1 WHERE scope_id = %(scope_id)s)
    INSERT INTO headwater.pointer_log (scope_id, build_id, gen, kind, sources) VALUES (%(scope_id)s, %(build_id)s, 1, 'publish', 1)"""
