"""How much memory a training took, where the framework can tell."""

from __future__ import annotations

from .frameworks import tensorflow


def _devices() -> list[str]:
    found = [f"GPU:{i}" for i, _ in enumerate(tensorflow().config.list_physical_devices("GPU"))]
    return found or ["CPU:0"]


def reset_peak() -> None:
    """Starts counting the peak anew; does nothing where a device keeps no count."""
    experimental = tensorflow().config.experimental
    try:
        for device in _devices():
            experimental.reset_memory_stats(device)
    except (AttributeError, ValueError, RuntimeError):
        return


def peak_bytes() -> int | None:
    """Returns the peak of the devices' memory since `reset_peak`, or None where a device keeps no count."""
    experimental = tensorflow().config.experimental
    try:
        total = sum(int(experimental.get_memory_info(device)["peak"]) for device in _devices())
    except (AttributeError, ValueError, RuntimeError, KeyError):
        return None
    return total or None
