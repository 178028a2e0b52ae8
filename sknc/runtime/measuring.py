"""How much memory a training took, where the framework can tell."""

from __future__ import annotations

from .frameworks import tensorflow


def _devices() -> list[str]:
    found = [f"GPU:{i}" for i, _ in enumerate(tensorflow().config.list_physical_devices("GPU"))]
    return found or ["CPU:0"]


# The largest peak of the laps that have ended since `reset_peak`.
_ended: list[int] = []


def reset_peak() -> None:
    """Starts counting the peak anew; does nothing where a device keeps no count."""
    _ended.clear()
    _restart()


def start_lap() -> None:
    """Starts counting a lap's peak anew, such as an epoch's; `peak_bytes` goes on."""
    peak = peak_bytes()
    _ended[:] = [] if peak is None else [peak]
    _restart()


def _restart() -> None:
    experimental = tensorflow().config.experimental
    try:
        for device in _devices():
            experimental.reset_memory_stats(device)
    except (AttributeError, ValueError, RuntimeError):
        return


def peak_bytes() -> int | None:
    """Returns the peak of the devices' memory since `reset_peak`, or None where a device keeps no count."""
    peak = lap_peak()
    return None if peak is None else max([peak, *_ended])


def lap_peak() -> int | None:
    """Returns the peak of the devices' memory since `start_lap`, or None where a device keeps no count."""
    experimental = tensorflow().config.experimental
    try:
        total = sum(int(experimental.get_memory_info(device)["peak"]) for device in _devices())
    except (AttributeError, ValueError, RuntimeError, KeyError):
        return None
    return total or None
