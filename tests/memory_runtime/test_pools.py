"""Pools: where segments' inputs are, when they are fetched, and how many bytes that moves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from sknc.runtime.errors import ProgramError
from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.execute.flatten import flatten
from sknc.runtime.memory.execute.keeper import fit_in_memory, moved_by, plan_of, release
from sknc.runtime.memory.execute.monitor import MemoryMonitor
from sknc.runtime.memory.execute.moves import moves, within
from sknc.runtime.memory.execute.moving import Counts, Moving
from sknc.runtime.memory.execute.pools import Pools
from sknc.runtime.memory.execute.runner import Runner, obeying
from sknc.runtime.memory.execute.spill import DiskPool
from sknc.runtime.memory.tfgraph import FROM_HOST, TO_HOST
from sknc.runtime.memory.tracing import trace_step
from tests.memory_runtime.nets import BATCH, long_skips, residual
from tests.memory_runtime.pieces import ACTIVATION, CROSS, batches, cut, planned

ROOT = Path(__file__).resolve().parents[2]
# A file says its tensor's type and shape as well.
HEADER = 64


@pytest.mark.slow
def test_a_host_pool_and_a_disk_on_two_devices() -> None:
    options = json.dumps({"budget": 9_000_000, "host_budget": 1_500_000})
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, "-m", "tests.memory_runtime.two_devices", options]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    segments = found["plan"]["segments"]
    where = {segment["mode"]: segment["inputs"] for segment in segments}
    assert {**where, "recompute": "device"} == {
        "offload": "host",
        "spill": "disk",
        "keep": "device",
        "recompute": "device",
    }
    assert 0 < found["offloaded"] <= 1_500_000 < found["offloaded"] + found["spilled"]
    assert found["different"] == 0, "losses, weights, statistics and seeds are those of plain Keras"
    written, read, calls = found["moved"]
    files = sum(segment["mode"] == "spill" and segment["written_bytes"] > 0 for segment in segments)
    assert calls == 2
    assert 0 < written + read - 2 * found["plan"]["moved_bytes"] <= 2 * 2 * files * HEADER
    # TensorFlow's graph optimiser left the copies where they are, each one there and back, and nothing else.
    offloaded = sum(segment["mode"] == "offload" and segment["written_bytes"] > 0 for segment in segments)
    assert found["copies"] == 2 * offloaded > 0
    elsewhere = {operation for operation, device in found["operations"] if device == "CPU:1"}
    assert elsewhere <= {"Snapshot", "_Send", "_Recv", "Identity", "Const"}


@pytest.mark.parametrize("host", ["CPU:1", "CPU:0"])
def test_copies_to_the_host_are_predicted_as_the_graph_optimiser_leaves_them(host: str) -> None:
    model = residual(blocks=4, width=16, side=16)
    graph = flatten(model)
    assert graph is not None
    pools = Pools(host=host)
    assert pools.host is not None
    runner = Runner(graph, [5, 4, 4, 4, 2], ["offload"] * 4 + ["keep"], pools.stand_ins(["offload"]))
    with obeying(runner):
        traced = trace_step(model, BATCH, host=pools.host)
    for step in (traced.graph, traced.run):
        away = [op for op in step.ops if op.type == TO_HOST]
        back = [op for op in step.ops if op.type == FROM_HOST]
        assert len(away) == len(back) == 3
        assert [step.sizes[tensor] for op in away for tensor in op.makes] == [0] * 3, "there is not the device"
        assert [step.sizes[tensor] for op in back for tensor in op.makes] == [ACTIVATION] * 3
    assert len(traced.run.ops) < len(traced.graph.ops), "it was optimised"


class Noting:
    """A pool that writes down in the graph what it does."""

    def put(self, tensor: Any, key: int) -> tuple[list[Any], Any]:
        away = tf.identity(tensor, name=f"away{key}")
        return [away], lambda: tf.identity(away, name=f"back{key}")


@pytest.mark.parametrize("ahead", [True, False])
def test_inputs_are_fetched_one_segment_ahead(ahead: bool) -> None:
    with tf.Graph().as_default() as graph:
        moving = Moving({"spill": Noting()}, frozenset({0}), ahead)
        fetches, waits = [], []
        for key in (1, 2, 3):
            held = moving.to("spill")
            fetches.append(held.keep({0: tf.zeros(2), key: tf.zeros(2)}))
            waits.append([tensor.op.name for tensor in held.settled()])
        assert waits == ([[], ["away1"], ["away2"]] if ahead else [["away1"], ["away2"], ["away3"]])
        for number in (3, 2, 1):
            fetches[number - 1]([tf.zeros(2, name=f"above{number}")])
        after = {
            name: {other.name for other in graph.get_operation_by_name(name).control_inputs}
            for name in ("back3", "back2", "back1")
        }
        names = [operation.name for operation in graph.get_operations()]
    assert after["back3"] == {"above3"}
    assert after["back2"] == ({"above3"} if ahead else {"above2"})
    assert after["back1"] == ({"above2"} if ahead else {"above1"})
    assert not [name for name in names if name.startswith("back") and "_" in name], "nothing is fetched twice"


def read_and_written() -> tuple[int, int] | None:
    """What the system says that this process read and wrote, None where it does not say."""
    if not Path("/proc/self/io").is_file():
        return None
    rows = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="utf-8").splitlines())
    return int(rows["rchar"]), int(rows["wchar"])


@pytest.mark.parametrize("ahead", [True, False])
def test_what_is_counted_is_what_the_system_counts_and_the_plan_says(tmp_path: Path, ahead: bool) -> None:
    model, x, y, loss = long_skips()
    graph = flatten(model)
    assert graph is not None
    sizes = cut(len(graph.steps), 3)
    modes = ["spill"] * (len(sizes) - 1) + ["keep"]
    pool = DiskPool(tmp_path)
    model.call = Runner(graph, sizes, modes, {"spill": pool}, ahead=ahead)
    model.compile("sgd", loss, jit_compile=False)
    model.train_on_batch(x, y)
    before, system = pool.counts.moved(), read_and_written()
    for _ in range(5):
        model.train_on_batch(x, y)
    after = read_and_written()
    moved = pool.counts.moved() - before
    planned_moves = moves(graph, BATCH, sizes, modes)
    away, back = (5 * sum(row[place] for row in planned_moves) for place in (0, 1))
    assert 0 < away < back, "a tensor that two segments read is written once"
    assert moved.calls == 5
    slack = 5 * len(sizes) * 2 * HEADER
    assert 0 <= moved.written - away <= slack and 0 <= moved.read - back <= slack
    if system is not None and after is not None:
        read, written = after[0] - system[0], after[1] - system[1]
        assert 0 <= written - moved.written < slack and 0 <= read - moved.read < slack
    pool.close()


def test_the_monitor_and_the_plan_show_what_is_moved(tmp_path: Path) -> None:
    model = planned(tmp_path)
    plan = plan_of(model)
    assert plan is not None
    assert plan.moved_bytes == 6 * ACTIVATION == plan.as_json()["moved_bytes"]
    monitor = MemoryMonitor(tmp_path / "memory.csv", tmp_path / "board")
    model.fit(*batches(3), batch_size=BATCH, epochs=2, verbose=0, callbacks=[monitor])
    for row in monitor.rows:
        assert row["planned_moved_bytes"] == 3 * plan.moved_bytes
        assert 0 < row["moved_bytes"] - row["planned_moved_bytes"] <= 3 * 6 * HEADER
    assert monitor._writer is None, "closed"
    (events,) = (tmp_path / "board").iterdir()
    shown = {value.tag for event in tf.compat.v1.train.summary_iterator(str(events)) for value in event.summary.value}
    assert {"memory/moved_bytes", "memory/planned_moved_bytes"} <= shown
    release(model)
    assert not list(tmp_path.glob("sknc-spill-*"))


def test_nothing_moves_while_everything_fits(tmp_path: Path) -> None:
    keras.utils.set_random_seed(3)
    model = residual(blocks=2)
    model.compile("sgd", CROSS, jit_compile=False)
    fit_in_memory(model, "1GiB", BATCH, spill_folder=tmp_path / "spill", host="CPU:0")
    monitor = MemoryMonitor(tmp_path / "memory.csv")
    x, y = batches(2)
    model.fit(x[:, :8, :8], y, batch_size=BATCH, verbose=0, callbacks=[monitor])
    plan, moved = plan_of(model), moved_by(model)
    assert plan is not None and moved is not None
    assert plan.moved_bytes == moved.bytes == 0
    assert (monitor.rows[0]["moved_bytes"], monitor.rows[0]["planned_moved_bytes"]) == (0, 0)
    assert not (tmp_path / "spill").exists()


def test_what_exceeds_the_hosts_budget_goes_to_the_disk_or_stays() -> None:
    graph = flatten(residual(blocks=4, width=16, side=16))
    assert graph is not None
    sizes, modes = [5, 4, 4, 4, 2], ["offload"] * 4 + ["keep"]
    assert [written for written, _ in moves(graph, BATCH, sizes, modes)] == [0, ACTIVATION, ACTIVATION, ACTIVATION, 0]
    both = within(graph, BATCH, sizes, modes, {"offload": 2 * ACTIVATION, "spill": 2**40})
    assert both == ("spill", "spill", "offload", "offload", "keep")
    assert within(graph, BATCH, sizes, modes, {"offload": 2 * ACTIVATION})[:2] == ("recompute", "recompute")
    assert within(graph, BATCH, sizes, modes, {"offload": 2**40, "spill": 0}) == tuple(modes)


def test_which_pools_there_are() -> None:
    assert set(Pools().limits) == {"spill"}, "without a GPU the host's memory is the device's own"
    assert list(Pools(host="CPU:1").limits) == ["offload", "spill"]
    assert Pools(host="CPU:1", host_budget="1MiB").limits["offload"] == 2**20
    assert not Pools(False, host="CPU:1", host_budget=0).limits
    with pytest.raises(PlanError, match="below zero"):
        Pools(host_budget=-1)


def test_a_plan_of_another_run_must_not_use_what_there_is_not(tmp_path: Path) -> None:
    plan = plan_of(planned(tmp_path))
    assert plan is not None
    assert Pools().allow(plan)
    assert not Pools(spill=False).allow(plan)
    on_host = replace(plan, segments=tuple(replace(s, mode=s.mode.replace("spill", "offload")) for s in plan.segments))
    assert not Pools().allow(on_host)
    assert Pools(host="CPU:1").allow(on_host)
    assert not Pools(host="CPU:1", host_budget=ACTIVATION).allow(on_host)
    pools = Pools(folder=tmp_path)
    pools.opened(plan)["spill"].counts.written.assign_add(5)
    pools.close()
    pools.opened(plan)
    assert pools.moved().bytes == 5, "another folder, the same training"
    pools.close()


def test_calls_are_counted_for_each_pool() -> None:
    """A training that uses another pool than the one before it."""
    first, second = Counts(), Counts()
    first.calls.assign_add(5)
    before = first.moved()
    second.calls.assign_add(3)
    second.written.assign_add(7)
    assert (first.moved() + second.moved() - before).calls == 3
    second.calls.assign_add(4)
    first.calls.assign_add(7)
    moved = first.moved() + second.moved() - before
    assert (moved.calls, moved.bytes) == (7, 7), "one call may use both"


@pytest.mark.slow
def test_two_trainings_at_once_share_a_folder(tmp_path: Path) -> None:
    x, y = batches(4)
    plain = planned(mode="plain")
    plain.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0, epochs=2)
    models = [planned(tmp_path, ahead=ahead) for ahead in (False, True)]
    options = {"batch_size": BATCH, "shuffle": False, "verbose": 0, "epochs": 2}
    threads = [threading.Thread(target=model.fit, args=(x, y), kwargs=options) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in models:
        moved = moved_by(model)
        assert moved is not None and moved.calls == 8
        for one, two in zip(plain.get_weights(), model.get_weights(), strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-6)


def test_validation_evaluation_and_prediction_leave_the_pool_alone(tmp_path: Path) -> None:
    x, y = batches(2)
    models = [planned(mode="plain"), planned(tmp_path)]
    options = {"batch_size": BATCH, "shuffle": False, "verbose": 0, "validation_data": (x, y)}
    plain, ours = (model.fit(x, y, **options).history["val_loss"] for model in models)
    np.testing.assert_allclose(ours, plain, rtol=1e-5)
    np.testing.assert_allclose(models[1].predict(x, verbose=0), models[0].predict(x, verbose=0), rtol=1e-4, atol=1e-6)
    evaluated = [model.evaluate(x, y, verbose=0) for model in models]
    np.testing.assert_allclose(evaluated[1], evaluated[0], rtol=1e-5)
    moved = moved_by(models[1])
    assert moved is not None and moved.calls == 2


def gradients(model: Any, step: Any) -> list[Any]:
    """The gradients that a traced step computes."""
    return [gradient.numpy() for gradient in tf.function(step, autograph=False)(model)]


def called_twice(model: Any) -> Any:
    """A call that is traced once and runs twice, before any backward pass."""
    x = tf.constant(batches()[0])
    call = tf.function(lambda inputs: model(inputs, training=True), autograph=False)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(call(x) ** 2) + tf.reduce_sum(call(0.5 * x + 1.0) ** 3)
    return tape.gradient(loss, model.trainable_variables)


def two_gradients(model: Any) -> Any:
    """One call, two backward passes."""
    with tf.GradientTape(persistent=True) as tape:
        outputs = model(tf.constant(batches()[0]), training=True)
        one, two = tf.reduce_sum(outputs**2), tf.reduce_sum(outputs**3)
    variables = model.trainable_variables
    return [*tape.gradient(one, variables), *tape.gradient(two, variables)]


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("step", [called_twice, two_gradients])
def test_each_backward_pass_gets_what_its_own_call_put_away(tmp_path: Path, step: Any, ahead: bool) -> None:
    plain = gradients(planned(mode="plain"), step)
    ours = gradients(planned(tmp_path, ahead=ahead), step)
    assert max(float(np.max(np.abs(gradient))) for gradient in plain) > 1e-3
    for one, two in zip(plain, ours, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-6)


def test_files_are_never_taken_for_those_of_another_call(tmp_path: Path) -> None:
    model = planned(tmp_path)
    xs = tf.constant(np.stack([batches()[0]] * 3))

    def looped(model: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.map_fn(lambda x: model(x, training=True), xs))
        return tape.gradient(loss, model.trainable_variables)

    with pytest.raises(ProgramError, match="in a loop inside"):
        gradients(model, looped)

    def many(model: Any) -> Any:
        call = tf.function(lambda x: model(x, training=True), autograph=False)
        with tf.GradientTape() as tape:
            loss = tf.add_n([tf.reduce_sum(call(xs[0])) for _ in range(5)])
        return tape.gradient(loss, model.trainable_variables)

    with pytest.raises(tf.errors.InvalidArgumentError, match="overwritten"):
        gradients(model, many)


@pytest.mark.slow
def test_a_training_step_may_call_its_model_often(tmp_path: Path) -> None:
    def step(model: Any, data: Any) -> Any:
        call = tf.function(lambda x: model(x, training=True), autograph=False)
        with tf.GradientTape() as tape:
            loss = tf.add_n([tf.reduce_mean(call(data[0] * factor) ** 2) for factor in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)])
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply(gradients, model.trainable_variables)
        return {"loss": loss}

    weights = []
    for mode in ("plain", "spill"):
        model = planned(tmp_path, mode, step=step)
        for _ in range(3):
            model.train_on_batch(*batches())
        weights.append(model.get_weights())
    for one, two in zip(*weights, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-6)
    assert "train_step" in vars(release(model)), "the user's own is there again"
    assert not list(tmp_path.iterdir())


def test_gradients_of_gradients_go_through_a_pool(tmp_path: Path) -> None:
    def penalty(model: Any) -> Any:
        x = tf.constant(batches()[0])
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                outputs = model(x, training=True)
            loss = tf.reduce_sum(inner.gradient(outputs, x) ** 2)
        return [g for g in outer.gradient(loss, model.trainable_variables) if g is not None]

    def smooth(pieces: bool) -> Any:
        keras.utils.set_random_seed(0)
        x = inputs = keras.Input((16, 16, 3))
        for _ in range(4):
            x = keras.layers.Conv2D(4, 3, activation="tanh")(x)
        model = keras.Model(inputs, x)
        graph = flatten(model)
        assert graph is not None
        if pieces:
            model.call = Runner(graph, [1, 1, 2], ["spill", "spill", "keep"], {"spill": DiskPool(tmp_path)})
        return model

    plain, ours = gradients(smooth(False), penalty), gradients(smooth(True), penalty)
    assert len(plain) == len(ours) > 6
    for one, two in zip(plain, ours, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-6 * float(np.max(np.abs(one))))
