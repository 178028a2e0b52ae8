"""One large tensor after the other: the order of a segment's backward pass, and what keeps it."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from keras import layers

from sknc.runtime.memory.execute import serial as traced_serial
from sknc.runtime.memory.execute.flatten import flatten
from sknc.runtime.memory.execute.runner import Runner
from sknc.runtime.memory.executor import CROWDED, Executor
from sknc.runtime.memory.opgraph import Op, OpGraph
from sknc.runtime.memory.serial import ADDED, Task, in_order, waits, with_sums
from sknc.runtime.memory.tfrules import ALLOCATORS
from sknc.runtime.memory.tracing import trace_step

LARGE = 1 << 20


def test_what_frees_something_comes_first() -> None:
    """A convolution's two gradients: the kernel's reads the activation for the last time."""
    above, activation, kernel, below, handed = range(5)
    tasks = [Task((above,), (below,), ()), Task((above, activation), (kernel,), ()), Task((below,), (handed,), (0,))]
    sizes = {above: LARGE, activation: LARGE, kernel: 100, below: LARGE, handed: LARGE}
    assert in_order(tasks, sizes, {above, activation}) == [1, 0, 2]
    # The kernel's gradient is small, and waits for nothing; what follows waits for it.
    assert waits(tasks, sizes, {above, activation}) == {0: [1], 2: [0]}


def test_what_is_run_as_one_with_others_waits_for_nothing() -> None:
    """TensorFlow would not run it as one, and numbers would change; nor can anything wait for its other half."""
    tasks = [
        Task((0,), (1,), ()),
        Task((0,), (2,), (), fused=True),
        Task((0,), (3,), (1,), fused=True, bound=True),
        Task((1,), (4,), (0,)),
    ]
    sizes = {0: LARGE, 1: LARGE, 2: LARGE, 3: 10, 4: LARGE}
    found = waits(tasks, sizes, ())
    assert found[1] == []
    assert all(2 not in others for others in found.values())


@st.composite
def steps(draw: st.DrawFn) -> tuple[list[Task], dict[int, int]]:
    """Tasks that read what earlier ones make."""
    count = draw(st.integers(1, 12))
    sizes = {number: draw(st.sampled_from([1, 100, LARGE, 3 * LARGE])) for number in range(count + 1)}
    tasks = []
    for number in range(count):
        reads = tuple(draw(st.sets(st.integers(0, number), min_size=1, max_size=3)))
        before = tuple(read - 1 for read in reads if read)
        tasks.append(Task(reads, (number + 1,), before, draw(st.booleans()), draw(st.booleans())))
    return tasks, sizes


@given(steps())
def test_nobody_waits_for_what_depends_on_it(given_steps: tuple[list[Task], dict[int, int]]) -> None:
    tasks, sizes = given_steps
    order = in_order(tasks, sizes, {0})
    when = {place: moment for moment, place in enumerate(order)}
    assert sorted(order) == list(range(len(tasks)))
    assert all(when[other] < when[place] for place, task in enumerate(tasks) for other in task.before)
    assert all(when[other] < when[place] for place, others in waits(tasks, sizes, {0}).items() for other in others)


def test_gradients_are_added_when_they_are_there() -> None:
    ops = (
        Op("Mul", (0,), (1,), backward=True),
        Op("Mul", (0,), (2,), backward=True),
        Op("Mul", (2,), (3,), backward=True),
        Op("AddN", (1, 2, 3), (4,), backward=True),
        Op("Neg", (4,), (5,), (3,), backward=True),
    )
    graph = with_sums(OpGraph(ops, (8,) * 6, frozenset({0}), {0: 5}, gates=((4,),)))
    assert [op.type for op in graph.ops] == ["Mul", "Mul", "AddN", "Mul", "AddN", "Neg"]
    first, last = graph.ops[2], graph.ops[4]
    assert first.reads == (1, 2)
    assert last.reads == (*first.makes, 3)
    assert graph.ops[5].waits == (4,)
    assert graph.gates == ((5,),)
    many = OpGraph((Op("AddN", (0,) * (ADDED + 1), (1,), backward=True),), (8, 8), frozenset({0}))
    assert with_sums(many) == many


@pytest.mark.parametrize("count", range(3, ADDED + 1))
def test_sums_are_those_that_tensorflow_makes(count: int) -> None:
    drawn = [tf.constant(part) for part in np.random.default_rng(count).normal(size=(count, 64, 64)).astype("float32")]

    def added(apart: bool) -> Any:
        @tf.function(autograph=False)
        def run(*tensors: Any) -> Any:
            graph = tf.compat.v1.get_default_graph()
            # Names are sorted: "p", "p_1", "p_10", "p_2".
            parts = [tf.multiply(tensor, 0.3, name="p") for tensor in tensors]
            total = tf.raw_ops.AddN(inputs=parts[::-1])
            if not apart:
                return total
            _, sums = traced_serial._sums(graph.get_operations())
            return sums[total.name]

        return run(*drawn).numpy()

    assert np.array_equal(added(False), added(True))


def held(ordered: bool, monkeypatch: pytest.MonkeyPatch) -> float:
    """The largest of twenty steps' peaks beside weights, in activations, of one segment with a wide layer."""
    if not ordered:
        monkeypatch.setattr(traced_serial._Segment, "order", lambda _: None)
        monkeypatch.setattr(traced_serial, "_sums", lambda operations: (list(operations), {}))
    keras.backend.clear_session()
    inputs = keras.Input((32, 32, 4))
    x = layers.Conv2D(16, 1, use_bias=False)(inputs)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    x = layers.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False)(x)
    x = layers.GlobalAveragePooling2D()(layers.ReLU(6.0)(layers.BatchNormalization()(x)))
    model = keras.Model(inputs, layers.Dense(4)(x))
    model.compile("sgd", "mse", jit_compile=False)
    graph = flatten(model)
    assert graph is not None
    model.call = Runner(graph, [len(graph.steps) - 1, 1], ["recompute", "keep"], batch=32)
    # As TensorFlow runs it while threads lose their cores now and then; a real process shows whole chunks besides,
    # which depend on what other tests left behind.
    executor = Executor(trace_step(model, 32).run, ALLOCATORS["bfc"], threads=2)
    before = executor.pool.in_use
    peaks = [executor.run(seed, CROWDED).peak - before for seed in range(20)]
    return max(peaks) / (32 * 32 * 32 * 16 * 4)


def test_a_step_holds_less_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert held(True, monkeypatch) <= held(False, monkeypatch) - 0.5


class WithSideEffects(layers.Layer):  # type: ignore[misc]  # keras has no types
    """Its backward pass calls Python."""

    def call(self, x: Any) -> Any:
        @tf.custom_gradient  # type: ignore[untyped-decorator]  # tensorflow has no types
        def run(value: Any) -> Any:
            def backward(gradient: Any) -> Any:
                tf.numpy_function(lambda _: np.float32(0), [gradient], tf.float32)
                return 2.0 * gradient

            return tf.identity(value), backward

        return run(x)


@pytest.mark.parametrize("size", [5, 40])
def test_what_has_side_effects_keeps_its_order(size: int) -> None:
    """TensorFlow lets such operations wait for each other, after the step was traced: a circle, else."""
    inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(4, 3, padding="same")(inputs)
    branches = []
    for number in range(4):
        branch = WithSideEffects()(layers.Conv2D(8 * (number + 1), 1)(x))
        branches.append(WithSideEffects()(layers.Conv2D(4, 1)(branch)))
    x = layers.GlobalAveragePooling2D()(layers.Add()(branches))
    model = keras.Model(inputs, layers.Dense(2)(x))
    model.compile("sgd", "mse", jit_compile=False)
    graph = flatten(model)
    assert graph is not None
    count = min(size, len(graph.steps) - 1)
    sizes = [count] * (len(graph.steps) // count)
    sizes.append(len(graph.steps) - sum(sizes))
    model.call = Runner(graph, sizes, ["recompute"] * (len(sizes) - 1) + ["keep"], batch=8)
    assert np.isfinite(model.train_on_batch(np.ones((8, 8, 8, 3), "float32"), np.ones((8, 2), "float32")))
