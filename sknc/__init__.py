"""sknc: a compiler that makes Keras training fit the machine.

Importing it imports neither TensorFlow nor Keras.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sknc._version import __version__

if TYPE_CHECKING:
    import os

    from sknc.splitting import SplitResult

__all__ = ["__version__", "split"]


def split(
    path: str | os.PathLike[str],
    submodels: int = 6,
    output: str | os.PathLike[str] | None = None,
    *,
    classes: int | None = None,
    compose: str | None = None,
    budget: int | str | None = None,
) -> SplitResult:
    """Split a marked script: what `sknc split` does, without printing.

    Args:
        path: the script.
        submodels: how many are wanted; the largest number not above it that the task allows is taken.
        output: the output folder; `<script stem>_split` in the working folder when left out.
        classes: number of classes, where the script does not say it as a constant.
        compose: how predictions are put together, e.g. "product" or "coupling".
        budget: a memory budget for the programs, in bytes or as text ("8GiB").

    Returns:
        The folder, what the manifest says about each block, and the findings that did not stop the split.

    Raises:
        FindingsError: the script has errors; its `diagnostics` say where.
        SkncError: wrong usage, or the system does not let us.

    Example:
        >>> import sknc
        >>> result = sknc.split("train.py", submodels=6)  # doctest: +SKIP
        >>> result.folder  # doctest: +SKIP
        PosixPath('train_split')
    """
    from sknc.splitting import split_script

    return split_script(path, submodels=submodels, output=output, classes=classes, compose=compose, budget=budget)
