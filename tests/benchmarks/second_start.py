"""(g) How long `headwater up` takes to be ready in a home that has been used before."""

from pathlib import Path
from statistics import median
from time import perf_counter

from tests.acceptance.command_line import CommandLine
from tests.benchmarks.measuring import Figure, Reading
from tests.benchmarks.options import Options
from tests.benchmarks.site import scratch_folder

READY_S = 8


async def measure(options: Options) -> Figure:
    with scratch_folder() as home:
        first = _start_s(home)
        later = [_start_s(home) for _ in range(options.pairs)]
    return Figure(
        f"(g) Start: `headwater up`, {options.pairs} times",
        [
            Reading("a second start, until it is ready", median(later), "s", at_most=READY_S),
            Reading("  the first start of a home", first, "s"),
        ],
    )


def _start_s(home: Path) -> float:
    began = perf_counter()
    with CommandLine(home, {"HEADWATER_EMBEDDER": "onnx:minilm"}).running("up") as up:
        up.said("Ready:")
        took = perf_counter() - began
        up.interrupt()
        assert up.ended().status == 0
    return took
