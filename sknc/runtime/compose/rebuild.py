"""A trained submodel from its artifacts: its architecture, then its weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import keras

from .. import artifacts
from ..building import build_only
from ..errors import ProgramError
from .state import Program


def trained_result(program: Program) -> dict[str, Any]:
    """Return a submodel's result.json, after a check that it belongs to this composition.

    Args:
        program: The submodel's program.

    Returns:
        The result.

    Raises:
        ProgramError: The program is missing or changed since the split, or it has not finished training.
    """
    name, folder = program.path.name, program.path.parent
    if not program.path.exists():
        raise ProgramError(f"{program.path} is missing", "split the script again")
    if artifacts.program_hash(program.path) != program.sha256:
        raise ProgramError(
            f"{name} is not the program that this composer was written for: its text has changed",
            "split the script again; then train with `sknc run`",
        )
    result = artifacts.finished(program.path)
    if result is None:
        raise ProgramError(
            f"{name} has not finished training",
            f"train it with `sknc run {folder}` or `python {program.path}`",
        )
    return result


def architecture(program: Program, names: Mapping[str, Any]) -> Any:
    """Build a submodel without its trained weights.

    Args:
        program: The submodel's program.
        names: The user's own layers, functions and the like, by name.

    Returns:
        A keras.Model, maybe not built yet.

    Raises:
        ProgramError: There is no way to build it.
    """
    config = json.loads((artifacts.folder(program.path) / artifacts.MODEL).read_text(encoding="utf-8"))
    if isinstance(config, dict) and not _needs_code(config):
        config = {key: value for key, value in config.items() if key != "compile_config"}
        try:
            # safe_mode stays on: a stored architecture must not bring code along.
            return keras.saving.deserialize_keras_object(config, custom_objects=dict(names), safe_mode=True)
        except Exception:  # noqa: BLE001  # whatever a user's class raises, the program's text builds it
            return build_only(program.path)
    return build_only(program.path)


def load(model: Any, program: Program) -> None:
    """Give a built submodel its trained weights.

    Args:
        model: The submodel.
        program: Its program.

    Raises:
        ProgramError: The stored weights do not fit the submodel.
    """
    stored = artifacts.load_weights(artifacts.folder(program.path) / artifacts.WEIGHTS)
    variables = model.weights
    again = f"train it again with `sknc run {program.path.parent} --fresh`"
    if len(stored) != len(variables):
        raise ProgramError(f"{program.path.name} has {len(variables)} weights, its artifacts have {len(stored)}", again)
    for variable, value in zip(variables, stored, strict=True):
        if tuple(variable.shape) != value.shape:
            raise ProgramError(
                f"{program.path.name}: weight {variable.path} has shape {tuple(variable.shape)}, "
                f"its artifacts have {value.shape}",
                again,
            )
    model.set_weights(stored)
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Normalization):
            # It computes with copies of its weights, made by adapt() or here.
            layer.finalize_state()


def user_objects(namespace: Mapping[str, Any], original: Any) -> dict[str, Any]:
    """Collect the classes and functions that a stored architecture may name.

    Args:
        namespace: The composer's names.
        original: The user's own model; the classes of its layers count, wherever they were defined.

    Returns:
        Objects by name, as Keras looks custom objects up.
    """
    found = {
        name: value
        for name, value in namespace.items()
        if not name.startswith("__") and (isinstance(value, type) or callable(value)) and hasattr(value, "__name__")
    }
    for layer in [original, *original._flatten_layers(include_self=False)]:
        kind = type(layer)
        if not kind.__module__.startswith("keras."):
            found.setdefault(kind.__name__, kind)
    return found


def _needs_code(config: Any) -> bool:
    """Tell whether a stored architecture lacks what a layer has learned by adapt(): words, bin edges.

    Such state is not among the weights; the program's text adapts the layer anew. (Normalization keeps its mean
    and variance among the weights.)
    """
    if isinstance(config, dict):
        inner = config.get("config")
        name = config.get("class_name")
        if isinstance(inner, dict) and name in _LEARNED and not inner.get(_LEARNED[name]):
            return True
        return any(_needs_code(value) for value in config.values())
    return isinstance(config, list) and any(_needs_code(value) for value in config)


_LEARNED = {
    "TextVectorization": "vocabulary",
    "StringLookup": "vocabulary",
    "IntegerLookup": "vocabulary",
    "Discretization": "bin_boundaries",
}
