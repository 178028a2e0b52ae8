"""Models that are built for planning: from a callable, a .keras file or keras.applications."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import keras

from sknc.memplan.papermodels import paper_model
from sknc.memplan.request import Request
from sknc.memplan.usercode import UserCodeFailed, call_user, import_callable
from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.execute.internals import number_names_from, numbered_names
from sknc.runtime.memory.papernets import paper_network
from sknc.runtime.memory.rules import update_rule
from sknc.runtime.memory.tensorflow import ModelSubjects

ALLOCATED = "the callable could not be called without allocating weights; they were made"


@contextmanager
def model_in_scope(request: Request, kind: str, name: str) -> Iterator[ModelSubjects]:
    """Build a model inside a stateless scope and hand out how to plan it.

    Args:
        request: the options.
        kind: 'application', 'callable', 'file' or 'paper'.
        name: the application, module:callable, the file or the paper's network.

    Yields:
        The training step for a batch size. Whoever leaves the scope allocates the weights.

    Raises:
        PlanError: when there is no such model.
        UserCodeFailed: when the user's code raises.
    """
    config = read_config(name) if kind == "file" else {}
    compiled = config.pop("compile_config", None) or {}
    optimizer = request.optimizer or saved_optimizer(compiled)
    # An optimiser makes variables, which a stateless scope does not allow: its rule is found before.
    keeper = ModelSubjects(None, request.target, optimizer, request.allocator, request.input_shape)
    function = call_user(f"importing '{name}'", lambda: import_callable(name)) if kind == "callable" else None

    def build() -> Any:
        if kind == "application":
            return application(name, request.input_shape)
        if kind == "paper":
            return paper_model(paper_network(name))
        if function is None:
            loaded = call_user(f"loading '{name}'", lambda: keras.saving.deserialize_keras_object(config))
            return checked_model(name, loaded)
        return checked_model(name, call_user(f"calling '{name}'", function))

    names = numbered_names()
    with ExitStack() as scope:
        scope.enter_context(keras.StatelessScope())
        try:
            keeper.model = build()
        except UserCodeFailed:
            if function is None:
                raise
            # Compiling makes an optimiser's variables, which the scope does not allow.
            scope.close()
            # Named as in a training, whose first build this would be.
            number_names_from(names)
            keeper.model = build()
            keeper.notes = (ALLOCATED,)
            if request.optimizer is None and keeper.model.optimizer is not None:
                keeper.rule = update_rule(keeper.model.optimizer)
        yield keeper


def checked_model(name: str, model: Any) -> Any:
    """What a callable or a file gave, when it is a model.

    Args:
        name: module:callable, or the file.
        model: what it gave.

    Returns:
        The model.

    Raises:
        PlanError: when it is none.
    """
    if not isinstance(model, keras.Model):
        raise PlanError(f"'{name}' gave {type(model).__name__}, not a keras.Model")
    return model


def application(name: str, shape: tuple[int, ...] | None) -> Any:
    """A model of keras.applications, without weights.

    Args:
        name: its name.
        shape: input shape; None takes the model's own.

    Returns:
        The model.

    Raises:
        PlanError: when there is no such model.
    """
    build = getattr(keras.applications, name, None)
    if build is None or not callable(build):
        known = [item for item in dir(keras.applications) if item[:1].isupper()]
        raise PlanError(f"no keras.applications.{name}; there are {', '.join(known)}")
    options: dict[str, Any] = {"weights": None}
    if shape is not None:
        options["input_shape"] = shape
    try:
        return build(**options)
    except ValueError as error:
        raise PlanError(f"keras.applications.{name} refuses this input shape: {error}") from error


def read_config(path: str) -> dict[str, Any]:
    """The configuration in a .keras file; its weights are not read.

    Args:
        path: the file.

    Returns:
        The model's configuration.

    Raises:
        PlanError: when the file is no .keras file.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            content = json.loads(archive.read("config.json"))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise PlanError(f"'{path}' is no .keras file: {error}") from error
    if not isinstance(content, dict) or "class_name" not in content:
        raise PlanError(f"'{path}' is no .keras file: its configuration names no class")
    return content


def saved_optimizer(compiled: dict[str, Any]) -> Any:
    """The optimiser that a .keras file was saved with, or None."""
    said = compiled.get("optimizer")
    if said is None:
        return None
    try:
        return keras.optimizers.deserialize(said) if isinstance(said, dict) else keras.optimizers.get(said)
    except (ValueError, TypeError) as error:
        raise UserCodeFailed(f"the saved optimizer cannot be made again: {error}") from error
