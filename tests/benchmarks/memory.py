"""(e) How much memory a worker needs that reads, cuts and embeds with the model."""

from statistics import median

from headwater.models import Scope
from tests.benchmarks.documents import documents, sample
from tests.benchmarks.measuring import Figure, Reading, peak_memory_mb
from tests.benchmarks.options import Options
from tests.benchmarks.site import running_servers, scratch_folder
from tests.benchmarks.whole_sync import MODEL

DOCUMENTS = 16
WORKER_MB = 600


async def measure(options: Options) -> Figure:
    scope = Scope(tenant_id="t1", resource_id="bench", corpus_id="e")
    peaks: list[float] = []
    with scratch_folder() as scratch:
        folder = sample(documents(scratch), DOCUMENTS, scratch / "sample")
        async with running_servers() as servers:
            for _ in range(options.pairs):
                with servers.site() as site:
                    site.register(folder, scope, embedder=MODEL)
                    result = await site.sync(scope)
                    assert result.embedded_chunks
                    peaks.append(peak_memory_mb(site.worker_pid))
    return Figure(
        f"(e) Memory: the worker's peak over a sync of {DOCUMENTS} documents, {options.pairs} times",
        [
            Reading("worker with the model", median(peaks), "MB resident", at_most=WORKER_MB, digits=0),
            Reading("  the highest", max(peaks), "MB resident", digits=0),
        ],
    )
