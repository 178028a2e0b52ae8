"""Settings of TensorFlow's memory that can only be made before it initialises its devices."""

from __future__ import annotations

import importlib
import os
from typing import Any

from ...errors import ProgramError
from ...frameworks import tensorflow
from ..units import parse_size

_MIB = 2**20


def _initialised() -> bool:
    # TensorFlow shows nowhere in public whether its devices are there yet without making them.
    context = importlib.import_module("tensorflow.python.eager.context").context()
    return bool(getattr(context, "_initialized", False))


def _mib(size: int | str, what: str) -> int:
    count = (parse_size(size) if isinstance(size, str) else int(size)) // _MIB
    if count < 1:
        raise ProgramError(f"{what} is {size}; the least that TensorFlow can be told is 1 MiB")
    return count


def configure(
    *,
    memory_limit: int | str | None = None,
    growth: bool | None = None,
    host_limit: int | str | None = None,
    workspace_limit: int | str | None = None,
    threads: int | None = None,
) -> dict[str, str]:
    """Sets how TensorFlow's allocators behave, for the whole process.

    Args:
        memory_limit: a hard limit for each device, in bytes or as text ("8GiB"): for each GPU, or for the CPU where
            there is none.
        growth: whether a GPU's memory is taken as it is needed; not together with a limit.
        host_limit: of pinned host memory, from which copies to and from a GPU are made.
        workspace_limit: of what one convolution on a GPU may use besides its inputs and outputs.
        threads: that run operations at once; with one, the peak is the same in every step.

    Returns:
        Each setting that was made, and how.

    Raises:
        ProgramError: TensorFlow has initialised its devices, or settings exclude each other.
    """
    tf = tensorflow()
    if _initialised():
        raise ProgramError(
            "TensorFlow has initialised its devices; their memory cannot be configured any more",
            "call configure(...) right after the imports, before the first tensor, layer or list of devices",
        )
    if memory_limit is not None and growth:
        raise ProgramError("growth and memory_limit exclude each other on one device", "leave one of the two out")
    made: dict[str, str] = {}
    gpus = tf.config.list_physical_devices("GPU")
    if memory_limit is not None:
        _limit(tf, gpus, _mib(memory_limit, "memory_limit"), made)
    if growth is not None:
        for gpu in gpus:
            tf.config.experimental.set_memory_growth(gpu, growth)
        made["growth"] = f"set_memory_growth({growth}) on {len(gpus)} GPUs"
    if host_limit is not None:
        _environment("host_limit", "TF_GPU_HOST_MEM_LIMIT_IN_MB", _mib(host_limit, "host_limit"), made)
    if workspace_limit is not None:
        mib = _mib(workspace_limit, "workspace_limit")
        _environment("workspace_limit", "TF_CUDNN_WORKSPACE_LIMIT_IN_MB", mib, made)
    if threads is not None:
        tf.config.threading.set_inter_op_parallelism_threads(threads)
        made["threads"] = f"set_inter_op_parallelism_threads({threads})"
    return made


def _limit(tf: Any, gpus: list[Any], mib: int, made: dict[str, str]) -> None:
    for gpu in gpus:
        whole = tf.config.LogicalDeviceConfiguration(memory_limit=mib)
        tf.config.set_logical_device_configuration(gpu, [whole])
    if gpus:
        made["memory_limit"] = f"a logical device of {mib} MiB on each of {len(gpus)} GPUs"
        return
    os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "1"
    _environment("memory_limit", "TF_CPU_BFC_MEM_LIMIT_IN_MB", mib, made)


def _environment(setting: str, name: str, value: int, made: dict[str, str]) -> None:
    os.environ[name] = str(value)
    made[setting] = f"{name}={value}"
