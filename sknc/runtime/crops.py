"""A network that keeps the full image size, trained on one patch of it."""

from __future__ import annotations

from typing import Any

from .data.cuts import cut_box, image_axes
from .data.shares import Share
from .frameworks import keras

# ((top, bottom), (left, right)): how many rows and columns are taken away at each side.
Box = tuple[tuple[int, int], tuple[int, int]]
Shape = tuple[int | None, ...]


def crop_box(share: Share, output: Shape, full: Shape, channels_last: bool = True) -> Box | None:
    """Returns what to cut off a model's output so that a share's patch is left.

    Args:
        share: a regression share with a grid.
        output: shape of the model's output with its batch axis.
        full: shape of the whole targets.
        channels_last: keras's image data format.

    Returns:
        None unless the output has the size of the whole image and the patch is smaller.
    """
    if share.grid is None or share.whole or len(output) not in (3, 4) or len(output) != len(full):
        return None
    axes = image_axes(len(output), channels_last)
    cuts = cut_box(share, full, channels_last)
    sides: list[tuple[int, int]] = []
    for axis in axes:
        start, stop = cuts[axis]
        size = output[axis]
        if size is None or size != full[axis]:
            return None
        sides.append((start, size - stop))
    return (sides[0], sides[1]) if any(sum(side) for side in sides) else None


def cropped(model: Any, box: Any) -> Any:
    """Returns a model with the same layers whose output is one patch of the given model's.

    Args:
        model: a keras model with images (rows, height, width[, channels]) as its output.
        box: [[top, bottom], [left, right]].

    Returns:
        A keras.Model that shares the weights, compiled alike where the model was compiled.
    """
    k = keras()
    sides = tuple((int(a), int(b)) for a, b in box)
    name = f"{model.name}_patch"
    outputs = getattr(model, "outputs", None)
    if outputs:
        patch = _patch_layers(outputs[0], sides)
        made = k.Model(model.inputs[0] if len(model.inputs) == 1 else model.inputs, patch, name=name)
    else:
        # A subclassed model has no graph to extend; it becomes a layer.
        made = k.Sequential([model, k.layers.Cropping2D(sides)], name=name)
    settings = getattr(model, "_compile_config", None)
    if getattr(model, "compiled", False) and settings is not None:
        # The objects themselves, not their configuration: a user's own loss function has none.
        made.compile(**settings.config)
    return made


def _patch_layers(output: Any, sides: Any) -> Any:
    layers = keras().layers
    if len(output.shape) == 4:
        return layers.Cropping2D(sides)(output)
    height, width = (size - sum(side) for size, side in zip(output.shape[1:], sides, strict=True))
    image = layers.Reshape((*output.shape[1:], 1))(output)
    return layers.Reshape((height, width))(layers.Cropping2D(sides, data_format="channels_last")(image))
