"""Which data a block is measured on, and what is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from sknc.runtime.compose.findings import Finding, findings
from sknc.runtime.compose.history import mean_history
from sknc.runtime.compose.measure import measure, told
from sknc.runtime.compose.report import end
from sknc.runtime.compose.watch import Use, seen, unwatched, watch
from sknc.runtime.context import Context, open_block, reset
from sknc.runtime.data.labels import LabelMap
from sknc.runtime.data.shares import make_share


def block(kind: str = "multiclass", of: int | None = 3, **more: Any) -> Context:
    return Context(Path("original.py"), 0, make_share(kind, of=of, whole=True, **more), "original")


def names(context: Context, namespace: dict[str, Any]) -> list[str]:
    return [finding.name for finding in findings(context, namespace)]


@pytest.fixture
def network() -> keras.Model:
    """Answers with its input: three columns, compiled."""
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Activation("linear")(inputs))
    model.compile(loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


X = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], "float32")
Y = np.array([0, 1, 2, 2])


def test_the_order_of_what_is_looked_at() -> None:
    x, y, reserved, shown = X.copy(), Y.copy(), X.copy(), X.copy()
    context = block()
    context.last_call = {"x": X, "y": Y, "validation_data": (X, Y)}
    seen(context).evaluated += [Use(x, y), Use(X, Y)]
    seen(context).predicted.append(Use(shown))
    namespace = {"_DATA_TEST_X": reserved, "_DATA_TEST_Y": Y, "x_new": shown, "y_new": y, "x_test": X, "y_test": Y}
    assert names(context, namespace) == [
        "y_new",  # evaluate's x has no name here, its y has
        "_DATA_TEST_X, _DATA_TEST_Y",
        "x_new, y_new",
        "x_test, y_test",
        "the validation data of fit()",
        "x_test, _DATA_TEST_Y (the training data)",
    ]


def test_evaluated_training_data_is_taken_when_there_is_no_other() -> None:
    context = block()
    context.last_call = {"x": X, "y": Y}
    seen(context).evaluated.append(Use(X, Y))
    seen(context).predicted.append(Use(X))
    namespace = {"x_train": X, "y_train": Y}
    assert names(context, namespace) == ["x_train, y_train (the training data)"] * 2
    assert names(context, {**namespace, "x_test": X.copy(), "y_test": Y})[0] == "x_test, y_test"


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("x_test", "y_test"),
        ("X_test", "y_test"),
        ("X_test", "Y_test"),
        ("test_images", "test_labels"),
        ("test_x", "test_y"),
        ("x_box", "y_box"),
        ("testX", "testY"),
        ("held_data", "held_targets"),
    ],
)
def test_targets_are_found_by_the_name_of_what_was_predicted(x: str, y: str) -> None:
    context = block()
    predicted = X.copy()
    seen(context).predicted.append(Use(predicted))
    assert names(context, {x: predicted, y: Y, "other": Y})[0] == f"{x}, {y}"
    # Targets of another length belong to something else.
    assert names(context, {x: predicted, y: Y[:2]}) == []


def test_a_part_of_the_data_is_not_taken_for_the_whole() -> None:
    context = block()
    seen(context).predicted.append(Use(X[:2]))
    assert names(context, {"x_show": X, "y_show": Y}) == []


def test_watching_notes_down_calls_and_changes_no_answer(network: keras.Model) -> None:
    context = block()
    watch(network, context)
    watch(network, context)
    assert network.predict(X, verbose=0) == pytest.approx(X)
    loss, accuracy = network.evaluate(x=X, y=Y, verbose=0)
    record = seen(context)
    assert [use.x is X for use in record.predicted] == [True]
    assert [(use.x is X, use.y is Y, use.returned) for use in record.evaluated] == [(True, True, [loss, accuracy])]


@pytest.mark.parametrize("form", ["array", "dataset", "sequence", "one-hot", "column", "offset", "strings"])
def test_accuracy_and_loss_of_every_form_of_data(network: keras.Model, form: str) -> None:
    class Sequence(keras.utils.PyDataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 2

        def __getitem__(self, number: int) -> Any:
            return X[number * 3 : number * 3 + 3], Y[number * 3 : number * 3 + 3]

    context = block()
    context.model = network
    x: Any = X
    y: Any = {
        "array": Y, "dataset": None, "sequence": None, "one-hot": np.eye(3)[Y], "column": Y[:, None],
        "offset": Y + 5, "strings": np.array(["a", "b", "c"])[Y],
    }[form]  # fmt: skip
    if form == "dataset":
        x = tf.data.Dataset.from_tensor_slices((X, Y)).batch(3)
    elif form == "sequence":
        x = Sequence()
    elif form == "one-hot":
        network.compile(loss="categorical_crossentropy")
    elif form in ("offset", "strings"):
        context.label_map = LabelMap(3, offset=5) if form == "offset" else LabelMap(3, names=("a", "b", "c"))
    found = measure(context, Finding("it", x, y))
    assert found["accuracy"] == 0.75
    assert found["rows"] == 4
    assert found["data"] == "it"
    assert found["loss"] == pytest.approx(-np.log(X[np.arange(4), Y]).mean(), rel=1e-5)


def test_penalties_on_weights_are_no_part_of_the_loss() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, kernel_regularizer=keras.regularizers.L2(1.0))])
    model.compile(loss="mse")
    context = block("regression", None)
    context.model = model
    found = measure(context, Finding("it", X, Y.astype("float32")))
    assert model.evaluate(X, Y, verbose=0) > found["loss"] + 1e-3
    assert found["loss"] == pytest.approx(found["mse"], rel=1e-5)
    assert "accuracy" not in found


def test_a_generators_figures_come_from_the_users_own_evaluate(network: keras.Model) -> None:
    context = block()
    context.model = network
    stream = ((X, Y) for _ in range(2))
    watch(network, context)
    loss, accuracy = network.evaluate(stream, verbose=0)
    (finding,) = findings(context, {})
    with pytest.raises(ValueError, match="only once"):
        measure(context, finding)
    assert told(context, finding) == {"loss": loss, "accuracy": accuracy, "data": "the data of evaluate()"}
    assert told(context, Finding("x", stream, None)) == {}


def test_mean_history_of_ragged_and_missing_metrics() -> None:
    found = mean_history([{"loss": [1.0, 2.0], "a": [1.0]}, {"loss": [3.0]}, {"loss": [5.0, None]}])  # type: ignore[list-item]
    assert found == {"loss": [3.0, 2.0], "a": [1.0]}
    assert mean_history([]) == {}


def test_raw_arrays_come_after_the_validation_set_of_a_pipeline() -> None:
    context = block()
    pipeline = tf.data.Dataset.from_tensor_slices((X, Y)).batch(2)
    held = tf.data.Dataset.from_tensor_slices((X / 16, Y)).batch(2)
    context.last_call = {"x": pipeline, "validation_data": held}
    assert names(context, {"x_test": X, "y_test": Y}) == ["the validation data of fit()", "x_test, y_test"]
    assert names(context, {"train_ds": pipeline, "test_ds": held, "x_test": X, "y_test": Y})[0] == "test_ds"
    assert names(context, {"train_set": pipeline, "val_set": held})[0] == "val_set"


def test_test_data_named_like_the_training_data_comes_before_the_raw_one() -> None:
    context = block()
    scaled, held = X.copy(), X[:2].copy()
    context.last_call = {"x": scaled, "y": Y, "validation_split": 0.5}
    namespace = {
        "X_train": X, "X_train_scaled": scaled, "y_train": Y, "X_test": X[:2], "X_test_scaled": held, "y_test": Y[:2],
    }  # fmt: skip
    assert names(context, namespace)[:2] == ["X_test_scaled, y_test", "X_test, y_test"]


def test_what_training_evaluates_by_itself_is_not_the_users_evaluate(network: keras.Model) -> None:
    context = block()
    watch(network, context)
    with unwatched(context):
        network.evaluate(X, Y, verbose=0)
        network.predict(X, verbose=0)
    assert not seen(context).evaluated
    assert not seen(context).predicted
    network.evaluate(X, Y, verbose=0)
    assert len(seen(context).evaluated) == 1


@pytest.mark.parametrize(("found", "reason"), [(True, "a regression has errors"), (False, "no test data was found")])
def test_a_figure_that_is_missing_is_explained(
    found: bool, reason: str, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(reset)
    context = Context(Path("original.py"), 0, make_share("regression", whole=True), "original", ("acc", "loss"))
    context.model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    context.model.compile(loss="mse")
    open_block(context)
    end({"x_test": X, "y_test": Y.astype("float32")} if found else {})
    out, err = capsys.readouterr()
    assert f"skynnet: no accuracy: {reason}" in err
    assert ("loss: " in out) == found


@pytest.mark.parametrize("kind", ["multiclass", "binary"])
def test_class_numbers_are_measured_by_a_loss_that_wants_one_hot(network: keras.Model, kind: str) -> None:
    context = block(kind, 3 if kind == "multiclass" else 2)
    width = context.share.of or 2
    if width == 2:
        inputs = keras.Input((2,))
        network = keras.Model(inputs, keras.layers.Activation("linear")(inputs))
    network.compile(loss="categorical_crossentropy")
    context.model, scaled = network, X[:, :width] / X[:, :width].sum(1, keepdims=True)
    y = np.minimum(Y, width - 1)
    context.last_call = {"x": scaled, "y": np.eye(width)[y]}
    held = scaled.copy()
    (finding, *_) = findings(context, {"X_train_s": scaled, "X_test_s": held, "y_test": y, "X_test": X})
    assert finding.name == "X_test_s, y_test"
    found = measure(context, finding)
    assert found["loss"] == pytest.approx(-np.log(held[np.arange(4), y]).mean(), rel=1e-5)


def test_a_model_of_several_outputs_has_a_loss() -> None:
    inputs = keras.Input((3,))
    outputs = [keras.layers.Activation("softmax", name="a")(inputs), keras.layers.Dense(1, name="b")(inputs)]
    context = block()
    context.model = keras.Model(inputs, outputs)
    context.model.compile(loss={"a": "sparse_categorical_crossentropy", "b": "mse"})
    targets = {"a": Y, "b": Y.astype("float32")}
    found = measure(context, Finding("held", X, targets))
    loss = context.model.evaluate(X, targets, verbose=0, return_dict=True)["loss"]
    assert found == {"loss": pytest.approx(loss), "rows": 4, "data": "held"}
    with pytest.raises(ValueError, match="targets of all outputs"):
        measure(context, Finding("x_test, y_test", X, Y))


@pytest.mark.parametrize("form", ["ids", "column", "one-hot"])
def test_every_token_of_a_whole_network_counts(form: str) -> None:
    inputs = keras.Input((2, 3))
    context = block()
    context.model = keras.Model(inputs, keras.layers.Activation("linear")(inputs))
    tokens, ids = X.reshape(2, 2, 3), Y.reshape(2, 2)
    y = {"ids": ids, "column": ids[..., None], "one-hot": np.eye(3)[ids]}[form]
    assert measure(context, Finding("it", tokens, y))["accuracy"] == 0.75
