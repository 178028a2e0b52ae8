"""`fit_in_memory`: the budget is kept, and nothing else about the model changes."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

import sknc
from sknc.runtime import notes
from sknc.runtime.errors import ProgramError
from sknc.runtime.memory.errors import InfeasibleBudget, PlanError
from sknc.runtime.memory.execute.keeper import fit_in_memory, moved_by, plan_of, release
from sknc.runtime.memory.execute.spill import PREFIX
from sknc.runtime.memory.feeds import allotted
from tests.memory_runtime.nets import residual

MIB = 2**20
BATCH = 16
ROWS = 2 * BATCH
CROSS = "sparse_categorical_crossentropy"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Each test hears everything."""
    notes._told.clear()
    yield
    notes._told.clear()


def data(side: int = 32) -> tuple[Any, Any]:
    """Some images and classes."""
    drawn = np.random.default_rng(0)
    return drawn.normal(size=(ROWS, side, side, 3)).astype("float32"), drawn.integers(0, 4, size=ROWS)


def deep() -> Any:
    """A network whose activations are nearly all it holds: one of them is 1 MiB."""
    keras.utils.set_random_seed(3)
    return residual(blocks=8, width=16, side=32)


def small() -> Any:
    """A network that fits anywhere."""
    return keras.Sequential([keras.Input((4,)), layers.Dense(2)])


def peak_of(model: Any) -> float:
    """The allocator's peak over some warmed steps."""
    x, y = data()
    x, y = x[:BATCH], y[:BATCH]
    for _ in range(2):
        model.train_on_batch(x, y)
    tf.config.experimental.reset_memory_stats("CPU:0")
    for _ in range(4):
        model.train_on_batch(x, y)
    return float(tf.config.experimental.get_memory_info("CPU:0")["peak"])


def test_the_measured_peak_is_what_was_planned() -> None:
    plain = deep()
    plain.compile("sgd", CROSS, jit_compile=False)
    gc.collect()
    before = tf.config.experimental.get_memory_info("CPU:0")["current"]
    baseline = peak_of(plain) - before
    del plain
    peaks = []
    for budget in (15 * MIB, 10 * MIB):
        model = deep()
        model.compile("sgd", CROSS, jit_compile=False)
        gc.collect()
        before = tf.config.experimental.get_memory_info("CPU:0")["current"]
        model = fit_in_memory(model, budget, BATCH)
        plan = plan_of(model)
        assert plan is not None
        assert plan.predicted_peak <= budget
        assert abs(plan.baseline_peak - baseline) < 0.15 * baseline
        peak = peak_of(model) - before
        assert peak <= budget, plan.summary()
        peaks.append(peak)
        del model
    assert peaks[0] < baseline / 1.8
    assert peaks[1] < peaks[0]


def test_what_fits_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    model = deep()
    assert fit_in_memory(model, "1GiB", BATCH) is model
    plan = plan_of(model)
    assert plan is not None and plan.changes_nothing
    assert "call" not in vars(model)
    assert "nothing is recomputed" in capsys.readouterr().out


def test_updates_in_order_are_enough_where_gradients_are_what_is_held() -> None:
    """Eight layers of 4 MiB: nothing needs to be recomputed for half of what plain Keras holds besides weights."""

    def wide() -> Any:
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((1024,)), *(keras.layers.Dense(1024, "relu") for _ in range(8))])
        model.compile("sgd", "mse", jit_compile=False)
        return model

    batch = np.zeros((16, 1024), "float32")

    def held(model: Any) -> float:
        model.fit(batch, batch, epochs=2, verbose=0)
        before = tf.config.experimental.get_memory_info("CPU:0")["current"]
        tf.config.experimental.reset_memory_stats("CPU:0")
        model.fit(batch, batch, epochs=4, verbose=0)
        return float(tf.config.experimental.get_memory_info("CPU:0")["peak"] - before)

    plain = held(wide())
    plan = plan_of(fit_in_memory(wide(), "1GiB", 16))
    assert plan is not None
    budget = (plan.baseline_peak + 8 * 4 * 2**20) // 2
    model = fit_in_memory(wide(), budget, 16)
    plan = plan_of(model)
    assert plan is not None and plan.keeps_all and not plan.changes_nothing
    assert held(model) < 0.75 * plain


def test_a_budget_that_cannot_be_kept_names_the_smallest() -> None:
    model = deep()
    with pytest.raises(InfeasibleBudget, match="smallest budget") as refused:
        fit_in_memory(model, "2MiB", BATCH)
    assert "fit" not in vars(model)
    smallest = refused.value.smallest
    plan = plan_of(fit_in_memory(deep(), smallest, BATCH))
    assert plan is not None and plan.predicted_peak <= smallest


def test_without_a_disk_the_smallest_budget_is_larger() -> None:
    with pytest.raises(InfeasibleBudget) as disk:
        fit_in_memory(deep(), "2MiB", BATCH)
    with pytest.raises(InfeasibleBudget) as memory:
        fit_in_memory(deep(), "2MiB", BATCH, spill=False)
    assert memory.value.smallest > disk.value.smallest


def test_everything_else_about_the_model_stays(tmp_path: Path) -> None:
    x, y = data()
    model = deep()
    kept = [variable.numpy() for variable in model.variables]
    summary: list[str] = []
    model.summary(print_fn=summary.append)
    config = model.to_json()
    model = fit_in_memory(model, 18 * MIB, BATCH)
    assert "call" in vars(model)
    assert all(np.array_equal(a, b.numpy()) for a, b in zip(kept, model.variables, strict=True))
    after: list[str] = []
    model.summary(print_fn=after.append)
    assert after == summary
    assert model.to_json() == config
    model.compile("sgd", CROSS, metrics=["accuracy"], jit_compile=False)
    checkpoint = keras.callbacks.ModelCheckpoint(str(tmp_path / "best.keras"))
    history = model.fit(x, y, batch_size=BATCH, epochs=2, verbose=0, validation_split=0.5, callbacks=[checkpoint])
    assert len(history.history["val_loss"]) == 2
    loaded = keras.models.load_model(tmp_path / "best.keras")
    assert type(loaded) is type(model)
    assert "call" not in vars(loaded)
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))
    model.save_weights(tmp_path / "w.weights.h5")
    again = deep()
    again.load_weights(tmp_path / "w.weights.h5")
    np.testing.assert_allclose(again.predict(x, verbose=0), model.predict(x, verbose=0), atol=1e-6)
    assert model.evaluate(x, y, verbose=0, return_dict=True)["accuracy"] >= 0


def test_a_compiled_model_stays_compiled_and_xla_is_put_off(capsys: pytest.CaptureFixture[str]) -> None:
    model = deep()
    model.compile("adam", CROSS, jit_compile=True)
    optimizer = model.optimizer
    model = fit_in_memory(model, 18 * MIB, BATCH)
    assert model.optimizer is optimizer
    x, y = data()
    model.train_on_batch(x[:BATCH], y[:BATCH])
    assert model.jit_compile is False
    assert "jit_compile is set to False" in capsys.readouterr().out


def test_the_plan_follows_the_optimiser_the_batch_and_the_data() -> None:
    model = fit_in_memory(deep(), 200 * MIB, 8)
    first = plan_of(model)
    assert first is not None and first.batch_size == 8
    model.compile("sgd", CROSS, jit_compile=False)
    x, y = data()
    model.fit(x, y, batch_size=BATCH, verbose=0)
    second = plan_of(model)
    assert second is not None
    assert second.batch_size == BATCH
    assert second.optimizer == "SGD"
    assert second.resident_bytes == allotted(x.nbytes) + allotted(y.nbytes) >= x.nbytes + y.nbytes
    assert second.baseline_peak > 1.5 * first.baseline_peak


def test_an_array_takes_what_the_allocator_gives_it() -> None:
    assert allotted(191 * MIB) == 256 * MIB
    assert allotted(3 * MIB) == allotted(4 * MIB) == 4 * MIB
    assert allotted(1200 * MIB) == 1200 * MIB
    assert allotted(1000) == 1000


def test_a_released_model_trains_plainly() -> None:
    model = release(fit_in_memory(deep(), 18 * MIB, BATCH))
    assert not {"call", "fit", "make_train_function", "train_step"} & set(vars(model))
    assert plan_of(model) is None


def test_a_planned_spill_moves_what_was_planned_and_an_unwritable_folder_is_said(tmp_path: Path) -> None:
    model = deep()
    model.compile("sgd", CROSS, jit_compile=False)
    model = fit_in_memory(model, 10 * MIB, BATCH, spill_folder=tmp_path)
    plan = plan_of(model)
    assert plan is not None and plan.spilled_bytes > 0
    x, y = data()
    model.train_on_batch(x[:BATCH], y[:BATCH])
    (folder,) = tmp_path.glob(f"{PREFIX}*")
    files = [file.stat().st_size for file in folder.iterdir()]
    assert plan.spilled_bytes < sum(files) <= plan.spilled_bytes + 64 * len(files)
    moved = moved_by(model)
    assert moved is not None
    assert plan.moved_bytes < moved.bytes <= plan.moved_bytes + 2 * 64 * len(files)
    # A lost disk: nothing can be written.
    keeper = model.fit.keeper
    keeper.pools.close()
    assert not list(tmp_path.iterdir())
    folder.write_text("", encoding="utf-8")
    with pytest.raises(ProgramError, match="could not be written"):
        model.train_on_batch(x[:BATCH], y[:BATCH])
    folder.unlink()
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.raises(ProgramError, match="nothing can be written"):
        fit_in_memory(deep(), 10 * MIB, BATCH, spill_folder=blocked)


@pytest.mark.parametrize("budget", ["8 apples", "0", 0, -5, None, float("nan"), float("inf"), [1]])
def test_what_is_no_budget_is_refused(budget: Any) -> None:
    model = small()
    with pytest.raises(PlanError):
        fit_in_memory(model, budget)
    assert plan_of(model) is None


@pytest.mark.parametrize("batch", [0, -1, None, "32", 2.5])
def test_what_is_no_batch_is_refused(batch: Any) -> None:
    with pytest.raises(PlanError, match="batch"):
        fit_in_memory(small(), "1GiB", batch)


def test_numbers_may_be_numpys() -> None:
    plan = plan_of(fit_in_memory(small(), np.float64(1e9), np.int32(4)))
    assert plan is not None
    assert json.loads(json.dumps(plan.as_json()))["batch_size"] == 4


def test_models_that_cannot_be_cut_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    without = fit_in_memory(keras.Model(), "1GiB")
    without.compile("sgd", "mse")
    with pytest.raises(PlanError, match="cannot be built by calling it"):
        without.fit(np.zeros((4, 8)), np.zeros((4, 1)))

    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = layers.Dense(64), layers.Dense(2)

        def call(self, inputs: Any, training: Any = None) -> Any:
            return self.second(self.first(inputs))

    model = Own()
    model(np.zeros((4, 8), "float32"))
    with pytest.raises(InfeasibleBudget, match="Python code of its own"):
        fit_in_memory(model, 1000, 4096)
    assert fit_in_memory(model, "1GiB", BATCH) is model


def test_a_plan_that_was_made_before_is_obeyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A plan goes by the names of layers, which Keras numbers as they are made.
    keras.utils.clear_session()
    model = deep()
    model.compile("sgd", CROSS, jit_compile=False)
    first = plan_of(sknc.fit_in_memory(model, 18 * MIB, BATCH))
    assert first is not None and any(segment.mode != "keep" for segment in first.segments)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(first.as_json()), encoding="utf-8")
    # Nothing is planned: nothing could be.
    monkeypatch.setattr("sknc.runtime.memory.execute.keeper.Chooser", None)
    for plan in (path, str(path), first):
        keras.utils.clear_session()
        again = deep()
        again.compile("sgd", CROSS, jit_compile=False)
        again = sknc.fit_in_memory(again, 18 * MIB, BATCH, plan=plan)
        assert plan_of(again) == first
        assert "call" in vars(again)
    x, y = data()
    again.train_on_batch(x[:BATCH], y[:BATCH])
    keras.utils.clear_session()
    model = deep()
    with pytest.raises(PlanError, match="leave the plan out"):
        sknc.fit_in_memory(model, first.predicted_peak - 1, BATCH, plan=path)
    with pytest.raises(PlanError, match="batches of 16"):
        sknc.fit_in_memory(model, 18 * MIB, 8, plan=path)
    with pytest.raises(PlanError, match="the plan"):
        sknc.fit_in_memory(residual(blocks=3), 18 * MIB, BATCH, plan=path)
    with pytest.raises(PlanError, match="no memory plan"):
        sknc.fit_in_memory(deep(), 18 * MIB, BATCH, plan=tmp_path / "none.json")


def test_a_train_step_of_ones_own_is_planned_for_one_pass_and_this_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    class Twice(keras.Model):  # type: ignore[misc]  # keras has no types
        def train_step(self, data: Any) -> Any:
            return super().train_step(data)

    notes._told.clear()
    inputs = keras.Input((4,))
    fit_in_memory(Twice(inputs, layers.Dense(1)(inputs), name="twice"), "1GiB")
    assert "twice has a train_step of its own" in capsys.readouterr().out
    fit_in_memory(keras.Model(inputs, layers.Dense(1)(inputs)), "1GiB")
    fit_in_memory(keras.Sequential([inputs, layers.Dense(1)]), "1GiB")
    assert "train_step" not in capsys.readouterr().out
