"""What a network gives: its last activation, its loss, and so the kind of its task."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sknc.script.interpreter import Interpreter
from sknc.script.layers import LAYERS
from sknc.script.making import keras_name
from sknc.script.markers import Kind
from sknc.script.values import Bound, Layer, Made, Model, Ref, Seq, Tensor, Value, constant

_PASSING = ("same", "flatten", "reshape", "global_pool", "pool", "permute")


@dataclass(frozen=True)
class Evidence:
    """What tells the kind of a task.

    Attributes:
        activation: the last activation ("linear" when there is none), None when it is not known.
        loss: the loss in snake case, None when it is not known.
        width: the size of the output, None when it is not known before the run.
        rank: how many axes the output has besides the batch, None when that is not known.
    """

    activation: str | None
    loss: str | None
    width: int | None
    rank: int | None = None

    def __str__(self) -> str:
        parts = []
        if self.activation is not None:
            parts.append(f"its {self.activation} output" + (f" of {self.width}" if self.width else ""))
        if self.loss is not None:
            parts.append(f"the loss {self.loss}")
        return " and ".join(parts) or "nothing"


def evidence(interp: Interpreter, model: Model) -> Evidence:
    """Collect what tells the kind of a model's task."""
    output = model.outputs[0] if model.outputs else None
    width = None if output is None else interp.graph.base(output.last)
    shape = None if output is None else output.shape
    rank = None if shape is None else len(shape)
    return Evidence(last_activation(model), loss_name(model), width, rank)


def last_activation(model: Model) -> str | None:
    """Return a model's last activation: "linear" when there is none, None when it is not known."""
    return _activation(model.outputs[0]) if model.outputs else None


def _activation(tensor: Tensor, depth: int = 0) -> str | None:
    producer = tensor.producer
    if depth > 50 or producer is None:
        return None
    if isinstance(producer, Model):
        return _activation(producer.outputs[0], depth + 1) if producer.outputs else None
    if not isinstance(producer, Layer):
        return None
    if producer.name in ("Softmax", "softmax"):
        return "softmax"
    if producer.name in ("sigmoid", "tanh", "log_softmax"):
        return producer.name
    if producer.name == "Application":
        given = producer.args.get("classifier_activation")
        return "softmax" if given is None else _function_name(given)
    if producer.name == "TimeDistributed" and isinstance(producer.inner, Layer):
        return _activation(Tensor(None, producer.inner, ()), depth + 1)
    given = producer.args.get("activation", {"Activation": 0, "Dense": 1}.get(producer.name))
    if given is not None and constant(given) is None and not isinstance(given, (Ref, Made)):
        return "linear" if getattr(given, "value", given) is None else None
    if given is not None:
        return _function_name(given)
    rule = LAYERS.get(producer.name)
    if rule is not None and rule.shape in _PASSING and tensor.sources:
        return _activation(tensor.sources[0], depth + 1)
    return "linear" if rule is not None else None


def last_reshape(model: Model) -> Layer | None:
    """Return the Reshape layer that gives a model's output its shape, if its sizes are written in the script."""
    tensor = model.outputs[0] if model.outputs else None
    while tensor is not None and isinstance(tensor.producer, Layer):
        layer = tensor.producer
        rule = LAYERS.get(layer.name)
        if rule is not None and rule.shape == "reshape":
            target = layer.args.get("target_shape", 0)
            written = isinstance(target, Seq) and len(target.items) >= 3 and None not in (*target.nodes, None)[:-1]
            return layer if written and tensor.sources and tensor.sources[0].last.single is not None else None
        if rule is None or rule.shape != "same" or not tensor.sources:
            return None
        tensor = tensor.sources[0]
    return None


def flat_source(model: Model, layer: Layer) -> int | None:
    """Return the width that a Reshape gives its shape."""
    tensor = model.outputs[0]
    while tensor.producer is not layer:
        tensor = tensor.sources[0]
    return tensor.sources[0].last.single


def multilabel(model: Model, measures: Iterable[str]) -> bool:
    """Say whether the outputs are labels of their own, each there or not, of which the accuracy is asked for."""
    metrics = model.compiled.get("metrics", 3) if model.compiled is not None else None
    named = [constant(item) for item in metrics.items] if isinstance(metrics, Seq) else []
    asked = "acc" in measures or any(isinstance(name, str) and "acc" in name for name in named)
    return asked and (loss_name(model) or "").startswith("binary")


def _function_name(value: Value) -> str | None:
    text = constant(value)
    if isinstance(text, str):
        return text.lower()
    if isinstance(value, (Ref, Made)):
        return keras_name(value.name).rsplit(".", 1)[-1].lower()
    return None


def loss_name(model: Model) -> str | None:
    """Return the loss that a model was compiled with, in snake case."""
    if model.compiled is None:
        return None
    given = model.compiled.get("loss", 1)
    if isinstance(given, Bound):
        return None
    text = constant(given)
    if isinstance(given, (Ref, Made)):
        text = keras_name(given.name).rsplit(".", 1)[-1]
    if not isinstance(text, str):
        return None
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text).lower()
    return _SHORT.get(snake, snake)


_SHORT = {"mse": "mean_squared_error", "mae": "mean_absolute_error", "mape": "mean_absolute_percentage_error",
          "msle": "mean_squared_logarithmic_error", "kld": "kl_divergence"}  # fmt: skip
_REGRESSION = ("mean_squared_error", "mean_absolute_error", "mean_absolute_percentage_error", "huber", "log_cosh",
               "mean_squared_logarithmic_error", "cosine_similarity", "poisson", "root_mean_squared_error")  # fmt: skip


def infer_kind(found: Evidence) -> Kind | None:
    """Infer the kind of a task.

    Args:
        found: what tells it.

    Returns:
        The kind, None when it is not clear.
    """
    loss, width = found.loss or "", found.width
    # A mask, or an image: a sample has no single class.
    image = (found.rank or 0) >= 3
    # What a softmax gives sums to one over all classes, whatever the loss is: parts of it would not.
    if "categorical" in loss or found.activation in ("softmax", "log_softmax"):
        return "binary" if width == 2 else "multiclass"
    if loss in _REGRESSION:
        return "regression"
    if loss.startswith("binary") or loss in ("hinge", "squared_hinge"):
        return None if width is None else "binary" if width == 1 and not image else "regression"
    if found.activation == "sigmoid" and width == 1 and not loss:
        return "regression" if image else "binary"
    return None
