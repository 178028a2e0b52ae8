"""The composed model's inputs: the original's, with the same names, shapes and types."""

from __future__ import annotations

from typing import Any

import keras

from ..errors import ProgramError
from . import concatenation


def inputs_like(model: Any) -> Any | None:
    """Make fresh inputs in the structure of a model's own.

    Args:
        model: A keras.Model, built or not.

    Returns:
        A Keras tensor, or a list or dict of them; None for a model that does not know its inputs.
    """
    functional = getattr(model, "_functional", None) if isinstance(model, keras.Sequential) else model
    structure = getattr(functional, "_inputs_struct", None)
    if functional is None or structure is None:
        return None
    made = {}
    for tensor in functional.inputs:
        config = dict(tensor._keras_history[0].get_config())
        config.pop("registered_name", None)
        made[id(tensor)] = keras.layers.InputLayer.from_config(config).output
    found = keras.tree.map_structure(lambda tensor: made[id(tensor)], structure)
    # A Sequential keeps its only input in a list; its caller passes a tensor.
    return found[0] if isinstance(found, (list, tuple)) and len(found) == 1 else found


def inputs_stored(specs: Any) -> Any | None:
    """Make inputs from what a training has seen.

    Args:
        specs: {"shape": [None, ...], "dtype": ...}, or a list or dict of such, as result.json keeps it.

    Returns:
        A Keras tensor, or a list or dict of them; None where nothing is stored.
    """
    if not specs:
        return None
    if isinstance(specs, dict) and "shape" in specs and "dtype" in specs:
        shape = [None, *specs["shape"][1:]]
        return keras.Input(batch_shape=shape, dtype=specs["dtype"], name=specs.get("name"))
    if isinstance(specs, dict):
        return {key: inputs_stored({**spec, "name": key}) for key, spec in specs.items()}
    return [inputs_stored(spec) for spec in specs]


def whole_input(parts: list[Any], grid: tuple[int, int] | None) -> Any:
    """Make the one input that the parts of a local regression are cut from.

    Args:
        parts: Each submodel's input, a Keras tensor.
        grid: Rows and columns of patches; None for parts of the last axis.

    Returns:
        A Keras tensor of the whole input's shape.
    """
    laid = concatenation.graph([keras.KerasTensor(part.shape, dtype=part.dtype) for part in parts], grid)
    return keras.Input(batch_shape=laid.shape, dtype=laid.dtype)


def find_inputs(original: Any, submodels: list[Any], stored: list[Any], grid: Any, local: bool) -> Any:
    """Make the composed model's inputs, from whoever knows them.

    Args:
        original: The user's own model.
        submodels: The submodels, built or not.
        stored: What result.json says about each submodel's inputs, or None.
        grid: Rows and columns of patches, or None.
        local: Whether the submodels see parts of the input (local regression).

    Returns:
        A Keras tensor, or a list or dict of them.

    Raises:
        ProgramError: Nobody knows the inputs.
    """
    found = inputs_like(original)
    if found is not None:
        return found
    known = [
        _first([inputs_like(model), inputs_stored(spec), _inputs_built(model)])
        for model, spec in zip(submodels, stored, strict=True)
    ]
    if any(part is None for part in known):
        raise ProgramError(
            "the shape of the model's input is not known",
            "begin the model with keras.Input(shape), or call model.build(shape) before it is compiled",
        )
    if local and len(known) > 1:
        return whole_input(known, grid)
    return known[0]


def _first(found: list[Any]) -> Any:
    """Return the first that is not None; a Keras tensor has no truth value."""
    return next((value for value in found if value is not None), None)


def _inputs_built(model: Any) -> Any | None:
    """Make the input that a subclassed model was built for."""
    shape = (getattr(model, "_build_shapes_dict", None) or {}).get("input_shape")
    if not isinstance(shape, (list, tuple)) or not all(size is None or isinstance(size, int) for size in shape):
        return None
    return keras.Input(batch_shape=[None, *shape[1:]])
