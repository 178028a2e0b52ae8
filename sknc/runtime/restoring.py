"""Files that a block writes and reads back: best weights of a checkpoint, a model that is trained or else loaded.

A script's own file holds the weights of its whole network, which fit no submodel. So a submodel sees its own files
alone, and the composer behaves as if the file were not there until the composed model stands.
"""

from __future__ import annotations

import glob
import os
from typing import Any

from .context import Context, session
from .paths import path


def _composing(context: Context | None) -> bool:
    return context is not None and context.mode == "composed"


def exists(p: Any) -> bool:
    """Returns whether a file that the block writes itself exists for this program.

    Args:
        p: a str, bytes or Path.

    Returns:
        In a submodel, whether its own file exists; in the composer, False until the composed model stands.
    """
    context = session().current
    if _composing(context) and (context is None or context.model is None):
        return False
    return os.path.exists(path(p))


def load_model(p: Any, *args: Any, **kwargs: Any) -> Any:
    """Loads a model that the block saves itself.

    Args:
        p: the path in the script.
        *args: more arguments for `keras.models.load_model`.
        **kwargs: more arguments for `keras.models.load_model`.

    Returns:
        In a submodel, the model from its own file; in the composer, the composed model.

    Raises:
        FileNotFoundError: nothing was trained yet.
    """
    import keras

    context = session().current
    if _composing(context) and context is not None and context.model is not None:
        return context.model
    if not exists(p):
        raise _missing(p)
    model = keras.models.load_model(path(p), *args, **kwargs)
    _note(context)
    if context is not None and context.fitted:
        # What is loaded behind the training (a checkpoint's best) is what the submodel hands over.
        context.model = model
    return model


def load_weights(model: Any, p: Any, *args: Any, **kwargs: Any) -> None:
    """Loads weights that the block saves itself.

    Args:
        model: the model that takes them.
        p: the path in the script.
        *args: more arguments for `Model.load_weights`.
        **kwargs: more arguments for `Model.load_weights`.

    Raises:
        FileNotFoundError: nothing was trained yet.
    """
    # The composed model consists of submodels that restored their own best weights already.
    if not _composing(session().current):
        if not glob.glob(f"{glob.escape(os.fspath(path(p)))}*"):  # TensorFlow's checkpoints are several files
            raise _missing(p)
        model.load_weights(path(p), *args, **kwargs)
        _note(session().current)


def _missing(p: Any) -> FileNotFoundError:
    """What a script may catch that trains where there is nothing to load."""
    return FileNotFoundError(
        f"{os.fspath(p)!r} was not written by this program yet; the training that writes it must run first: look at "
        "the conditions around model.fit(...)"
    )


def _note(context: Context | None) -> None:
    if context is not None:
        context.restored = True
