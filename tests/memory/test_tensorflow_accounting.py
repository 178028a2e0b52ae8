"""The tensorflow accounting: traced steps, the imitated allocator and executor, and the allocator itself."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path

import keras
import pytest
import tensorflow as tf

import sknc
from sknc.runtime.memory.analysis import report
from sknc.runtime.memory.errors import PlanError, StuckStep
from sknc.runtime.memory.executor import BUSY, CROWDED, Executor
from sknc.runtime.memory.loops import LOOPS
from sknc.runtime.memory.opbuffers import Buffer
from sknc.runtime.memory.opgraph import Op, OpGraph, with_updates
from sknc.runtime.memory.oplayers import layer_graph, most_at_once
from sknc.runtime.memory.planner import Budgets
from sknc.runtime.memory.predict import least_limit, predict_peak
from sknc.runtime.memory.rules import update_rule
from sknc.runtime.memory.tensorflow import ModelSubjects
from sknc.runtime.memory.tfrules import ALLOCATORS
from sknc.runtime.memory.tracing import trace_step

from . import keras_models

MIB = 2**20


def in_use() -> int:
    gc.collect()  # models of earlier tests would go while this one is measured
    return int(tf.config.experimental.get_memory_info("CPU:0")["current"])


def op_graph(*ops: Op, sizes: tuple[int, ...], held: int = 1) -> OpGraph:
    return OpGraph(ops, sizes, frozenset(range(held)))


class TestExecutor:
    def test_an_elementwise_operation_reuses_a_buffer_that_nobody_else_needs(self) -> None:
        kept = op_graph(Op("MatMul", (0,), (1,)), Op("Relu", (1,), (2,)), Op("Sum", (2,), (3,)), sizes=(0, MIB, MIB, 0))
        shared = op_graph(
            Op("MatMul", (0,), (1,)), Op("Relu", (1,), (2,)), Op("Sum", (1, 2), (3,)), sizes=(0, MIB, MIB, 0)
        )
        assert Executor(kept, ALLOCATORS["default"]).run().peak == MIB
        assert Executor(shared, ALLOCATORS["default"]).run().peak == 2 * MIB

    def test_who_finds_a_limited_pool_full_waits_for_others_to_free(self) -> None:
        """Two chains at once hold 8 MiB and fit into 6, one after the other."""
        chains = [
            op
            for start in (1, 4)
            for op in (Op("MatMul", (0,), (start,)), Op("MatMul", (start,), (start + 1,)), Op("Sum", (start + 1,), ()))
        ]
        graph = op_graph(*chains, sizes=(0, 2 * MIB, 2 * MIB, 0, 2 * MIB, 2 * MIB))
        free, limited = (Executor(graph, ALLOCATORS["bfc"], 2, limit) for limit in (None, 6 * MIB))
        assert max(free.run(seed, BUSY).peak for seed in range(20)) == 8 * MIB
        assert max(limited.run(seed, BUSY).peak for seed in range(20)) <= 6 * MIB
        assert limited.pool.limit == 6 * MIB

    def test_an_update_of_a_variable_that_is_still_read_needs_a_copy(self) -> None:
        ops = (
            Op("MatMul", (0,), (1,), flops=10**9),
            Op("Fill", (), (2,)),
            Op("AssignSubVariableOp", (2,), (3,), updates=0),
        )
        graph = op_graph(*ops, sizes=(4 * MIB, MIB, MIB, 0))
        assert Executor(graph, ALLOCATORS["default"], threads=2).run().peak >= 9 * MIB
        late = op_graph(ops[0], Op("Fill", (1,), (2,)), ops[2], sizes=(4 * MIB, MIB, MIB, 0))
        assert Executor(late, ALLOCATORS["default"], threads=2).run().peak <= 6 * MIB

    def test_what_an_optimiser_keeps_is_one_buffer_of_zeros_until_it_is_assigned(self) -> None:
        """TensorFlow makes equal zeros once; only the last of those who share them assigns in place."""
        graph = OpGraph((Op("MatMul", (0,), (2,)), Op("MatMul", (1,), (3,))), (0, 0, MIB, MIB), frozenset({0, 1}))
        graph = replace(graph, sizes=(MIB, MIB, MIB, MIB), gradients={0: 2, 1: 3})
        whole = with_updates(graph, update_rule("momentum"))
        executor = Executor(whole, ALLOCATORS["default"])
        assert executor.pool.in_use == 3 * MIB
        executor.run()
        assert executor.pool.in_use == 4 * MIB
        executor.run()
        assert executor.pool.in_use == 4 * MIB

    def test_operations_that_wait_for_each_other_are_no_step(self) -> None:
        ops = (Op("MatMul", (0,), (1,), (1,)), Op("Relu", (1,), (2,)))
        with pytest.raises(StuckStep, match="2 of 2 operations of the training step wait for each other"):
            Executor(op_graph(*ops, sizes=(0, MIB, MIB)), ALLOCATORS["default"]).run()

    def test_steps_leave_nothing_behind_and_equal_seeds_give_equal_steps(self) -> None:
        traced = trace_step(keras_models.residual(), 4)
        executor = Executor(traced.graph, ALLOCATORS["default"])
        before = executor.pool.in_use
        for seed in range(5):
            executor.run(seed, BUSY if seed % 2 else CROWDED)
            assert executor.pool.in_use == before
        peaks = [Executor(traced.graph, ALLOCATORS["default"]).run(7, CROWDED).peak for _ in range(2)]
        assert peaks[0] == peaks[1]


class TestTrace:
    def test_variables_and_batch_are_counted_by_shape(self) -> None:
        model = keras_models.mlp()
        traced = trace_step(model, 16)
        assert traced.parameters == traced.trained == 4 * model.count_params()
        assert traced.inputs == 16 * (784 * 4 + 4)
        assert len(traced.graph.gradients) == 10

    def test_what_runs_is_what_tensorflow_makes_of_the_trace(self) -> None:
        """Its optimiser merges equal operations and fuses some; the layers are those of the trace."""
        traced = trace_step(keras_models.mlp(), 16)
        assert "_FusedMatMul" in {op.type for op in traced.run.ops}
        assert "_FusedMatMul" not in {op.type for op in traced.graph.ops}
        assert len(traced.run.ops) < len(traced.graph.ops)
        assert len(traced.run.gradients) == len(traced.graph.gradients) == 10

    def test_a_loop_is_not_taken_apart_by_the_optimiser(self) -> None:
        inputs = keras.Input((12, 8))
        model = keras.Model(inputs, keras.layers.Dense(3)(keras.layers.LSTM(16)(inputs)))
        traced = trace_step(model, 4)
        assert len([op for op in traced.graph.ops if op.type in LOOPS]) == 2
        assert not [op.type for op in traced.run.ops if op.type in ("Enter", "Exit", "NextIteration", "Switch")]

    def test_a_loop_runs_turn_by_turn(self) -> None:
        """What the forward loop's turns push is read by the turns of the gradient's loop that pop it."""
        inputs = keras.Input((12, 8))
        model = keras.Model(inputs, keras.layers.Dense(3)(keras.layers.LSTM(16)(inputs)))
        run = trace_step(model, 4).run
        assert not [op for op in run.ops if op.type in LOOPS]
        tanh = [op for op in run.ops if op.type == "Tanh" and not op.backward]
        assert len(tanh) == 2 * 12
        maker = {tensor: op for op in run.ops for tensor in op.makes}
        popped = [maker.get(op.reads[0]) for op in run.ops if op.type == "Identity" and op.backward and op.reads]
        assert sum(op is not None and op.type == "Tanh" and not op.backward for op in popped) >= 2 * 12

    def test_layers_called_again_are_steps_of_their_own(self) -> None:
        graph = layer_graph(trace_step(keras_models.shared(), 8).graph)
        names = [node.name for node in graph.nodes]
        assert names[:3] == ["inner/twice", "inner/twice#2", "last"]
        assert graph.nodes[0].type == "Dense"

    def test_cheap_layers_are_those_without_heavy_operations(self) -> None:
        graph = layer_graph(trace_step(keras_models.residual(), 4).graph)
        cheap = {node.type for node in graph.nodes if node.cheap}
        heavy = {node.type for node in graph.nodes if node.checkpoint}
        assert {"BatchNormalization", "ReLU", "Add"} <= cheap
        assert {"Conv2D", "Dense"} == heavy

    @pytest.mark.parametrize(
        ("name", "slots"), [("sgd", 0), ("momentum", 1), ("rmsprop", 1), ("adam", 2), ("nadam", 2)]
    )
    def test_optimisers_keep_as_much_as_keras_makes(self, name: str, slots: int) -> None:
        rule = update_rule(name)
        assert rule.slots == slots
        assert [op.assigns for op in rule.ops].count("variable") == 1

    def test_a_list_of_turns_is_counted_for_recurrent_layers(self) -> None:
        short, long = (
            predict_peak(
                trace_step(
                    keras.Sequential([keras.Input((turns, 32)), keras.layers.LSTM(256, return_sequences=True)]), 64
                ).graph,
                update_rule("sgd"),
            )
            for turns in (10, 40)
        )
        assert long.peak > 2.5 * short.peak

    def test_unknown_names_and_shapes_are_refused(self) -> None:
        with pytest.raises(PlanError, match="no optimizer 'magic'"):
            update_rule("magic")
        with pytest.raises(PlanError, match="give --input-shape"):
            trace_step(keras_models.any_size(), 2)
        with pytest.raises(PlanError, match="give --input-shape"):
            trace_step(keras_models.Subclassed(), 2)
        assert trace_step(keras_models.any_size(), 2, (16, 16, 3)).inputs == 2 * (16 * 16 * 3 * 4 + 4)

    def test_half_precision_holds_less(self) -> None:
        keras.config.set_dtype_policy("mixed_bfloat16")
        try:
            mixed = keras_models.residual()
        finally:
            keras.config.set_dtype_policy("float32")
        half = layer_graph(trace_step(mixed, 32).graph)
        full = layer_graph(trace_step(keras_models.residual(), 32).graph)
        assert report_peak(half) < 0.75 * report_peak(full)

    def test_scratch_is_the_most_at_once(self) -> None:
        assert most_at_once([]) == 0
        # The first ends where the third begins: what an operation reads is there while it makes its own.
        assert most_at_once([Buffer(4, 0, 2), Buffer(3, 1, 1), Buffer(5, 2, 3), Buffer(1, 3, 4)]) == 9


def test_a_limit_has_to_be_higher_than_what_is_held() -> None:
    """Tensors that grow: what is free behind them is never large enough for the next one."""
    sizes = tuple(MIB * place for place in range(16))
    ops = [Op("MatMul", (place,), (place + 1,)) for place in range(15)]
    graph = op_graph(*ops, sizes=sizes)
    held = predict_peak(graph, update_rule("sgd"), "bfc").scheduled
    limit = least_limit(graph, update_rule("sgd"), 10 * MIB)
    # One hole as large as the largest tensor is added.
    assert held < 35 * MIB < 1.2 * held < limit - 15 * MIB < 2 * held
    one = Op("MatMul", (0,), (1,)), Op("MatMul", (1,), (2,))
    assert least_limit(op_graph(*one, sizes=(0, 10 * MIB, 0)), update_rule("sgd"), 10 * MIB) < 22 * MIB


def report_peak(graph: object) -> int:
    from sknc.runtime.memory.graph import StepGraph
    from sknc.runtime.memory.liveness import liveness_timeline

    assert isinstance(graph, StepGraph)
    return liveness_timeline(graph).peak.bytes


def measured_peaks(model: keras.Model, shape: tuple[int, ...], batch: int, optimizer: str) -> list[int]:
    """What the allocator shows for ten warmed steps, beside what was in use before the model."""
    before = in_use()
    model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", jit_compile=False)
    x, y = tf.random.normal((batch, *shape)), tf.zeros((batch,), tf.int32)
    batches = iter(tf.data.Dataset.from_tensors((x, y)).repeat())
    model.make_train_function()
    peaks = []
    for number in range(13):
        tf.config.experimental.reset_memory_stats("CPU:0")
        model.train_function(batches)
        if number > 2:
            peaks.append(int(tf.config.experimental.get_memory_info("CPU:0")["peak"]) - before)
    return peaks


@pytest.mark.parametrize(
    ("build", "shape", "optimizer"),
    [("mlp", (784,), "adam"), ("residual", (32, 32, 3), "sgd")],
)
def test_the_prediction_is_what_the_allocator_shows(build: str, shape: tuple[int, ...], optimizer: str) -> None:
    before = in_use()
    model = getattr(keras_models, build)()
    found = ModelSubjects(model, build, optimizer)(32)
    variables = in_use() - before
    peaks = measured_peaks(model, shape, 32, optimizer)
    largest = max(peaks) + variables
    spread = (max(peaks) - min(peaks)) / largest
    predicted = found.scheduled_peak + found.reserve
    assert 0.95 * largest <= predicted <= (1.1 + spread) * largest


def test_a_report_of_a_model_has_every_part_of_the_contract() -> None:
    subject = ModelSubjects(keras_models.residual(), "residual", "adam")(8)
    content = report(subject)
    assert content["accounting"] == "tensorflow"
    assert content["predicted_peak"] == content["scheduled_peak"] + content["reserve"] > content["parameters_bytes"]
    assert content["optimizer_bytes"] == 2 * content["gradients_bytes"]
    peaks = [content["peaks"][name]["bytes"] for name in ("baseline", "liveness", "offload", "recompute")]
    assert peaks == sorted(peaks, reverse=True)


def test_a_budget_below_the_parameters_is_not_enough() -> None:
    """Not even where every tensor is too small for the allocator's statistics."""
    model = keras.Sequential([keras.Input((32,)), *(keras.layers.Dense(32, activation="relu") for _ in range(8))])
    model.compile("sgd", "mse")
    subject = ModelSubjects(model, "small")(64)
    assert subject.scheduled_peak < report_peak(subject.graph), "nothing is counted"
    plan = report(subject, Budgets(1000))["plan"]
    assert not plan["feasible"]
    assert plan["smallest_budget"] >= subject.holdings.parameters == 4 * model.count_params()


def test_plan_memory_plans_a_model_at_hand() -> None:
    from sknc.errors import UsageError
    from sknc.memplan import plan_memory

    model = keras_models.residual()
    model.compile("sgd", "sparse_categorical_crossentropy")
    assert sknc.plan_memory(model, batch_size=16)["optimizer"].lower() == "adam"
    plain = sknc.plan_memory(model, batch_size=16, optimizer=None)
    assert (plain["optimizer"].lower(), plain["optimizer_bytes"]) == ("sgd", 0)
    planned = plan_memory(model, 16, budget=plain["predicted_peak"] * 3 // 4)
    assert planned["plan"]["feasible"]
    assert planned["plan"]["peaks"]["device"] <= plain["predicted_peak"] * 3 // 4
    with pytest.raises(UsageError, match="is no size"):
        plan_memory(model, 16, budget="lots")


def test_the_machine_is_measured_and_stored(tmp_path: Path) -> None:
    from sknc.memplan.measure import main
    from sknc.runtime.memory.machine import load_machine

    path = tmp_path / "machine.json"
    assert main([str(path)]) == 0
    machine = load_machine(path)
    assert machine.flops > 1e8
    assert machine.memory > machine.disk > 1e5
    assert main([]) == 2


def test_what_is_computed_twice_is_held_once() -> None:
    inputs = keras.Input((64, 64, 8))
    x = keras.layers.Conv2D(8, 3, padding="same")(inputs)

    def branches(count: int) -> int:
        relus = [keras.layers.Conv2D(8, 3, padding="same")(keras.layers.ReLU()(x)) for _ in range(count)]
        model = keras.Model(inputs, keras.layers.Add()(relus) if count > 1 else relus[0])
        traced = trace_step(model, 4)
        return [op.type for op in traced.graph.ops].count("Relu")

    assert branches(1) == branches(3) == 1
