"""The child process: builds or finds the model, plans it, writes the answer.

Models are built inside `keras.StatelessScope()`, so that no weight is allocated. Leaving that scope would
make them all, so the process ends inside it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sknc.errors import MissingExtra, SkncError
from sknc.memplan.reports import report_for
from sknc.memplan.request import Request
from sknc.memplan.usercode import UserCodeFailed, user_frames
from sknc.runtime.memory.errors import PlanError

if TYPE_CHECKING:
    from sknc.runtime.memory.analysis import Subject
    from sknc.runtime.memory.tensorflow import ModelSubjects

Answer = dict[str, Any]
FAULT = "this is a fault of sknc: please report it, with the traceback that SKNC_DEBUG=1 prints"


def main(arguments: list[str]) -> None:
    """Answer one job.

    Args:
        arguments: the file for the answer; the job is read from standard input.
    """
    job = json.loads(sys.stdin.read())
    path = Path(arguments[0])

    def answer(content: Answer) -> None:
        path.write_text(json.dumps(content), encoding="utf-8")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    # Unbuffered, and closed to what the user's code starts.
    os.set_inheritable(job["progress"], False)
    progress = open(job["progress"], "w", buffering=1, encoding="utf-8")  # noqa: SIM115 - open to the end

    def tell(text: str) -> None:
        with contextlib.suppress(OSError):
            progress.write(f"{text}\n")

    try:
        plan(Request.from_json(job["request"]), job["kind"], job["name"], answer, tell)
    except UserCodeFailed as error:
        answer({"error": "input", "message": str(error), "hint": user_frames(error.__cause__), "status": 2})
    except PlanError as error:
        answer({"error": "usage", "message": str(error), "hint": user_frames(error.__cause__)})
    except SkncError as error:
        answer({"error": "usage", "message": error.message, "hint": error.hint, "status": error.status})
    except Exception as error:  # noqa: BLE001 - nobody foresaw it: the parent tells of it as the command line does
        debug = traceback.format_exc() if os.environ.get("SKNC_DEBUG") == "1" else None
        said = " ".join(str(error).split()) or "no message"
        answer(
            {"error": "internal", "message": f"internal error: {type(error).__name__}: {said}", "hint": debug or FAULT}
        )


def plan(request: Request, kind: str, name: str, answer: Callable[[Answer], None], tell: Callable[[str], None]) -> None:
    """Plan a target and hand over the report.

    Args:
        request: the options.
        kind: the kind of target.
        name: its name.
        answer: takes the answer; it does not return.
        tell: is told how far a long search is.

    Raises:
        MissingExtra: TensorFlow or Keras is not installed in this interpreter.
    """
    for package in ("tensorflow", "keras"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra("cpu", f"sknc memplan of a {kind}", package)
    if kind == "script":
        from sknc.memplan.scripts import plan_script

        plan_script(request, name, answer, tell)
        return
    from sknc.memplan.models import model_in_scope

    with model_in_scope(request, kind, name) as subjects:
        answer({"report": whole_report(request, subjects, tell)})


def whole_report(request: Request, subjects: ModelSubjects, tell: Callable[[str], None]) -> dict[str, Any]:
    """The report on a model, and the plan for its training where that is wanted.

    Args:
        request: the options.
        subjects: the model.
        tell: is told how far a long search is.

    Returns:
        The report of the contract; with `training_plan` where that is wanted.
    """
    report = report_for(request, accounted(request, subjects), tell)
    if request.training_plan:
        from sknc.memplan.training import training_plan

        report["training_plan"] = training_plan(request, subjects, report["batch"])
    return report


def accounted(request: Request, subjects: ModelSubjects) -> Callable[[int], Subject]:
    """How a model's training step is made under the accounting that was asked for.

    Args:
        request: the options.
        subjects: the model.

    Returns:
        The training step for a batch size.

    Raises:
        PlanError: when the model cannot be counted so.
    """
    if request.accounting != "superneurons":
        return subjects
    from sknc.memplan.networks import LayerSubjects

    return LayerSubjects(subjects)


if __name__ == "__main__":
    main(sys.argv[1:])
