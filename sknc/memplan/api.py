"""`plan_memory`: the plan behind `sknc memplan`, for a model that is at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sknc.errors import UsageError
from sknc.memplan.reports import report_for
from sknc.memplan.request import Request
from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.units import batch_of, budget_of


def plan_memory(
    model: Any,
    batch_size: int = 32,
    budget: int | str | None = None,
    optimizer: Any = None,
    *,
    allocator: str = "default",
    input_shape: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Tell what one training step of a model will hold, and plan for a budget; nothing is computed.

    Args:
        model: a keras.Model, compiled or not.
        batch_size: samples in a batch.
        budget: bytes of the device, or text such as "8GiB"; None plans nothing.
        optimizer: a Keras optimizer or its name; None takes the compiled one, else Adam.
        allocator: "default" or "bfc".
        input_shape: the shape of the model's one input, where the model does not say it.

    Returns:
        The object of `sknc memplan --format json`; its "plan" is there with a budget.

    Raises:
        UsageError: when the model, the budget or a name cannot be planned.

    Example:
        >>> import sknc.memplan
        >>> report = sknc.memplan.plan_memory(model, batch_size=64)  # doctest: +SKIP
        >>> report["predicted_peak"]  # doctest: +SKIP
        205520896
    """
    from sknc.runtime.memory.tensorflow import ModelSubjects

    try:
        size, batch = None if budget is None else budget_of(budget), batch_of(batch_size)
        shape = None if input_shape is None else tuple(input_shape)
        request = Request(model.name, batch=batch, device=size, allocator=allocator, input_shape=shape)
        return report_for(request, ModelSubjects(model, model.name, optimizer, allocator, shape))
    except PlanError as error:
        raise UsageError(str(error)) from error
