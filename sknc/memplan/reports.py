"""From a request to the report of the contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sknc.errors import UsageError
from sknc.memplan.request import ACCOUNTINGS, PAPER, Request
from sknc.runtime.memory.analysis import Subject, largest_batches, layer_subject, report
from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.papernets import paper_network

# The paper trains with momentum: three copies of the parameters.
PAPER_OPTIMIZER = "momentum"


def make_report(request: Request) -> dict[str, Any]:
    """The memory report that a request asks for.

    Args:
        request: target and options.

    Returns:
        The object of `sknc memplan --format json`.

    Raises:
        UsageError: when the target, a size or a name cannot be planned.
    """
    try:
        return _report(request, subjects(request))
    except PlanError as error:
        raise UsageError(str(error)) from error


def subjects(request: Request) -> Callable[[int], Subject]:
    """How to make the training step of a target for a batch size.

    Args:
        request: target and options.

    Returns:
        A function of the batch size.

    Raises:
        UsageError: when there is no such target.
    """
    if request.accounting not in (None, *ACCOUNTINGS):
        raise UsageError(f"no accounting '{request.accounting}'", f"there is {', '.join(ACCOUNTINGS)}")
    if not request.target.startswith(PAPER):
        raise UsageError(
            f"'{request.target}' is no target that can be planned",
            "write paper:NAME, for example paper:alexnet",
        )
    network = paper_network(request.target.removeprefix(PAPER))
    optimizer = request.optimizer or PAPER_OPTIMIZER
    return lambda batch: layer_subject(network, request.target, batch, optimizer)


def _report(request: Request, make: Callable[[int], Subject]) -> dict[str, Any]:
    batches = None
    if request.max_batch and request.device is not None:
        batches = largest_batches(make, request.device, request.host)
    batch = request.batch
    if batch is None and batches is not None:
        batch = max(1, batches["liveness"])
    if batch is None:
        raise UsageError(f"'{request.target}' has no batch size of its own", "add --batch B, for example --batch 32")
    result = report(make(batch), request.budgets, request.speeds())
    if batches is not None:
        result["max_batch"] = {"budget": request.device, "host": request.host, "largest": batches}
    return result
