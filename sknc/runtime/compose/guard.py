"""The original after the composition: its layers are untrained, and using them would be wrong without a sound.

The user's own model was built, but what was trained is the submodels. A script may hold the original under other
names than the one that was passed to fit (a function's argument, an attribute), so the object itself answers as the
composed model from now on. Its inner layers cannot: each use of one that has weights (an encoder that shares an
autoencoder's layers) raises an explanation. Layers without trainable weights (a vocabulary, a normalisation) work.
"""

from __future__ import annotations

from typing import Any, NoReturn

import keras

from ..errors import ProgramError

_USES = ("fit", "evaluate", "predict", "predict_on_batch", "train_on_batch", "test_on_batch")
# Of every layer; a model's own weights are asked for while it is put together.
_OF_LAYERS = ("__call__", "get_weights", "set_weights")


def stand_in(original: Any, composed: Any) -> None:
    """Let the original answer as the composed model, and its layers explain that they were not trained.

    Args:
        original: The user's own model.
        composed: The model that stands for it.
    """
    layers = [layer for layer in original._flatten_layers(include_self=False) if layer.trainable_weights]
    for layer in layers:
        _retire(layer)
    _forward(original, composed)


def explain_layers(composed: Any, original: Any) -> None:
    """Let the composed model know the original's layers, which explain that they were not trained when they are used.

    A script that trains again may look some of them up to freeze them.

    Args:
        composed: The model that stands for the original.
        original: The user's own model.
    """
    find, own = composed.get_layer, {layer.name for layer in composed.layers}
    others = {layer.name: layer for layer in original._flatten_layers(include_self=False) if layer.name not in own}

    def get_layer(name: Any = None, index: Any = None) -> Any:
        return others[name] if name in others else find(name, index)

    composed.get_layer = get_layer


def _untrained(name: str) -> ProgramError:
    return ProgramError(
        f"{name!r} was not trained: the submodels were, and the model that is composed of them "
        "took the place of the model that was passed to fit()",
        "use the model that fit() was called on; to use an inner part on its own, train it in a block of its own",
    )


def _forward(original: Any, composed: Any) -> None:
    def get(self: Any, name: str) -> Any:
        return getattr(composed, name)

    def put(self: Any, name: str, value: Any) -> None:
        setattr(composed, name, value)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return composed(*args, **kwargs)

    _become(original, {"__getattribute__": get, "__setattr__": put, "__call__": call})


def _become(layer: Any, methods: dict[str, Any]) -> None:
    """Give one object other methods; its class keeps its name, which summary() shows."""
    kind = type(layer)
    changed = type(kind.__name__, (kind,), {**methods, "_skn_retired": True, "__module__": kind.__module__})
    # The class, not the object: that is where Python looks for __call__.
    object.__setattr__(layer, "__class__", changed)


def _retire(layer: Any) -> None:
    if type(layer).__dict__.get("_skn_retired"):
        return
    name = layer.name

    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise _untrained(name)

    _become(layer, dict.fromkeys((*_OF_LAYERS, *(_USES if isinstance(layer, keras.Model) else ())), refuse))
