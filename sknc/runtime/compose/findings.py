"""Which data a block is measured on: the user's own test data, found in the order of how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..context import Context
from ..data.arrays import Rows, count_rows, leaves, split_rows, tidy
from ..errors import ProgramError
from .watch import Use, seen

# How the name of targets follows from the name of inputs, as scripts write them.
_RENAMES = (
    ("x", "y"),
    ("X", "y"),
    ("X", "Y"),
    ("images", "labels"),
    ("imgs", "labels"),
    ("data", "labels"),
    ("data", "targets"),
    ("inputs", "targets"),
    ("inputs", "labels"),
    ("features", "labels"),
    ("features", "targets"),
    ("texts", "labels"),
    ("sequences", "labels"),
)
_USUAL = ("x_test", "X_test", "test_x", "test_X", "test_images", "test_data", "test_features", "xtest", "Xtest",
          "testX", "X_te", "x_te", "Xte", "xte")  # fmt: skip
_TARGETS = ("y_test", "Y_test", "test_y", "test_Y", "test_labels", "test_targets", "ytest", "testY", "y_te", "yte")
_SETS = ("test_ds", "ds_test", "test_dataset", "test_data", "test_set", "test_generator", "test")
_SEEN = " (the training data)"
# What stands for "train" in the name of the data to measure on.
_TRAIN = (("train", "test"), ("Train", "Test"), ("trn", "tst"), ("tr", "te"), ("train", "val"), ("train", "valid"))


@dataclass(frozen=True)
class Finding:
    """Data to measure on.

    Args:
        name: What it is, for result.json.
        x: Inputs, or a data set of inputs and targets.
        y: Targets; None for a data set.
        returned: What the user's evaluate returned for it, if that is where it was found.
    """

    name: str
    x: Any
    y: Any
    returned: Any = None


def findings(context: Context, namespace: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield data to measure on, the surest first.

    Args:
        context: The block.
        namespace: The names of the user's code at the block's end.

    Yields:
        What evaluate was called with (other than the training data), the original tool's reserved names, what
        predict was called with where its targets can be found by their name, what is named like the training data
        ("x_test_scaled" for "x_train_scaled"), the usual names of test data, the validation data of fit, and at
        last training data that evaluate or predict was called with. Where fit was given a data set, test
        data under a usual name comes last: it has not gone through what the data set does to its rows.
    """
    record = seen(context)
    training = context.last_call.get("x")
    for use in reversed(record.evaluated):
        if use.x is not training:
            yield Finding(_named(use, namespace), use.x, use.y, use.returned)
    if "_DATA_TEST_X" in namespace:
        yield Finding("_DATA_TEST_X, _DATA_TEST_Y", namespace["_DATA_TEST_X"], namespace.get("_DATA_TEST_Y"))
    fresh = [use for use in reversed(record.predicted) if use.x is not training]
    for use in fresh:
        yield from _of_prediction(use, context.last_call, namespace)
    yield from _alike(context.last_call, namespace)
    streamed = _is_stream(training)
    if not streamed:
        yield from _usual(namespace)
    for name in _SETS:
        if _is_set(namespace.get(name)):
            yield Finding(name, namespace[name], None)
    yield from _validation(context.last_call)
    if streamed:
        yield from _usual(namespace)
    yield from _on_training(context, namespace)


def _on_training(context: Context, namespace: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the training data, where the user's code evaluates or predicts them itself."""
    record, training = seen(context), context.last_call.get("x")
    for use in reversed(record.evaluated):
        if use.x is training:
            yield Finding(_named(use, namespace) + _SEEN, use.x, use.y, use.returned)
    for use in record.predicted:
        if use.x is training:
            for finding in _of_prediction(use, context.last_call, namespace):
                yield replace(finding, name=finding.name + _SEEN)


def _usual(namespace: Mapping[str, Any]) -> Iterator[Finding]:
    for name in _USUAL:
        if name in namespace:
            yield from _pairs(name, namespace[name], namespace)


def _alike(call: Mapping[str, Any], namespace: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the data whose names are those of the training data, with "test" for "train"."""
    x_name, y_name = _name_of(call.get("x"), namespace), _name_of(call.get("y"), namespace)
    for old, new in _TRAIN:
        if x_name is None or old not in x_name or x_name.replace(old, new) not in namespace:
            continue
        name = x_name.replace(old, new)
        x = namespace[name]
        if _is_stream(x):
            yield Finding(name, x, None)
            continue
        # Without a name, the targets are made in the call: fit(x_train, to_categorical(y_train)).
        for other in _TARGETS if y_name is None else (y_name.replace(old, new),):
            y = namespace.get(other)
            if other != y_name and y is not None and _rows(x) is not None and _rows(x) == _rows(y):
                yield Finding(f"{name}, {other}", x, y)


def _named(use: Use, namespace: Mapping[str, Any]) -> str:
    names = [_name_of(value, namespace) for value in (use.x, use.y) if value is not None]
    return ", ".join(name for name in names if name) or "the data of evaluate()"


def _name_of(value: Any, namespace: Mapping[str, Any]) -> str | None:
    """Return the name of an object; a name that the user chose before one that Python did."""
    if value is None:
        return None
    return next((n for n, item in namespace.items() if item is value and not n.startswith("__")), None)


def _of_prediction(use: Use, call: Mapping[str, Any], namespace: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield predicted data with their targets."""
    if use.x is None:
        return
    for name in [n for n, item in namespace.items() if item is use.x and not n.startswith("__")]:
        if _is_set(use.x):
            yield Finding(name, use.x, None)
        else:
            yield from _pairs(name, use.x, namespace)
            if call.get("x") is call.get("y") and call.get("x") is not None:
                # An autoencoder: what it is trained to give is what it gets.
                yield Finding(f"{name}, {name}", use.x, use.x)


def _pairs(name: str, x: Any, namespace: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield inputs with the targets whose name follows from theirs."""
    rows = _rows(x)
    for old, new in _RENAMES:
        if old not in name:
            continue
        # Once from each end: the x of "x_next" and of "box_x".
        for other in dict.fromkeys((name.replace(old, new, 1), new.join(name.rsplit(old, 1)))):
            y = namespace.get(other)
            if other != name and y is not None and rows is not None and _rows(y) == rows:
                yield Finding(f"{name}, {other}", x, y)


def _rows(value: Any) -> int | None:
    try:
        return count_rows(tidy(value) if isinstance(value, list) else value)
    except (ProgramError, TypeError, ValueError):
        return None


def _is_set(value: Any) -> bool:
    """Tell whether an object gives inputs and targets together."""
    module = type(value).__module__
    return module.startswith("tensorflow.python.data") or any(
        base.__name__ == "PyDataset" for base in type(value).__mro__
    )


def _is_stream(value: Any) -> bool:
    """Tell whether an object gives inputs and targets together, be it only once."""
    return _is_set(value) or isinstance(value, Iterator)


def _validation(call: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the validation data of fit."""
    given, fraction = call.get("validation_data"), call.get("validation_split")
    if isinstance(given, (tuple, list)) and len(given) >= 2:
        yield Finding("the validation data of fit()", given[0], given[1])
    elif given is not None:
        yield Finding("the validation data of fit()", given, None)
    elif fraction and leaves(call.get("y")):
        x, y = tidy(call.get("x")), tidy(call.get("y"))
        _, held = split_rows(Rows(x, y, None), float(fraction))
        yield Finding(f"the last {float(fraction):.0%} of the training data (validation_split)", held.x, held.y)
