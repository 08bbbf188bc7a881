"""How many cores this process may use: in a container fewer than the machine has."""

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

CGROUP_LIST: Final = Path("/proc/self/cgroup")
CGROUP_ROOT: Final = Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """The least of the machine's cores, those this process is bound to, and what its control groups allow."""
    bound = [len(os.sched_getaffinity(0))] if hasattr(os, "sched_getaffinity") else []
    return fewest(os.cpu_count(), [*bound, *cgroup_cores(CGROUP_LIST, CGROUP_ROOT)])


def fewest(machine: int | None, limits: Sequence[int]) -> int:
    """At least one, whatever the limits say."""
    return max(1, min([machine or 1, *limits]))


def cgroup_cores(listed: Path, root: Path) -> Iterator[int]:
    """What each control group above this process allows. Nothing where there are none, or they may not be read."""
    for line in _text(listed).splitlines():
        _number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not controllers:  # version 2
            quotas = [_text(group / "cpu.max") for group in _groups(root, path)]
        elif "cpu" in controllers.split(","):
            quotas = [
                f"{_text(group / 'cpu.cfs_quota_us')} {_text(group / 'cpu.cfs_period_us')}"
                for folder in ("cpu", "cpu,cpuacct")
                for group in _groups(root / folder, path)
            ]
        else:
            continue
        yield from (cores for cores in map(cores_of, quotas) if cores is not None)


def _groups(root: Path, path: str) -> list[Path]:
    """The group and all above it. A container sees its own as the root, under a path that only the host knows."""
    group = root / path.strip("/")
    return [each for each in (group, *group.parents) if each.is_relative_to(root)]


def cores_of(quota_and_period: str) -> int | None:
    """The cores of a quota, rounded up; ``None`` where nothing is limited (``max``, or -1 in version 1)."""
    try:
        quota, period = map(int, quota_and_period.split())
    except ValueError:
        return None
    return math.ceil(quota / period) if quota > 0 and period > 0 else None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
