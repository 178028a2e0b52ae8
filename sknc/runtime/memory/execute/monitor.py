"""A Keras callback that puts the measured peak beside the plan, epoch by epoch."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from ...measuring import lap_peak, start_lap
from ...notes import tell
from ..units import format_size
from .keeper import moved_by, plan_of
from .moving import Moved

UNKNOWN = "unknown"
COLUMNS = ("epoch", "peak_bytes", "planned_bytes", "budget_bytes", "moved_bytes", "planned_moved_bytes")


class MemoryMonitor(keras.callbacks.Callback):  # type: ignore[misc]  # keras has no types
    """Measures the allocator's peak and what was moved to and from the pools in each epoch, beside the plan.

    It tells when the peak was above the plan. A batch with fewer samples moves less than was planned; a file holds
    some bytes more than its tensor.

    Args:
        path: a CSV file with one line an epoch; `unknown` stands where the allocator keeps no statistics or no
            plan was made. It is written anew by each training.
        log_dir: a folder for TensorBoard, or None.

    Example:
        >>> model.fit(x, y, callbacks=[MemoryMonitor("memory.csv")])  # doctest: +SKIP
    """

    def __init__(self, path: str | os.PathLike[str], log_dir: str | os.PathLike[str] | None = None) -> None:
        super().__init__()
        self.path = Path(path)
        self.log_dir = log_dir
        self.rows: list[dict[str, Any]] = []
        self._writer: Any = None
        self._moved = Moved()

    def on_train_begin(self, logs: Any = None) -> None:
        """Starts the file.

        Args:
            logs: not used.
        """
        self.rows = []
        self._write()
        # A training that failed did not end.
        self.on_train_end()
        if self.log_dir is not None:
            self._writer = tf.summary.create_file_writer(os.fspath(self.log_dir))

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Starts counting anew.

        Args:
            epoch: its number, from 0.
            logs: not used.
        """
        start_lap()
        self._moved = moved_by(self.model) or Moved()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Writes the epoch's line.

        Args:
            epoch: its number, from 0.
            logs: not used.
        """
        peak, plan = lap_peak(), plan_of(self.model)
        moved = (moved_by(self.model) or Moved()) - self._moved
        values: tuple[int | None, ...] = (peak, None, None, None, None)
        if plan is not None:
            values = (peak, plan.predicted_peak, plan.budget, moved.bytes, plan.moved_bytes * moved.calls)
        known = [UNKNOWN if value is None else value for value in values]
        self.rows.append(dict(zip(COLUMNS, (epoch + 1, *known), strict=True)))
        self._write()
        if peak is not None and plan is not None and peak > plan.predicted_peak:
            tell(
                f"{self.model.name}: the device held {format_size(peak)} in epoch {epoch + 1}, "
                f"{format_size(plan.predicted_peak)} were planned and {format_size(plan.budget)} are the budget"
            )
        if self._writer is not None:
            for name, value in zip(COLUMNS[1:], values, strict=True):
                if value is not None and name != "budget_bytes":
                    self._show(f"memory/{name}", value, epoch)
            self._writer.flush()

    def on_train_end(self, logs: Any = None) -> None:
        """Closes TensorBoard's file.

        Args:
            logs: not used.
        """
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _show(self, tag: str, value: int, epoch: int) -> None:
        # What tf.summary.scalar writes, which TensorFlow only has where TensorBoard is installed as well.
        metadata = tf.compat.v1.SummaryMetadata(data_class=1)
        metadata.plugin_data.plugin_name = "scalars"
        with self._writer.as_default():
            tf.summary.write(tag, tf.constant(float(value)), step=epoch, metadata=metadata)

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            writer.writeheader()
            writer.writerows(self.rows)
