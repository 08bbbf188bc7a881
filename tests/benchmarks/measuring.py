"""How things are measured here: CPU seconds of whole process trees, peak memory, pairs that run in turn.

CPU seconds and ratios of them say the same on a quiet machine and on a busy one, more or less; wall times do not.
"""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeVar

PAIRS: Final = 5

A = TypeVar("A")
B = TypeVar("B")

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds, by who spent them."""

    client: float
    engine: float
    postgres: float

    @property
    def total(self) -> float:
        return self.client + self.engine + self.postgres

    def since(self, before: Self) -> "Spent":
        return Spent(self.client - before.client, self.engine - before.engine, self.postgres - before.postgres)


def cpu_s(*roots: int) -> float:
    """CPU seconds, to about 0.01 s each, that these processes and all they have started used since they began.

    Children that have ended are counted by whoever waited for them.
    """
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_bytes()
            except OSError:
                continue
            # The name, in parentheses, may hold anything.
            fields = stat[stat.rindex(b")") + 2 :].split()
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    missing = [root for root in roots if root not in ticks]
    if missing:
        raise ProcessLookupError(f"Process {missing[0]} has ended while it was measured.")
    trees = [*roots]
    for pid in trees:
        trees += children.get(pid, [])
    return sum(ticks[pid] for pid in trees) / _TICKS_PER_S


def peak_memory_mb(pid: int) -> float:
    """The most memory (10^6 bytes, resident) the process has had."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise ProcessLookupError(f"Process {pid} has ended while it was measured.")


async def interleaved(
    one: Callable[[], Awaitable[A]], other: Callable[[], Awaitable[B]], *, pairs: int
) -> tuple[list[A], list[B]]:
    """Both, ``pairs`` times, now one first and now the other: what the machine does meanwhile meets both alike."""
    ones: list[A] = []
    others: list[B] = []
    for number in range(pairs):
        if number % 2:
            others.append(await other())
            ones.append(await one())
        else:
            ones.append(await one())
            others.append(await other())
    return ones, others


@dataclass(frozen=True, slots=True)
class Reading:
    """One measured value, and the goal it is held against, if there is one."""

    what: str
    value: float
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    digits: int = 2

    @property
    def is_met(self) -> bool:
        if self.at_most is not None:
            return self.value <= self.at_most
        return self.at_least is None or self.value >= self.at_least

    def __str__(self) -> str:
        line = f"    {self.what:<58} {self.value:>10,.{self.digits}f} {self.unit:<22}"
        if self.at_most is None and self.at_least is None:
            return line.rstrip()
        sign, goal = ("≤", self.at_most) if self.at_most is not None else ("≥", self.at_least)
        return f"{line} goal {sign} {goal:,g}: {'met' if self.is_met else 'MISSED'}"


@dataclass(frozen=True, slots=True)
class Figure:
    """What one benchmark found out."""

    title: str
    readings: list[Reading]

    def __str__(self) -> str:
        return "\n".join([self.title, *map(str, self.readings)])
