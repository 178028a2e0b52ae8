"""kill -9 of `sknc split` itself: after the next sknc command the folder is whole, and nothing was lost."""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from sknc import cli
from sknc.emit import compare
from sknc.splitting import prepare

ROOT = Path(__file__).resolve().parents[2]
MOMENTS = int(os.environ.get("SKNC_KILLS", "6"))


def test_killed_while_it_splits(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "samples" / "mlp_digits.py", "train.py")
    folder = tmp_path / "train_split"
    whole = {count: prepare("train.py", submodels=count).files for count in (3, 6)}
    assert cli.main(["split", "train.py", "-m", "3"]) == 0
    weights = folder / "artifacts" / "submodel_00-0123456789ab" / "weights.npz"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"trained")

    def split(count):
        return subprocess.Popen([sys.executable, "-m", "sknc", "split", "train.py", "-m", str(count)])

    begin = time.perf_counter()
    assert split(6).wait() == 0
    took = time.perf_counter() - begin
    seed = random.randrange(10**6)
    moments = random.Random(seed)
    for moment in range(MOMENTS):
        killed = split((3, 6)[moment % 2])
        time.sleep(took * moments.uniform(0.5, 1.05))  # the first half is Python starting
        killed.kill()
        killed.wait()
        cli.main(["split", "train.py", "-m", "6", "--check"])  # the next sknc command; it writes nothing of its own
        told = f"moment {moment} of seed {seed}"
        assert [count for count in (3, 6) if compare(folder, whole[count]) == []], told
        assert weights.read_bytes() == b"trained", told
        assert sorted(path.name for path in tmp_path.iterdir()) == ["train.py", "train_split"], told
