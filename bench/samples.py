"""How the composed samples do beside the originals.

    python bench/samples.py                         (all trained samples; about an hour on two cores)
    python bench/samples.py --only mlp_digits --seeds 2
    python bench/samples.py --write                 (puts the table into docs/benchmarks.md)

Each sample is split with the -m that samples/README.md suggests and run with `sknc run --baseline`, the quick ones with
several seeds (environment variable SEED). What was measured is kept in the cache and not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
HEADING = "## Samples"
ROW = re.compile(r"^\| \[(\w+)\.py\]\(\1\.py\) \|.*\| ([^|]*) \|$", re.MULTILINE)
QUICK = frozenset({"autoencoder", "binary_sigmoid", "binary_softmax", "builder_digits", "callback_digits", "cnn_digits",
                   "cnn_digits_dialect", "mlp_digits", "train_or_load", "two_blocks"})  # fmt: skip
BUILT_ONLY = frozenset({"alexnet", "alexnet_dialect"})

Measured = dict[str, Any]


def suggested() -> dict[str, int]:
    """Return the -m that samples/README.md suggests first, by sample."""
    text = (ROOT / "samples" / "README.md").read_text(encoding="utf-8")
    return {name: int(number.split()[0]) for name, number in ROW.findall(text)}


def measure(name: str, submodels: int, seed: int, cache: Path) -> Measured:
    """Split and run a sample with one seed, or return what an earlier call found.

    Args:
        name: the sample.
        submodels: what -m is given.
        seed: value of SEED.
        cache: folder for the programs and their results.

    Returns:
        results.json of the run, the wall seconds, and the machine's load before it.

    Raises:
        subprocess.CalledProcessError: a command failed.
    """
    folder = cache / f"{name}_m{submodels}_s{seed}_split"
    kept = folder.with_suffix(".json")
    if kept.exists():
        return dict(json.loads(kept.read_text(encoding="utf-8")))
    command = [sys.executable, "-m", "sknc"]
    # With oneDNN the allocator of every CPU has statistics, which the peaks are read from.
    quiet = {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2", "TF_ENABLE_ONEDNN_OPTS": "1"}
    env = {**os.environ, "SEED": str(seed), **quiet}
    script = ROOT / "samples" / f"{name}.py"
    subprocess.run([*command, "split", script, "-m", str(submodels), "-o", folder], check=True, capture_output=True)
    start, load = time.monotonic(), os.getloadavg()[0]
    subprocess.run([*command, "run", folder, "--baseline"], check=True, capture_output=True, env=env, cwd=cache)
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    found["wall"], found["load"] = time.monotonic() - start, load
    kept.write_text(json.dumps(found), encoding="utf-8")
    return dict(found)


def attempt(name: str, submodels: int, seed: int, cache: Path) -> Measured | None:
    """Measure and tell how it went; None when it failed, so that the other samples are measured still."""
    try:
        found = measure(name, submodels, seed, cache)
    except subprocess.CalledProcessError as error:
        print(f"{name}, seed {seed}: {error}\n{error.stderr.decode(errors='replace')}", file=sys.stderr)
        return None
    print(f"{name}, seed {seed}: {found['wall']:.0f} s", file=sys.stderr)
    return found


def measures(found: Measured, block: int) -> dict[str, float]:
    """Return the accuracy and loss of one block of `composed` or `original`."""
    place = found["blocks"][block] if found.get("blocks") else found
    return {key: place[key] for key in ("accuracy", "loss") if place.get(key) is not None}


def spread(values: list[float], form: str) -> str:
    """Write the mean, and the standard deviation where there are several values."""
    text = form.format(statistics.fmean(values))
    return text if len(values) < 2 else f"{text} ± {form.format(statistics.stdev(values))}"


def rows(name: str, submodels: int, runs: list[Measured]) -> list[str]:
    """Return a sample's lines of the table, one a block."""
    lines = []
    blocks = sorted({row["block"] for row in runs[0]["submodels"]})
    for block in blocks:
        mine = [[row for row in run["submodels"] if row["block"] == block] for run in runs]
        original = [measures(run["original"], block) for run in runs]
        composed = [measures(run["composed"], block) for run in runs]
        cells = [f"{name}, block {block + 1}" if len(blocks) > 1 else name, str(len(mine[0])), str(len(runs))]
        for key, form in (("accuracy", "{:.4f}"), ("loss", "{:.3f}" if "accuracy" in composed[0] else "{:.2e}")):
            for side in (original, composed):
                values = [found[key] for found in side if key in found]
                cells.append(spread(values, form) if len(values) == len(runs) else "")
        parameters = [row["parameters"] for row in mine[0]]
        first = block == blocks[0]
        cells.append(f"{runs[0]['original']['parameters']:,}" if first and len(blocks) == 1 else "")
        cells += [f"{max(parameters):,}", f"{sum(parameters):,}"]
        cells.append(spread([run["original"]["seconds"] for run in runs], "{:.1f}") if first else "")
        cells.append(spread([max(row["seconds"] for row in some) for some in mine], "{:.1f}"))
        cells.append(spread([sum(row["seconds"] for row in some) for some in mine], "{:.1f}"))
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def table(results: dict[str, tuple[int, list[Measured]]]) -> str:
    """Return the table in Markdown."""
    head = ["sample", "M", "seeds", "accuracy, original", "composed", "loss, original", "composed",
            "parameters, original", "largest submodel", "all submodels", "seconds, original", "longest submodel",
            "all submodels"]  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * 1 + "--:|" * (len(head) - 1)]
    for name, (submodels, runs) in results.items():
        lines += rows(name, submodels, runs)
    return "\n".join(lines)


def busy(results: dict[str, tuple[int, list[Measured]]]) -> str:
    """Say so when other work took part of the machine."""
    load = statistics.fmean(run.get("load", 0.0) for _, runs in results.values() for run in runs)
    return f"\nThe machine was busy with other work (load {load:.1f}): the seconds are too high.\n" if load > 1 else ""


def section(text: str, remark: str) -> str:
    """Return the page's section with a table in it."""
    return f"""{HEADING}

Every sample that is trained, split with the `-m` that [samples/README.md](../samples/README.md) suggests and run with
`sknc run --baseline` on two cores: `python bench/samples.py --write`. Mean and standard deviation over the seeds. The
measures are those that the sample's marker asks for, on its test data. Seconds are those of the training processes; a
submodel has the threads that `sknc run` gives it, which is a share of the machine, while the original has all of it.
{remark}
{text}
"""


def write(text: str, remark: str) -> None:
    """Replace the page's section on the samples; the others stay as they are."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else "# Benchmarks\n"
    before, found, rest = page.partition(HEADING + "\n")
    following = re.search(r"^## ", rest, re.MULTILINE)
    after = rest[following.start() :] if found and following else ""
    PAGE.write_text(
        before.rstrip() + "\n\n" + section(text, remark) + ("\n" + after if after else ""), encoding="utf-8"
    )


def main() -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", help="names of samples")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of the quick samples")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "samples-bench")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    args = parser.parse_args()
    cache = args.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    results: dict[str, tuple[int, list[Measured]]] = {}
    for name, submodels in suggested().items():
        if name in BUILT_ONLY or (args.only and name not in args.only):
            continue
        seeds = range(args.seeds if name in QUICK else 1)
        runs = [found for seed in seeds if (found := attempt(name, submodels, seed, cache))]
        if runs:
            results[name] = submodels, runs
    text = table(results)
    print(text)
    if args.write:
        write(text, busy(results))


if __name__ == "__main__":
    main()
