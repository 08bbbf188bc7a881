"""How many cores a process may use, where a container or its operator gives it fewer than there are."""

import os
from pathlib import Path

import pytest

from workers.cores import cgroup_cores, cores_of, fewest, usable_cores


@pytest.mark.parametrize(
    ("machine", "limits", "cores"),
    [
        (8, [], 8),
        (8, [4], 4),
        (8, [4, 2], 2),
        (2, [64], 2),
        (8, [0], 1),
        (None, [], 1),
    ],
)
def test_the_least_limit_decides_and_one_core_is_always_left(
    machine: int | None, limits: list[int], cores: int
) -> None:
    assert fewest(machine, limits) == cores


@pytest.mark.parametrize(
    ("quota_and_period", "cores"),
    [
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),
        ("10000 100000\n", 1),
        ("max 100000\n", None),
        ("-1\n 100000\n", None),
        ("100000\n 0\n", None),
        ("", None),
        ("100000", None),
    ],
)
def test_a_quota_is_rounded_up_to_whole_cores(quota_and_period: str, cores: int | None) -> None:
    assert cores_of(quota_and_period) == cores


@pytest.mark.parametrize(
    ("listed", "files", "cores"),
    [
        ("0::/\n", {"cpu.max": "200000 100000\n"}, [2]),
        ("0::/pod/worker\n", {"pod/cpu.max": "300000 100000\n", "pod/worker/cpu.max": "max 100000\n"}, [3]),
        ("0::/on/the/host\n", {"cpu.max": "100000 100000\n"}, [1]),
        (
            "4:memory:/a\n3:cpu,cpuacct:/a\n",
            {"cpu,cpuacct/a/cpu.cfs_quota_us": "250000\n", "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"},
            [3],
        ),
        (
            "1:cpu:/docker/on-the-host\n0::/\n",
            {"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"},
            [1],
        ),
        ("2:cpuacct:/\n", {"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, []),
        ("", {}, []),
        ("0::/\n", {}, []),
        ("nonsense\n", {}, []),
    ],
    ids=[
        *("version 2", "a group above", "the host's path", "version 1", "version 1 in a container"),
        *("another controller", "no groups", "no limit", "nonsense"),
    ],
)
def test_every_group_of_the_process_is_asked(
    tmp_path: Path, listed: str, files: dict[str, str], cores: list[int]
) -> None:
    root = tmp_path / "cgroup"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (tmp_path / "listed").write_text(listed)
    assert list(cgroup_cores(tmp_path / "listed", root)) == cores


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to a core")
def test_a_process_that_is_bound_to_one_core_uses_one() -> None:
    before = os.sched_getaffinity(0)
    assert 1 <= usable_cores() <= len(before)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert usable_cores() == 1
    finally:
        os.sched_setaffinity(0, before)
