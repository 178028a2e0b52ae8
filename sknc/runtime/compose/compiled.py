"""Compile the composed model as the user compiled the original."""

from __future__ import annotations

from typing import Any

import keras


def compile_arguments(model: Any) -> dict[str, Any] | None:
    """Return what the user gave compile(), as objects.

    Args:
        model: A keras.Model.

    Returns:
        Keyword arguments of compile(), or None for a model that is not compiled.
    """
    if not getattr(model, "compiled", False):
        return None
    raw = getattr(getattr(model, "_compile_config", None), "config", None)
    if isinstance(raw, dict):
        return dict(raw)
    described = model.get_compile_config() or {}
    found: dict[str, Any] = keras.saving.deserialize_keras_object(described)
    return found


def compile_like(model: Any, original: Any) -> None:
    """Compile a model as another one is: same loss, metrics and weights; a fresh optimizer and fresh metrics.

    Args:
        model: The model to compile.
        original: The model to compile like; where it is not compiled nothing happens.
    """
    arguments = compile_arguments(original)
    if arguments is None:
        return
    for name in ("metrics", "weighted_metrics"):
        arguments[name] = _fresh_metrics(arguments.get(name))
    arguments["optimizer"] = _fresh(arguments.get("optimizer"), keras.optimizers.Optimizer)
    model.compile(**{name: value for name, value in arguments.items() if value is not None})


def _fresh(value: Any, kind: type) -> Any:
    """Return an unused copy of an optimizer or metric object, and anything else as it is."""
    if not isinstance(value, kind):
        return value
    try:
        return type(value).from_config(value.get_config())  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001  # a user's own class may not be describable; its object works, too
        return value


def _fresh_metrics(value: Any) -> Any:
    """Return metrics in the structure that the user gave, each object an unused copy."""
    if isinstance(value, dict):
        return {key: _fresh_metrics(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_fresh_metrics(item) for item in value]
    return _fresh(value, keras.metrics.Metric)
