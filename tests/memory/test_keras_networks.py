"""Keras models in the accounting of the paper, and the paper's networks as Keras models."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import keras
import pytest
import tensorflow as tf
from keras import layers

from sknc.cli import main
from sknc.memplan.networks import network_of
from sknc.runtime.memory.analysis import layer_subject
from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.network import Network

from . import keras_models

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "memplan.schema.json").read_text())


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["memplan", *arguments, "--format", "json"]) == 0
    content: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(content, SCHEMA)
    return content


def unnamed(content: dict[str, Any]) -> dict[str, Any]:
    """A report without the names that the user chose."""
    steps = [{key: value for key, value in step.items() if key != "layer"} for step in content["steps"]]
    return {**content, "target": "", "steps": steps}


def types(network: Network) -> dict[str, int]:
    return dict(Counter(layer.type for layer in network.layers))


@pytest.mark.parametrize(("name", "batch"), [("alexnet", "200"), ("resnet50", "32")])
def test_the_paper_s_networks_written_in_keras_have_the_paper_s_numbers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, batch: str
) -> None:
    monkeypatch.chdir(ROOT)
    target = f"tests.memory.paper_likes:{name}"
    ours = report(
        capsys, target, "--batch", batch, "--accounting", "superneurons", "--optimizer", "momentum", "--budget", "4GiB"
    )
    paper = report(capsys, f"paper:{name}", "--batch", batch, "--budget", "4GiB")
    assert [step["type"] for step in ours["steps"]] == [step["type"] for step in paper["steps"]]
    assert {**unnamed(ours), "plan": {}} == {**unnamed(paper), "plan": {}}
    assert ours["plan"]["peaks"] == paper["plan"]["peaks"]


def test_the_paper_s_networks_as_keras_models_have_the_same_layers() -> None:
    names = ["alexnet", "inception_v4"]
    command = [sys.executable, "-m", "tests.memory.paper_likes", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["name"] for row in found] == names
    for row in found:
        assert row["differing"] == []
        assert row["tensors"][0] == row["tensors"][1]


def test_a_paper_network_in_tensorflow_s_accounting(capsys: pytest.CaptureFixture[str]) -> None:
    content = report(capsys, "paper:alexnet", "--batch", "2", "--accounting", "tensorflow")
    paper = report(capsys, "paper:alexnet", "--batch", "2")
    assert (content["accounting"], content["optimizer"]) == ("tensorflow", "momentum")
    # The two dropout layers have a seed each.
    assert content["parameters_bytes"] == paper["parameters_bytes"] + 2 * 16
    assert {"CONV1", "POOL5", "FC3"} <= {step["layer"] for step in content["steps"]}


class Raw(layers.Layer):  # type: ignore[misc]
    """A layer of layers whose code takes tensors only."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = layers.Dense(9)

    def call(self, inputs: Any) -> Any:
        return tf.nn.relu(self.inner(inputs))


class Own(layers.Dense):  # type: ignore[misc]
    """Not a dense layer any more."""

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        return super().call(keras.ops.tanh(inputs))


class Plain(keras.Model):  # type: ignore[misc]
    """A model without a graph, with a weight of its own and no argument `training`."""

    def __init__(self) -> None:
        super().__init__()
        self.first = layers.Dense(8, "relu")
        self.second = layers.Dense(3, "softmax")
        self.own = self.add_weight(shape=(7,))

    def call(self, inputs: Any) -> Any:
        return self.second(self.first(inputs))


def _image(*after: Any) -> Any:
    return keras.Sequential([keras.Input((8, 8, 4)), *after])


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (lambda: _image(layers.Conv2D(4, 3, activation="gelu")), {"CONV": 1, "ACT": 1}),
        (lambda: _image(layers.Conv2DTranspose(4, 3), layers.ELU()), {"CONV": 1, "ACT": 1}),
        (lambda: _image(layers.SeparableConv2D(4, 3), layers.DepthwiseConv2D(3)), {"CONV": 2}),
        (lambda: _image(layers.ZeroPadding2D(), layers.Conv2D(4, 3), layers.Flatten()), {"COPY": 1, "CONV": 1}),
        (lambda: _image(layers.SpatialDropout2D(0.1), layers.GlobalMaxPooling2D()), {"DROPOUT": 1, "POOL": 1}),
        (lambda: _image(layers.LayerNormalization(), layers.Activation("softmax")), {"BN": 1, "SOFTMAX": 1}),
        (lambda: _image(layers.Activation("linear"), layers.Dense(2)), {"FC": 1}),
        (lambda: _image(layers.Flatten(), keras.Sequential([layers.Dense(2, "relu")])), {"FC": 1, "ACT": 1}),
        (lambda: _image(layers.Flatten(), Own(3)), {"Own": 1}),
        (lambda: _image(layers.Flatten(), Raw()), {"Raw": 1}),
        (keras_models.shared, {"FC": 3, "ACT": 2, "SOFTMAX": 1}),
        (keras_models.recurrent, {"LSTM": 1, "FC": 1, "SOFTMAX": 1}),
    ],
)
def test_layers_have_types(model: Any, expected: dict[str, int]) -> None:
    made = model()
    network = network_of(made)
    assert types(network) == expected
    weights = sum(weight.numpy().size for weight in made.weights)
    assert network.parameters + network.state == weights


def test_models_without_a_graph_and_without_a_size() -> None:
    network = network_of(Plain(), (5,))
    assert types(network) == {"FC": 2, "ACT": 1, "SOFTMAX": 1}
    assert network.parameters == 5 * 8 + 8 + 8 * 3 + 3 + 7
    assert network_of(keras_models.any_size(), (6, 6, 3)).layers[0].elements == 6 * 6 * 64


def test_several_inputs_and_outputs() -> None:
    one, two = keras.Input((8,), name="one"), keras.Input((5,), name="two")
    hidden = layers.Concatenate()([layers.Dense(8)(one), layers.Dense(2)(two)])
    outputs = {"kind": layers.Dense(3, name="kind")(hidden), "value": layers.Dense(1, name="value")(hidden)}
    network = network_of(keras.Model({"one": one, "two": two}, outputs))
    assert network.input_elements == 13
    assert sorted(layer.data_elements for layer in network.layers) == [0, 0, 0, 5, 8]
    graph = layer_subject(network, "two", 1, "sgd").graph
    assert {tensor.bytes for tensor in graph.tensors if tensor.name.startswith("d input")} == {4 * 5, 4 * 8}


def test_what_is_not_known_is_told() -> None:
    network = network_of(_image(layers.Flatten(), Raw(), layers.Dense(2)))
    notes = layer_subject(network, "raw", 2, "sgd").notes
    assert notes[0].startswith("not opened, so that what they hold inside is missing: raw")
    assert notes[1].startswith("1 layer of unknown type, assumed to need input, output and gradients: raw")


def _rebatched() -> Any:
    inputs = keras.Input((8, 4))
    return keras.Model(inputs, layers.Dense(4)(keras.ops.reshape(inputs, (-1, 4))))


def _scalar() -> Any:
    inputs = keras.Input((8,))
    return keras.Model(inputs, keras.ops.mean(layers.Dense(4)(inputs)))


class Tensors(keras.Model):  # type: ignore[misc]
    """A model whose code takes tensors only."""

    def call(self, inputs: Any) -> Any:
        return tf.nn.relu(inputs)


@pytest.mark.parametrize(
    ("model", "shape", "said"),
    [
        (keras_models.any_size, None, "give --input-shape"),
        (keras_models.Subclassed, None, "give --input-shape"),
        (_rebatched, None, "changes the batch axis"),
        (_scalar, None, "no batch axis"),
        (Tensors, (3,), "--accounting tensorflow counts its operations"),
        (lambda: _image(layers.Flatten()), None, "no layers that could be counted"),
    ],
)
def test_what_cannot_be_counted_is_refused(model: Any, shape: tuple[int, ...] | None, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        network_of(model(), shape)
