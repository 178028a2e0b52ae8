"""Random networks against Keras: what sknc makes of a network that builds, builds, and is no larger."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import keras
import pytest

from tests.script.helpers import HEAD, compiled, program
from tests.script.networks import Network


class Built(Exception):
    """Carries a network out of a program, in the place of its training."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model


def _fit(model: Any, *args: Any, **kwargs: Any) -> None:
    raise Built(model)


def _width(value: int, factor: float, multiple: int = 1) -> int:
    reduced = max(2, math.ceil(value / factor))
    return value if value <= 2 else min(value, math.ceil(reduced / multiple) * multiple)


@pytest.fixture(autouse=True)
def _runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("skn_runtime")
    vars(module).update(begin=lambda *a, **k: None, fit=_fit, width=_width, finish=lambda *a: None)
    monkeypatch.setitem(__import__("sys").modules, "skn_runtime", module)


def network(text: str) -> Any:
    """Run a program up to its training and return its network."""
    keras.utils.clear_session()
    try:
        exec(compile(text, "train.py", "exec"), {"__name__": "__main__", "__file__": "train.py"})
    except Built as built:
        return built.model
    raise AssertionError("nothing is trained")


@pytest.mark.parametrize("start", range(0, 8, 4))
def test_networks_build_narrow(start: int) -> None:
    for seed in range(start, start + 4):
        body = Network(seed).text
        training = "model.compile('adam', 'mse')\nmodel.fit(x, y)\n"
        text = f"{HEAD}#SKYNNET:BEGIN_MULTICLASS\n{body}{training}#SKYNNET:END\n"
        whole = network(text.replace("model.fit(", "import skn_runtime; skn_runtime.fit(model, "))
        for submodels in (6, 15):
            made = compiled(text, submodels)
            narrow = network(program(made))
            assert narrow.output_shape == (None, len(made.blocks[0]["programs"][0]["classes"]))
            assert narrow.count_params() < whole.count_params()
