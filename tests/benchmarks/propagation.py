"""Hiding a source with 4,095 that rest on it, next to the bare statements of the same rows; then removing their text."""

import asyncio
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import Final, LiteralString

from activities.store import Store
from activities.store.migrate import migrate
from activities.store.sources.removal import remove_rag
from activities.store.sources.tombstones import IDS_MAX, propagate
from tests.benchmarks.measuring import Figure, Reading
from tests.benchmarks.options import Options
from tests.benchmarks.site import SCHEMA, running_servers
from tests.integration.asked import new_request
from tests.integration.derivations import Edge, add_derived, star, tree
from tests.integration.hiding import ALICE, derived
from tests.integration.seen import of_schema
from tests.integration.staging_factory import Corpus, make_corpus, publish

HIDING_MS: Final = 200.0
SHAPES: Final[dict[str, Callable[[], list[Edge]]]] = {
    "a star": lambda: star(IDS_MAX - 1),
    "a tree of 6 levels": lambda: tree(IDS_MAX - 1, width=4),
}


async def measure(options: Options) -> Figure:
    async with running_servers() as servers:
        return await asyncio.to_thread(_measure, servers.services.database_url, options.pairs)


def _measure(url: str, times: int) -> Figure:
    migrate(url, SCHEMA)
    readings = []
    with Store.open(url, schema=SCHEMA) as store:
        for name, edges in SHAPES.items():
            runs = [_run(store, f"acme/bench/{len(name)}-{number}", edges()) for number in range(times)]
            bare, hidden, removed = (median(each) for each in zip(*runs, strict=True))
            readings += [
                Reading(f"hiding {name}", hidden * 1e3, "ms", at_most=HIDING_MS, digits=1),
                Reading("  the bare INSERT and UPDATE of the same rows", bare * 1e3, "ms", digits=1),
                Reading("  removing its passages, texts and status afterwards", removed * 1e3, "ms", digits=0),
            ]
    return Figure(f"Propagation of {IDS_MAX - 1:,} edges, {times} times", readings)


def _run(store: Store, name: str, edges: Sequence[Edge]) -> tuple[float, float, float]:
    """Seconds of the bare statements, of hiding, and of removing."""
    corpus = make_corpus(store, name)
    publish(store, corpus, derived("root"))
    add_derived(store, corpus, edges)
    with store.connection() as connection:
        connection.execute("ANALYZE")
    request_no = new_request(store, corpus, "PropagateDeletion")
    bare = _bare(store, corpus, ["root", *(source_id for source_id, _ in edges)])
    before = perf_counter()
    hidden = propagate(
        store, corpus.scope, "root", authorization=ALICE, reason="forgotten", request_no=request_no, actor=None
    )
    between = perf_counter()
    assert hidden.tombstoned == len(edges) + 1
    removed = remove_rag(store, corpus.scope, request_no=request_no)
    after = perf_counter()
    assert removed == len(edges) + 1
    return bare, between - before, after - between


def _bare(store: Store, corpus: Corpus, ids: list[str]) -> float:
    """Writes what hiding will write, and nothing that finds or checks it; undone afterwards."""
    key = {"scope_id": corpus.build.scope_id, "ids": ids}
    with store.connection() as connection, connection.transaction(force_rollback=True):
        before = perf_counter()
        connection.execute(of_schema(store, _TOMBSTONES), key)
        connection.execute(of_schema(store, _GRANTS), key)
        return perf_counter() - before


_TOMBSTONES: LiteralString = """
    INSERT INTO {schema}.tombstone (scope_id, id, reason, gen, root)
    SELECT %(scope_id)s, id, 'forgotten', 1, 'root' FROM unnest(%(ids)s::text[]) AS u (id)
"""
_GRANTS: LiteralString = """
    UPDATE {schema}.source SET grants = '{{}}', expiring = '{{}}', access_version = access_version + 1
    WHERE scope_id = %(scope_id)s AND source_id = ANY (%(ids)s::text[])
"""
