"""Writes what a trained block leaves behind."""

from __future__ import annotations

import json
from typing import Any

from . import artifacts
from .checks import activation_name, from_logits
from .context import Context, session
from .frameworks import keras


def _holds_code(value: Any) -> bool:
    if isinstance(value, dict):
        return value.get("class_name") == "__lambda__" or any(_holds_code(item) for item in value.values())
    return isinstance(value, list) and any(_holds_code(item) for item in value)


def model_config(model: Any) -> Any:
    """Returns the configuration from which keras rebuilds a model, without its compilation.

    Args:
        model: a keras model.

    Returns:
        None where the model has no configuration, or one that would carry code (a Lambda's).
    """
    try:
        config = json.loads(model.to_json())
    except Exception:  # noqa: BLE001  # a user's own get_config may fail in any way
        return None
    if not isinstance(config, dict) or _holds_code(config):
        return None
    config.pop("compile_config", None)
    return config


def parameters(model: Any) -> int:
    """Returns the number of weights of a built model.

    Args:
        model: a keras model.
    """
    return sum(int(weight.size) for weight in model.get_weights())


def result_of(context: Context, model: Any) -> dict[str, Any]:
    """Returns what result.json says of a block.

    Args:
        context: the block.
        model: its trained model.
    """
    share = context.share
    return {
        "file": context.program.name,
        "program": artifacts.program_hash(context.program),
        "block": context.block,
        "mode": context.mode,
        "kind": share.kind,
        "of": share.of,
        "share": share.describe(),
        "seconds": round(context.seconds, 3),
        "parameters": parameters(model),
        "peak_bytes": context.peak_bytes,
        "epochs": len(context.epochs),
        "rows": context.fits[-1]["rows"] if context.fits else None,
        "steps_per_epoch": context.fits[-1]["steps"] if context.fits else None,
        "from_logits": from_logits(model),
        "activation": activation_name(model),
        "labels": None if context.label_map is None else context.label_map.describe(),
        "crop": context.crop,
        "inputs": context.inputs,
        "loaded": not context.fitted,
        "metrics": {name: values[-1] for name, values in context.history.items() if values},
        "keras": keras().__version__,
        **context.results,
        **_all_blocks(context),
    }


def _all_blocks(context: Context) -> dict[str, Any]:
    """Returns what an original of several blocks was worth, block by block; its file is of the last one."""
    others = [one for one in session().blocks.values() if one.mode == "original" and one.model is not None]
    if context.mode != "original" or len(others) < 2:
        return {}
    return {
        "blocks": [
            {
                **one.results,
                "block": one.block,
                "seconds": round(one.seconds, 3),
                "parameters": parameters(one.model),
                "peak_bytes": one.peak_bytes,
            }
            for one in others
        ]
    }


def save(context: Context, model: Any) -> dict[str, Any]:
    """Writes weights.npz, model.json, history.json and, last, result.json.

    Args:
        context: the block.
        model: its trained model.

    Returns:
        What result.json holds.
    """
    place = context.folder
    result = result_of(context, model)
    # From here on the files belong to the new training: an old result must not vouch for them.
    (place / artifacts.RESULT).unlink(missing_ok=True)
    artifacts.save_weights(place / artifacts.WEIGHTS, model.get_weights())
    artifacts.write_json(place / artifacts.MODEL, model_config(model))
    artifacts.write_json(place / artifacts.HISTORY, {"epoch": context.epochs, "history": context.history})
    artifacts.write_json(place / artifacts.RESULT, result)
    return result
