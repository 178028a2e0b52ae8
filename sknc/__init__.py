"""sknc: a compiler that makes Keras training fit the machine.

Importing it imports neither TensorFlow nor Keras.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sknc._version import __version__

if TYPE_CHECKING:
    import os

    from sknc.splitting import SplitResult

__all__ = ["__version__", "fit_in_memory", "plan_memory", "split"]


def split(
    path: str | os.PathLike[str],
    submodels: int = 6,
    output: str | os.PathLike[str] | None = None,
    *,
    classes: int | None = None,
    compose: str | None = None,
    budget: int | str | None = None,
) -> SplitResult:
    """Split a marked script: what `sknc split` does, without printing.

    Args:
        path: the script.
        submodels: how many are wanted; the largest number not above it that the task allows is taken.
        output: the output folder; `<script stem>_split` in the working folder when left out.
        classes: number of classes, where the script does not say it as a constant.
        compose: how predictions are put together, e.g. "product" or "coupling".
        budget: a memory budget for the programs, in bytes or as text ("8GiB").

    Returns:
        The folder, what the manifest says about each block, and the findings that did not stop the split.

    Raises:
        FindingsError: the script has errors; its `diagnostics` say where.
        SkncError: wrong usage, or the system does not let us.

    Example:
        >>> import sknc
        >>> result = sknc.split("train.py", submodels=6)  # doctest: +SKIP
        >>> result.folder  # doctest: +SKIP
        PosixPath('train_split')
    """
    from sknc.splitting import split_script

    return split_script(path, submodels=submodels, output=output, classes=classes, compose=compose, budget=budget)


def plan_memory(model: Any, batch_size: int = 32, budget: int | str | None = None, optimizer: Any = None) -> Any:
    """Tell what one training step of a model will hold, and plan for a budget; nothing is computed.

    Args:
        model: a keras.Model, compiled or not.
        batch_size: samples in a batch.
        budget: bytes of the device, or text such as "8GiB"; None plans nothing.
        optimizer: a Keras optimizer or its name; None takes the one that the model was compiled with, else Adam.

    Returns:
        The object of `sknc memplan --format json`; its "plan" is there with a budget.

    Raises:
        UsageError: the model, the budget or a name cannot be planned.
    """
    from sknc.memplan.api import plan_memory as plan

    return plan(model, batch_size, budget, optimizer)


def fit_in_memory(
    model: Any,
    budget: int | str,
    batch_size: int = 32,
    *,
    spill: bool = True,
    spill_folder: str | os.PathLike[str] | None = None,
    plan: Any = None,
    host_budget: int | str | None = None,
) -> Any:
    """Make a keras.Model train inside a memory budget, with the same gradients.

    Args:
        model: a built functional or Sequential model, compiled or not; call this before `compile` where you can.
            A model of another make is taken when it fits as it is.
        budget: what the training may hold on its device, in bytes or as text ("8GiB").
        batch_size: samples in a batch; what `fit` is called with counts.
        spill: whether parts may be written to disk and read again where recomputing alone does not do.
        spill_folder: where; the system's folder for temporary files when left out.
        plan: a plan that was made before (`sknc.runtime.memory.plan_of(model)`), or the path of a `plan.json`; it is
            obeyed, and nothing is planned.
        host_budget: what parts may hold in the host's memory meanwhile, where the model trains on a GPU; all of it
            when left out, nothing with 0.

    Returns:
        The same model. `fit`, `evaluate`, `predict`, `save` and the like are used as before, and what is saved is
        the original model.

    Raises:
        InfeasibleBudget: no plan keeps the budget; its `smallest` says what one needs.
        PlanError: the budget is no size, the model cannot be planned, or the plan is for another network, batch,
            optimiser or a larger budget.

    Example:
        >>> import sknc
        >>> model = sknc.fit_in_memory(model, budget="8GiB", batch_size=64)  # doctest: +SKIP
        >>> model.compile("adam", "mse")  # doctest: +SKIP
        >>> model.fit(x, y, batch_size=64)  # doctest: +SKIP
    """
    from sknc.runtime.memory.execute.keeper import fit_in_memory as keep

    return keep(
        model,
        budget,
        batch_size,
        spill=spill,
        spill_folder=spill_folder,
        plan=plan,
        host_budget=host_budget,
    )
