"""Networks of every make: what they are built of must not matter to the composition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from sknc.runtime.compose import coupling
from sknc.runtime.compose.numeric import log_normalised
from tests.runtime_compose.posteriors import pairs
from tests.runtime_compose.programs import Folder, multiclass

HEAD = """
import keras, numpy as np
from keras import layers
random = np.random.default_rng(0)
y_train = np.arange(90) % 6
x_train = (random.normal(size=(90, 5)) + np.eye(6)[y_train][:, :5] * 2).astype("float32")
x_test, y_test = x_train[:30], y_train[:30]
keras.utils.set_random_seed(3)
{begin}
"""
FIT = """
train(model, x_train, y_train, epochs=1, verbose=0)
predicted = model.predict(x_test, verbose=0)
"""
COMPILE = 'model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])'
PLAIN = 'model = keras.Sequential([keras.Input((5,)), layers.Dense(8, "relu"), layers.Dense({width}, "softmax")])\n'

SUBCLASSED = """
class Net(keras.Model):
    def __init__(self, width):
        super().__init__()
        self.hidden, self.last = layers.Dense(8, "relu"), layers.Dense(width, "softmax")
    def call(self, x):
        return self.last(self.hidden(x))
model = Net({width})
"""
CUSTOM = """
def network():
    class Scale(layers.Layer):
        def build(self, shape):
            self.factor = self.add_weight(shape=(shape[-1],), initializer="ones")
        def call(self, x):
            return x * self.factor
    return keras.Sequential([keras.Input((5,)), Scale(), layers.Dense({width}, "softmax")])
model = network()
"""
CONFIGLESS = """
class Net(keras.Model):
    def __init__(self, layers):
        super().__init__()
        self.all = layers
    def call(self, x):
        for layer in self.all:
            x = layer(x)
        return x
model = Net([layers.Dense(8, "relu"), layers.Dense({width}, "softmax")])
"""
LAMBDA = """
model = keras.Sequential([
    keras.Input((5,)), layers.Lambda(lambda x: x * 2.0), layers.Dense(8, "relu"), layers.Dense({width}, "softmax")])
"""
UNBUILT = 'model = keras.Sequential([layers.Dense(8, "relu"), layers.Dense({width}), layers.Softmax()])\n'
OPERATION = """
inputs = keras.Input((5,))
model = keras.Model(inputs, keras.ops.softmax(layers.Dense({width})(layers.Dense(8, "relu")(inputs))))
"""
NESTED = """
top = keras.Sequential([keras.Input((8,)), layers.Dense({width}), layers.Activation("softmax")], name="top")
model = keras.Sequential([keras.Input((5,)), layers.Dense(8, "relu"), top])
"""
NORMALIZED = """
scale = layers.Normalization()
scale.adapt(x_train)
model = keras.Sequential([keras.Input((5,)), scale, layers.Dense(8, "relu"), layers.Dense({width}, "softmax")])
"""
BATCH_NORM = """
model = keras.Sequential([
    keras.Input((5,)), layers.Dense(8), layers.BatchNormalization(), layers.Dropout(0.5),
    layers.Dense({width}, "softmax")])
"""


def check(folder: Folder, parts: list[Any], names: dict[str, Any], x: Any, atol: float = 1e-5) -> None:
    """The composed model answers what coupling makes of the submodels' own answers."""
    members = [third for _, _, third in folder.programs]
    answers = [part.predict(x, verbose=0) if isinstance(x, dict) else np.asarray(part(x)) for part in parts]
    logs = [log_normalised(np.log(np.maximum(answer, 1e-38)).astype("float64")) for answer in answers]
    np.testing.assert_allclose(names["predicted"], np.exp(coupling.reference(logs, members, 6)), atol=atol)
    assert folder.result()["accuracy"] == pytest.approx(np.mean(names["predicted"].argmax(1) == names["y_test"]))


@pytest.mark.parametrize(
    "network",
    [SUBCLASSED, CONFIGLESS, CUSTOM, LAMBDA, UNBUILT, OPERATION, NESTED, NORMALIZED, BATCH_NORM],
    ids=["subclassed", "configless", "custom", "lambda", "unbuilt", "operation", "nested", "normalized", "batch_norm"],
)
def test_networks_of_every_make_compose(tmp_path: Path, network: str) -> None:
    folder = multiclass(tmp_path / "split", HEAD + network + COMPILE + FIT, 6, 3)
    parts = folder.train()
    names = folder.run("compose.py")
    check(folder, parts, names, names["x_test"])
    assert names["model"].predict(names["x_test"][:7], verbose=0).shape == (7, 6)


def test_scores_of_the_original_stay_scores(tmp_path: Path) -> None:
    network = 'model = keras.Sequential([keras.Input((5,)), layers.Dense({width}, name="logits")])\n'
    loss = "keras.losses.SparseCategoricalCrossentropy(from_logits=True)"
    block = HEAD + network + COMPILE.replace('"sparse_categorical_crossentropy"', loss) + FIT
    folder = multiclass(tmp_path / "split", block, 6, 3)
    parts = folder.train()
    names = folder.run("compose.py")
    logs = [log_normalised(np.asarray(part(names["x_test"])).astype("float64")) for part in parts]
    np.testing.assert_allclose(names["predicted"], coupling.reference(logs, pairs(6, 3), 6), atol=1e-5)
    named = names["model"].evaluate(names["x_test"], names["y_test"], verbose=0, return_dict=True)
    chosen = names["predicted"][np.arange(30), names["y_test"]]
    assert named["loss"] == pytest.approx(-chosen.mean(), rel=1e-5)
    assert folder.result()["loss"] == pytest.approx(named["loss"], rel=1e-5)


def test_saturated_softmax_keeps_what_float32_loses(tmp_path: Path) -> None:
    # With weights this large float32 probabilities are 0 and 1; the scores behind them still differ.
    stretch = "model.layers[-1].kernel.assign(model.layers[-1].kernel * 200)\n"
    network = 'model = keras.Sequential([keras.Input((5,)), layers.Dense({width}, "softmax")])\n'
    block = HEAD + network + stretch + COMPILE + FIT
    folder = multiclass(tmp_path / "split", block, 6, 3)
    parts = folder.train()
    names = folder.run("compose.py")
    logs = []
    for part in parts:
        kernel, bias = part.get_weights()
        logs.append(log_normalised((names["x_test"] @ kernel + bias).astype("float64")))
    expected = np.exp(coupling.reference(logs, pairs(6, 3), 6))
    np.testing.assert_allclose(names["predicted"], expected, atol=1e-3)


def test_inputs_in_a_dict_with_text_and_bytes(tmp_path: Path) -> None:
    network = """
import tensorflow as tf
words = np.array(["red", "green", "blue", "cyan", "pink", "grey"])[y_train]
x_train = {"word": tf.constant(words), "pixel": (x_train * 20 + 100).clip(0, 255).astype("uint8")}
x_test = {"word": tf.constant(words[:30]), "pixel": x_train["pixel"][:30]}
vectorize = layers.TextVectorization(output_mode="multi_hot")
vectorize.adapt(words)
word, pixel = keras.Input((), dtype="string", name="word"), keras.Input((5,), dtype="uint8", name="pixel")
joined = layers.Concatenate()([vectorize(word), layers.Rescaling(1 / 255)(pixel)])
model = keras.Model({"word": word, "pixel": pixel}, layers.Dense({width}, "softmax")(joined))
"""
    folder = multiclass(tmp_path / "split", HEAD + network + COMPILE + FIT, 6, 3)
    parts = folder.train()
    names = folder.run("compose.py")
    check(folder, parts, names, names["x_test"])
    assert {tensor.name: str(tensor.dtype) for tensor in names["model"].inputs} == {"pixel": "uint8", "word": "string"}
    # The vocabulary is a tool of the user's, not something that was trained: it works on.
    assert names["vectorize"](["red"]).shape == (1, 7)


def test_two_inputs_in_a_list(tmp_path: Path) -> None:
    network = """
first, second = keras.Input((5,), name="first"), keras.Input((5,), name="second")
model = keras.Model([first, second], layers.Dense({width}, "softmax")(layers.Add()([first, second])))
x_train = [x_train, x_train * 0.5]
x_test = [x_test, x_test * 0.5]
"""
    folder = multiclass(tmp_path / "split", HEAD + network + COMPILE + FIT, 6, 3)
    parts = folder.train()
    names = folder.run("compose.py")
    check(folder, parts, names, names["x_test"])


def test_mixed_precision_gives_the_originals_type(tmp_path: Path) -> None:
    network = 'keras.config.set_dtype_policy("mixed_float16")\n' + PLAIN
    folder = multiclass(tmp_path / "split", HEAD + network + COMPILE + FIT, 6, 3)
    try:
        parts = folder.train()
        names = folder.run("compose.py")
        assert names["predicted"].dtype == np.float16
        check(folder, parts, names, names["x_test"], atol=5e-3)
    finally:
        keras.config.set_dtype_policy("float32")


def test_compiled_as_the_user_did(tmp_path: Path) -> None:
    compiled = """
def own_loss(y, p):
    return keras.losses.sparse_categorical_crossentropy(y, p)
own_metric = keras.metrics.SparseCategoricalAccuracy(name="acc")
own_optimizer = keras.optimizers.SGD(0.125)
model.compile(own_optimizer, {"answer": own_loss}, loss_weights={"answer": 2.0}, run_eagerly=True,
              metrics={"answer": [own_metric, "sparse_top_k_categorical_accuracy"]})
"""
    network = """
inputs = keras.Input((5,))
model = keras.Model(inputs, layers.Dense({width}, "softmax", name="answer")(inputs))
"""
    folder = multiclass(tmp_path / "split", HEAD + network + compiled + FIT, 6, 3)
    folder.train()
    names = folder.run("compose.py")
    model = names["model"]
    found = model.evaluate(names["x_test"], names["y_test"], verbose=0, return_dict=True)
    assert set(found) == {"loss", "acc", "sparse_top_k_categorical_accuracy"}
    chosen = names["predicted"][np.arange(30), names["y_test"]]
    assert found["loss"] == pytest.approx(-2 * np.log(chosen).mean(), rel=1e-4)
    assert model.optimizer is not names["own_optimizer"]
    assert float(model.optimizer.learning_rate) == 0.125
    assert model.run_eagerly


def test_original_and_composition_are_measured_on_what_the_user_evaluates(tmp_path: Path) -> None:
    shown = "shown = model.evaluate(x_test[:7], y_test[:7], verbose=0, return_dict=True)\n"
    folder = multiclass(tmp_path / "split", HEAD + PLAIN + COMPILE + FIT + shown, 6, 3, measures=["acc"])
    folder.train()
    original, composed = folder.run("original.py"), folder.run("compose.py")
    for names, result in ((original, folder.original_result()), (composed, folder.result())):
        assert result["rows"] == 7
        assert result["data"] == "the data of evaluate()"
        assert result["loss"] == pytest.approx(names["shown"]["loss"], rel=1e-4)
        assert result["accuracy"] == pytest.approx(names["shown"]["accuracy"])
