"""kill -9 at any moment leaves an old or a new folder, whole, and every artifact."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sknc.emit import compare, recover, write
from tests.emit.versions import version

ROOT = Path(__file__).resolve().parents[2]
MOMENTS = int(os.environ.get("SKNC_KILLS", "12"))


@pytest.mark.parametrize("way", ["exchange", "journal"])
def test_killed_at_random_moments(tmp_path, way):
    seed = random.randrange(10**6)
    moments = random.Random(seed)
    folder = tmp_path / "train_split"
    write(folder, version(0))
    (folder / "artifacts" / "submodel_00-abc").mkdir(parents=True)
    (folder / "artifacts" / "submodel_00-abc" / "weights.npz").write_bytes(b"trained")
    (folder / "notes.txt").write_text("mine")
    interrupted = 0
    for moment in range(MOMENTS):
        writer = subprocess.Popen(
            [sys.executable, "-m", "tests.emit.kill_writer", str(folder), way],
            cwd=ROOT,
            stdout=subprocess.PIPE,
        )
        writer.stdout.readline()
        time.sleep(moments.random() * 0.06)
        writer.kill()
        writer.wait()
        writer.stdout.close()
        interrupted += len(list(tmp_path.iterdir())) > 1 or (folder / ".sknc-write.json").exists()
        recover(folder)
        told = f"moment {moment} of seed {seed}"
        assert sorted(tmp_path.iterdir()) == [folder], told
        assert not (folder / ".sknc-write.json").exists(), told
        assert compare(folder, version(0)) == [] or compare(folder, version(1)) == [], told
        assert (folder / "artifacts" / "submodel_00-abc" / "weights.npz").read_bytes() == b"trained", told
        assert (folder / "notes.txt").read_text() == "mine", told
    assert interrupted, "no kill fell into a write: the test shows nothing"
