"""Updates run before the backward pass goes on to earlier segments, where that is legal, and change no number."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from sknc.runtime.memory import opgraph
from sknc.runtime.memory.execute import dependence, ordering
from sknc.runtime.memory.execute.flatten import flatten
from sknc.runtime.memory.execute.keeper import fit_in_memory, plan_of, release
from sknc.runtime.memory.execute.runner import Runner
from sknc.runtime.memory.executor import Executor
from sknc.runtime.memory.opgraph import Op, OpGraph, UpdateOp, UpdateRule, with_updates
from sknc.runtime.memory.rules import update_rule
from sknc.runtime.memory.tfgraph import GATES
from sknc.runtime.memory.tfrules import ALLOCATORS
from sknc.runtime.memory.tracing import trace_step

OPTIMIZERS = keras.optimizers


def chain(shared: bool = False, activation: str | None = "tanh") -> Any:
    """Six layers of eight units; the second and the fifth may be one."""
    keras.utils.set_random_seed(1)
    inputs = keras.Input((8,))
    made = [layers.Dense(8, activation=activation, name=f"dense{number}") for number in range(6)]
    x = inputs
    for number, layer in enumerate(made):
        x = made[1](x) if shared and number == 4 else layer(x)
    return keras.Model(inputs, x)


def in_segments(model: Any, optimizer: Any) -> Any:
    """Segments of two layers, the last of them kept."""
    model.compile(optimizer, "mse", jit_compile=False)
    graph = flatten(model)
    assert graph is not None
    model.call = Runner(graph, [2, 2, len(graph.steps) - 4], ["recompute", "recompute", "keep"])
    ordering.order_step(model)
    return model


def rows() -> tuple[Any, Any]:
    """A batch."""
    drawn = np.random.default_rng(0).normal(size=(2, 4, 8)).astype("float32")
    return drawn[0], drawn[1]


def waited_for(model: Any) -> list[set[str]]:
    """For each gate of the traced step, the variables whose updates it waits for."""
    step = tf.function(model.train_step).get_concrete_function(tuple(map(tf.constant, rows())))
    handles = {inner.name: captured for captured, inner in step.graph.captures}
    names = {id(variable.value.handle): variable.path for variable in model.trainable_variables}
    found = []
    for gate in step.graph.get_collection(GATES):
        updates = {tensor.name for op in gate[0].op.control_inputs for tensor in op.inputs if op.type[:6] == "Assign"}
        found.append({names[id(handles[name])] for name in updates if id(handles.get(name)) in names})
    return found


def weights(*numbers: int) -> set[str]:
    """The variables of some layers."""
    return {f"dense{number}/{kind}" for number in numbers for kind in ("kernel", "bias")}


EACH_ALONE: dict[str, Callable[[], Any]] = {
    "sgd": lambda: OPTIMIZERS.SGD(),
    "momentum": lambda: OPTIMIZERS.SGD(momentum=0.9),
    "adam": lambda: OPTIMIZERS.Adam(),
    "decay": lambda: OPTIMIZERS.AdamW(weight_decay=0.1),
    "lion": lambda: OPTIMIZERS.Lion(),
    "rmsprop": lambda: OPTIMIZERS.RMSprop(),
    "ftrl": lambda: OPTIMIZERS.Ftrl(),
}


def held(optimizer: Any) -> float:
    """The least of five steps' peaks less what is held between steps, in weights, of ten layers of a MiB each."""
    keras.backend.clear_session()
    x = inputs = keras.Input((512,))
    for _ in range(10):
        x = layers.Dense(512, activation="tanh")(x)
    model = keras.Model(inputs, x)
    model.compile(optimizer, "mse", jit_compile=False)
    graph = flatten(model)
    assert graph is not None
    model.call = Runner(graph, [3, 3, 3, len(graph.steps) - 9], ["recompute"] * 3 + ["keep"])
    ordering.order_step(model)
    batch = np.zeros((8, 512), "float32")
    peaks = []
    for _ in range(7):
        gc.collect()
        before = tf.config.experimental.get_memory_info("CPU:0")["current"]
        tf.config.experimental.reset_memory_stats("CPU:0")
        model.train_on_batch(batch, batch)
        peaks.append(tf.config.experimental.get_memory_info("CPU:0")["peak"] - before)
    return min(peaks[2:]) / 2**20


@pytest.mark.parametrize("name", EACH_ALONE)
def test_what_an_optimizer_computes_is_not_held_for_all_weights_at_once(name: str) -> None:
    """A decay, or a momentum that is multiplied, needs no gradient, and could be computed when the step begins."""
    # Ftrl's rule alone holds eight at a time; what is not ordered holds more than ten.
    assert held(EACH_ALONE[name]()) < 9


@pytest.mark.parametrize("optimizer", EACH_ALONE)
def test_a_gate_waits_for_the_updates_of_later_segments(optimizer: str) -> None:
    # The gates of the two layers that are kept, of the second segment, and of the first one.
    found = waited_for(in_segments(chain(), EACH_ALONE[optimizer]()))
    assert found == [weights(5), weights(4), set(), weights(2, 3)]


def test_a_shared_weight_is_updated_when_its_gradient_is_whole() -> None:
    assert waited_for(in_segments(chain(shared=True), "sgd")) == [weights(5), set(), set(), weights(2, 3)]


LOOKING_AT_ALL: dict[str, Callable[[], Any]] = {
    "global_clipnorm": lambda: OPTIMIZERS.Adam(global_clipnorm=1.0),
    "accumulation": lambda: OPTIMIZERS.SGD(gradient_accumulation_steps=2),
    "loss scaling": lambda: OPTIMIZERS.LossScaleOptimizer(OPTIMIZERS.SGD()),
}


@pytest.mark.parametrize("name", LOOKING_AT_ALL)
def test_nothing_is_ordered_where_all_gradients_are_looked_at(name: str) -> None:
    assert not set.union(*waited_for(in_segments(chain(), LOOKING_AT_ALL[name]())))
    rule = update_rule(LOOKING_AT_ALL[name]())
    # A sum is added to when its gradient is there, only that nobody can make it wait.
    assert rule.together or (name == "accumulation" and not rule.ordered)
    assert not update_rule("adam").together


IN_A_BRANCH: dict[str, Callable[[], Any]] = {
    "accumulation": lambda: OPTIMIZERS.Adam(gradient_accumulation_steps=3),
    "loss scaling": lambda: OPTIMIZERS.LossScaleOptimizer(OPTIMIZERS.Adam()),
    "averages": lambda: OPTIMIZERS.SGD(use_ema=True, ema_overwrite_frequency=3),
}


@pytest.mark.parametrize("name", IN_A_BRANCH)
def test_what_stands_inside_of_a_branch_counts(name: str) -> None:
    """Eight layers of a MiB: with Adam there are two more for each, and gradients or their sums."""
    rule = update_rule(IN_A_BRANCH[name]())
    assert not rule.ordered and any(op.assigns == "variable" for op in rule.ops)
    keras.backend.clear_session()
    model = keras.Sequential([keras.Input((512,)), *(layers.Dense(512, "relu") for _ in range(8))])
    gc.collect()
    before = tf.config.experimental.get_memory_info("CPU:0")["current"] - 8 * 2**20
    model.compile(IN_A_BRANCH[name](), "mse", jit_compile=False)
    plan = plan_of(fit_in_memory(model, "1GiB", 8))
    batch = np.zeros((8, 512), "float32")
    for _ in range(4):
        model.train_on_batch(batch, batch)
    tf.config.experimental.reset_memory_stats("CPU:0")
    for _ in range(6):
        model.train_on_batch(batch, batch)
    held = tf.config.experimental.get_memory_info("CPU:0")["peak"] - before
    assert plan is not None
    assert 0.9 * held < plan.baseline_peak < 1.5 * held


def test_products_of_a_variable_with_itself_count() -> None:
    sized = [op.type for op in update_rule(OPTIMIZERS.Muon()).ops if op.sized]
    assert sized.count("MatMul") > 10


def convolutions() -> Any:
    """Six layers that add a bias to what they make, and hand it on as it is."""
    keras.utils.set_random_seed(1)
    inputs = keras.Input((8,))
    x = layers.Reshape((2, 2, 2))(inputs)
    for number in range(6):
        x = layers.Conv2D(2, 1, name=f"dense{number}")(x)
    return keras.Model(inputs, layers.Reshape((8,))(x))


@pytest.mark.parametrize("linear", [True, False])
def test_gradients_that_onednn_makes_together_are_waited_for_together(linear: bool) -> None:
    # A bias's gradient is the sum of what comes from above: nothing of it is computed behind its segment's gate,
    # but where its kernel's gradient is computed, oneDNN computes both.
    # Segments of two layers; the convolutions' first one reshapes.
    model = chain(activation=None) if linear else convolutions()
    kept = [weights(5), weights(4)] if linear else [weights(5), weights(4), weights(3)]
    assert waited_for(in_segments(model, "sgd")) == [*kept, set(), weights(2, 3) if linear else weights(1, 2)]


def test_a_bias_of_one_segment_and_a_kernel_of_another_may_be_made_together() -> None:
    """Two branches of a sum get the same gradient, each by a name of its own: oneDNN finds a pair across segments."""
    keras.utils.set_random_seed(1)
    inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(4, 3, padding="same")(inputs)
    for _ in range(3):
        y = layers.Conv2D(4, 3, padding="same", activation="relu")(x)
        x = layers.Add()([layers.Conv2D(4, 1)(x), layers.Conv2DTranspose(4, 3, padding="same")(y)])
    model = keras.Model(inputs, layers.Dense(2)(layers.GlobalAveragePooling2D()(x)))
    model.compile("sgd", "mse", jit_compile=False)
    graph = flatten(model)
    assert graph is not None
    model.call = Runner(graph, [3, 1, 1, 3, 2, 2, 3], ["recompute"] * 4 + ["keep"] * 3)
    ordering.order_step(model)
    assert np.isfinite(model.train_on_batch(np.ones((8, 8, 8, 3), "float32"), np.ones((8, 2), "float32")))


class OwnStep(keras.Model):  # type: ignore[misc]  # keras has no types
    """Two updates in one step, the second one from what the first one left."""

    def train_step(self, data: Any) -> Any:
        x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
        for scale in (1.0, 0.5):
            with tf.GradientTape() as tape:
                loss = self.compute_loss(x, y, self(x * scale, training=True))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


class InALoop(keras.Model):  # type: ignore[misc]  # keras has no types
    """Two updates in one step, in a loop of TensorFlow."""

    def train_step(self, data: Any) -> Any:
        x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
        self.optimizer.build(self.trainable_variables)

        def body(number: Any, _: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = self.compute_loss(x, y, self(x, training=True))
            self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
            return number + 1, loss

        return {"loss": tf.while_loop(lambda number, _: number < 2, body, (0, 0.0))[1]}


def in_a_loop(shared: bool = False) -> Any:
    """The chain with a train step that is a loop."""
    model = chain(shared)
    return InALoop(model.inputs, model.outputs)


def own_step(shared: bool = False) -> Any:
    """The chain with a train step of its own."""
    model = chain(shared)
    return OwnStep(model.inputs, model.outputs)


CASES: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
    "decay": (chain, lambda: OPTIMIZERS.AdamW(0.01, weight_decay=0.1, clipnorm=0.5)),
    "average": (
        chain,
        lambda: OPTIMIZERS.SGD(
            OPTIMIZERS.schedules.ExponentialDecay(0.1, 1, 0.5), 0.9, True, use_ema=True, ema_overwrite_frequency=2
        ),
    ),
    "own step": (own_step, lambda: OPTIMIZERS.Adam(0.01)),
    "in a loop": (in_a_loop, lambda: OPTIMIZERS.Adam(0.01)),
    "convolutions": (lambda shared: convolutions(), lambda: OPTIMIZERS.Adam(0.01)),
}


def trained(name: str, segments: bool) -> list[Any]:
    """All that some steps leave behind."""
    make, optimizer = CASES[name]
    model = make(shared=True)
    if segments:
        in_segments(model, optimizer())
    else:
        model.compile(optimizer(), "mse", jit_compile=False)
    losses = [float(model.train_on_batch(*rows())) for _ in range(3)]
    return [*losses, *(variable.numpy() for variable in (*model.variables, *model.optimizer.variables))]


@pytest.mark.parametrize("name", CASES)
def test_no_number_changes(name: str) -> None:
    plain, ours = trained(name, False), trained(name, True)
    assert all(np.array_equal(one, two) for one, two in zip(plain, ours, strict=True))


def test_the_step_that_a_user_put_on_the_object_comes_back() -> None:
    model = chain()
    model.compile("sgd", "mse", jit_compile=False)
    own = model.train_step
    model.train_step = own
    fit_in_memory(model, "1GiB", 4)
    assert model.train_step is not own
    model.train_on_batch(*rows())
    assert release(model).train_step is own
    del model.train_step
    assert "train_step" not in vars(release(fit_in_memory(model, "1GiB", 4)))


def test_the_prediction_knows_the_order() -> None:
    model = in_segments(chain(), "adam")
    graph = trace_step(model, 4).graph
    # Of two kept layers and two segments.
    assert len(graph.gates) == 4
    whole = with_updates(graph, update_rule("adam"))
    late = [
        [number for number in whole.ops[gate[0]].waits if whole.ops[number].updates in graph.gradients]
        for gate in graph.gates
    ]
    # A kernel and a bias for each layer.
    assert [len(updates) for updates in late] == [2, 2, 0, 4]
    free = with_updates(graph, update_rule(LOOKING_AT_ALL["global_clipnorm"]()))
    assert all(number < len(graph.ops) for gate in graph.gates for number in free.ops[gate[0]].waits)


@pytest.mark.parametrize("name", EACH_ALONE)
def test_the_prediction_lets_what_needs_no_gradient_wait_for_it(name: str) -> None:
    rule = update_rule(EACH_ALONE[name]())
    idle = opgraph._idle(rule)
    assert bool(idle) == (name not in ("sgd", "adam"))
    graph = OpGraph((Op("MatMul", (0,), (1,)),), (8, 8), frozenset({0}), {0: 1}, gates=((0,),))
    whole = with_updates(graph, rule)
    assert all(0 in whole.ops[1 + number].waits for number in idle)


def test_updates_that_look_at_all_gradients_wait_for_them() -> None:
    ops = (Op("MatMul", (0,), (2,)), Op("MatMul", (1,), (3,)))
    graph = OpGraph(ops, (1, 1, 1, 1), frozenset({0, 1}), {0: 2, 1: 3})
    rule = UpdateRule("sgd", (UpdateOp("Assign", (-1,), (), False, "variable"),), 0, together=True)
    assert [op.waits for op in with_updates(graph, rule).ops] == [(), (), (1,), (0,)]


def test_gates_have_the_order_of_their_groups_whatever_the_order_of_operations() -> None:
    """The second gate's operation comes first: the update that waits for the first gate is still the later one."""
    ops = (
        Op("MatMul", (0,), (3,)),
        Op("Identity", (2,), (4,)),
        Op("MatMul", (4,), (5,)),
        Op("Identity", (2,), (6,)),
        Op("MatMul", (6,), (7,)),
    )
    graph = OpGraph(ops, (1,) * 8, frozenset({0, 1, 2}), {0: 3, 1: 7}, gates=((3,), (1,)))
    whole = with_updates(graph, UpdateRule("sgd", (UpdateOp("Assign", (-1,), (), False, "variable"),), 0))
    Executor(whole, ALLOCATORS["bfc"]).run()


def test_what_is_run_as_one_waits_for_what_was_traced_later() -> None:
    """The shape that the kernel's gradient needs comes after the bias's gradient, from behind a gate."""
    with tf.Graph().as_default() as graph:
        x, dy = tf.ones((1, 4, 4, 2)), tf.ones((1, 4, 4, 3))
        bias = tf.raw_ops.BiasAddGrad(out_backprop=dy)
        gate = tf.identity(tf.ones((3, 3, 2, 3)))
        shape = tf.raw_ops.Shape(input=gate)
        kernel = tf.raw_ops.Conv2DBackpropFilter(
            input=x, filter_sizes=shape, out_backprop=dy, strides=[1] * 4, padding="SAME"
        )
        operations = graph.get_operations()
        behind = dependence.gates_behind(operations, dependence.ends_before(operations), [[gate.op]])
    assert (behind[bias.op], behind[kernel.op], behind[dy.op]) == (1, 1, 0)


@pytest.mark.parametrize("optimizer", EACH_ALONE)
def test_a_weight_is_updated_when_the_backward_pass_has_read_it(optimizer: str) -> None:
    """Else TensorFlow would update a copy. What computes a layer's input's gradient is all that could come later."""
    model = in_segments(chain(), EACH_ALONE[optimizer]())
    step = tf.function(model.train_step).get_concrete_function(tuple(map(tf.constant, rows())))
    kernels = {id(variable.value.handle): variable.path for variable in model.trainable_variables}
    names = {inner.name: kernels.get(id(captured), "") for captured, inner in step.graph.captures}
    before = dependence.ends_before(step.graph.get_operations())
    found = {}
    for op in step.graph.get_operations():
        path = names.get(op.inputs[0].name, "") if op.type.startswith("Assign") else ""
        # The first update is the decay, where there is one.
        if path.endswith("kernel") and path not in found:
            seen, stack = set(), [op]
            while stack:
                seen.update(stack)
                stack = [other for other in before[stack.pop()] if other not in seen] + stack
            readers = [other for other in seen if other.type == "MatMul" and other.get_attr("transpose_b")]
            found[path] = {names[dependence.variable_of(other.inputs[1])] for other in readers} & {path}
    # What would compute the gradient of the network's input is never run.
    assert found == {f"dense{number}/kernel": {f"dense{number}/kernel"} if number else set() for number in range(6)}


def test_the_prediction_lets_a_weight_be_read_before_it_is_updated() -> None:
    """Two layers with a weight of 1 MiB each, and a batch of a few bytes: no copy of a weight."""
    mebibyte = 2**20
    first, second, batch, hidden, handed, gradient, other = range(7)
    ops = (
        Op("MatMul", (first, batch), (hidden,)),
        Op("MatMul", (second, hidden), (gradient,)),
        Op("MatMul", (second, gradient), (handed,), flops=10**12),
        Op("MatMul", (batch, handed), (other,)),
    )
    sizes = (mebibyte, mebibyte, 256, 256, 256, mebibyte, mebibyte)
    graph = OpGraph(ops, sizes, frozenset({first, second, batch}), {second: gradient, first: other}, gates=((3,),))
    rule = UpdateRule("sgd", (UpdateOp("Assign", (-1,), (), False, "variable"),), 0)
    whole = with_updates(graph, rule)
    assert 2 in next(op for op in whole.ops if op.updates == second).waits
    assert Executor(whole, ALLOCATORS["bfc"]).run().peak < 3.5 * mebibyte
