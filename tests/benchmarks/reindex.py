"""A re-index into another embedder next to a fresh sync with it; and what another chunker embeds."""

from statistics import median

from headwater.models import Scope
from tests.benchmarks.documents import documents, sample
from tests.benchmarks.measuring import Figure, Reading, Spent, interleaved
from tests.benchmarks.options import Options
from tests.benchmarks.site import running_servers, scratch_folder
from tests.benchmarks.table_embedder import TABLE

MODEL = "onnx:minilm"
TIMES_SYNC = 1.0


async def measure(options: Options) -> Figure:
    scope = Scope(tenant_id="t1", resource_id="bench", corpus_id="r")
    chunks: list[int] = []
    again: list[tuple[int, int]] = []
    with scratch_folder() as scratch:
        folder = sample(documents(scratch), options.documents, scratch / "sample")
        async with running_servers() as servers:

            async def sync() -> Spent:
                with servers.site() as site:
                    await site.warm_up(scratch, embedder=MODEL)
                    site.register(folder, scope, embedder=MODEL)
                    result, spent = await site.measured_sync(scope)
                    chunks.append(result.embedded_chunks)
                    return spent

            async def reindex() -> Spent:
                with servers.site() as site:
                    await site.warm_up(scratch, embedder=MODEL)
                    site.register(folder, scope, embedder=TABLE)
                    await site.sync(scope)
                    progress, spent = await site.measured_reindex(scope, embedder=MODEL)
                    assert progress.embedded_chunks == chunks[-1] if chunks else progress.embedded_chunks > 0
                    # Another chunker, and the embedder that costs nothing: of interest is what it embeds.
                    await site.measured_reindex(scope, embedder=TABLE)
                    rechunked, _ = await site.measured_reindex(scope, embedder=TABLE, chunker="chars:990/100")
                    again.append((rechunked.embedded_chunks, rechunked.reused_chunks))
                    return spent

            syncs, reindexes = await interleaved(sync, reindex, pairs=options.pairs)
    embedded, reused = again[-1]
    return Figure(
        f"Re-index: {options.documents} documents, {chunks[-1]:,} chunks, {options.pairs} pairs",
        [
            Reading(
                "into another embedder, to a fresh sync with it",
                median(one.total / other.total for one, other in zip(reindexes, syncs, strict=True)),
                "times its CPU",
                at_most=TIMES_SYNC,
                digits=3,
            ),
            Reading("  client, the model included", median(spent.client for spent in reindexes), "s CPU"),
            Reading("  engine", median(spent.engine for spent in reindexes), "s CPU"),
            Reading("  Postgres", median(spent.postgres for spent in reindexes), "s CPU"),
            Reading("  fresh sync", median(spent.total for spent in syncs), "s CPU"),
            Reading("another chunker of nearly the same size: chunks embedded", embedded, digits=0),
            Reading("  chunks whose vectors were there already", reused, digits=0),
        ],
    )
