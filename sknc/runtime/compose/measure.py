"""Accuracy and loss of a block's model on one set of data, the same way for the original and the composition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from ..context import Context
from ..data.arrays import count_rows, leaves, map_leaves, tidy
from ..data.labels import LabelMap, as_array, class_ids, is_one_hot
from ..errors import LabelError, ProgramError
from .ending import SCORES, UNKNOWN, ending
from .findings import Finding
from .state import Composition
from .watch import unwatched

ROWS = 1024
Values = NDArray[Any]


def measure(context: Context, finding: Finding) -> dict[str, Any]:
    """Measure a block's model.

    Args:
        context: The block; its model is compiled.
        finding: The data.

    Returns:
        "accuracy" (classes: share of right answers), "mse" and "mae" (regression), "loss" (the compiled loss
        without penalties on weights, which differ by their number), "rows", and "data", what was measured on.

    Raises:
        ValueError: The data cannot be gone through, or holds no row.
        ProgramError: The data does not fit the model.
    """
    model = context.model
    if len(getattr(model, "outputs", None) or ()) > 1:
        return _of_several_outputs(context, finding)
    total: dict[str, float] = {}
    rows = 0
    for x, y in _batches(finding.x, finding.y):
        predicted = np.asarray(model.predict_on_batch(x))
        count = len(predicted)
        values = _scores(context, as_array(y), predicted.astype(np.float64))
        if model.compiled:
            values["loss"] = _loss(model, _as_trained(context, _counted(context, y), predicted.shape), predicted)
        for name, value in values.items():
            total[name] = total.get(name, 0.0) + value * count
        rows += count
    if not rows:
        raise ValueError("the data holds no row")
    return {**{name: value / rows for name, value in total.items()}, "rows": rows, "data": finding.name}


def _of_several_outputs(context: Context, finding: Finding) -> dict[str, Any]:
    """Measure the loss of a model of several outputs (-m 1 keeps it whole); it has no accuracy of its own."""
    if not context.model.compiled:
        raise ValueError("the model has several outputs, and is not compiled")
    try:
        with unwatched(context):
            found = context.model.evaluate(finding.x, finding.y, verbose=0, return_dict=True)
    except Exception as error:
        raise ValueError("the data does not give the targets of all outputs") from error
    return {"loss": float(found["loss"]), "rows": count_rows(tidy(finding.y)), "data": finding.name}


def told(context: Context, finding: Finding) -> dict[str, Any]:
    """Read accuracy and loss off what the user's own evaluate returned.

    Args:
        context: The block.
        finding: Data that can be gone through only once, such as a generator's.

    Returns:
        "accuracy" and "loss", as far as the user's metrics have them, and "data".
    """
    returned = finding.returned
    if isinstance(returned, (int, float)):
        named = {"loss": float(returned)}
    elif isinstance(returned, dict):
        named = {str(name): float(value) for name, value in returned.items()}
    elif returned is not None:
        named = dict(zip(context.model.metrics_names, map(float, returned), strict=False))
        order = [name for metric in context.model.metrics for name in _names(metric)]
        named = dict(zip(order, map(float, returned), strict=False)) if len(order) == len(returned) else named
    else:
        named = {}
    found: dict[str, Any] = {"loss": named["loss"]} if "loss" in named else {}
    accuracy = next((value for name, value in named.items() if "acc" in name), None)
    if accuracy is not None:
        found["accuracy"] = accuracy
    return {**found, "data": finding.name} if found else {}


def _names(metric: Any) -> list[str]:
    """Return the names under which a metric of model.metrics appears in the results, in order."""
    inner = getattr(metric, "metrics", None)
    return [m.name for m in inner] if inner else [metric.name]


def _batches(x: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Go through data once, in parts."""
    if y is not None:
        rows = count_rows(tidy(y))
        values, targets = tidy(x, rows), tidy(y, rows)
        for start in range(0, rows, ROWS):
            yield _piece(values, start), _piece(targets, start)
    elif isinstance(x, keras.utils.PyDataset):
        for number in range(len(x)):
            yield x[number][0], x[number][1]
    elif hasattr(x, "cardinality"):
        if int(x.cardinality()) == -1:
            raise ValueError("the data set never ends")
        for item in x:
            if not isinstance(item, (tuple, list)) or len(item) < 2:
                raise ValueError("the data set has no targets")
            yield item[0], item[1]
    else:
        raise ValueError(f"a {type(x).__name__} can be gone through only once")


def _piece(value: Any, start: int) -> Any:
    def cut(leaf: Any) -> Any:
        if hasattr(leaf, "iloc"):
            return leaf.iloc[start : start + ROWS].to_numpy()
        piece = leaf[start : start + ROWS]
        # As fit() and predict() do with arrays.
        wide = getattr(piece, "dtype", None) == np.float64 and isinstance(piece, np.ndarray)
        return piece.astype(keras.config.floatx()) if wide else piece

    return map_leaves(cut, value)


def _counted(context: Context, y: Any) -> Any:
    """Return labels that are names, or do not start at 0, as a loss takes them: counted from 0."""
    labels = context.label_map
    if labels is None or not (labels.names or labels.offset) or is_one_hot(as_array(y), labels.total):
        return y
    return class_ids(labels, y, "test")


def _as_trained(context: Context, y: Any, shape: tuple[int, ...]) -> Any:
    """Return class numbers as one-hot labels where the model was trained on those, as its loss then wants them."""
    given = context.last_call.get("y")
    if context.share.kind not in ("multiclass", "binary") or len(shape) != 2 or len(leaves(given)) != 1:
        return y
    if not is_one_hot(as_array(leaves(given)[0]), shape[1]) or is_one_hot(as_array(y), shape[1]):
        return y
    return np.eye(shape[1], dtype=np.float32)[_classes(context, as_array(y), shape[1])]


def _loss(model: Any, y: Any, predicted: Values) -> float:
    """Return the compiled loss of one batch, without what layers add to it."""
    target = map_leaves(keras.ops.convert_to_tensor, y)
    whole = model.compute_loss(y=target, y_pred=keras.ops.convert_to_tensor(predicted))
    added = sum(float(value) for value in model.losses)
    return float(whole) - added


def _scores(context: Context, y: Values, predicted: Values) -> dict[str, float]:
    """Return accuracy, or the errors of a regression."""
    share = context.share
    if share.kind == "multiclass":
        tokens = predicted.ndim > 2
        right = _token_classes(y, predicted.shape) if tokens else _classes(context, y, predicted.shape[-1])
        return {"accuracy": float(np.mean(predicted.argmax(axis=-1) == right))}
    if share.kind == "binary" or share.labels:
        return {"accuracy": float(np.mean(_decided(context, predicted) == _truth(y, predicted)))}
    if y.size != predicted.size:
        raise ValueError(f"targets of shape {y.shape} do not fit predictions of shape {predicted.shape}")
    error = predicted - y.reshape(predicted.shape)
    return {"mse": float(np.mean(error**2)), "mae": float(np.mean(np.abs(error)))}


def _token_classes(y: Values, shape: tuple[int, ...]) -> Values:
    """Return the class of each token or pixel; only a whole network (-m 1) has any."""
    ids: Values = y.argmax(axis=-1) if y.shape == shape else y
    if ids.size != int(np.prod(shape[:-1])):
        raise ValueError(f"labels of shape {y.shape} do not fit predictions of shape {shape}")
    return ids.reshape(shape[:-1])


def _classes(context: Context, y: Values, width: int) -> Values:
    labels = context.label_map or LabelMap(context.share.of or width)
    try:
        return class_ids(labels, y, "test")
    except LabelError:
        if y.ndim == 2 and y.shape[1] == width:
            # Smoothed or mixed labels still have a first choice.
            first: Values = y.argmax(axis=1)
            return first
        raise


def _decided(context: Context, predicted: Values) -> Values:
    """Return the yes or no of each binary answer."""
    if context.share.kind == "binary" and predicted.shape[-1] == 2:
        second: Values = predicted.argmax(axis=-1) == 1
        return second
    if isinstance(context, Composition):
        scores = context.scores
    else:
        end = ending(context.model)
        scores = end == SCORES if end != UNKNOWN else bool(np.min(predicted) < 0 or np.max(predicted) > 1)
    decided: Values = predicted > (0.0 if scores else 0.5)
    return decided[:, 0] if context.share.kind == "binary" and decided.ndim == 2 else decided


def _truth(y: Values, predicted: Values) -> Values:
    if y.ndim == 2 and y.shape[1] == 2 and predicted.shape[-1] == 2:
        second: Values = y.argmax(axis=1) == 1
        return second
    if y.size not in (len(predicted), predicted.size):
        raise ProgramError(f"labels of shape {y.shape} do not fit predictions of shape {predicted.shape}")
    truth: Values = y > 0.5
    return truth.reshape(-1) if y.size == len(predicted) else truth.reshape(predicted.shape)
