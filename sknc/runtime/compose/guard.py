"""The original after the composition: its layers are untrained, and using them would be wrong without a sound.

The user's own model was built, but what was trained is the submodels. Its predictions would be noise, so that every
use of its weights raises an explanation: of the model, and of its trainable layers, which may live on in other
models of the user's (an encoder that shares an autoencoder's layers). Looking at it (summary, input_shape, layers)
works as before, and so do its layers without trainable weights (a vocabulary, a normalisation).
"""

from __future__ import annotations

from typing import Any, NoReturn

import keras

from ..errors import ProgramError

_USES = ("fit", "evaluate", "predict", "predict_on_batch", "train_on_batch", "test_on_batch", "__call__")


def retire(original: Any) -> None:
    """Make every use of an untrained original raise an explanation.

    Args:
        original: The user's own model, which the composed one stands for.
    """
    layers = [layer for layer in original._flatten_layers(include_self=False) if layer.trainable_weights]
    for layer in [original, *layers]:
        _retire(layer)


def _retire(layer: Any) -> None:
    kind = type(layer)
    if kind.__dict__.get("_skn_retired"):
        return
    name = layer.name

    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise ProgramError(
            f"{name!r} was not trained: the submodels were, and the model that is composed of them "
            "took the place of the model that was passed to fit()",
            "use the name that fit() was called on (such as `model`); to use an inner part on its own, "
            "train it in a block of its own",
        )

    uses = {use: refuse for use in _USES if use == "__call__" or isinstance(layer, keras.Model)}
    # The class, not the object: calling looks __call__ up there. The name stays, for summary().
    retired = type(kind.__name__, (kind,), {**uses, "_skn_retired": True, "__module__": kind.__module__})
    object.__setattr__(layer, "__class__", retired)
