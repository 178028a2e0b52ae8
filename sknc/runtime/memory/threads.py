"""How many operations TensorFlow runs at once in this process."""

from __future__ import annotations

import os

from ..frameworks import tensorflow

_VARIABLE = "TF_NUM_INTEROP_THREADS"


def threads_in_use() -> int:
    """Returns how many threads TensorFlow takes for running operations, by its own rules.

    What the process was configured for comes first, then the variable, then the cores that it may use; a variable that
    is no number above zero means "choose", as it does to TensorFlow.
    """
    configured = int(tensorflow().config.threading.get_inter_op_parallelism_threads())
    return configured if configured > 0 else _by_variable() or _cores()


def _by_variable() -> int:
    try:
        return max(0, int(os.environ.get(_VARIABLE, "")))
    except ValueError:
        return 0


def _cores() -> int:
    # A container or taskset may leave less than the machine has; not every system can tell.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
