"""(a) What a sync costs besides embedding, next to the plainest loop that writes the same rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from time import process_time
from typing import Any

import psycopg
from pgvector.psycopg import register_vector

from headwater.models import Scope
from tests.benchmarks.documents import documents
from tests.benchmarks.measuring import Figure, Reading, Spent, cpu_s, interleaved
from tests.benchmarks.options import Options
from tests.benchmarks.site import Site, running_servers, scratch_folder
from tests.benchmarks.table_embedder import TABLE

CLIENT_AND_ENGINE_MS = 0.6
POSTGRES_TIMES_LOOP = 1.5

Row = tuple[Any, ...]

_COLUMNS = "slab, rev_id, chunk_no, scope_id, start_cp, end_cp, emb, input_sha256, metadata, body"
_TYPES = ["int4", "int8", "int4", "int8", "int4", "int4", "halfvec", "bytea", "jsonb", "text"]


async def measure(options: Options) -> Figure:
    scope = Scope(tenant_id="t1", resource_id="bench", corpus_id="a")
    with scratch_folder() as scratch:
        synced = documents(scratch)
        async with running_servers() as servers:
            plain: PlainLoop | None = None

            async def sync() -> Spent:
                nonlocal plain
                with servers.site() as site:
                    await site.warm_up(scratch, embedder=TABLE)
                    site.register(synced.folder, scope, embedder=TABLE)
                    _, spent = await site.measured_sync(scope)
                    plain = plain or PlainLoop.of(site, scope)
                    return spent

            async def write() -> tuple[Spent, Spent]:
                assert plain is not None
                with servers.site() as site:
                    return plain.run(site, is_binary=False), plain.run(site, is_binary=True)

            await sync()  # leaves the rows that the loop writes
            pipelines, written = await interleaved(sync, write, pairs=options.pairs)
        assert plain is not None
        chunks = sum(len(document) for document in plain.documents)

        loops, binary_loops = zip(*written, strict=True)

        def ms(*seconds: float) -> float:
            return median(seconds) / chunks * 1e3

        def times(others: Iterable[Spent]) -> float:
            return median(ours.postgres / plain.postgres for ours, plain in zip(pipelines, others, strict=True))

        return Figure(
            f"(a) Overhead beyond embedding: {synced.said}, {chunks:,} chunks, {options.pairs} pairs",
            [
                Reading(
                    "client and engine",
                    ms(*(spent.client + spent.engine for spent in pipelines)),
                    "ms CPU per chunk",
                    at_most=CLIENT_AND_ENGINE_MS,
                ),
                Reading("  client", ms(*(spent.client for spent in pipelines)), "ms CPU per chunk"),
                Reading("  engine", ms(*(spent.engine for spent in pipelines)), "ms CPU per chunk"),
                Reading(
                    "Postgres, to the Postgres of a plain loop",
                    times(loops),
                    "times its CPU",
                    at_most=POSTGRES_TIMES_LOOP,
                ),
                Reading("  to that of a loop with binary COPY", times(binary_loops), "times its CPU"),
                Reading("  Postgres of the sync", ms(*(spent.postgres for spent in pipelines)), "ms CPU per chunk"),
                Reading("  Postgres of the loop", ms(*(spent.postgres for spent in loops)), "ms CPU per chunk"),
                Reading("  Postgres, binary COPY", ms(*(spent.postgres for spent in binary_loops)), "ms CPU per chunk"),
                Reading("  client of the loop", ms(*(spent.client for spent in loops)), "ms CPU per chunk"),
                Reading("  client, binary COPY", ms(*(spent.client for spent in binary_loops)), "ms CPU per chunk"),
            ],
        )


@dataclass(frozen=True)
class PlainLoop:
    """One transaction for each document: delete what is there, copy what is to be there."""

    documents: list[list[Row]]

    @classmethod
    def of(cls, site: Site, scope: Scope) -> "PlainLoop":
        """A loop that writes the rows of a corpus, the vectors ready in memory as they are for the sync."""
        columns = _COLUMNS.replace("metadata", "metadata::text")
        query = f"""SELECT {columns} FROM headwater.chunk JOIN headwater.scope USING (scope_id)
                    WHERE corpus_id = %s ORDER BY rev_id, chunk_no"""
        with psycopg.connect(site.database_url) as connection:
            register_vector(connection)
            rows = connection.execute(query.encode(), (scope.corpus_id,)).fetchall()
        return cls([list(document) for _, document in groupby(rows, key=lambda row: row[1])])

    def run(self, site: Site, *, is_binary: bool) -> Spent:
        """Writes all documents into an empty table with the same columns and indexes; what that cost.

        The plain form of COPY is text. Binary takes a list of types, and a third of the CPU in Postgres.
        """
        with psycopg.connect(site.database_url, autocommit=True, prepare_threshold=0) as connection:
            register_vector(connection)
            connection.execute("DROP TABLE IF EXISTS plain")
            connection.execute("CREATE TABLE plain (LIKE headwater.chunk INCLUDING ALL)")
            site.checkpoint()
            before = Spent(process_time(), 0, cpu_s(site.postgres_pid))
            for rows in self.documents:
                _replace(connection, rows, is_binary=is_binary)
            return Spent(process_time(), 0, cpu_s(site.postgres_pid)).since(before)


def _replace(connection: psycopg.Connection, rows: list[Row], *, is_binary: bool) -> None:
    form = "(FORMAT binary)" if is_binary else ""
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM plain WHERE slab = 0 AND rev_id = %s", (rows[0][1],))
        with cursor.copy(f"COPY plain ({_COLUMNS}) FROM STDIN {form}".encode()) as copy:
            if is_binary:
                copy.set_types(_TYPES)
            for row in rows:
                copy.write_row(row)
