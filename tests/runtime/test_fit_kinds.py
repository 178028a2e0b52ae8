"""`fit` on binary tasks and regressions: halves, slices, patches, labels."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import sknc.runtime as skn_runtime
from sknc.runtime import artifacts
from tests.runtime.helpers import spy
from tests.runtime.test_fit_sources import SOURCES, Sequence, batches

HALVES = range(2)


def sorted_binary() -> tuple[Any, Any]:
    """Sixty rows sorted by label: 38 zeros, then 22 ones; the row number is the first input."""
    y = (np.arange(60) >= 38).astype("int64")
    x = np.stack([np.arange(60), y, y, y], axis=1).astype("float32")
    return x, y


def both_halves(begin: Any, give: Any, **settings: Any) -> list[Any]:
    models = []
    for half in HALVES:
        model = spy(2)
        begin(block=half, kind="binary", of=2, half=half)
        skn_runtime.fit(model, *give(), batch_size=8, verbose=0, **settings)
        models.append(model)
    return models


BINARY = {
    "ints": lambda y: y,
    "column": lambda y: y[:, None],
    "floats": lambda y: y.astype("float32"),
    "one-hot": lambda y: np.eye(2)[y],
    "signs": lambda y: 2 * y - 1,
    "bools": lambda y: y.astype(bool),
}


@pytest.mark.parametrize("form", BINARY)
def test_halves_of_label_sorted_arrays_are_disjoint_stratified_and_keep_their_labels(begin, form) -> None:
    x, y = sorted_binary()
    labels = BINARY[form](y)
    first, second = both_halves(begin, lambda: (x, labels))
    rows = [sorted(model.seen.rows()) for model in (first, second)]
    assert sorted(rows[0] + rows[1]) == list(range(60))
    for model in (first, second):
        assert [int(y[row]) for row in model.seen.rows()].count(1) == 11
        assert np.array_equal(model.seen.labels(), labels[model.seen.rows()])
    assert rows[0] != list(range(0, 60, 2)), "the halves are shuffled"


def test_halves_are_the_same_in_every_run(begin) -> None:
    x, y = sorted_binary()
    runs = []
    for block in range(2):
        model = spy(1)
        begin(block=block, kind="binary", of=2, half=1)
        skn_runtime.fit(model, x, y, sample_weight=np.arange(60.0), verbose=0)
        assert model.seen.rows() == model.seen.weights().tolist()
        runs.append(sorted(model.seen.rows()))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("form", ["ints", "one-hot"])
def test_halves_of_label_sorted_sources_hold_both_classes(begin, source, form) -> None:
    x, y = sorted_binary()
    first, second = both_halves(begin, lambda: (SOURCES[source]((x, BINARY[form](y))),), shuffle=False)
    assert sorted(first.seen.rows() + second.seen.rows()) == list(range(60))
    for model in (first, second):
        assert [int(y[row]) for row in model.seen.rows()].count(1) == 11


def test_validation_is_halved_too_and_class_weights_stay(begin) -> None:
    x, y = sorted_binary()
    models = both_halves(begin, lambda: (x, y), validation_data=(x, y), class_weight={0: 1.0, 1: 3.0})
    assert sorted(models[0].seen.rows("test") + models[1].seen.rows("test")) == list(range(60))
    assert set(models[0].seen.weights().tolist()) == {1.0, 3.0}


@pytest.mark.parametrize("kind", ["arrays", "generator"])
def test_more_than_two_labels_are_refused_with_what_shows_it(begin, kind) -> None:
    x, y = sorted_binary()
    y[50] = 7
    begin(kind="binary", of=2, half=0)
    given = (x, y) if kind == "arrays" else (batches((x, y)),)
    with pytest.raises(skn_runtime.LabelError, match=r"label \[?7\]? at row 50 of the training labels"):
        skn_runtime.fit(spy(1), *given, verbose=0)


def test_soft_binary_labels_are_refused(begin) -> None:
    x, _ = sorted_binary()
    begin(kind="binary", of=2, half=0)
    with pytest.raises(skn_runtime.LabelError, match=r"label 0\.1 at row 0"):
        skn_runtime.fit(spy(1), x, np.linspace(0.1, 0.9, 60), verbose=0)


def targets(width: int = 10) -> tuple[Any, Any]:
    y = np.arange(60 * width, dtype="float32").reshape(60, width)
    x = np.stack([np.arange(60)] * 4, axis=1).astype("float32")
    return x, y


@pytest.mark.parametrize("source", ["arrays", "tensors", *SOURCES])
def test_targets_are_sliced_as_array_split_does_and_all_rows_are_kept(begin, source) -> None:
    x, y = targets()
    expected = np.array_split(y, 3, axis=1)
    for part in range(3):
        model = spy(expected[part].shape[1])
        begin(block=part, kind="regression", part=[part, 3])
        given = {"arrays": (x, y), "tensors": (tf.constant(x), tf.constant(y))}.get(source)
        skn_runtime.fit(model, *(given or (SOURCES[source]((x, y)),)), verbose=0, batch_size=8)
        rows = model.seen.rows()
        assert sorted(rows) == list(range(60))
        assert np.array_equal(model.seen.labels(), expected[part][rows])


def test_the_sequence_behind_sliced_targets_keeps_its_length_and_hooks(begin) -> None:
    x, y = targets()
    given = Sequence((x, y), workers=2)
    context = begin(kind="regression", part=[0, 5])
    skn_runtime.fit(spy(2), given, epochs=2, verbose=0, validation_data=Sequence((x, y)))
    assert context.fits[0]["steps"] == 8
    assert given.begun == 2
    assert given.ended >= 2


def test_validation_targets_and_splits_are_sliced(begin) -> None:
    x, y = targets()
    model = spy(5)
    begin(kind="regression", part=[1, 2])
    skn_runtime.fit(model, x, y, validation_split=0.5, verbose=0)
    assert np.array_equal(model.seen.labels("test"), y[30:, 5:])
    skn_runtime.fit(model, x, y, validation_data=[x[:5], y[:5]], verbose=0)
    assert np.array_equal(model.seen.labels("test")[30:], y[:5, 5:])


def test_labels_of_a_multilabel_target_are_sliced_with_their_class_weights() -> None:
    from sknc.runtime.data.prepare import Task, prepare
    from sknc.runtime.data.shares import make_share

    x, y = targets(6)
    share = make_share("regression", part=[1, 3], labels=True)
    made = prepare(Task(share), {"x": x, "y": y, "class_weight": {0: 1.0, 2: 5.0, 3: 7.0, 5: 9.0}}).call
    assert np.array_equal(made["y"], y[:, 2:4])
    assert made["class_weight"] == {0: 5.0, 1: 7.0}


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(60), "one number per row; it cannot be cut into 3 parts"),
        (np.zeros((60, 1)), "one number per row; it cannot be cut into 3 parts"),
        (np.zeros((60, 2)), "an axis of 2 cannot be cut into 3 parts"),
        (None, "no targets"),
    ],
)
def test_targets_that_are_too_narrow_are_refused(begin, y, message) -> None:
    begin(kind="regression", part=[0, 3])
    with pytest.raises(skn_runtime.ProgramError, match=message):
        skn_runtime.fit(spy(1), targets()[0], y, verbose=0)


@pytest.mark.parametrize("source", ["dataset", "sequence", "generator"])
def test_narrow_targets_of_sources_are_refused_as_those_of_arrays(begin, source) -> None:
    x = targets()[0]
    begin(kind="regression", part=[0, 3])
    for y, message in [(np.zeros(60), "one number per row"), (np.zeros((60, 2)), "an axis of 2 cannot be cut")]:
        with pytest.raises(skn_runtime.ProgramError, match=message):
            skn_runtime.fit(spy(1), SOURCES[source]((x, y)), verbose=0)


def images(rows: int = 6, height: int = 7, width: int = 5, channels: int = 2) -> Any:
    return np.arange(rows * height * width * channels, dtype="float32").reshape(rows, height, width, channels)


def flat_image_model(shape: tuple[int, ...]) -> Any:
    inputs = keras.Input((4,))
    size = int(np.prod(shape))
    return spy(inputs=inputs, outputs=lambda t: keras.layers.Reshape(shape)(keras.layers.Dense(size)(t)))


@pytest.mark.parametrize("part", range(6))
@pytest.mark.parametrize("rank", [3, 4])
def test_patches_tile_the_images_row_by_row(begin, part, rank) -> None:
    y = images() if rank == 4 else images()[..., 0]
    x = targets()[0][:6]
    row, column = divmod(part, 3)
    expected = np.array_split(np.array_split(y, 2, axis=1)[row], 3, axis=2)[column]
    model = flat_image_model(expected.shape[1:])
    begin(kind="regression", grid=[2, 3], part=[part, 6])
    pixels = np.ones(y.shape[:3]) * np.arange(5)
    skn_runtime.fit(model, x, y, sample_weight=pixels, batch_size=6, shuffle=False, verbose=0)
    assert np.array_equal(model.seen.labels(), expected)
    assert model.seen.weights().shape == expected.shape[:3]


def test_local_regression_cuts_inputs_as_targets(begin) -> None:
    y = images()
    model = spy(inputs=keras.Input((4, 2, 2)), outputs=lambda t: keras.layers.Activation("linear")(t))
    begin(kind="local_regression", grid=[2, 2], part=[1, 4])
    skn_runtime.fit(model, y, y, batch_size=6, shuffle=False, verbose=0)
    expected = np.array_split(np.array_split(y, 2, axis=1)[0], 2, axis=2)[1]
    assert np.array_equal(model.seen.labels(), expected)
    assert np.array_equal(model.seen.train[0][0], expected)


@pytest.mark.parametrize("source", ["arrays", "dataset", "sequence", "generator"])
def test_local_regression_cuts_the_last_axis_of_flat_data(begin, source) -> None:
    _, y = targets(9)
    x = y * 2
    model = spy(3, inputs=keras.Input((3,)))
    begin(kind="local_regression", part=[2, 3])
    given = (x, y) if source == "arrays" else (SOURCES[source]((x, y)),)
    skn_runtime.fit(model, *given, shuffle=False, verbose=0, validation_data=(x[:3], y[:3]))
    assert np.array_equal(model.seen.labels(), y[:, 6:])
    assert np.array_equal(np.concatenate([np.asarray(batch) for batch, _, _ in model.seen.train]), x[:, 6:])
    assert np.array_equal(model.seen.test[0][0], x[:3, 6:])


def convolutional() -> Any:
    keras.utils.set_random_seed(1)
    return keras.Sequential(
        [
            keras.Input((7, 6, 1)),
            keras.layers.Conv2D(2, 3, padding="same", activation="relu"),
            keras.layers.Conv2D(1, 3, padding="same"),
        ]
    )


def own_loss(y: Any, prediction: Any) -> Any:
    """A function that keras cannot save."""
    return keras.ops.mean(keras.ops.abs(y - prediction), axis=-1)


@pytest.mark.parametrize("give", ["arrays", "dataset"])
def test_a_network_that_keeps_the_image_size_is_trained_on_its_patch_only(begin, give) -> None:
    y = images(8, 7, 6, 1) / 400
    model = convolutional()
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss=own_loss)
    before = [weight.copy() for weight in model.get_weights()]
    context = begin(kind="regression", grid=[2, 2], part=[3, 4])
    given = (y, y) if give == "arrays" else (tf.data.Dataset.from_tensor_slices((y, y)).batch(4),)
    history = skn_runtime.fit(model, *given, batch_size=8, verbose=0)
    assert context.crop == ((4, 0), (3, 0))
    assert context.model is model
    assert model.history is history
    assert any(not np.array_equal(old, new) for old, new in zip(before, model.get_weights(), strict=True))
    if give == "arrays":
        model.set_weights(before)
        expected = float(np.abs(y[:, 4:, 3:] - model.predict(y, verbose=0)[:, 4:, 3:]).mean())
        assert history.history["loss"][0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("whole", [True, False])
def test_checkpoints_of_a_cropped_training_can_be_loaded(begin, program, whole) -> None:
    y = images(8, 7, 6, 1) / 400
    model = convolutional()
    model.compile(optimizer="sgd", loss="mse", run_eagerly=True)
    begin(kind="regression", grid=[2, 2], part=[0, 4])
    name = "best.keras" if whole else "best.weights.h5"
    saver = keras.callbacks.ModelCheckpoint(name, save_weights_only=not whole)
    skn_runtime.fit(model, y, y, verbose=0, callbacks=[saver])
    trained = model.get_weights()
    if whole:
        model = skn_runtime.load_model(name)
    else:
        model.set_weights([weight * 0 for weight in trained])
        skn_runtime.load_weights(model, name)
    assert all(np.array_equal(a, b) for a, b in zip(trained, model.get_weights(), strict=True))
    with pytest.raises(SystemExit):
        skn_runtime.finish(model)
    assert artifacts.finished(program)["crop"] == (None if whole else [[0, 3], [0, 3]])


def test_cropped_models_share_weights_and_cut_rank_three_and_subclassed_outputs() -> None:
    from sknc.runtime.crops import cropped

    model = convolutional()
    flat = keras.Model(model.inputs, keras.layers.Reshape((7, 6))(model.outputs[0]))

    class Own(keras.Model):
        def call(self, x: Any) -> Any:
            return model(x)

    x = images(2, 7, 6, 1)
    whole = model.predict(x, verbose=0)
    box = [[1, 2], [0, 3]]
    assert np.allclose(cropped(model, box).predict(x, verbose=0), whole[:, 1:5, :3])
    assert np.allclose(cropped(flat, box).predict(x, verbose=0), whole[:, 1:5, :3, 0])
    assert np.allclose(cropped(Own(), box).predict(x, verbose=0), whole[:, 1:5, :3])
