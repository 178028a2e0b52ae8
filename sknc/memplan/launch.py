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

from sknc.errors import EnvironmentProblem, InputProblem, SkncError, UsageError
from sknc.memplan.request import Request
from sknc.memplan.targets import Target
from sknc.runtime.memory.batches import Tell

TAIL = 12


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
        status, printed = run_child(request, target, answer, tell or (lambda _: None))
        if not answer.is_file():
            raise EnvironmentProblem(
                f"planning '{target.name}' ended with status {status} and no answer",
                "\n".join(printed.splitlines()[-TAIL:]) or None,
            )
        said: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    if "report" in said:
        result: dict[str, Any] = said["report"]
        return result
    raise failure(said)


def run_child(request: Request, target: Target, answer: Path, tell: Tell) -> tuple[int, str]:
    """Run the child process to its end.

    Args:
        request: the options.
        target: what to plan for.
        answer: the file for the answer.
        tell: is told each line of the child's progress.

    Returns:
        Its status, and what it wrote to standard error.
    """
    reading, writing = os.pipe()
    job = {"request": request.as_json(), "kind": target.kind, "name": target.name, "progress": writing}
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ, "KERAS_BACKEND": "tensorflow"}
    # What the user's code prints is not part of the report.
    child = subprocess.Popen(
        [sys.executable, "-m", "sknc.memplan.child", str(answer)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
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
        _, printed = child.communicate(json.dumps(job))
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
    listener.join(timeout=1)
    return child.returncode, printed


def failure(said: dict[str, Any]) -> SkncError:
    """The error that a child told of."""
    kinds = {"usage": UsageError, "input": InputProblem}
    return kinds.get(said["error"], EnvironmentProblem)(said["message"], said.get("hint"), said.get("status"))
