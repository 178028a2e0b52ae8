"""Shapes of public scripts: how they import, where they build and train, what they do with the network afterwards."""

from __future__ import annotations

import pytest

from tests.script.helpers import HEAD, block, compiled, dense, errors, line_of, program, widths

STARS = """\
from keras.models import *
from keras.layers import *
from keras.optimizers import *
from keras.callbacks import *
import numpy as np
x, y = np.random.rand(100, 20), np.random.randint(0, 10, 100)
#SKYNNET:BEGIN_MULTICLASS
inputs = Input((20,))
model = Model(inputs, Dense(10, 'softmax')(Dense(60, 'relu')(inputs)))
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x, y, callbacks=[ModelCheckpoint('best.keras')])
#SKYNNET:END
"""


@pytest.mark.parametrize("last", ["models", "layers", "optimizers", "callbacks"])
def test_each_name_comes_from_the_star_import_that_has_it(last: str) -> None:
    line = f"from keras.{last} import *\n"
    text = STARS.replace(line, "").replace("import numpy", f"{line}import numpy", 1)
    assert [60, 40] in widths(compiled(text, 3))


HELPER = """\
def train(x, y):
    model = keras.Sequential([Dense(60, 'relu'), Dense(10, 'softmax')])
    model.compile('adam', 'sparse_categorical_crossentropy')
    model.fit(x, y)
    return model

"""
PLACES = {
    "main": "if __name__ == '__main__':\n    #SKYNNET:BEGIN_MULTICLASS\n    model = train(x, y)\n    #SKYNNET:END\n",
    "tabs": "if __name__ == '__main__':\n\t#SKYNNET:BEGIN_MULTICLASS\n\tmodel = train(x, y)\n\t#SKYNNET:END\n",
    "function": "def main():\n  #SKYNNET:BEGIN_MULTICLASS\n  m = train(x, y)\n  #SKYNNET:END\n  return m\n\nmain()\n",
    "script": "#SKYNNET:BEGIN_MULTICLASS\nmodel = train(x, y)\n#SKYNNET:END\n",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_helper_trains_and_goes_on_wherever_the_block_stands(place: str) -> None:
    made = compiled(HEAD + HELPER + PLACES[place], 3)
    assert "Dense(40, 'relu')" in program(made)
    lines = program(made).splitlines()
    (fit,) = (number for number, line in enumerate(lines) if "skn_runtime.fit(" in line)
    indent = lines[fit][: len(lines[fit]) - len(lines[fit].lstrip())]
    assert lines[fit + 1] == f"{indent}skn_runtime.finish(model)"


@pytest.mark.parametrize("before", ["", '"""What it does."""\n'])
def test_imports_from_the_future_stay_in_front(before: str) -> None:
    future = "from __future__ import annotations\nfrom __future__ import print_function  # for Python 2\n"
    body = HEAD + dense("60") + "model.compile('adam', 'sparse_categorical_crossentropy')\nmodel.fit(x, y)\n"
    made = compiled(f"{before}#SKYNNET:BEGIN_MULTICLASS\n{future}{body}#SKYNNET:END\n", 3)
    for name in ("submodel_00.py", "compose.py", "original.py"):
        assert "print_function; import skn_runtime; skn_runtime.begin" in program(made, name)


CLASS = """\
class Net:
    {decorator}
    def build({first}classes):
        return keras.Sequential([Dense(60, 'relu'), Dense(classes, 'softmax')])

class Wide(Net):
    pass

"""


@pytest.mark.parametrize(("decorator", "first"), [("@staticmethod", ""), ("@classmethod", "cls, ")])
@pytest.mark.parametrize("name", ["Net", "Wide"])
def test_a_class_outside_the_block_builds_by_its_own_name(decorator: str, first: str, name: str) -> None:
    text = block(f"model = {name}.build(10)\n", CLASS.format(decorator=decorator, first=first))
    made = compiled(text, 3)
    assert widths(made)[0] == [60, 40]
    assert program(made).count("class Net:") == 2
    assert program(made).count("class Wide(Net):") == (2 if name == "Wide" else 1)


def test_an_object_outside_the_block_cannot_be_replaced() -> None:
    before = CLASS.format(decorator="@staticmethod", first="") + "net = Net()\n"
    assert [d.code for d in errors(compiled(block("model = net.build(10)\n", before), 3))] == ["SKN216"]


IMAGES = """\
inputs = keras.Input((16, 16, 1))
hidden = Conv2D(12, 3, padding='same', activation='relu')(inputs)
model = keras.Model(inputs, {output}(hidden))
model.compile('adam', {loss})
model.fit(x, x)
"""


@pytest.mark.parametrize(
    ("output", "loss", "kind"),
    [
        ("Conv2D(1, 1, activation='sigmoid')", "'binary_crossentropy'", "regression"),
        ("Conv2D(1, 3, padding='same', activation='sigmoid')", "'binary_crossentropy'", "regression"),
        ("Conv2D(1, 3, padding='same', activation='sigmoid')", "my_loss", "regression"),
    ],
)
def test_masks_and_images_are_cut_into_patches(output: str, loss: str, kind: str) -> None:
    made = compiled(block(IMAGES.format(output=output, loss=loss), fit="").replace("_MULTICLASS", ""), 2)
    assert not errors(made)
    assert [b["kind"] for b in made.blocks] == [kind]
    assert {d.code for d in made.diagnostics} == {"SKN214", "SKN310"}


@pytest.mark.parametrize("kind", ["MULTICLASS", "BINARYCLASS"])
@pytest.mark.parametrize("output", ["Conv2D(2, 1, activation='softmax')", "Conv2D(1, 1, activation='sigmoid')"])
def test_a_class_for_each_pixel_is_refused(kind: str, output: str) -> None:
    text = block(IMAGES.format(output=output, loss="'mse'"), kind=kind, fit="")
    assert [(d.code, d.span.line) for d in errors(compiled(text, 3))] == [("SKN212", line_of(text, "model = "))]


def test_a_softmax_that_is_cut_is_told() -> None:
    made = compiled(block(dense("60"), kind="REGRESSION"), 2)
    assert not errors(made) and [d.code for d in made.diagnostics] == ["SKN311"]


LATE = {
    "load_model": ("keras.callbacks.ModelCheckpoint('best.keras')", "model = keras.models.load_model('best.keras')\n"),
    "load_weights": ("keras.callbacks.ModelCheckpoint('best.weights.h5')", "model.load_weights('best.weights.h5')\n"),
}


@pytest.mark.parametrize("name", LATE)
def test_a_checkpoint_that_is_read_behind_the_block_is_the_composed_model(name: str) -> None:
    writer, read = LATE[name]
    fit = f"model.compile('adam', 'mse')\nmodel.fit(x, y, callbacks=[{writer}])\n"
    text = block(dense("60"), fit=fit, after=read)
    made = compiled(text, 3)
    told = [(d.code, d.severity, d.span.line) for d in made.diagnostics]
    assert told == [("SKN232", "warning", line_of(text, read))]
    assert f"skn_runtime.{name}(" in program(made, "compose.py")
    assert "skn_runtime.load" not in program(made)
    pattern = text.replace("('best.", "('{epoch:02d}-{loss:.2f}.", 1).replace("best", "07-0.11")
    assert [d.code for d in compiled(pattern, 3).diagnostics] == ["SKN232"]
    behind = block(dense("60"), after="model.save('best.keras')\nmodel = keras.models.load_model('best.keras')\n")
    assert not compiled(behind, 3).diagnostics
    other = block(dense("60"), fit=fit, after=read.replace("best", "pretrained"))
    assert not compiled(other, 3).diagnostics
    assert not [d for d in compiled(text, 1).diagnostics if d.code == "SKN232"]


INSIDE = {
    "output": "features = keras.Model(model.inputs, model.layers[0].output)\n",
    "weights": "print(model.layers[-1].get_weights()[0].shape)\n",
    "by name": "layer = model.get_layer('fc')\n",
    "in a loop": "for layer in model.layers:\n    print(layer.weights)\n",
    "in a function": "def show(net):\n    return net.layers[0].kernel\nshow(model)\n",
}


@pytest.mark.parametrize("name", INSIDE)
def test_an_inner_layer_is_refused_after_the_training(name: str) -> None:
    body = "model = keras.Sequential([keras.Input((20,)), Dense(60, 'relu', name='fc'), Dense(10, 'softmax')])\n"
    after = block(body, after=INSIDE[name])
    assert [d.code for d in errors(compiled(after, 3))] == ["SKN231"]
    assert not errors(compiled(after, 1))
    assert not errors(compiled(block(body + INSIDE[name].replace("for layer", "for one")), 3))


@pytest.mark.parametrize("use", ["model.summary()\n", "print(len(model.layers))\n", "model.get_weights()\n"])
def test_the_network_as_a_whole_may_be_looked_at(use: str) -> None:
    assert not errors(compiled(block(dense("60"), after=use), 3))


DENSE = """\
inputs = keras.Input(images.shape[1:])
hidden = concatenate([inputs, Conv2D(24, 3, padding='same')(inputs)])
more = Conv2D(12, 3, padding='same')(hidden)
hidden = {join}([hidden, more])
model = keras.Model(inputs, Dense(10, 'softmax')(GlobalAveragePooling2D()(hidden)))
"""


@pytest.mark.parametrize(("join", "width"), [("concatenate", 8), ("add", 12)])
def test_what_is_joined_with_an_input_of_unknown_size_is_narrowed(join: str, width: int) -> None:
    """A sum asks for equal sizes, which nobody knows here; a concatenation asks for nothing."""
    before = "from other import images\n"
    made = compiled(block(DENSE.format(join=join), before), 3)
    assert [12, width] in widths(made)
    assert [24, 16 if join == "concatenate" else 24] in widths(made)


@pytest.mark.parametrize("place", ["outside", "inside"])
def test_a_lambda_that_trains_is_refused(place: str) -> None:
    train = "train = lambda net: net.fit(x, y)\n"
    compiling = "model.compile('adam', 'sparse_categorical_crossentropy')\n"
    outside = place == "outside"
    text = block(("" if outside else train) + dense("60"), train if outside else "", fit=f"{compiling}train(model)\n")
    assert [(d.code, d.span.line) for d in errors(compiled(text, 3))] == [("SKN218", line_of(text, train))]


BETWEEN = """\
model = keras.Sequential([keras.Input((20,)), Dense(60, 'relu', name='fc'), Dense(10, 'softmax')])
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x, y)
{look}
model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("look", "codes"),
    [
        ("model.get_layer('fc').trainable = False", []),
        ("for one in model.layers[:1]: one.trainable = False", []),
        ("print(model.layers[0].get_weights()[0].shape)", ["SKN231"]),
    ],
)
def test_between_two_trainings_layers_may_be_frozen(look: str, codes: list[str]) -> None:
    assert [d.code for d in errors(compiled(block(BETWEEN.format(look=look), fit=""), 3))] == codes


def test_get_layer_counts_as_keras_does() -> None:
    """What is fed into a Sequential model is none of its layers: number 1 is the output's, which cannot stay."""

    def codes(index: int) -> list[str]:
        set_one = f"model.get_layer(index={index}).set_weights(weights)\n"
        text = BETWEEN.replace("{look}\n", "").replace("model.fit", f"{set_one}model.fit", 1)
        return [d.code for d in errors(compiled(block(text, "from other import weights\n", fit=""), 3))]

    assert (codes(0), codes(1)) == ([], ["SKN209"])
