"""Keeps one model's training inside a budget: hooks of the model's own `fit`, and nothing else of it.

The model stays what it is, an object of its own class with its own weights: what it saves, shows and loads is
the original. Only `call`, `fit`, `train_step` and `make_train_function` are looked up on the object first, and stand
there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...artifacts import write_json
from ...notes import tell
from ..errors import InfeasibleBudget, PlanError
from ..feeds import feed_of, resident_bytes, symbols
from ..optimizers import optimizer_name
from ..tracing import says_shapes
from ..units import batch_of, budget_of, format_size
from .choose import Chooser
from .flatten import FlatGraph, flatten
from .hooks import Hooks, keeper_on
from .internals import functional_of
from .moving import Moved
from .plans import POOLS, Plan, check_plan, check_training, read_plan
from .pools import Pools
from .predicting import Predictor, allocator_in_use, fingerprint
from .room import forget_shortage, last_shortage
from .runner import Runner, as_plain
from .shapes import build, described, needed, sample_shape
from .watching import Guarded, program_block, watched

PLAN = "plan.json"
# So much more room, in parts of a plan's peak, is worth another one.
_MUCH = 0.03


def fit_in_memory(
    model: Any,
    budget: int | str,
    batch_size: int = 32,
    *,
    spill: bool = True,
    spill_folder: str | os.PathLike[str] | None = None,
    plan: Plan | str | os.PathLike[str] | None = None,
    host_budget: int | str | None = None,
    host: str | None = None,
    input_shape: Sequence[int] | None = None,
) -> Any:
    """Makes a model train inside a memory budget, with the same gradients.

    Args:
        model: a functional or Sequential keras.Model, compiled or not. Any other model is taken when it fits as it
            is. One that does not say the shapes of its inputs is planned when `fit` says them.
        budget: bytes, or a size as text ("8GiB"), that the training may hold on its device.
        batch_size: samples in a batch; what `fit` is called with counts.
        spill: whether parts may be written to disk and read again where recomputing alone does not do.
        spill_folder: where; the system's folder for temporary files when left out.
        plan: a plan that was made before, or the file it was written to (`plan.json`); it is obeyed and nothing is
            planned. Made when left out.
        host_budget: what parts may hold in the host's memory meanwhile, where the model trains on a GPU; all of it
            when left out, nothing with 0.
        host: another device whose memory is used instead of that of a GPU's host, such as "CPU:1".
        input_shape: the shape of one sample of the model's one input, where neither the model nor the data say it.

    Returns:
        The same model. `fit`, `train_on_batch`, `evaluate`, `predict`, `save` and the like are used as before;
        what is saved is the original model.

    Raises:
        InfeasibleBudget: no plan keeps the budget; its `smallest` says what one needs.
        PlanError: the budget is no size, the model cannot be planned, or the plan is for another network, batch,
            optimiser or a larger budget.

    Example:
        >>> model = fit_in_memory(model, budget="8GiB", batch_size=64)  # doctest: +SKIP
        >>> model.compile("adam", "mse")  # doctest: +SKIP
        >>> model.fit(x, y, batch_size=64)  # doctest: +SKIP
    """
    size, batch = budget_of(budget), batch_of(batch_size)
    release(model)
    keeper = Keeper(model, size, batch, Pools(spill, spill_folder, host_budget, host))
    keeper.shape = sample_shape(input_shape)
    keeper.ready = read_plan(Path(plan)) if isinstance(plan, str | os.PathLike) else plan
    if keeper.can_settle():
        try:
            keeper.settle()
        except InfeasibleBudget as error:
            raise InfeasibleBudget(f"{error}; arrays that fit is given may come on top", error.smallest) from None
    else:
        tell(f"{model.name} does not say the shapes of its inputs: its training is planned when fit says them")
    keeper.take_over()
    return model


def release(model: Any) -> Any:
    """Makes a model train as plain Keras does again.

    Args:
        model: any keras.Model.

    Returns:
        The same model.
    """
    keeper = keeper_of(model)
    if keeper is None:
        return model
    keeper.pools.close()
    if keeper.without_xla is not None and keeper.without_xla is getattr(model, "optimizer", None):
        # Not compiled anew since.
        model.jit_compile = True
    keeper.hooks.restore()
    return model


def plan_of(model: Any) -> Plan | None:
    """Returns the plan that a model's training obeys, None where it has none, or none yet.

    Args:
        model: what `fit_in_memory` returned.
    """
    return getattr(keeper_of(model), "plan", None)


def moved_by(model: Any) -> Moved | None:
    """Returns what a model's training moved to and from its pools so far, None where it has no plan.

    Args:
        model: what `fit_in_memory` returned.
    """
    keeper = keeper_of(model)
    return keeper.pools.moved() if keeper is not None else None


def keeper_of(model: Any) -> Keeper | None:
    """Returns what keeps a model's budget, None where it has none.

    Args:
        model: any keras.Model.
    """
    found = keeper_on(model)
    return found if isinstance(found, Keeper) else None


class Keeper:
    """The budget of one model.

    Args:
        model: the model.
        budget: bytes.
        batch_size: samples in a batch.
        pools: where else parts may be.
    """

    plan: Plan

    def __init__(self, model: Any, budget: int, batch_size: int, pools: Pools) -> None:
        self.model = model
        context = program_block()
        self.given = budget
        self.shortage = last_shortage(context.folder, budget) if context is not None else None
        self.budget = budget if self.shortage is None else self.shortage.next_budget
        self.batch_size = batch_size
        self.pools = pools
        self.resident = 0
        self.seen_data = False
        self.without_xla: Any = None  # The optimiser of a model that was compiled to use XLA, and does not now.
        self.shape: Any = None
        self.settled_for: tuple[Any, ...] | None = None
        self.hooks = Hooks(model)
        self.ready: Plan | None = None

    def take_over(self) -> None:
        """Puts the hooks in place."""
        self.hooks.put(self)
        self.hooks.take_step(self.pools.files)
        self.model.train_function = None

    def fit(self, *args: Any, **kwargs: Any) -> Any:
        """Trains as the model's own `fit` does, after planning for the data it is given.

        Args:
            *args: of `keras.Model.fit`.
            **kwargs: of `keras.Model.fit`.

        Returns:
            The keras History.
        """
        feed = feed_of(args, kwargs)
        self.resident = resident_bytes(args, kwargs)
        self.seen_data = True
        if feed.batch is None:
            tell(f"nothing says how large the batches are; the plan is for batches of {self.batch_size}")
        self.batch_size = feed.batch or self.batch_size
        shape = symbols(feed.x)
        self.shape = self.shape if shape is None else shape
        build(self.model, shape)
        self.settle()
        before = self.pools.moved()
        try:
            with watched(self):
                return self.hooks.theirs("fit")(*feed.args, **feed.kwargs)
        finally:
            # However it ended: nobody waits for these files any more.
            self.pools.tidy()
            self._report_moved(self.pools.moved() - before)

    def make_train_function(self, force: bool = False) -> Any:
        """Makes the function that trains a step, as Keras does, once the plan fits what is compiled now.

        Args:
            force: make it anew.
        """
        self.settle()
        self.hooks.take_step(self.pools.files)
        model = self.model
        if model.jit_compile and not self.plan.changes_nothing:
            tell(
                "XLA merges what is computed a second time with the first time, so that nothing is saved: "
                "jit_compile is set to False to keep the memory budget"
            )
            self.without_xla = model.optimizer
            model.jit_compile = False
            model.train_function = None
        if getattr(model, "run_eagerly", False) and not self.plan.changes_nothing:
            tell("run_eagerly=True: operations run one by one hold what a plan would free; the budget is not kept")
        # As Keras does: a model of the user's own may take nothing.
        made = self.hooks.theirs("make_train_function")(*([force] if force else []))
        if model.train_function is not None and not isinstance(model.train_function, Guarded):
            model.train_function = Guarded(model.train_function, self)
        return made

    def can_settle(self) -> bool:
        """Says whether enough is known to plan."""
        if self.ready is None and self.shape is None:
            return bool(self.model.built) and says_shapes(self.model)
        build(self.model, self.shape)
        return bool(self.model.built)

    def settle(self) -> None:
        """Plans for the present optimiser, batch and data, unless that is what was planned for last.

        Raises:
            InfeasibleBudget: no plan keeps the budget.
            PlanError: the model cannot be planned.
        """
        if getattr(getattr(self.model, "distribute_strategy", None), "num_replicas_in_sync", 1) > 1:
            raise PlanError("a memory budget is for one device; this model trains on several at once")
        optimizer = getattr(self.model, "optimizer", None)
        shape = described(needed(self.model, self.shape))
        # A Sequential model that got another layer has another graph, though it may be of the same variables.
        graph_now = functional_of(self.model)
        wanted = (optimizer_name(optimizer), fingerprint(self.model), self.batch_size, shape, graph_now)
        if wanted == self.settled_for and self._make_room():
            return
        graph = None if self.hooks.own_call else flatten(self.model)
        plan = (
            self._handed_in(graph, optimizer)
            or self._kept(graph, optimizer)
            or self._smaller(graph, optimizer)
            or self._chosen(graph, optimizer)
        )
        self._obey(graph, plan)
        self.settled_for = wanted
        self._report()

    def _make_room(self) -> bool:
        """Counts the data into the present plan; says whether the budget is kept all the same."""
        plan, more = self.plan, self.resident - self.plan.resident_bytes
        # Less data leaves room for a quicker plan, which is worth planning anew where it is not a little.
        quicker = -more > _MUCH * plan.predicted_peak and not plan.changes_nothing
        if plan.predicted_peak + more > self.budget or quicker:
            return False
        if more:
            self.plan = plan.with_data(self.resident)
            self._report()
        return True

    def _smaller(self, graph: FlatGraph | None, optimizer: Any) -> Plan | None:
        """The plan after one for which the device had no room; the smallest one where there is none in between."""
        failed = self.shortage
        if failed is None:
            return None
        tell(
            f"the device had no room for {format_size(failed.planned_bytes)} in an earlier run; planned again for "
            f"{format_size(self.budget)}"
        )
        try:
            return self._chosen(graph, optimizer)
        except InfeasibleBudget as error:
            context = program_block()
            if error.smallest >= failed.planned_bytes:
                if context is not None:
                    # What is short today may be there tomorrow.
                    forget_shortage(context.folder)
                raise
            self.budget = error.smallest
        return None

    def _chosen(self, graph: FlatGraph | None, optimizer: Any) -> Plan:
        predictor = Predictor(self.model, self.batch_size, optimizer, shape=needed(self.model, self.shape))
        with as_plain(self.model):
            if graph is not None:
                return Chooser(graph, predictor, self.resident, self.pools).choose(self.budget)
            expected = predictor.expected()
        total = expected.peak + self.resident
        if total > self.budget:
            raise InfeasibleBudget(
                f"'{self.model.name}' needs {format_size(total)} and {format_size(self.budget)} are given; what it "
                "computes is decided by Python code of its own, so that it cannot be cut into segments: build it "
                "with keras.Input(...) and keras.Model(inputs, outputs), or give more",
                total,
            )
        name, network = optimizer_name(optimizer), fingerprint(self.model)
        made_for = (self.model.name, network, self.batch_size, name, predictor.allocator, self.resident, self.budget)
        reserve = expected.peak - expected.scheduled
        return Plan(*made_for, total, total, (), reserve_bytes=reserve, inputs=described(predictor.shape))

    def _handed_in(self, graph: FlatGraph | None, optimizer: Any) -> Plan | None:
        """The plan that was given, with the present data counted in."""
        plan = self.ready
        if plan is None:
            return None
        check_plan(plan, [step.name for step in graph.steps] if graph is not None else [], fingerprint(self.model))
        if not self.pools.allow(plan):
            used = " and ".join(sorted({POOLS[segment.mode] for segment in plan.segments} - {"device"}))
            raise PlanError(
                f"the plan keeps parts in the pool of the {used}, and this training has none or less of it; leave the "
                "plan out to have one made"
            )
        name = optimizer_name(optimizer) if optimizer is not None else plan.optimizer
        plan = plan.with_data(self.resident)
        check_training(plan, self.batch_size, name, described(needed(self.model, self.shape)), self.budget)
        return replace(plan, budget=self.budget)

    def _kept(self, graph: FlatGraph | None, optimizer: Any) -> Plan | None:
        """The plan of this program's last run, when it was made for what is trained now."""
        context = program_block()
        if context is None or graph is None or not (context.folder / PLAN).is_file():
            return None
        try:
            plan = read_plan(context.folder / PLAN)
            check_plan(plan, [step.name for step in graph.steps], fingerprint(self.model))
        except PlanError:
            return None
        shapes = described(needed(self.model, self.shape))
        mine = (self.batch_size, self.budget, optimizer_name(optimizer), allocator_in_use(), shapes)
        made_for = (plan.batch_size, plan.budget, plan.optimizer, plan.allocator, plan.inputs)
        # Before `fit` nobody knows which data there will be: those of the last run, it may be.
        same_data = not self.seen_data or self.resident == plan.resident_bytes
        return plan.with_data(self.resident) if mine == made_for and same_data and self.pools.allow(plan) else None

    def _obey(self, graph: FlatGraph | None, plan: Plan) -> None:
        self.plan = plan
        self.model.train_function = None
        if isinstance(vars(self.model).get("call"), Runner):
            del self.model.call
        if graph is None or plan.changes_nothing:
            self.pools.close()
            return
        sizes = [segment.steps for segment in plan.segments]
        modes = [segment.mode for segment in plan.segments]
        pools = self.pools.opened(plan)
        parts, kept = ([getattr(segment, name) for segment in plan.segments] for name in ("parts", "kept"))
        self.model.call = Runner(graph, sizes, modes, pools, parts, kept, plan.ahead, plan.batch_size)

    def _report(self) -> None:
        plan = self.plan
        tell(f"{self.model.name}: {plan.summary()}")
        context = program_block()
        if context is not None:
            write_json(context.folder / PLAN, plan.as_json())
            context.results["planned_bytes"] = plan.predicted_peak

    def _report_moved(self, moved: Moved) -> None:
        context = program_block()
        if context is not None:
            planned = self.plan.moved_bytes * moved.calls
            for name, more in (("moved_bytes", moved.bytes), ("planned_moved_bytes", planned)):
                # A program may call `fit` several times.
                context.results[name] = context.results.get(name, 0) + more
