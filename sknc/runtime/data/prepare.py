"""From the arguments of the script's `fit` to those of a submodel's."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from ..errors import ProgramError
from ..frameworks import keras
from ..notes import tell
from .arrays import Rows, check_counts, count_rows, split_rows, tidy, unwrap
from .generators import counted_within, generator_share
from .labels import LabelMap, learn
from .selectors import ClassSelector, CutSelector, HalfSelector, Selector
from .sequences import sequence_share
from .shares import Share
from .sources import Source, Wanted, dataset_share, kind_of
from .streams import Failures, scaled_steps

Call = dict[str, Any]


@dataclass
class Prepared:
    """A submodel's call of `fit`.

    Args:
        call: the arguments by name.
        sample: some selected rows, for checks of the model; None where nothing is selected.
        rows: the number of training rows; None where it is not known.
        label_map: how labels name the classes (multiclass).
        full_shape: shape of the targets before they were cut (regression).
        failures: errors raised inside tf.data.
        remade: whether Keras gets datasets that were made here, of a length that it cannot know.
    """

    call: Call
    sample: Rows | None = None
    rows: int | None = None
    label_map: LabelMap | None = None
    full_shape: tuple[int | None, ...] = ()
    failures: Failures = field(default_factory=Failures)
    remade: bool = False


@dataclass
class Task:
    """What stays the same while one call is prepared.

    Args:
        share: the submodel's share.
        label_map: of an earlier fit of the same block, which holds for this one.
        own_generator: whether the script's generator was called with this submodel's classes.
        rank: rank of the model's first input, or None.
    """

    share: Share
    label_map: LabelMap | None = None
    own_generator: bool = False
    rank: int | None = None
    failures: Failures = field(default_factory=Failures)
    remade: bool = False

    def selector(self, y: Any = None) -> Selector:
        """Returns the selector; whole training labels, where there are some, decide how they are read.

        Args:
            y: the training labels as an array, or None.

        Raises:
            LabelError: the labels are not those of the block's classes.
        """
        if self.share.kind == "multiclass":
            total = self.share.of or 0
            if self.label_map is None:
                self.label_map = LabelMap(total) if y is None else learn(y, total)
            return ClassSelector(self.share, self.label_map)
        if self.share.kind == "binary":
            return HalfSelector(self.share)
        return CutSelector(self.share, keras().config.image_data_format() == "channels_last")


def prepare(task: Task, call: Call) -> Prepared:
    """Returns the arguments with which a submodel trains.

    Args:
        task: the submodel's share and what is known of the model.
        call: the script's arguments of `fit` by name.

    Raises:
        ProgramError: no share of this data can be selected.
    """
    if task.share.whole:
        return Prepared(dict(call), failures=task.failures)
    out = dict(call)
    prepared = _from_arrays(task, out) if kind_of(call.get("x")) == "arrays" else _from_source(task, out)
    prepared.label_map = task.label_map
    prepared.remade = task.remade
    return prepared


def _arrays(x: Any, y: Any, weight: Any) -> Rows:
    """Returns user data with an array in each leaf, checked for equal numbers of rows."""
    if getattr(x, "shape", None):
        rows = count_rows(x)
    elif isinstance(y, (list, tuple)):
        holds_one = len(y) == 1 and len(getattr(y[0], "shape", ())) > 0
        rows = count_rows(y[0]) if holds_one else len(y)
    else:
        rows = count_rows(unwrap(y, None)[0])
    target, back = unwrap(y, rows)
    # An autoencoder passes one array twice; it stays one, so that it is cut and copied once.
    tidied = target if x is y and not isinstance(x, dict) else tidy(x, rows)
    data = Rows(tidied, back(target), tidy(weight, rows))
    check_counts(data)
    return data


def _from_arrays(task: Task, out: Call) -> Prepared:
    if out.get("x") is None:
        raise ProgramError("fit was called without x")
    data = _arrays(out["x"], out.get("y"), out.get("sample_weight"))
    selector = task.selector(unwrap(data.y, count_rows(data.x))[0])
    train, held = data, None
    fraction = out.pop("validation_split", None)
    if fraction and out.get("validation_data") is None:
        train, held = split_rows(data, float(fraction))
    total = count_rows(train.x)
    kept = selector.select(train, "training")
    rows = count_rows(kept.x)
    if rows == 0:
        raise selector.empty("training")
    _scale_batches(out, "batch_size", "steps_per_epoch", total, rows)
    full_shape = selector.full_shape if isinstance(selector, CutSelector) else ()
    _validation(task, selector, out, held, total)
    out.update(x=kept.x, y=kept.y, sample_weight=kept.weight)
    if out.get("class_weight") is not None:
        out["class_weight"] = selector.class_weight(out["class_weight"])
    return Prepared(out, kept, rows, None, full_shape, task.failures)


def _scale_batches(out: Call, size: str, steps: str, total: int, rows: int) -> None:
    """Keeps the batch size that Keras derives from the number of steps, and scales the steps."""
    if out.get(steps) is None:
        return
    out[size] = out.get(size) or math.ceil(total / out[steps])
    out[steps] = scaled_steps(int(out[steps]), rows / total)


def _open(task: Task, selector: Selector, x: Any, out: Call, where: str, steps: int | None) -> Source:
    """Returns the share of a dataset, sequence or generator."""
    task.remade = True
    wanted = Wanted(selector, where, steps, task.failures)
    kind = kind_of(x)
    if kind == "dataset":
        return dataset_share(x, wanted, out.get("batch_size"), task.rank)
    if kind == "sequence":
        return sequence_share(x, wanted, where == "training" and bool(out.get("shuffle", True)))
    if not (task.own_generator and isinstance(selector, ClassSelector)):
        return generator_share(x, wanted)
    chosen, restored = counted_within(x, selector)
    # The generator yields this submodel's rows only: its epoch is as long as its part of the classes.
    return generator_share(restored, Wanted(chosen, where, steps, task.failures), fraction=selector.expected)


def _from_source(task: Task, out: Call) -> Prepared:
    selector = task.selector()
    x = out["x"]
    source = _open(task, selector, x, out, "training", out.get("steps_per_epoch"))
    if source.data is None:
        raise selector.empty("training")
    full_shape = selector.full_shape if isinstance(selector, CutSelector) else ()
    _validation(task, selector, out, None, 0)
    out["x"] = source.data
    if source.steps is not None:
        out["steps_per_epoch"] = source.steps
    if kind_of(source.data) != "sequence":
        # A sequence's order of batches was made random already, and Keras cannot shuffle a dataset or a generator.
        out["shuffle"] = False
    if out.get("class_weight") is not None:
        out["class_weight"] = selector.class_weight(out["class_weight"])
    return Prepared(out, source.sample, None, None, full_shape, task.failures)


def _validation(task: Task, selector: Selector, out: Call, held: Rows | None, first_row: int) -> None:
    """Replaces the validation data by this submodel's part, or drops it where the part is empty."""
    given = out.get("validation_data")
    if held is None and given is None:
        return
    steps = out.get("validation_steps")
    if held is None and not isinstance(given, (tuple, list)) and kind_of(given) != "arrays":
        source = _open(task, selector, given, out, "validation", steps)
        out["validation_data"], found = source.data, source.data is not None
        if found and source.steps is not None:
            out["validation_steps"] = source.steps
    else:
        data = held if held is not None else _validation_arrays(given)
        total = count_rows(data.x)
        kept = selector.select(data, "validation", first_row if held is not None else 0)
        rows = count_rows(kept.x)
        found = rows > 0
        if found and steps is not None:
            out["validation_batch_size"] = out.get("validation_batch_size") or out.get("batch_size")
            _scale_batches(out, "validation_batch_size", "validation_steps", total, rows)
        out["validation_data"] = tuple(kept) if kept.weight is not None else tuple(kept)[:2]
    if not found:
        for name in ("validation_data", "validation_steps", "validation_batch_size"):
            out.pop(name, None)
        tell("no validation row is this submodel's: it trains without validation")


def _validation_arrays(given: Any) -> Rows:
    if isinstance(given, (tuple, list)) and len(given) in (2, 3):
        return _arrays(given[0], given[1], given[2] if len(given) == 3 else None)
    raise ProgramError("validation_data must be (x, y) or (x, y, sample_weight) to select a share of it")
