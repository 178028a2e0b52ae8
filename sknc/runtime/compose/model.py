"""`composed`: from the user's untrained original and the submodels' artifacts to one trained keras.Model."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import keras

from ..context import current
from ..crops import cropped
from ..data.labels import label_map
from ..data.shares import Share
from ..errors import ProgramError
from . import concatenation, identity
from .assemble import Output, classifier, part, regressor
from .compiled import compile_arguments, compile_like
from .ending import SCORES, UNKNOWN, ending, from_logits
from .guard import explain_layers, stand_in
from .inputs import find_inputs
from .rebuild import architecture, load, trained_result, user_objects
from .state import Composition
from .watch import watch


def composed(model: Any, namespace: Mapping[str, Any] | None = None) -> Any:
    """Put the trained submodels of the current block together to one model.

    Args:
        model: The user's own model, built at full width, compiled or not. Afterwards it answers as the
            composed model does.
        namespace: Names among which the user's own layers and functions are found; the caller's by default.

    Returns:
        A keras.Model that is compiled as the original is and answers in its convention (probabilities, or
        log-probabilities where the original gives logits).

    Raises:
        ProgramError: A submodel is missing, stale or untrained, or does not fit.
    """
    context = current()
    if not isinstance(context, Composition):
        raise ProgramError("composed() belongs to a block that begin_composed() began")
    if context.model is not None:
        if model is context.model or model is context.original:
            # A second training of the same model, as in a loop over learning rates.
            return context.model
        raise ProgramError(
            f"block {context.block} trains a second model",
            "put each model that is trained into a block of its own",
        )
    if namespace is None:
        frame = sys._getframe(1)
        namespace = {**frame.f_globals, **frame.f_locals}
    results = [trained_result(program) for program in context.programs]
    described = results[0].get("labels")
    context.label_map = label_map(described) if described else None
    found = _identity(context, model, results) if context.share.whole else None
    if found is None:
        names = user_objects(namespace, model)
        found = _composition(context, model, results, names)
        compile_like(found, model)
    context.model, context.original = found, model
    context.results["parameters"] = int(found.count_params())
    watch(found, context)
    if found is not model:
        explain_layers(found, model)
        stand_in(model, found)
    return found


def _identity(context: Composition, model: Any, results: list[dict[str, Any]]) -> Any:
    """Give the original the weights of its only submodel; None where it cannot take them as it stands."""
    try:
        if not model.weights:
            stored = [result.get("inputs") for result in results]
            model(find_inputs(model, [], stored, None, local=False))
        load(model, context.programs[0])
    except (ProgramError, ValueError, TypeError):
        # A script may build more of its network while it trains; the submodel's own architecture has it all.
        return None
    return model


def _composition(context: Composition, original: Any, results: list[dict[str, Any]], names: Mapping[str, Any]) -> Any:
    """Rebuild the submodels, give them their weights, and compose them."""
    share = context.share
    local = share.kind == "local_regression" and len(context.programs) > 1
    submodels = [architecture(program, names) for program in context.programs]
    stored = [result.get("inputs") for result in results]
    inputs = find_inputs(original, submodels, stored, share.grid, local)
    _build(submodels, inputs, share, local)
    for submodel, program in zip(submodels, context.programs, strict=True):
        load(submodel, program)
    submodels = [
        cropped(submodel, result["crop"]) if result.get("crop") else submodel
        for submodel, result in zip(submodels, results, strict=True)
    ]
    if share.whole:
        return identity.graph(submodels)
    for number, submodel in enumerate(submodels):
        # Names must differ in one model, and say which program a line of summary() comes from.
        submodel.name = f"submodel_{number:02d}"
    output = _output(original, submodels[0])
    if share.kind in ("regression", "local_regression"):
        end = ending(submodels[0])
        context.scores = end == SCORES or (end == UNKNOWN and _logits(original))
        return regressor(submodels, share, inputs, output)
    parts, ends = zip(*[part(submodel, _logits(original)) for submodel in submodels], strict=True)
    context.scores = ends[0] == SCORES
    members = context.members if share.kind == "multiclass" else []
    return classifier(parts, share, context.rule, members, inputs, replace(output, activation=ends[0]))


def _build(submodels: list[Any], inputs: Any, share: Share, local: bool) -> None:
    """Call every submodel that is not built yet, which makes its weights."""
    seen = [inputs] * len(submodels)
    if local:
        try:
            seen = concatenation.cut(inputs, len(submodels), share.grid)
        except ValueError as error:
            raise ProgramError(f"the input cannot be cut for the submodels: {error}") from error
    for submodel, value in zip(submodels, seen, strict=True):
        if getattr(submodel, "inputs", None) is None:
            submodel(value)


def _logits(original: Any) -> bool:
    """Tell whether the original's loss takes scores."""
    return from_logits((compile_arguments(original) or {}).get("loss"))


def _output(original: Any, submodel: Any) -> Output:
    """Describe the original's output; what an unbuilt original does not know, a submodel does."""
    for model in (original, submodel):
        tensors = getattr(model, "outputs", None)
        if tensors:
            return Output(SCORES, str(tensors[0].dtype), tensors[0]._keras_history.operation.name, original.name)
    return Output(SCORES, keras.config.floatx(), "output", original.name)
