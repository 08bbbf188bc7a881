"""Moving a prefix of 10,000 sources of a host, and a source that 4,096 others rest on, next to bare statements of the same."""

import asyncio
from statistics import median
from time import perf_counter
from typing import Final, LiteralString

from activities.store import Store
from activities.store.migrate import migrate
from tests.benchmarks.measuring import Figure, Reading
from tests.benchmarks.options import Options
from tests.benchmarks.site import SCHEMA, running_servers
from tests.integration.moving import ALICE, many_edges, many_rows, many_sources, move, move_all
from tests.integration.seen import of_schema
from tests.integration.staging_factory import Corpus, make_corpus

SOURCES: Final = 10_000
EDGES: Final = 4_096
SOURCES_PER_S: Final = 5_000.0


async def measure(options: Options) -> Figure:
    async with running_servers() as servers:
        return await asyncio.to_thread(_measure, servers.services.database_url, options.pairs)


def _measure(url: str, times: int) -> Figure:
    migrate(url, SCHEMA)
    names = [f"{number:05d}" for number in range(SOURCES)]
    derived = [f"derived/{number:04d}" for number in range(EDGES)]
    with Store.open(url, schema=SCHEMA) as store:
        corpus = make_corpus(store, "acme/bench/moves")
        many_sources(store, corpus, [f"a/{name}" for name in names])
        many_rows(store, corpus, [f"b/{name}" for name in names])
        many_sources(store, corpus, ["parent:a", *derived])
        many_rows(store, corpus, ["parent:b"])
        many_edges(store, corpus, derived, ["parent:a"])
        runs = []
        for number in range(times):
            pair = ("a", "b") if number % 2 == 0 else ("b", "a")
            bare = _bare(store, corpus, *(f"{side}/" for side in pair))
            moved = _prefix(store, corpus, *(f"{side}/" for side in pair))
            runs.append((bare, moved, _edges(store, corpus, *(f"parent:{side}" for side in pair))))
    bare, moved, rewritten = (median(each) for each in zip(*runs, strict=True))
    return Figure(
        f"Moving {SOURCES:,} sources of a prefix, granted at both ends, {times} times",
        [
            Reading("sources", SOURCES / moved, "per second", at_least=SOURCES_PER_S, digits=0),
            Reading("  the bare UPDATEs of the same ids", SOURCES / bare, "per second", digits=0),
            Reading(f"a source that {EDGES:,} rest on, in one page", rewritten * 1e3, "ms", digits=0),
        ],
    )


def _prefix(store: Store, corpus: Corpus, from_prefix: str, to_prefix: str) -> float:
    before = perf_counter()
    pages = move_all(store, corpus, from_prefix, to_prefix, is_prefix=True, authorization=ALICE)
    after = perf_counter()
    assert sum(page.moved_sources for page in pages) == SOURCES
    return after - before


def _edges(store: Store, corpus: Corpus, from_id: str, to_id: str) -> float:
    before = perf_counter()
    page = move(store, corpus, from_id, to_id, authorization=ALICE)
    after = perf_counter()
    assert page.rewritten_edges == EDGES and page.after is None
    return after - before


def _bare(store: Store, corpus: Corpus, from_prefix: str, to_prefix: str) -> float:
    """Exchanges the ids, which takes three steps, and asks, checks and notes nothing; undone afterwards."""
    named = {"scope_id": corpus.build.scope_id}
    steps = ((to_prefix, "|"), (from_prefix, to_prefix), ("|", from_prefix))
    with store.connection() as connection, connection.transaction(force_rollback=True):
        before = perf_counter()
        for old, new in steps:
            connection.execute(of_schema(store, _RENAME), {**named, "old": old, "new": new})
        return perf_counter() - before


_RENAME: LiteralString = """
    UPDATE {schema}.source SET source_id = %(new)s || substr(source_id, length(%(old)s) + 1)
    WHERE scope_id = %(scope_id)s AND starts_with(source_id, %(old)s)
"""
