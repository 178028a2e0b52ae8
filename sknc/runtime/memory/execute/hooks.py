"""What stands on a model's own object while its training is kept inside a budget, and what stood there before."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...notes import tell
from .internals import with_python
from .ordering import in_order, order_step, restore_step
from .runner import Runner
from .spill import DiskPool, StepStart

_NAMES = ("fit", "make_train_function")


class Hook:
    """Stands for a method of a model; knows its keeper.

    Args:
        keeper: of the model's budget.
        run: what is called.
    """

    def __init__(self, keeper: Any, run: Callable[..., Any]) -> None:
        self.keeper = keeper
        self.run = run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls what stands for the method.

        Args:
            *args: of the method.
            **kwargs: of the method.
        """
        return self.run(*args, **kwargs)


def keeper_on(model: Any) -> Any:
    """Returns what keeps a model's budget, None where nothing does.

    Args:
        model: any keras.Model.
    """
    hooks = [found for name in _NAMES if isinstance(found := vars(model).get(name), Hook)]
    return hooks[0].keeper if hooks else None


class Hooks:
    """The hooks of one model. What a user put on the object is used by them, and given back.

    Args:
        model: a keras.Model without hooks.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.before = {name: vars(model)[name] for name in _NAMES if name in vars(model)}
        self.own_call = "call" in vars(model)

    def theirs(self, name: str) -> Callable[..., Any]:
        """Returns the method that a hook stands for.

        Args:
            name: of the method.
        """
        found: Callable[..., Any] = self.before.get(name) or functools.partial(
            getattr(type(self.model), name), self.model
        )
        return found

    def put(self, keeper: Any) -> None:
        """Puts the hooks in place.

        Args:
            keeper: has a method for each of them.
        """
        for name in _NAMES:
            setattr(self.model, name, Hook(keeper, getattr(keeper, name)))

    def take_step(self, files: Callable[[], DiskPool | None]) -> None:
        """Orders the model's `train_step`, unless that is done: the user may have put another one there since.

        Args:
            files: says which pool of files the model uses, None for none.
        """
        step = self.model.train_step
        if hasattr(step, "ordered"):
            return
        if not (getattr(step, "__module__", None) or "").startswith("keras."):
            tell(
                f"{self.model.name} has a train_step of its own: the plan is for one pass of the model and one "
                "gradient in a step; what more it holds comes on top"
            )
        start = StepStart(step, files, "train_step" in vars(self.model))
        # A tf.function is a graph of its own, in which its updates are ordered.
        start.run = with_python(self.model, "train_step", functools.partial(in_order, self.model)) or step
        self.model.train_step = start
        order_step(self.model)

    def restore(self) -> None:
        """Takes the hooks away."""
        restore_step(self.model)
        start = vars(self.model).get("train_step")
        if isinstance(start, StepStart):
            del self.model.train_step
            if start.replaced:
                self.model.train_step = start.step
        if isinstance(vars(self.model).get("call"), Runner):
            del self.model.call
        for name in _NAMES:
            if isinstance(vars(self.model).get(name), Hook):
                delattr(self.model, name)
                if name in self.before:
                    setattr(self.model, name, self.before[name])
        self.model.train_function = None
