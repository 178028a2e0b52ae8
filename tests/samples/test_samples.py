"""The samples: all of them split, some are trained and composed as their users would."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sknc import cli
from sknc.splitting import prepare

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted((ROOT / "samples").glob("*.py"))
ROW = re.compile(r"^\| \[(\w+\.py)\]\(\1\) \|.*\| ([^|]*) \|$", re.MULTILINE)

# What the suggested -m of each sample gives: kind, submodels, F and the widths (old, new) of the largest submodel.
EXPECTED = {
    "alexnet.py": [("multiclass", 45, 5, "96>20 256>52 384>77 384>77 256>52 4096>820 4096>820 102>22")],
    # The base width 384 becomes 77, and the filters what the script's arithmetic makes of that.
    "alexnet_dialect.py": [("multiclass", 45, 5, "96>19 256>51 384>77 384>77 256>51 4096>820 4096>820 102>22")],
    "autoencoder.py": [("regression", 2, 2, "128>64 24>12 128>64 64>32")],
    "binary_sigmoid.py": [("binary", 2, 2, "32>16 16>8 1>1")],
    "binary_softmax.py": [("binary", 2, 2, "32>16 16>8 2>2")],
    "builder_digits.py": [("multiclass", 6, 2, "96>48 64>32 48>24 10>6")],
    "callback_digits.py": [("multiclass", 6, 2, "128>64 64>32 10>6")],
    "cnn_digits.py": [("multiclass", 6, 2, "32>16 64>32 128>64 10>6")],
    "cnn_digits_dialect.py": [("multiclass", 6, 2, "32>16 64>32 128>64 10>6")],
    "dct_regression.py": [("regression", 4, 4, "16>4 16>4 1024>256 1024>256")],
    "gru_digits.py": [("multiclass", 3, 1.5, "64>43 64>43 32>22 10>7")],
    "local_regression.py": [("local_regression", 4, 4, "24>6 48>12 24>6 1>1")],
    "mlp_digits.py": [("multiclass", 6, 2, "128>64 64>32 10>6")],
    "train_or_load.py": [("multiclass", 3, 1.5, "32>22 16>11 3>2")],
    "transformer.py": [("multiclass", 6, 2, "32>16 32>16 64>64 32>16 32>32 10>6")],
    "two_blocks.py": [
        ("multiclass", 3, 1.5, "32>22 3>2"),
        ("regression", 3, 3, "48>16 24>8 6>2"),
    ],
}


def suggested():
    """Return the first -m that samples/README.md suggests, by sample."""
    text = (ROOT / "samples" / "README.md").read_text(encoding="utf-8")
    return {name: int(number.split()[0]) for name, number in ROW.findall(text)}


def name(path):
    return path.name


def test_the_readme_lists_every_sample():
    assert sorted(suggested()) == [path.name for path in SAMPLES] == sorted(EXPECTED)


@pytest.mark.parametrize("sample", SAMPLES, ids=name)
def test_splits(sample):
    made = prepare(sample, submodels=suggested()[sample.name])
    assert [d for d in made.diagnostics if d.severity != "info"] == []
    submodels = [program["file"] for block in made.blocks for program in block["programs"]]
    assert {*submodels, "compose.py", "original.py"} == {name for name in made.files if re.fullmatch(r"\w+\.py", name)}
    for name, content in made.files.items():
        if name.endswith(".py"):
            compile(content, name, "exec")
    found = []
    for block in made.blocks:
        largest = max(block["programs"], key=lambda p: (len(p.get("classes") or ()), sum(w[1] for w in _widths(p))))
        widths = " ".join(f"{old}>{new}" for old, new in _widths(largest))
        found.append((block["kind"], block["submodels"], block["factor"], widths))
    assert found == EXPECTED[sample.name]


def _widths(program):
    return list(program["widths"].values())


def run(folder, **environment):
    """Run a split folder to its end; return results.json and what was printed."""
    quiet = {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2", "SEED": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "sknc", "run", folder.name],
        cwd=folder.parent,
        env={**os.environ, **quiet, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((folder / "results.json").read_text(encoding="utf-8")), done.stdout


@pytest.mark.parametrize(
    ("sample", "submodels", "epochs", "measure", "bound", "last_words"),
    [
        ("mlp_digits.py", 3, 12, "accuracy", 0.9, "digits read wrongly, the first of them:"),
        ("cnn_digits_dialect.py", 3, 4, "accuracy", 0.8, "digits read correctly, test accuracy"),
        ("binary_sigmoid.py", 2, 8, "accuracy", 0.9, "area under the ROC curve"),
        ("autoencoder.py", 2, 2, "loss", -0.02, "signal to noise"),
    ],
)
def test_trains_and_composes(sample, submodels, epochs, measure, bound, last_words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    script = str(ROOT / "samples" / sample)
    assert cli.main(["split", script, "-m", str(submodels)]) == 0
    folder = tmp_path / f"{Path(sample).stem}_split"
    results, printed = run(folder, EPOCHS=str(epochs))
    assert [row["status"] for row in results["submodels"]] == ["finished"] * submodels
    found = results["composed"][measure]
    assert (found if measure == "accuracy" else -found) > bound
    assert last_words in printed
    assert cli.main(["split", script, "-m", str(submodels), "--check"]) == 0
