"""The peak of a training, whoever looks at parts of it meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sknc.runtime import measuring


class Device:
    """An allocator that keeps a count."""

    def __init__(self) -> None:
        self.peak = 0

    def reset_memory_stats(self, _: str) -> None:
        self.peak = 1

    def get_memory_info(self, _: str) -> dict[str, Any]:
        return {"peak": self.peak}


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    made = Device()
    config = SimpleNamespace(experimental=made, list_physical_devices=lambda _: [])
    monkeypatch.setattr(measuring, "tensorflow", lambda: SimpleNamespace(config=config))
    return made


def test_laps_do_not_end_the_whole(device: Device) -> None:
    measuring.reset_peak()
    seen = []
    for peak in (30, 50, 20):
        measuring.start_lap()
        device.peak = peak
        seen.append(measuring.lap_peak())
    assert seen == [30, 50, 20]
    assert measuring.peak_bytes() == 50
    measuring.reset_peak()
    device.peak = 10
    assert measuring.peak_bytes() == 10


def test_a_device_without_a_count_has_no_peak(device: Device) -> None:
    device.peak = 0
    measuring.start_lap()
    device.peak = 0
    assert measuring.peak_bytes() is None
