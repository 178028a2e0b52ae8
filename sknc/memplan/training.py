"""The plan that a training obeys: chosen by the runtime's own planner, for a model that was built to be planned."""

from __future__ import annotations

from typing import Any

from sknc.memplan.request import Request
from sknc.runtime.memory.errors import InfeasibleBudget, PlanError
from sknc.runtime.memory.execute.choose import Chooser
from sknc.runtime.memory.execute.flatten import flatten
from sknc.runtime.memory.execute.pools import Pools
from sknc.runtime.memory.execute.predicting import Predictor
from sknc.runtime.memory.tensorflow import ModelSubjects


def training_plan(request: Request, subjects: ModelSubjects, batch: int) -> dict[str, Any]:
    """Choose what `sknc.fit_in_memory(model, plan=...)` is to do within the device's budget.

    Args:
        request: the options.
        subjects: the model.
        batch: samples in a batch.

    Returns:
        What `plan.json` has, with `feasible`; or what would be feasible.

    Raises:
        PlanError: when the model cannot be trained in segments.
    """
    assert request.device is not None, "a request without a budget asks for no plan"
    graph = flatten(subjects.model)
    if graph is None:
        raise PlanError(
            f"'{request.target}' has no plan that a training could obey: what it computes is decided by Python code of "
            "its own; build it with keras.Input(...) and keras.Model(inputs, outputs)"
        )
    predictor = Predictor(subjects.model, batch, subjects.optimizer_name, subjects.rule, subjects.allocator)
    pools = Pools(spill=request.disk > 0, host_budget=request.host)
    try:
        chosen = Chooser(graph, predictor, subjects.input_pipeline, pools).choose(request.device)
    except InfeasibleBudget as error:
        return {"feasible": False, "budget": request.device, "smallest_budget": error.smallest}
    return {"feasible": True, **chosen.as_json()}
