"""`fit` and `finish`: what stands in a program for the script's training."""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from typing import Any

from .arguments import named_arguments
from .callbacks import own_callbacks, progress_callbacks
from .checks import check_output, check_regression, input_rank, output_shape
from .context import Context, current, event, session
from .crops import crop_box, cropped
from .data.arrays import input_specs, leaves
from .data.prepare import Call, Prepared, Task, prepare
from .errors import BuildOnly, ProgramError
from .frameworks import keras
from .measuring import peak_bytes, reset_peak
from .notes import tell
from .saving import save


def fit(model: Any, *args: Any, **kwargs: Any) -> Any:
    """Trains a model on this program's share, as `model.fit(...)` would on everything.

    Args:
        model: the compiled keras model.
        *args: what the script passes to `fit`.
        **kwargs: what the script passes to `fit`.

    Returns:
        The keras History.

    Raises:
        ProgramError: no share can be selected, or the model does not fit it.
        BuildOnly: the program is executed only to build its model.
    """
    if session().build:
        raise BuildOnly(model)
    context = current()
    if context.mode == "composed":
        raise ProgramError("a composed model is made of trained submodels; skn_runtime.trained(...) stands for fit")
    call = named_arguments(args, kwargs)
    task = Task(context.share, context.label_map, context.generator_classes, input_rank(model))
    prepared = prepare(task, call)
    trained = _checked(context, model, prepared)
    context.inputs = input_specs(prepared.sample.x if prepared.sample is not None else call.get("x"))
    _remember_model(context, model)
    if context.mode == "original":
        # What the original is measured on is found here later.
        from .compose.watch import unwatched, watch

        context.last_call = call
        watch(model, context)
        with unwatched(context):
            history = _train(context, _within_budget(context, trained, prepared.call), prepared)
    else:
        history = _train(context, _within_budget(context, trained, prepared.call), prepared)
    if trained is not model:
        model.history = trained.history
    context.label_map = prepared.label_map
    return history


def _checked(context: Context, model: Any, prepared: Prepared) -> Any:
    """Returns the model to train: the given one, or the same with its output cut to this submodel's patch."""
    share = context.share
    if prepared.sample is None:
        return model
    shape = output_shape(model, prepared.sample)
    check_output(model, share, shape)
    if share.kind not in ("regression", "local_regression") or shape is None:
        return model
    wanted = tuple(leaves(prepared.sample.y)[0].shape)
    last = keras().config.image_data_format() == "channels_last"
    box = crop_box(share, shape, prepared.full_shape, last) if prepared.full_shape else None
    if box is None:
        check_regression(model, shape, wanted)
        return model
    context.crop, context.uncropped = box, shape
    tell(f"the network makes whole images; its output is cut to this submodel's patch of {wanted[1]}x{wanted[2]}")
    return cropped(model, box)


def _remember_model(context: Context, model: Any) -> None:
    before = context.model
    if before is not None and before is not model and before.count_params() != model.count_params():
        raise ProgramError(
            f"the block trains two models, {before.name!r} and {model.name!r}; one block trains one model",
            "put each model between markers of its own",
        )
    context.model = model


def _within_budget(context: Context, model: Any, call: Call) -> Any:
    """Returns a model with the same weights whose training keeps the block's budget."""
    if context.budget is None:
        return model
    keep = getattr(importlib.import_module(f"{__package__}.memory"), "fit_in_memory", None)
    if keep is None:
        tell("this runtime cannot keep a memory budget; it trains without one")
        return model
    feeds = importlib.import_module(f"{__package__}.memory.feeds")
    feed = feeds.feed_of((), call)
    # A generator that was looked into is another one now.
    call.update(feed.kwargs)
    return keep(model, budget=context.budget, batch_size=feed.batch or feeds.DEFAULT_BATCH)


def _train(context: Context, model: Any, prepared: Prepared) -> Any:
    call = prepared.call
    call["callbacks"] = own_callbacks(call.get("callbacks"), progress_callbacks(context, prepared.rows))
    reset_peak()
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            if prepared.remade:
                # A share's length is found out by reading it; Keras takes its end for a shortage.
                warnings.filterwarnings("ignore", message="Your input ran out of data")
            history = model.fit(**call)
    except Exception:
        if prepared.failures.first is not None:
            # tf.data wraps what a share says of the data; the program's own error is the clear one.
            raise prepared.failures.first from None
        raise
    context.seconds += time.perf_counter() - start
    peak = peak_bytes()
    if peak is not None:
        context.peak_bytes = max(peak, context.peak_bytes or 0)
    context.fitted = True
    context.epochs.extend(getattr(history, "epoch", ()))
    for name, values in getattr(history, "history", {}).items():
        context.history.setdefault(name, []).extend(values)
    context.fits.append({"rows": prepared.rows, "steps": (getattr(history, "params", None) or {}).get("steps")})
    return history


def finish(model: Any = None) -> None:
    """Saves the trained block and ends the program with status 0.

    Args:
        model: the model, where the script may have loaded instead of trained it.

    Raises:
        ProgramError: nothing was trained and no model given.
        SystemExit: always, when all is saved.
    """
    if session().build:
        raise BuildOnly(model if model is not None else current().model)
    context = current()
    # What the script has at the end of the block counts: it may have loaded the best of its checkpoints.
    trained = model if hasattr(model, "get_weights") else context.model
    if trained is None or _untrained(context, trained):
        raise ProgramError(
            f"block {context.block} of {context.program.name} ended without training a model",
            "the training must run when the script is run: look at the conditions around model.fit(...)",
        )
    _check_final(context, trained)
    result = save(context, trained)
    event("done", **{name: result[name] for name in ("seconds", "parameters", "peak_bytes", "epochs")})
    sys.stdout.write(_summary(context, result) + "\n")
    sys.stdout.flush()
    sys.stderr.flush()
    raise SystemExit(0)


def _untrained(context: Context, model: Any) -> bool:
    """Whether a model is as it was made: neither trained, nor read from a file of this program's own."""
    optimizer = getattr(model, "optimizer", None)
    steps = getattr(optimizer, "iterations", None)
    known = not context.fitted and not context.restored and not context.share.whole
    return known and steps is not None and int(steps) == 0


def _check_final(context: Context, model: Any) -> None:
    """A loaded model must be this submodel's: a file of the original's would go into the composition unseen."""
    shape = getattr(model, "output_shape", None)
    if not isinstance(shape, tuple):
        return
    check_output(model, context.share, shape)
    if context.crop is not None and shape != context.uncropped:
        # A callback saved the model that was trained, whose output is cut to the patch already.
        context.crop = None


def _summary(context: Context, result: dict[str, Any]) -> str:
    share = context.share
    what = "whole"
    if not share.whole and share.classes:
        shown = ", ".join(map(str, share.classes[:8])) + (", ..." if len(share.classes) > 8 else "")
        what = f"classes {shown}"
    elif not share.whole:
        what = f"half {share.half}" if share.part is None else f"part {share.part[0] + 1} of {share.part[1]}"
    loss = result["metrics"].get("loss")
    parts = [f"skynnet: {result['file']}: {what}", f"{result['parameters']:,} parameters"]
    if result["loaded"]:
        parts.append("loaded, not trained")
    else:
        parts.append(f"{result['epochs']} epochs in {result['seconds']:.1f} s")
    if loss is not None:
        parts.append(f"loss {loss:.4g}")
    return ", ".join(parts)
