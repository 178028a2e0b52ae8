"""The lock on an output folder."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sknc.engines import lock
from sknc.errors import EnvironmentProblem

_HOLD = """import sys
from sknc.engines import lock
with lock.acquire(sys.argv[1], "run"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "out"
    path.mkdir()
    return path


def _hold(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_nobody_has_it(folder: Path, tmp_path: Path) -> None:
    assert lock.held(folder) is None
    assert lock.held(tmp_path / "nowhere") is None
    lock.refuse_if_held(folder, "split")
    # To look leaves nothing behind.
    assert list(folder.iterdir()) == []


def test_another_process_has_it(folder: Path) -> None:
    process = _hold(folder)
    holder = lock.held(folder)
    assert holder is not None
    assert (holder.pid, holder.command) == (process.pid, "run")
    with pytest.raises(EnvironmentProblem, match=f"cannot split .*process {process.pid}, since 20"):
        lock.refuse_if_held(folder, "split")
    with pytest.raises(EnvironmentProblem, match="cannot clean"), lock.acquire(folder, "clean"):
        pass
    process.communicate("")
    assert lock.held(folder) is None
    with lock.acquire(folder, "run"):
        found = lock.held(folder)
        assert found is not None
        assert found.pid == os.getpid()
    assert lock.held(folder) is None


def test_it_ends_with_its_process(folder: Path) -> None:
    process = _hold(folder)
    process.kill()
    process.communicate()
    assert lock.lock_file(folder).exists()
    assert lock.held(folder) is None


def test_it_is_held_though_its_words_are_damaged(folder: Path) -> None:
    process = _hold(folder)
    lock.lock_file(folder).write_bytes(b"\xff not json")
    holder = lock.held(folder)
    assert holder is not None
    assert holder.pid is None
    assert "another process" in str(holder)
    process.communicate("")


def test_a_look_never_keeps_a_run_from_starting(folder: Path) -> None:
    with lock.acquire(folder, "run"):
        pass
    looking = os.open(lock.lock_file(folder), os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    timer = threading.Timer(0.2, os.close, [looking])
    timer.start()
    with lock.acquire(folder, "run"):
        found = lock.held(folder)
        assert found is not None
        assert found.pid == os.getpid()
    timer.join()


def test_a_lock_on_a_file_that_was_removed_is_none(folder: Path) -> None:
    with lock.acquire(folder, "clean"):
        descriptor = os.open(lock.lock_file(folder), os.O_RDONLY)
        assert lock._is_current(descriptor, lock.lock_file(folder))
        lock.lock_file(folder).unlink()
        assert not lock._is_current(descriptor, lock.lock_file(folder))
        # The file that is locked is gone; who comes now must not wait for it.
        with lock.acquire(folder, "run"):
            assert lock.lock_file(folder).exists()
            assert not lock._is_current(descriptor, lock.lock_file(folder))
    os.close(descriptor)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "artifacts").write_text("a file")
    with pytest.raises(EnvironmentProblem, match="cannot write in"), lock.acquire(tmp_path, "run"):
        pass
    assert lock.held(tmp_path) is None
