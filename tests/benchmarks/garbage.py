"""Collecting half of a corpus with 10,000 sources, next to the bare DELETEs of the same rows; and what looking for nothing costs."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from statistics import median
from time import perf_counter
from typing import Final

import psycopg

from activities.store import Store
from activities.store.garbage.freeing import Freed
from activities.store.garbage.garbage import Keep, collect, collect_little
from activities.store.migrate import migrate
from activities.store.scopes import SpaceSpec, ensure_scope
from headwater.models import Scope
from tests.acceptance.home_processes import postgres_of
from tests.benchmarks.measuring import Figure, Reading, cpu_s
from tests.benchmarks.options import Options
from tests.benchmarks.site import SCHEMA, running_servers

SOURCES: Final = 10_000
CHUNKS: Final = 5  # of each revision
LOCK_MS: Final = 100.0
LITTLE_MS: Final = 50.0
SPACE: Final = SpaceSpec("hash:64", "hash", 64, 512, "chars/1 size=1000 overlap=100 tokens=any")
KEEP: Final = Keep(generations=0, seconds=0)


async def measure(options: Options) -> Figure:
    async with running_servers() as servers:
        postgres = postgres_of(servers.home)
        assert postgres is not None
        return await asyncio.to_thread(_measure, servers.services.database_url, postgres, min(options.pairs, 3))


def _measure(url: str, postgres: int, times: int) -> Figure:
    migrate(url, SCHEMA)
    bare, collected, locks, nothing, little, ratios = [], [], [], [], [], []
    with Store.open(url, schema=SCHEMA) as store:
        for number in range(times):
            scope = Scope(tenant_id="t1", resource_id="bench", corpus_id=f"garbage-{number}")
            live = ensure_scope(store, scope, SPACE)
            _fill(store, live.scope_id, live.build_id)
            begun = cpu_s(postgres)
            bare.append(_bare(store, live.build_id))
            between = cpu_s(postgres)
            with _waiting(url, live.scope_id) as waited:
                before = perf_counter()
                freed = _collect(store, scope)
                collected.append(perf_counter() - before)
            ratios.append((cpu_s(postgres) - between) / (between - begun))
            locks.append(max(waited))
            assert freed == Freed(revisions=SOURCES, chunks=SOURCES * CHUNKS, documents=SOURCES)
            before = perf_counter()
            assert _collect(store, scope) == Freed()
            nothing.append(perf_counter() - before)
            before = perf_counter()
            assert collect_little(store, scope, KEEP, transactions=50) == Freed()
            little.append(perf_counter() - before)
    rows = SOURCES * (3 + CHUNKS)
    return Figure(
        f"Collecting half of {2 * SOURCES:,} revisions with {CHUNKS} chunks each, {times} times",
        [
            Reading("collecting", rows / median(collected), "rows/s", digits=0),
            Reading("  the bare DELETEs, in one transaction", rows / median(bare), "rows/s", digits=0),
            Reading("  Postgres, to the Postgres of the bare DELETEs", median(ratios), "times its CPU"),
            Reading("  another writer of the corpus waits at most", median(locks) * 1e3, "ms", at_most=LOCK_MS),
            Reading("where there is nothing to collect", median(nothing) * 1e3, "ms"),
            Reading("  of it, what each sync by itself ends with", median(little) * 1e3, "ms", at_most=LITTLE_MS),
        ],
    )


def _collect(store: Store, scope: Scope) -> Freed:
    freed = Freed()
    for progress in collect(store, scope, KEEP):
        freed += progress.freed
    return freed


def _fill(store: Store, scope_id: int, build_id: int) -> None:
    """Sources that were published at generation 1 and replaced at generation 2."""
    key = {"scope_id": scope_id, "build_id": build_id, "sources": SOURCES, "chunks": CHUNKS}
    with store.connection() as connection:
        with connection.transaction():
            for statement in (_SOURCES, _VERSIONS, _REVISIONS, _SPANS, _CHUNKS, _POINTER):
                connection.execute(statement, key)
        connection.execute("ANALYZE")


def _bare(store: Store, build_id: int) -> float:
    """Deletes what collection will delete, and nothing that finds it; undone afterwards."""
    with store.connection() as connection, connection.transaction(force_rollback=True):
        found = connection.execute(_GARBAGE, {"build_id": build_id}).fetchall()
        rev_ids, version_ids = [rev_id for rev_id, _ in found], [version_id for _, version_id in found]
        before = perf_counter()
        for statement in _DELETES:
            connection.execute(statement, {"rev_ids": rev_ids, "version_ids": version_ids})
        return perf_counter() - before


@contextlib.contextmanager
def _waiting(url: str, scope_id: int) -> Iterator[list[float]]:
    """How long others wait for the corpus's lock meanwhile, one of them asking again and again."""
    waited, stop = [0.0], threading.Event()

    def ask() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            while not stop.wait(0.001):
                before = perf_counter()
                connection.execute("SELECT FROM headwater.scope WHERE scope_id = %s FOR NO KEY UPDATE", (scope_id,))
                waited.append(perf_counter() - before)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield waited
    finally:
        stop.set()
        asking.join()


_SOURCES: Final = """
    INSERT INTO headwater.source (scope_id, source_id, revision)
    SELECT %(scope_id)s, 'doc-' || n, 2 FROM generate_series(1, %(sources)s::int) n"""
_VERSIONS: Final = """
    INSERT INTO headwater.document_version (scope_id, source_pk, revision, content_hash, source_seq, text)
    SELECT scope_id, source_pk, n, sha256((source_id || n)::bytea), n, repeat(source_id || ' ', 300)
    FROM headwater.source CROSS JOIN generate_series(1, 2) n WHERE scope_id = %(scope_id)s"""
_REVISIONS: Final = """
    INSERT INTO headwater.revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, base_gen, n_chunks)
    SELECT scope_id, %(build_id)s, source_pk, version_id, source_seq, 1, 0, %(chunks)s
    FROM headwater.document_version WHERE scope_id = %(scope_id)s"""
_SPANS: Final = """
    INSERT INTO headwater.span (rev_id, gen_from, gen_to, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)
    SELECT rev_id, source_seq, CASE source_seq WHEN 1 THEN 2 ELSE 9223372036854775807 END, build_id, source_pk, version_id,
           source_seq, 1, false
    FROM headwater.revision WHERE build_id = %(build_id)s"""
_CHUNKS: Final = """
    INSERT INTO headwater.chunk (slab, rev_id, chunk_no, scope_id, start_cp, end_cp, emb, input_sha256, body)
    SELECT 0, r.rev_id, n, r.scope_id, 0, 600, (SELECT array_agg(d) FROM generate_series(1, 64) d)::real[]::halfvec,
           sha256((r.rev_id || ' ' || n)::bytea), repeat('x', 600)
    FROM headwater.revision r CROSS JOIN generate_series(1, %(chunks)s::int) n WHERE r.build_id = %(build_id)s"""
_POINTER: Final = """
    WITH b AS (UPDATE headwater.build SET head_gen = 2 WHERE build_id = %(build_id)s),
    s AS (UPDATE headwater.scope SET head_gen = 2, live_gen = 2 WHERE scope_id = %(scope_id)s)
    INSERT INTO headwater.pointer_log (scope_id, build_id, gen, kind, sources)
    SELECT %(scope_id)s, %(build_id)s, gen, 'publish', %(sources)s FROM generate_series(1, 2) gen"""
_GARBAGE: Final = "SELECT rev_id, version_id FROM headwater.span WHERE build_id = %(build_id)s AND gen_to = 2"
_DELETES: Final = (
    "DELETE FROM headwater.span WHERE rev_id = ANY (%(rev_ids)s)",
    "DELETE FROM headwater.chunk WHERE slab = 0 AND rev_id = ANY (%(rev_ids)s)",
    "DELETE FROM headwater.revision WHERE rev_id = ANY (%(rev_ids)s)",
    "DELETE FROM headwater.document_version WHERE version_id = ANY (%(version_ids)s)",
)
