"""How much is measured."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """What `python -m tests.benchmarks` was asked for."""

    pairs: int
    files: int  # of (c)
    documents: int  # of (b)
    idle_s: float  # of (f)
    drive_files: int  # of (n)
