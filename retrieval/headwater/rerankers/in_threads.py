"""Giving one call the cores of the machine. A model in ONNX form runs on one thread, and leaves the others free meanwhile."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from headwater.errors import LimitError, ValidationError

T = TypeVar("T")
R = TypeVar("R")

THREADS_MAX: Final = 64
_UNASKED: Final = 4  # of a machine that has more: a library is a guest


def check_threads(threads: int | None) -> int:
    """``threads``, if it is within the limit; else as many as there are cores for this process, four at most."""
    if threads is None:
        return min(_UNASKED, _cores())
    if not isinstance(threads, int) or isinstance(threads, bool):
        raise ValidationError("threads must be a whole number.")
    if not 1 <= threads <= THREADS_MAX:
        raise LimitError(f"threads must be from 1 to {THREADS_MAX}, not {threads}.")
    return threads


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # Linux: a container may have been given fewer than there are
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(function: Callable[[T], R], items: Sequence[T], threads: int) -> list[R]:
    """``function`` of each item, in order. The threads end with the call; after an error no further item is begun."""
    if min(threads, len(items)) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items)), thread_name_prefix="headwater-rerank") as pool:
        return list(pool.map(function, items))
