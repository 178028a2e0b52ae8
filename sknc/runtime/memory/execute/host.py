"""The host pool: what a segment reads is copied to the host's memory, and back for its backward pass.

Both copies are operations of the host. What is fetched has to wait there: a device asks for what it receives
from another one as soon as a step begins, and would hold it from then on.
"""

from __future__ import annotations

import os
from typing import Any

from ...frameworks import tensorflow
from ..errors import PlanError
from .moving import Counts, Fetch, in_gradient_of_loop


def host_device() -> str | None:
    """Returns the device whose memory is the host pool, None where the model trains in that memory itself."""
    return "/device:CPU:0" if tensorflow().config.list_physical_devices("GPU") else None


def named_device(name: str) -> str:
    """Returns a device's name as operations carry it.

    Args:
        name: such as "CPU:1".

    Raises:
        PlanError: it is no such name.
    """
    try:
        spec = tensorflow().DeviceSpec.from_string(name if "/" in name else f"/device:{name}")
    except ValueError:
        spec = None
    if spec is None or not spec.device_type:
        there = ", ".join(one.name.partition("device:")[2] for one in tensorflow().config.list_logical_devices())
        raise PlanError(f"host={name!r} is no name of a device; there are {there}")
    return f"/device:{spec.device_type}:{spec.device_index or 0}"


def host_bytes() -> int:
    """Returns the bytes of the host's memory; where the system does not say, more than there can be."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 2**62


class HostPool:
    """The memory of a device that the model does not train on.

    Args:
        device: its name.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.counts = Counts()

    def call(self) -> HostStore:
        """Returns what keeps the tensors of one call of the model."""
        return HostStore(self.device, self.counts)


class HostStore:
    """The host pool during one call; it may also stand in for one while a step is traced.

    Args:
        device: the host's name.
        counts: of what is moved, None where nobody counts.
    """

    def __init__(self, device: str, counts: Counts | None = None) -> None:
        self.device = device
        self.counts = counts
        self._begun = False

    def put(self, tensor: Any, key: int) -> tuple[list[Any], Fetch]:
        """Copies a tensor to the host; returns the copy to wait for, and what copies it back.

        Args:
            tensor: any dense tensor.
            key: its key in the flat graph.
        """
        copy = self._copied(tensor)
        counts = self.counts
        if counts is not None:
            if not self._begun:
                counts.calls.assign_add(1)
            self._add(counts.written, copy)
        self._begun = True

        def fetch() -> Any:
            back = self._copied(copy)
            if counts is not None and not in_gradient_of_loop():
                self._add(counts.read, back)
            return back

        return [copy], fetch

    def _copied(self, tensor: Any) -> Any:
        # TensorFlow takes identities away where it optimises a graph, and the stay on the host with them.
        with tensorflow().device(self.device):
            return tensorflow().raw_ops.Snapshot(input=tensor)

    def _add(self, count: Any, copy: Any) -> None:
        tf = tensorflow()
        with tf.control_dependencies([copy]):
            with tf.device(self.device):
                size = tf.size(copy, tf.int64) * copy.dtype.size
            count.assign_add(size)
