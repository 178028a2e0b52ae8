"""Runs what needs TensorFlow, or the user's code, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from sknc.errors import EnvironmentProblem, InputProblem, SkncError, UsageError
from sknc.memplan.request import Request
from sknc.memplan.targets import Target

TAIL = 12


def report_in_child(request: Request, target: Target) -> dict[str, Any]:
    """Make a report in a child process.

    Args:
        request: the options.
        target: what to plan for.

    Returns:
        The report.

    Raises:
        UsageError: when the target cannot be planned.
        InputProblem: when the user's code fails before the training starts.
        EnvironmentProblem: when the child ends without an answer.
    """
    with tempfile.TemporaryDirectory(prefix="sknc-memplan-") as folder:
        answer = Path(folder) / "answer.json"
        job = json.dumps({"request": request.as_json(), "kind": target.kind, "name": target.name})
        environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ, "KERAS_BACKEND": "tensorflow"}
        # What the user's code prints is not part of the report.
        child = subprocess.run(
            [sys.executable, "-m", "sknc.memplan.child", str(answer)],
            input=job,
            text=True,
            capture_output=True,
            env=environment,
            check=False,
        )
        if not answer.is_file():
            raise EnvironmentProblem(
                f"planning '{target.name}' ended with status {child.returncode} and no answer",
                "\n".join(child.stderr.splitlines()[-TAIL:]) or None,
            )
        said: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    if "report" in said:
        result: dict[str, Any] = said["report"]
        return result
    raise failure(said)


def failure(said: dict[str, Any]) -> SkncError:
    """The error that a child told of."""
    kinds = {"usage": UsageError, "input": InputProblem}
    return kinds.get(said["error"], EnvironmentProblem)(said["message"], said.get("hint"), said.get("status"))
