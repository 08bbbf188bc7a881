"""(c) Looking at a folder in which nothing has changed."""

from statistics import median

from headwater.models import Scope
from tests.benchmarks.documents import write
from tests.benchmarks.measuring import Figure, Reading, Spent
from tests.benchmarks.options import Options
from tests.benchmarks.site import running_servers, scratch_folder

FILES_PER_CPU_S = 2000


async def measure(options: Options) -> Figure:
    scope = Scope(tenant_id="t1", resource_id="bench", corpus_id="c")
    runs: list[Spent] = []
    with scratch_folder() as scratch:
        for number in range(options.files):
            write(scratch, number, paragraphs=1)
        async with running_servers() as servers:
            with servers.site() as site:
                site.register(scratch, scope, embedder="hash:64")
                await site.sync(scope)
                await site.sync(scope)  # the last files were too young before to be known by their times
                for _ in range(options.pairs):
                    result, spent = await site.measured_sync(scope)
                    assert (result.skipped, result.upserted, result.failed) == (options.files, 0, 0)
                    runs.append(spent)
    return Figure(
        f"(c) Unchanged: {options.files:,} files synced again, {options.pairs} times",
        [
            Reading(
                "files",
                median(options.files / spent.total for spent in runs),
                "per CPU second",
                at_least=FILES_PER_CPU_S,
                digits=0,
            ),
            Reading("  client", median(spent.client for spent in runs), "s CPU"),
            Reading("  engine", median(spent.engine for spent in runs), "s CPU"),
            Reading("  Postgres", median(spent.postgres for spent in runs), "s CPU"),
        ],
    )
