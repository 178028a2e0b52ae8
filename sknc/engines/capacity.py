"""How many programs at once, and how many threads for each: what the machine has, divided."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sknc.engines.base import Capacity

# A process with TensorFlow loaded and a small model in training stays well below this on a CPU.
BYTES_PER_JOB = 3 << 29

THREAD_VARIABLES = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")
_CGROUP = Path("/sys/fs/cgroup")


def plan(programs: int, jobs: int | None) -> Capacity:
    """Divide the machine between programs.

    Args:
        programs: how many there are to run.
        jobs: how many at once; None takes as many as cores and memory allow.

    Returns:
        The number at once (never more than there are) and the threads of each.
    """
    count = cores()
    if jobs is None:
        jobs = min(count, max(1, free_memory() // BYTES_PER_JOB))
    jobs = max(1, min(jobs, programs))
    return Capacity(jobs, max(1, count // jobs))


def environment(capacity: Capacity, own: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a program: the user's own, and where he set nothing, his share of threads.

    Args:
        capacity: how the machine was divided.
        own: the environment of this process.

    Returns:
        A new environment.
    """
    made = dict(own)
    for name in THREAD_VARIABLES:
        made.setdefault(name, str(capacity.threads))
    if capacity.jobs > 1:
        # By default the first process takes all of a GPU's memory, and the second one none.
        made.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    # Logs show what a program prints when it prints it, in an encoding that holds everything.
    made.setdefault("PYTHONUNBUFFERED", "1")
    made.setdefault("PYTHONIOENCODING", "utf-8:backslashreplace")
    return made


def cores() -> int:
    """Return the number of cores that this process may use: affinity and the container's quota."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = _first_line(_CGROUP / "cpu.max").partition(" ")
    if quota.isdigit() and period.isdigit() and int(period):
        count = min(count, max(1, int(quota) // int(period)))
    return count


def free_memory() -> int:
    """Return the bytes of memory that can be had without swapping; 4 GiB where nobody says."""
    free = 4 << 30
    for line in _text(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) << 10
    limit, used = _first_line(_CGROUP / "memory.max"), _first_line(_CGROUP / "memory.current")
    if limit.isdigit() and used.isdigit():
        free = min(free, max(0, int(limit) - int(used)))
    return free


def _first_line(path: Path) -> str:
    return _text(path).partition("\n")[0].strip()


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
