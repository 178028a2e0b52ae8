"""Output folders whose programs are quick: real processes that use the real runtime's formats, without a network.

Each program notes in DIR/ran.txt that it ran, so that a test can tell what was run how often.
"""

from __future__ import annotations

import collections
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sknc import emit

SOURCE = b"import keras\n\nx = 1\n"

_HEAD = """import os, pathlib, sys, time
import skn_runtime
from skn_runtime import artifacts, context
here = pathlib.Path(__file__).absolute().parent
with open(here / "ran.txt", "a") as ran: ran.write(pathlib.Path(__file__).name + "\\n")
attempt = (here / "ran.txt").read_text().splitlines().count(pathlib.Path(__file__).name)
"""

SUBMODEL = (
    _HEAD
    + """block = skn_runtime.begin(__file__, block={block}, kind="multiclass", of=4, classes={classes})
context.event("start", epochs=2, parameters=100)
{body}
for epoch in (1, 2):
    context.event("epoch", epoch=epoch, epochs=2, loss=1.0 / epoch, metrics={{"accuracy": 0.4 * epoch}})
artifacts.write_json(block.folder / "result.json", {{
    "file": pathlib.Path(__file__).name, "program": artifacts.program_hash(__file__),
    "seconds": {seconds}, "parameters": 100, "peak_bytes": None,
    "metrics": {{"loss": 0.5, "accuracy": 0.8}}}})
context.event("done")
"""
)

COMPOSE = (
    _HEAD
    + """print("composing")
{body}
said = {{"accuracy": 0.75, "loss": 0.5, "parameters": 300}}
artifacts.write_json(artifacts.compose_folder(__file__) / "result.json", said)
print("prediction: 7")
"""
)

ORIGINAL = (
    _HEAD
    + """block = skn_runtime.begin_original(__file__, block=0, kind="multiclass", of=4, measures=["acc"])
{body}
artifacts.write_json(block.folder / "result.json", {{
    "file": "original.py", "program": artifacts.program_hash(__file__), "seconds": 8.0, "parameters": 400,
    "peak_bytes": None, "accuracy": 0.7, "loss": 0.6}})
"""
)


def make(
    folder: Path,
    bodies: Mapping[str, str] | Sequence[str] = ("", "", ""),
    *,
    blocks: Sequence[Sequence[str]] | None = None,
    compose: str = "",
    original: str | None = None,
    seconds: float = 2.0,
) -> Path:
    """Write an output folder.

    Args:
        folder: where.
        bodies: what each submodel does between start and result; by name, or in order.
        blocks: names of each block's programs; one block of all when None.
        compose: what the composer does.
        original: what the original does; None: there is no original.py.
        seconds: what each submodel says that it took.
    """
    if not isinstance(bodies, Mapping):
        bodies = {f"submodel_{number:02d}.py": body for number, body in enumerate(bodies)}
    blocks = [list(bodies)] if blocks is None else blocks
    programs: dict[str, bytes] = {}
    described: list[dict[str, Any]] = []
    for index, names in enumerate(blocks):
        entries = []
        for number, name in enumerate(names):
            classes = [number % 3, 3]
            text = SUBMODEL.format(block=index, classes=classes, body=bodies[name], seconds=seconds)
            programs[name] = text.encode()
            # Line 9 of a program is where its body begins: line 3 of the script.
            entries.append({"file": name, "classes": classes, "share": [], "widths": {}, "lines": [[9, 3, 1]]})
        described.append(
            {
                "index": index,
                "kind": "multiclass",
                "compose": "coupling",
                "composer": "compose.py",
                "programs": entries,
            }
        )
    programs["compose.py"] = COMPOSE.format(body=compose).encode()
    if original is not None:
        programs["original.py"] = ORIGINAL.format(body=original).encode()
    emit.write(folder, emit.assemble(programs, described, "train.py", SOURCE))
    return folder


def command(*arguments: object) -> list[str]:
    """Return the command line of sknc."""
    return [sys.executable, "-m", "sknc", *map(str, arguments)]


def environment(**own: str) -> dict[str, str]:
    """Return an environment without what would change the display or the threads."""
    odd = (
        "TF_NUM_INTRAOP_THREADS",
        "TF_NUM_INTEROP_THREADS",
        "OMP_NUM_THREADS",
        "FORCE_COLOR",
        "COLUMNS",
        "LINES",
        "NO_COLOR",
    )
    kept = {name: value for name, value in os.environ.items() if name not in odd}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", "CUDA_VISIBLE_DEVICES": "-1", **own}


_WITHOUT_PRIVILEGE = """import ctypes, os, sys
if os.geteuid() == 0: ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def sknc(
    *arguments: object, cwd: Path | None = None, plain_user: bool = False, **own: str
) -> subprocess.CompletedProcess[str]:
    """Run sknc to its end.

    Args:
        arguments: of the command line.
        cwd: where the user stands.
        plain_user: permissions count, even when the tests are run by root (CAP_DAC_OVERRIDE is dropped).
        own: environment variables.
    """
    words = command(*arguments)
    if plain_user:
        words = [sys.executable, "-c", _WITHOUT_PRIVILEGE, *words]
    return subprocess.run(
        words, capture_output=True, text=True, timeout=300, cwd=cwd, env=environment(**own), check=False
    )


def start(*arguments: object, **own: str) -> subprocess.Popen[str]:
    """Start sknc; the test ends it."""
    return subprocess.Popen(
        command(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**own),
        preexec_fn=_default_signals,
    )


def _default_signals() -> None:
    """Undo what a shell's `&` or nohup leaves to its children: signals that are ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def ran(folder: Path) -> dict[str, int]:
    """Return how often each program was run."""
    path = folder / "ran.txt"
    return dict(collections.Counter(path.read_text().splitlines())) if path.exists() else {}


def results(folder: Path) -> dict[str, Any]:
    """Return results.json."""
    content: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return content


def statuses(folder: Path) -> dict[str, str]:
    """Return the status of each submodel in results.json."""
    return {entry["file"]: entry["status"] for entry in results(folder)["submodels"]}


def wait_for(condition: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Wait until something is true, and return it.

    Raises:
        TimeoutError: it did not become true.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise TimeoutError("it did not happen")


def processes(folder: Path) -> dict[str, int]:
    """Return the process ids of the folder's programs that run now, by program."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        for word in words[1:2]:
            path = Path(os.fsdecode(word))
            if path.parent == folder and path.suffix == ".py" and state != "Z":
                found[path.name] = int(entry.name)
    return found
