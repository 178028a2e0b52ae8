"""Runs what needs TensorFlow, or the user's code, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from sknc.engines import launcher
from sknc.engines.logs import tail
from sknc.errors import EnvironmentProblem, InputProblem, SkncError, UsageError
from sknc.memplan.request import Request
from sknc.memplan.targets import Target
from sknc.runtime.memory.batches import Tell

TAIL = 12
OUT_OF_MEMORY = "a system that runs out of memory ends processes so"


def report_in_child(request: Request, target: Target, tell: Tell | None = None) -> dict[str, Any]:
    """Make a report in a child process.

    Args:
        request: the options.
        target: what to plan for.
        tell: is told how far a long search is.

    Returns:
        The report.

    Raises:
        UsageError: when the target cannot be planned.
        InputProblem: when the user's code fails before the training starts.
        EnvironmentProblem: when the child ends without an answer.
    """
    with tempfile.TemporaryDirectory(prefix="sknc-memplan-") as folder:
        answer = Path(folder) / "answer.json"
        log = Path(folder) / "log.txt"
        status = run_child(request, target, answer, log, tell or (lambda _: None))
        if not answer.is_file():
            ended = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
            hint = "\n".join(tail(log, lines=TAIL)) or (OUT_OF_MEMORY if status == -9 else None)
            raise EnvironmentProblem(f"planning '{target.name}' {ended} and gave no answer", hint)
        said: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    if "report" in said:
        result: dict[str, Any] = said["report"]
        return result
    raise failure(said)


def run_child(request: Request, target: Target, answer: Path, log: Path, tell: Tell) -> int:
    """Run the child process to its end.

    Args:
        request: the options.
        target: what to plan for.
        answer: the file for the answer.
        log: the file for what it writes to standard error.
        tell: is told each line of the child's progress.

    Returns:
        Its status.
    """
    reading, writing = os.pipe()
    job = {"request": request.as_json(), "kind": target.kind, "name": target.name, "progress": writing}
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ, "KERAS_BACKEND": "tensorflow"}
    # What the user's code prints is not part of the report.
    with log.open("wb") as errors:
        child = subprocess.Popen(
            [*_python(), "-m", "sknc.memplan.child", str(answer)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=environment,
            pass_fds=(writing,),
        )
    os.close(writing)

    def listen() -> None:
        with open(reading, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                tell(line.rstrip("\n"))

    # A daemon: whoever the user's code leaves running may hold the other end for ever.
    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        child.communicate(json.dumps(job).encode("utf-8"))
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
    listener.join(timeout=1)
    return child.returncode


def _python() -> list[str]:
    """The interpreter; on Linux a process that does not outlive this one."""
    if not sys.platform.startswith("linux"):
        return [sys.executable]
    return [sys.executable, "-I", "-S", launcher.__file__, str(os.getpid())]


def failure(said: dict[str, Any]) -> SkncError:
    """The error that a child told of."""
    kinds = {"usage": UsageError, "input": InputProblem}
    return kinds.get(said["error"], EnvironmentProblem)(said["message"], said.get("hint"), said.get("status"))
