"""Callbacks in a submodel: each writes to its own place, and the engine hears how far the training is."""

from __future__ import annotations

import os
import time
from typing import Any

from .context import PROGRESS, Context, event
from .data.arrays import leaves
from .frameworks import keras
from .paths import path

WRITTEN = ("filepath", "filename", "log_dir", "backup_dir")
SECONDS_BETWEEN_EVENTS = 1.0


def redirect(callback: Any) -> None:
    """Gives what a callback writes its own path, wherever the callback was made.

    Args:
        callback: any object; its known path attributes are changed, and what was derived from them.
    """
    for name in WRITTEN:
        old = getattr(callback, name, None)
        if not isinstance(old, (str, os.PathLike)) or not os.fspath(old):
            continue
        new = path(old)
        if new == old:
            continue
        before, after = os.fspath(old), os.fspath(new)
        for attribute, value in list(vars(callback).items()):
            # BackupAndRestore joins its folder to file names when it is made.
            if isinstance(value, str) and (value == before or value.startswith(before.rstrip("/\\") + os.sep)):
                setattr(callback, attribute, after + value[len(before) :])
        setattr(callback, name, new)


def own_callbacks(callbacks: Any, extra: list[Any]) -> Any:
    """Returns the callbacks of a call of `fit` with their own paths, and some more.

    Args:
        callbacks: None, one callback, a list, or a keras CallbackList.
        extra: callbacks to add.
    """
    if callbacks is None:
        return list(extra)
    if type(callbacks).__name__ == "CallbackList":
        for callback in callbacks.callbacks:
            redirect(callback)
        # Keras hands its model and its numbers only to the callbacks that a list was made with.
        for callback in extra:
            callback.set_model(callbacks.model)
            callback.set_params(callbacks.params)
        callbacks.callbacks.extend(extra)
        return callbacks
    # Keras takes lists in lists as well.
    found = leaves(callbacks)
    for callback in found:
        redirect(callback)
    return [*found, *extra]


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _logs(logs: Any) -> dict[str, Any]:
    values = {key: _number(value) for key, value in dict(logs or {}).items()}
    return {"loss": values.pop("loss", None), "metrics": values}


def progress_callbacks(context: Context, rows: int | None) -> list[Any]:
    """Returns the callback that reports to the engine; none where no engine listens.

    Args:
        context: the block.
        rows: the number of training rows, where it is known.
    """
    if not os.environ.get(PROGRESS):
        return []

    class Progress(keras().callbacks.Callback):  # type: ignore[misc]  # keras has no types
        """Appends an event for the start, each epoch, and at most each second."""

        last = 0.0
        epoch = 0

        def _total(self, name: str) -> Any:
            return (self.params or {}).get(name)

        def on_train_begin(self, logs: Any = None) -> None:
            count = sum(int(w.size if hasattr(w, "size") else 0) for w in self.model.get_weights())
            event(
                "start",
                block=context.block,
                epochs=self._total("epochs"),
                steps=self._total("steps"),
                parameters=count,
                rows=rows,
            )

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.epoch = epoch

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            now = time.monotonic()
            if now - self.last >= SECONDS_BETWEEN_EVENTS:
                self.last = now
                event(
                    "batch",
                    epoch=self.epoch + 1,
                    epochs=self._total("epochs"),
                    step=batch + 1,
                    steps=self._total("steps"),
                    **_logs(logs),
                )

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            event("epoch", epoch=epoch + 1, epochs=self._total("epochs"), **_logs(logs))

    return [Progress()]
