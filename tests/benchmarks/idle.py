"""(f) What a `headwater up` costs that nobody asks anything."""

import asyncio

from tests.acceptance.command_line import CommandLine
from tests.acceptance.home_processes import guard_of, postgres_of, temporal_of
from tests.benchmarks.measuring import Figure, Reading, cpu_s
from tests.benchmarks.options import Options
from tests.benchmarks.site import scratch_folder

PERCENT_OF_A_CORE = 3
SETTLING_S = 5


async def measure(options: Options) -> Figure:
    with scratch_folder() as home, CommandLine(home).running("up") as up:
        up.said("Ready:")
        await asyncio.sleep(SETTLING_S)
        guard, engine, postgres = guard_of(home), temporal_of(home), postgres_of(home)
        assert guard is not None and engine is not None and postgres is not None
        before = [cpu_s(pid) for pid in (up.process.pid, guard, engine, postgres)]
        await asyncio.sleep(options.idle_s)
        after = [cpu_s(pid) for pid in (up.process.pid, guard, engine, postgres)]
        everything, guarded, of_engine, of_postgres = (
            (late - early) / options.idle_s * 100 for early, late in zip(before, after, strict=True)
        )
        up.interrupt()
        assert up.ended().status == 0
    return Figure(
        f"(f) Idle: `headwater up` for {options.idle_s:,.0f} s",
        [
            Reading("all processes", everything, "% of a core", at_most=PERCENT_OF_A_CORE),
            Reading("  workers", everything - guarded, "% of a core"),
            Reading("  engine", of_engine, "% of a core"),
            Reading("  Postgres", of_postgres, "% of a core"),
            Reading("  guard", guarded - of_engine - of_postgres, "% of a core"),
        ],
    )
