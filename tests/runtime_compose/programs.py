"""Output folders as `sknc split` writes them: programs around one block of the user's."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from sknc.runtime import context as contexts

Names = dict[str, Any]


class Folder:
    """A split of one block.

    Args:
        place: The folder.
        block: The block's text. `{begin}` stands for the marker's call, `{classes}`, `{part}` and `{width}` for what
            differs between submodels; it calls `train(model, ...)` for the script's `model.fit(...)`.
        begin: Keyword arguments of the marker's call that all programs share.
        shares: For each submodel the arguments of its own marker's call, and the third item of the composer's list.
        widths: For each submodel the width of its output; the whole's last.
        after: The text after the block.
    """

    def __init__(
        self,
        place: Path,
        block: str,
        begin: Names,
        shares: list[tuple[Names, Any]],
        widths: list[int],
        after: str = "",
        composer: Names | None = None,
    ) -> None:
        self.place = place
        place.mkdir(parents=True, exist_ok=True)
        self.programs: list[list[Any]] = []
        marked = {name: value for name, value in begin.items() if name != "measures"}
        for number, (own, third) in enumerate(shares):
            call = f"skn_runtime.begin(__file__, **{ {'block': 0, **marked, **own}!r})"
            # What follows the training is no matter of a submodel's.
            start = block.index("\n", block.index("\ntrain(") + 1)
            text = self._text(block[: start + 1], call, "skn_runtime.fit", widths[number], own)
            text += "skn_runtime.finish()\n"
            name = f"submodel_{number:02d}.py"
            (place / name).write_text(text, encoding="utf-8")
            self.programs.append([name, hashlib.sha256(text.encode()).hexdigest(), third])
        grid = shares[0][0].get("grid")
        rest = {**begin, **({"grid": grid} if grid else {}), **(composer or {})}
        call = f"skn_runtime.begin_composed(__file__, **{ {'block': 0, **rest, 'programs': self.programs}!r})"
        swap = "def train(model, *args, **kwargs):\n    raise AssertionError\n"
        text = self._text(block, call, "", widths[-1], {}, composed=True)
        (place / "compose.py").write_text(swap + text + "skn_runtime.end(globals())\n" + after, encoding="utf-8")
        measured = {name: value for name, value in rest.items() if name in ("kind", "of", "measures", "labels")}
        call = f"skn_runtime.begin_original(__file__, **{ {'block': 0, **measured}!r})"
        text = self._text(block, call, "skn_runtime.fit", widths[-1], {})
        (place / "original.py").write_text(
            text + "skn_runtime.end(globals())\nskn_runtime.finish()\n", encoding="utf-8"
        )

    def _text(self, block: str, call: str, fit: str, width: int, own: Names, *, composed: bool = False) -> str:
        text = block.replace("{begin}", "import skn_runtime; " + call).replace("{width}", str(width))
        text = text.replace("{part}", repr(own.get("part"))).replace("{grid}", repr(own.get("grid")))
        if composed:
            text = text.replace(
                "train(model", "model = skn_runtime.composed(model); history = skn_runtime.trained(model"
            )
        return text.replace("train(model", f"history = {fit}(model")

    def run(self, name: str) -> Names:
        """Execute one program in this process; return its names."""
        contexts.reset()
        path = self.place / name
        names: Names = {"__name__": "__main__", "__file__": str(path)}
        try:
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
        except SystemExit as done:
            if done.code:
                raise
        return names

    def train(self) -> list[Any]:
        """Execute every submodel's program; return their models."""
        return [self.run(name)["model"] for name, _, _ in self.programs]

    def result(self) -> Names:
        """What the composer's result.json holds."""
        found: Names = json.loads((self.place / "artifacts/compose/result.json").read_text(encoding="utf-8"))
        return found

    def original_result(self) -> Names:
        """What the original's result.json holds."""
        (found,) = self.place.glob("artifacts/original-*/result.json")
        value: Names = json.loads(found.read_text(encoding="utf-8"))
        return value


DIGITS = """
import keras, numpy as np
from keras import layers
from sklearn.datasets import load_digits
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
x_train, y_train, x_test, y_test = x[:1200], y[:1200], x[1200:], y[1200:]
"""


def multiclass(place: Path, block: str, classes: int, groups: int, after: str = "", **composer: Any) -> Folder:
    """A multiclass block of pairs of groups."""
    from tests.runtime_compose.posteriors import pairs

    members = pairs(classes, groups)
    return Folder(
        place,
        block,
        {"kind": "multiclass", "of": classes},
        [({"classes": one}, one) for one in members],
        [*[len(one) for one in members], classes],
        after,
        composer,
    )
