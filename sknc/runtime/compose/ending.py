"""What a network ends in: softmax, sigmoid or scores; and how to get at the scores before it.

Probabilities in float32 have lost what the rules need (a class at 1e-9 beside one at 1), so that a submodel is
asked for its scores: the same weights, without the last activation. Where that cannot be had (a subclassed model,
a Lambda), the logarithm of the probabilities has to do.
"""

from __future__ import annotations

from typing import Any

import keras

SOFTMAX, SIGMOID, SCORES, UNKNOWN = "softmax", "sigmoid", "scores", "unknown"

_NAMES = {
    "softmax": SOFTMAX,
    "softmax_v2": SOFTMAX,
    "sigmoid": SIGMOID,
    "linear": SCORES,
    # Scores that are normalised already are scores all the same.
    "log_softmax": SCORES,
    "logsoftmax": SCORES,
    "log_softmax_v2": SCORES,
}


def ending(model: Any) -> str:
    """Tell what a model's output is.

    Args:
        model: A built keras.Model.

    Returns:
        "softmax", "sigmoid", "scores" or "unknown".
    """
    layer = _last(model)
    if layer is None:
        return UNKNOWN
    return _activation(layer)


def from_logits(loss: Any) -> bool:
    """Tell whether a compiled loss takes scores.

    Args:
        loss: What the user gave compile() as loss.

    Returns:
        Whether the loss, or the only one in a list or dict, says from_logits=True.
    """
    if isinstance(loss, dict):
        loss = list(loss.values())
    if isinstance(loss, (list, tuple)):
        return len(loss) == 1 and from_logits(loss[0])
    if getattr(loss, "from_logits", False):
        return True
    wrapped = getattr(loss, "_fn_kwargs", None)
    keywords = wrapped if isinstance(wrapped, dict) else getattr(loss, "keywords", None)
    return bool(isinstance(keywords, dict) and keywords.get("from_logits"))


def without_activation(model: Any) -> Any | None:
    """Return a model of the same weights that gives scores instead of probabilities.

    The model itself is changed or taken apart: use it no more.

    Args:
        model: A submodel of the composer's own, ending in softmax or sigmoid.

    Returns:
        The model that gives scores, or None where there is no way to get at them.
    """
    layer = _last(model)
    if layer is None or _activation(layer) not in (SOFTMAX, SIGMOID):
        return None
    outermost = _output_layer(model) is layer
    if hasattr(layer, "activation"):
        layer.activation = keras.activations.linear
        return model
    # A Softmax layer or an operation has nothing to change; it can be left out where nothing is around it.
    return keras.Model(model.inputs, layer.input, name=model.name) if outermost else None


def _output_layer(model: Any) -> Any | None:
    """Return the layer that makes a Functional or Sequential model's only output."""
    functional = getattr(model, "_functional", None) if isinstance(model, keras.Sequential) else model
    outputs = getattr(functional, "outputs", None)
    if not outputs or len(outputs) != 1 or not hasattr(functional, "_operations"):
        return None
    layer, _, _ = outputs[0]._keras_history
    # A layer used twice must keep its activation for its other place.
    return layer if len(getattr(layer, "_inbound_nodes", ())) == 1 else None


def _last(model: Any) -> Any:
    """Return the layer that makes the output, looked up in nested models, too; None where it cannot be told."""
    layer = _output_layer(model)
    while isinstance(layer, keras.Model):
        layer = _output_layer(layer)
    return layer


def _activation(layer: Any) -> str:
    """Tell what a layer's last step is."""
    if isinstance(layer, keras.layers.Softmax) or _is_operation(layer):
        named = _NAMES.get(type(layer).__name__.lower(), UNKNOWN)
        axis = getattr(layer, "axis", -1)
        return named if axis in (-1, len(layer.output.shape) - 1) else UNKNOWN
    if isinstance(layer, keras.layers.Activation) or type(layer) in (keras.layers.Dense, keras.layers.EinsumDense):
        return _NAMES.get(getattr(layer.activation, "__name__", ""), UNKNOWN)
    return UNKNOWN


def _is_operation(layer: Any) -> bool:
    """Tell whether something is a built-in operation (keras.ops.softmax(x)), not a layer."""
    return not isinstance(layer, keras.layers.Layer) and type(layer).__module__.startswith("keras.")
