"""(b) A whole sync with the model, next to the model alone on the same texts."""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

import psycopg

from headwater.models import Scope
from tests.benchmarks.documents import documents, sample
from tests.benchmarks.measuring import Figure, Reading, Spent, interleaved
from tests.benchmarks.options import Options
from tests.benchmarks.site import CHECKOUT, Servers, running_servers, scratch_folder
from tests.benchmarks.table_embedder import TABLE

MODEL = "onnx:minilm"
TIMES_MODEL = 1.05


async def measure(options: Options) -> Figure:
    scope = Scope(tenant_id="t1", resource_id="bench", corpus_id="b")
    with scratch_folder() as scratch:
        folder = sample(documents(scratch), options.documents, scratch / "sample")
        async with running_servers() as servers:
            texts = await _texts(servers, folder, scope)

            async def sync() -> Spent:
                with servers.site() as site:
                    await site.warm_up(scratch, embedder=MODEL)
                    site.register(folder, scope, embedder=MODEL)
                    result, spent = await site.measured_sync(scope)
                    assert result.embedded_chunks >= len(texts)
                    return spent

            async def embed() -> float:
                return _bare_model(texts)

            syncs, models = await interleaved(sync, embed, pairs=options.pairs)
    return Figure(
        f"(b) Whole sync: {options.documents} documents, {len(texts):,} distinct chunks, {options.pairs} pairs",
        [
            Reading(
                "sync, to the bare model",
                median(spent.total / model for spent, model in zip(syncs, models, strict=True)),
                "times its CPU",
                at_most=TIMES_MODEL,
                digits=3,
            ),
            Reading("  client, the model included", median(spent.client for spent in syncs), "s CPU"),
            Reading("  engine", median(spent.engine for spent in syncs), "s CPU"),
            Reading("  Postgres", median(spent.postgres for spent in syncs), "s CPU"),
            Reading("  bare model", median(models), "s CPU"),
            Reading("  bare model, for each chunk", median(models) / len(texts) * 1e3, "ms CPU"),
        ],
    )


async def _texts(servers: Servers, folder: Path, scope: Scope) -> list[str]:
    """What a sync of the folder embeds: each distinct chunk, shortest first, cut as they are for the model."""
    with servers.site() as site:
        site.register(folder, scope, embedder=TABLE)
        await site.sync(scope)
        with psycopg.connect(site.database_url) as connection:
            rows = connection.execute("SELECT DISTINCT body FROM headwater.chunk").fetchall()
    return sorted((body for (body,) in rows), key=lambda text: (len(text), text))


def _bare_model(texts: list[str]) -> float:
    """CPU seconds of a process that only embeds them, in as many threads as a worker does."""
    command = [sys.executable, "-m", "tests.benchmarks.bare_model", MODEL]
    ran = subprocess.run(command, cwd=CHECKOUT, input=json.dumps(texts).encode(), stdout=subprocess.PIPE, check=True)
    return float(ran.stdout)
