"""What goes wrong with a pool is told in one message, and leaves no files."""

from __future__ import annotations

import contextlib
import functools
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import keras
import pytest

from sknc.runtime.errors import ProgramError
from sknc.runtime.memory.execute import spill
from sknc.runtime.memory.execute.spill import PREFIX, DiskPool
from tests.memory_runtime.nets import BATCH
from tests.memory_runtime.pieces import ACTIVATION, batches, planned, small_disk, small_files

ROOT = Path(__file__).resolve().parents[2]


def left(folder: Path) -> list[str]:
    """Files below a folder, locks of live processes not counted."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and path.name != "lock"]


def test_a_disk_that_is_too_small_is_refused_before_the_training(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=64k") as made:
        spills = planned if made else functools.partial(DiskPool, needed=2**60)
        with pytest.raises(ProgramError, match=r"spills [\d,]+ bytes to .*disk, which has [\d,]+ bytes left"):
            spills(tmp_path / "disk")
        assert not list((tmp_path / "disk").iterdir())


def test_a_disk_that_fills_up_while_it_trains(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "size=2m") as made:
        model = planned(disk)
        (before,) = model.fit(*batches(), batch_size=BATCH, verbose=0).history["loss"]
        assert not left(disk)
        (disk / "somebody else's").write_bytes(b"x" * (2 * 2**20 - 2 * ACTIVATION))
        # Where no file system can be mounted, no file may be that large.
        limit: Any = contextlib.nullcontext() if made else small_files(ACTIVATION // 2)
        reason = "No space left on device" if made else "File too large"
        with limit, pytest.raises(ProgramError, match=reason) as full:
            model.train_on_batch(*batches())
        assert "\n  hint: make room there" in str(full.value)
        assert [Path(name).name for name in left(disk)] == ["somebody else's"]
        (disk / "somebody else's").unlink()
        assert float(model.train_on_batch(*batches())) < before, "it goes on where it was"


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    model = planned(tmp_path)
    with small_files(ACTIVATION // 2), pytest.raises(ProgramError, match="File too large"):
        model.fit(*batches(), batch_size=BATCH, verbose=0)
    assert not left(tmp_path)


def test_a_folder_that_is_read_only(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "ro") as made:
        (tmp_path / "file").touch()
        # A superuser may write into any folder; nobody can make one below a file.
        disk, reason = ("disk", "Read-only file system") if made else ("file/disk", "Not a directory")
        with pytest.raises(ProgramError, match=f"nothing can be written: {reason}"):
            planned(tmp_path / disk)


class Stopping(keras.callbacks.Callback):  # type: ignore[misc]  # keras has no types
    """Ends the training in the middle of an epoch."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        raise self.error


@pytest.mark.parametrize("error", [RuntimeError("mine"), KeyboardInterrupt()])
def test_an_exception_in_a_callback_stays_what_it_is(tmp_path: Path, error: BaseException) -> None:
    model = planned(tmp_path)
    with pytest.raises(type(error)) as raised:
        model.fit(*batches(2), batch_size=BATCH, verbose=0, callbacks=[Stopping(error)])
    assert raised.value is error
    assert not left(tmp_path)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_training_that_is_stopped_from_outside(tmp_path: Path, how: signal.Signals) -> None:
    program = "import sys; from tests.memory_runtime.pieces import trains_until_stopped as t; t(sys.argv[1])"
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert child.stdout is not None
        assert any(b"ready" in line for line in child.stdout)
        other = DiskPool(tmp_path)
        assert len(list(tmp_path.glob(f"{PREFIX}*"))) == 2, "a living process keeps its folder"
        child.send_signal(how)
        child.stdout.read()
        assert child.wait(60) != 0
    finally:
        child.kill()
        child.wait(60)
    if how == signal.SIGINT:
        assert list(tmp_path.iterdir()) == [other.folder]
    other.close()
    DiskPool(tmp_path).close()
    assert not list(tmp_path.iterdir())


def test_what_was_killed_before_its_folder_had_a_name_is_removed(tmp_path: Path) -> None:
    for name, locked in ((f".new-{PREFIX}empty", False), (f".new-{PREFIX}unlocked", True)):
        (tmp_path / name).mkdir()
        if locked:
            (tmp_path / name / "lock").touch()
    (tmp_path / f".new-{PREFIX}alive").mkdir()
    alive = spill._lock(tmp_path / f".new-{PREFIX}alive" / "lock")
    assert alive is not None
    pool = DiskPool(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {pool.folder.name, f".new-{PREFIX}alive"}
    pool.close()
    alive.close()


def test_a_folder_that_another_process_took_for_a_dead_ones_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, made = tempfile.mkdtemp, []

    def taken(**options: Any) -> str:
        made.append(make(**options))
        if len(made) == 1:
            assert [path.name for path in spill.remove_stale(tmp_path)] == [Path(made[0]).name]
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", taken)
    pool = DiskPool(tmp_path)
    assert len(made) == 2
    assert list(tmp_path.iterdir()) == [pool.folder]
    pool.close()


def test_a_forked_process_leaves_its_parents_folder_alone(tmp_path: Path) -> None:
    pool = DiskPool(tmp_path)
    pool._owner += 1
    pool.close()
    assert pool.folder.is_dir()
    pool._owner -= 1
    pool.close()
    assert not pool.folder.exists()
