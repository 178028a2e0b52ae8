"""From a request to the report of the contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from sknc.errors import UsageError
from sknc.memplan.launch import report_in_child
from sknc.memplan.request import Request
from sknc.memplan.targets import Target, programs_of, read_target
from sknc.runtime.memory.analysis import REPORT_SCHEMA, Subject, layer_subject, report
from sknc.runtime.memory.batches import Tell, largest_batches
from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.papernets import paper_network

# The paper trains with momentum: three copies of the parameters.
PAPER_OPTIMIZER = "momentum"
# Steps of a search that are kept: the one that is reported on is among the last.
KEPT = 8


def make_report(request: Request, tell: Tell | None = None) -> dict[str, Any]:
    """The memory report that a request asks for.

    Args:
        request: target and options.
        tell: is told how far a long search is.

    Returns:
        The object of `sknc memplan --format json`.

    Raises:
        UsageError: when the target, a size or a name cannot be planned.
        InputProblem: when the user's code fails before the training starts.
    """
    target = read_target(request.target)
    if target.kind == "paper":
        return paper_report(request, target, tell)
    if target.kind != "folder":
        return report_in_child(request, target, tell)
    paths = programs_of(Path(target.name))
    if request.training_plan and len(paths) > 1:
        raise UsageError(
            f"'{request.target}' has {len(paths)} programs, and each has a plan of its own",
            "name the folder of one program, or split with --budget: each program then plans for itself",
        )
    programs = [report_in_child(request, Target("script", str(program)), tell) for program in paths]
    return {"schema": REPORT_SCHEMA, "target": request.target, "programs": programs}


def paper_report(request: Request, target: Target, tell: Tell | None = None) -> dict[str, Any]:
    """The report on a network of the paper: counted from its definition, or from the Keras model of it.

    Args:
        request: the options.
        target: the network.
        tell: is told how far a long search is.

    Returns:
        The report.

    Raises:
        UsageError: when there is no such network, or it cannot be planned.
    """
    try:
        network = paper_network(target.name)
        if request.input_shape is not None:
            raise UsageError("the paper's networks have an input shape of their own", "leave --input-shape out")
        optimizer = request.optimizer or PAPER_OPTIMIZER
        if request.accounting == "tensorflow":
            return report_in_child(replace(request, optimizer=optimizer), target, tell)
        return report_for(request, lambda batch: layer_subject(network, request.target, batch, optimizer), tell)
    except PlanError as error:
        raise UsageError(str(error)) from error


def report_for(request: Request, make: Callable[[int], Subject], tell: Tell | None = None) -> dict[str, Any]:
    """The report on one training step.

    Args:
        request: the options.
        make: the training step for a batch size.
        tell: is told how far a long search is.

    Returns:
        The report.

    Raises:
        UsageError: when nothing says the batch size.
        PlanError: when the step cannot be planned.
    """
    speeds = request.speeds()
    make = lru_cache(maxsize=KEPT)(make)
    batches = None
    if request.max_batch and request.device is not None:
        batches = largest_batches(make, request.device, request.host, tell)
    batch = request.batch
    if batch is None and batches is not None:
        batch = max(1, batches["liveness"])
    if batch is None:
        raise UsageError(f"'{request.target}' has no batch size of its own", "add --batch B, for example --batch 32")
    result = report(make(batch), request.budgets, speeds)
    if batches is not None:
        result["max_batch"] = {"budget": request.device, "host": request.host, "largest": batches}
    return result
