"""Runs the probes, some at once, and says what they mean."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from sknc._version import __version__
from sknc.doctor.probes import LIMIT
from sknc.runtime.memory.units import format_size

State = Literal["works", "none", "missing", "unknown", "broken"]
_TENSORFLOW = ("tensorflow", "tensorflow-cpu", "tensorflow-intel", "tensorflow-macos")
_EXTRAS = {"dask": "distributed", "plot": "matplotlib", "notebook": "nbformat"}
_ONEDNN = "TF_ENABLE_ONEDNN_OPTS"
# TensorFlow alone takes a minute to start on a machine that is busy with other things.
_SECONDS = 300.0
_AT_ONCE = 3
_BUSY = "try again when the machine has less to do; a device that hangs can be left out with CUDA_VISIBLE_DEVICES=-1"
_BACKEND = "tensorflow"
# A step that holds less than this share of the other one's memory holds less.
_LESS = 0.9
_PAYLOAD = bytes(range(256)) * 4096

Answer = Mapping[str, Any]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: what.
        state: 'works', 'none' (there is nothing of that kind, or it has no effect), 'missing' (could be
            installed), 'unknown' (could not be found out), 'broken'.
        found: what was seen.
        hint: what to do about it; empty for nothing.
    """

    name: str
    state: State
    found: str
    hint: str = ""


@dataclass(frozen=True)
class Examination:
    """Everything that was looked at.

    Attributes:
        checks: in the order in which they are shown.
        can_train: whether a training step ran.
    """

    checks: tuple[Check, ...]
    can_train: bool

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"schema": 1, "can_train": self.can_train, "checks": [asdict(check) for check in self.checks]}


def examine() -> Examination:
    """Look at this machine and this installation. Settings are tried out in processes of their own.

    Returns:
        What was found.
    """
    around = [_versions(), *_extras()]
    spill = _spill(Path(tempfile.gettempdir()))
    missing = [name for name in ("tensorflow", "keras") if importlib.util.find_spec(name) is None]
    if missing:
        hint = "install one: python -m pip install 'sknc[cpu]' (or sknc[tensorflow], sknc[gpu])"
        lack = Check("training", "missing", f"{' and '.join(missing)} not installed", hint)
        return Examination((around[0], lack, spill, *around[1:]), False)
    with ThreadPoolExecutor(_AT_ONCE) as pool, tempfile.TemporaryDirectory() as folder:
        begun = {name: pool.submit(_probe, name, Path(folder)) for name in ("training", "limited")}
        # On many CPUs there are statistics, by which the two are compared, with oneDNN only.
        begun["xla"] = pool.submit(_probe, "xla", Path(folder), {_ONEDNN: "1"})
        training = begun["training"].result()
        gpus = [one for one in training.get("devices", []) if one["name"].startswith("GPU")]
        if gpus:
            begun["growth"] = pool.submit(_probe, "growth", Path(folder))
        answers = {name: future.result() for name, future in begun.items()}
    checks = (
        around[0],
        _training(training),
        *_devices(training),
        _allocator(training),
        _statistics(training, answers["xla"]),
        *_limits(answers["limited"], bool(gpus)),
        _growth(answers.get("growth")),
        *(_not_tried(name, bool(gpus)) for name in ("host_limit", "workspace_limit")),
        _threads(training, answers["limited"]),
        _xla(answers["xla"]),
        spill,
        *around[1:],
    )
    return Examination(checks, _training(training).state == "works")


def _probe(name: str, folder: Path, more: Mapping[str, str] | None = None) -> Answer:
    """Run a probe; a process that ends without an answer is an answer, too."""
    path = folder / f"{name}.json"
    environment = {**os.environ, **(more or {}), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", "sknc.doctor.probes", name, str(path)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer within {_SECONDS:.0f} s", "hint": _BUSY}
    try:
        answer: Answer = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return {"failed": lines[-1][:300] if lines else f"its process ended with {done.returncode}"}
    return answer


def _version(*names: str) -> str | None:
    found = [one for name in names for one in importlib.metadata.distributions(name=name)]
    return found[0].version if found else None


def _versions() -> Check:
    known = {
        "Python": platform.python_version(),
        "TensorFlow": _version(*_TENSORFLOW),
        "Keras": _version("keras"),
        "NumPy": _version("numpy"),
    }
    found = ", ".join(f"{name} {version}" for name, version in known.items() if version)
    return Check("versions", "works", f"sknc {__version__}, {found}")


def _extras() -> list[Check]:
    found = []
    for extra, package in _EXTRAS.items():
        version = _version(package) if importlib.util.find_spec(package) is not None else None
        hint = "" if version else f"python -m pip install 'sknc[{extra}]'"
        state: State = "works" if version else "missing"
        found.append(Check(f"extra {extra}", state, f"{package} {version}" if version else f"no {package}", hint))
    return found


def _spill(base: Path) -> Check:
    try:
        with tempfile.TemporaryDirectory(prefix="sknc-doctor-", dir=base) as folder:
            file = Path(folder) / "part"
            file.write_bytes(_PAYLOAD)
            same = file.read_bytes() == _PAYLOAD
        free = shutil.disk_usage(base).free
    except OSError as error:
        hint = "name another folder with TMPDIR, or fit_in_memory(..., spill_folder=...)"
        return Check("spill folder", "broken", f"{base}: {error.strerror or error}", hint)
    return Check("spill folder", "works" if same else "broken", f"{base}: {free:,} bytes free")


def _chosen_backend() -> str:
    """What Keras is told to compute with, by its own rules: another one may fail before it can be asked."""
    if os.environ.get("KERAS_BACKEND"):
        return os.environ["KERAS_BACKEND"]
    home = os.environ.get("KERAS_HOME")
    try:
        path = Path(home) if home else Path.home() / ".keras"
        return str(json.loads((path / "keras.json").read_text(encoding="utf-8"))["backend"])
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return _BACKEND


def _training(said: Answer) -> Check:
    backend = said.get("backend") or _chosen_backend()
    if backend != _BACKEND:
        hint = "unset KERAS_BACKEND, and the backend in keras.json"
        return Check("training", "broken", f"Keras computes with {backend}, not with TensorFlow", hint)
    if "failed" in said:
        hint = str(said.get("hint") or "reinstall: python -m pip install 'sknc[cpu]'")
        return Check("training", "broken", str(said["failed"]), hint)
    return Check("training", "works", "a step of a small network ran")


def _devices(said: Answer) -> list[Check]:
    devices = said.get("devices", [])
    names = [f"{one['name']} ({one['model']})" if one["model"] else one["name"] for one in devices]
    state: State = "works" if names else "unknown"
    gpu = any(one["name"].startswith("GPU") for one in devices)
    no_gpu = Check("GPU", "none", "no GPU: programs train on the CPU")
    return [Check("devices", state, ", ".join(names) or "not known"), *([] if gpu or not names else [no_gpu])]


def _allocator(said: Answer) -> Check:
    if "statistics" not in said:
        return Check("allocator", "unknown", "no training step ran")
    switched = os.environ.get("TF_CPU_ALLOCATOR_USE_BFC", "").lower() in ("1", "true")
    if not said["statistics"]:
        found = "it keeps no statistics, so that it cannot be told which one it is"
        return Check("allocator", "unknown", f"BFC is asked for; {found}" if switched else found)
    if said["counts_small"]:
        return Check("allocator", "works", "BFC: every request is counted")
    return Check("allocator", "works", "the default one of a CPU (oneDNN): requests below 256 KiB are not counted")


def _statistics(said: Answer, with_onednn: Answer) -> Check:
    if said.get("statistics"):
        return Check("memory statistics", "works", "peaks can be measured")
    if "statistics" not in said or "failed" in with_onednn:
        return Check("memory statistics", "unknown", "could not be tried")
    if with_onednn["peaks"] is not None:
        found = f"the allocator keeps none; with {_ONEDNN}=1 it does (tried)"
        return Check("memory statistics", "none", found, f"set {_ONEDNN}=1 to see peaks")
    return Check("memory statistics", "none", f"the allocator keeps none, with {_ONEDNN}=1 neither (tried)")


def _limits(said: Answer, gpu: bool) -> list[Check]:
    names = ("memory_limit", "BFC switch")
    if "failed" in said:
        return [Check(name, "broken", str(said["failed"])) for name in names[: 1 if gpu else 2]]
    size, more = format_size(LIMIT), format_size(2 * LIMIT)
    if said["refused"]:
        limit = Check(names[0], "works", f"with a limit of {size}, {more} were refused ({said['made']})")
    else:
        limit = Check(names[0], "none", f"with a limit of {size}, {more} were allocated all the same")
    if gpu:
        return [limit]
    if said["counts_small"]:
        return [limit, Check(names[1], "works", "TF_CPU_ALLOCATOR_USE_BFC=1 counts small requests as well")]
    return [limit, Check(names[1], "none", "TF_CPU_ALLOCATOR_USE_BFC=1 changed nothing that can be seen")]


def _growth(said: Answer | None) -> Check:
    if said is None:
        return Check("growth", "none", "no GPU")
    if "failed" in said:
        return Check("growth", "broken", str(said["failed"]))
    return Check("growth", "works", f"{said['made']}; what a GPU reserves is not measured")


def _not_tried(name: str, gpu: bool) -> Check:
    return Check(name, "unknown", "not tried") if gpu else Check(name, "none", "no GPU")


def _threads(two: Answer, one: Answer) -> Check:
    if "at_once" not in one or "at_once" not in two:
        return Check("threads", "unknown", "could not be tried")
    seen = f"of 4 operations, {one['at_once']} ran at once with threads=1, {two['at_once']} with threads=2"
    return Check("threads", "works" if one["at_once"] == 1 < two["at_once"] else "none", seen)


def _xla(said: Answer) -> Check:
    name = "XLA recomputation"
    if "failed" in said:
        return Check(name, "unknown", f"nothing could be compiled: {said['failed']}")
    if said["peaks"] is None:
        return Check(name, "unknown", "needs memory statistics")
    plain, again = said["peaks"]
    seen = f"a compiled step held {format_size(plain)}, with recomputation {format_size(again)}"
    if again < _LESS * plain:
        return Check(name, "works", seen)
    return Check(name, "none", f"{seen}: XLA gives no saving here, so budgets set jit_compile=False")
