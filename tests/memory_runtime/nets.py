"""Small networks, one for each thing that running a part twice could get wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import layers

BATCH = 8
SIDE = 8


def _images() -> Any:
    return np.random.default_rng(0).normal(size=(BATCH, SIDE, SIDE, 3)).astype("float32")


def _tokens() -> Any:
    drawn = np.random.default_rng(0).integers(1, 12, size=(BATCH, 6))
    drawn[:, 4:] = 0
    return drawn.astype("int32")


def _classes(count: int = 4) -> Any:
    return np.random.default_rng(1).integers(0, count, size=BATCH)


def residual(blocks: int = 4, width: int = 4, side: int = SIDE) -> Any:
    """Blocks of convolution, batch norm, ReLU and addition."""
    inputs = keras.Input((side, side, 3))
    x = layers.Conv2D(width, 3, padding="same")(inputs)
    for _ in range(blocks):
        y = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        x = layers.Add()([x, y])
    outputs = layers.Dense(4, activation="softmax")(layers.GlobalAveragePooling2D()(x))
    return keras.Model(inputs, outputs)


def batch_norm() -> Any:
    return residual(), _images(), _classes(), "sparse_categorical_crossentropy"


def dropout() -> Any:
    inputs = keras.Input((16,))
    x = inputs
    for _ in range(3):
        x = layers.Dropout(0.4)(layers.Dense(16, activation="gelu")(x))
    model = keras.Model(inputs, layers.Dense(2)(x))
    return model, _images().reshape(BATCH, -1)[:, :16], np.ones((BATCH, 2), "float32"), "mse"


def noise() -> Any:
    inputs = keras.Input((SIDE, SIDE, 3))
    x = layers.GaussianNoise(0.5)(layers.Conv2D(4, 3)(inputs))
    x = layers.GaussianDropout(0.3)(layers.Conv2D(4, 3, activation="relu")(x))
    x = layers.SpatialDropout2D(0.3)(x)
    x = layers.AlphaDropout(0.2)(layers.Flatten()(x))
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(x)), _images(), _classes(), CROSS


def shared() -> Any:
    one, two = keras.Input((6,)), keras.Input((6,))
    dense, norm, drop = layers.Dense(8, activation="tanh"), layers.BatchNormalization(), layers.Dropout(0.3)
    left = drop(norm(dense(one)))
    right = drop(norm(dense(two)))
    again = layers.Dense(6)(layers.Multiply()([left, right]))
    x = layers.Concatenate()([drop(norm(dense(again))), left])
    model = keras.Model([one, two], layers.Dense(1)(x))
    rows = np.random.default_rng(3).normal(size=(2, BATCH, 6)).astype("float32")
    return model, [rows[0], rows[1]], rows[0][:, :1], "mse"


def several_outputs() -> Any:
    one, two = keras.Input((6,), name="one"), keras.Input((SIDE, SIDE, 3), name="two")
    image = layers.GlobalMaxPooling2D()(layers.BatchNormalization()(layers.Conv2D(6, 3)(two)))
    x = layers.Dense(6, activation="relu")(one) + image
    x = layers.Dropout(0.2)(x)
    kind = layers.Dense(4, activation="softmax", name="kind")(layers.Dense(8, activation="relu")(x))
    value = layers.Dense(1, name="value")(layers.Dense(8, activation="relu")(x * 2.0))
    model = keras.Model({"one": one, "two": two}, {"kind": kind, "value": value})
    x_rows = {"one": np.random.default_rng(3).normal(size=(BATCH, 6)).astype("float32"), "two": _images()}
    y_rows = {"kind": _classes(), "value": np.ones((BATCH, 1), "float32")}
    return model, x_rows, y_rows, {"kind": CROSS, "value": "mse"}


def recurrent() -> Any:
    inputs = keras.Input((6,), dtype="int32")
    x = layers.Embedding(12, 5, mask_zero=True)(inputs)
    x = layers.LSTM(4, return_sequences=True, dropout=0.2, recurrent_dropout=0.1)(x)
    x = layers.Dropout(0.2)(layers.Dense(5)(x))
    x = layers.GRU(4)(x)
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(x)), _tokens(), _classes(), CROSS


def attention() -> Any:
    inputs = keras.Input((6,), dtype="int32")
    x = layers.Embedding(12, 8, mask_zero=True)(inputs)
    y = layers.MultiHeadAttention(2, 4, dropout=0.1)(x, x, use_causal_mask=True)
    x = layers.LayerNormalization()(layers.Add()([x, y]))
    y = layers.Dense(8)(layers.Dense(16, activation="gelu")(x))
    x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.1)(y)]))
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(x)), _tokens(), _classes(), CROSS


def nested() -> Any:
    part = keras.Sequential([keras.Input((16,)), layers.Dense(16), layers.BatchNormalization(), layers.Dropout(0.3)])
    inside = keras.Input((16,))
    deep = keras.Model(inside, layers.Add()([part(layers.Dense(16, activation="relu")(inside)), inside]))
    frozen = keras.Sequential([keras.Input((16,)), layers.Dense(16), layers.BatchNormalization()], name="frozen")
    frozen.trainable = False
    inputs = keras.Input((16,))
    x = deep(deep(part(inputs)))
    x = frozen(x, training=False)
    model = keras.Model(inputs, layers.Dense(2)(layers.Dense(8, activation="tanh")(x)))
    return model, _images().reshape(BATCH, -1)[:, :16], np.ones((BATCH, 2), "float32"), "mse"


def bfloat16() -> Any:
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        inputs = keras.Input((SIDE, SIDE, 3))
        x = layers.Conv2D(4, 3)(inputs)
        for _ in range(2):
            x = layers.Dropout(0.2)(layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(4, 3, padding="same")(x))))
        x = layers.Dense(8, activation="gelu")(layers.Flatten()(x))
        outputs = layers.Dense(4, activation="softmax", dtype="float32")(x)
        return keras.Model(inputs, outputs), _images(), _classes(), CROSS
    finally:
        keras.config.set_dtype_policy(before)


def regularised() -> Any:
    class Penalty(layers.Layer):
        def call(self, inputs: Any) -> Any:
            self.add_loss(0.1 * keras.ops.mean(keras.ops.square(inputs)))
            return inputs

    inputs = keras.Input((16,))
    x = layers.Dense(16, kernel_regularizer="l2", activity_regularizer=keras.regularizers.L1(0.01))(inputs)
    x = Penalty()(layers.Dense(16, activation="relu", bias_regularizer="l1")(x))
    x = layers.ActivityRegularization(l2=0.02)(layers.Dense(8, activation="relu")(x))
    model = keras.Model(inputs, layers.Dense(2)(x))
    return model, _images().reshape(BATCH, -1)[:, :16], np.ones((BATCH, 2), "float32"), "mse"


def long_skips() -> Any:
    inputs = keras.Input((SIDE, SIDE, 3))
    one = layers.Conv2D(4, 3, padding="same", activation="relu")(inputs)
    two = layers.Conv2D(6, 3, padding="same", activation="relu")(layers.MaxPooling2D()(one))
    low = layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(layers.MaxPooling2D()(two)))
    x = layers.Concatenate()([layers.UpSampling2D()(low), two])
    x = layers.Dropout(0.2)(layers.Conv2D(6, 3, padding="same", activation="relu")(x))
    x = layers.Concatenate()([layers.UpSampling2D()(x), one])
    return keras.Model(inputs, layers.Conv2D(1, 1)(x)), _images(), _images()[..., :1], "mse"


def hidden_state() -> Any:
    """Draws from Keras's global seed, and counts its calls with a metric and a variable of its own."""

    class Counting(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.scale = self.add_weight(shape=(), initializer="ones", trainable=False)
            self.size = keras.metrics.Mean(name="size")

        def call(self, inputs: Any, training: Any = None) -> Any:
            self.scale.assign(self.scale * 0.9)
            self.size.update_state(keras.ops.mean(keras.ops.abs(inputs)))
            if training:
                inputs = inputs + 0.1 * keras.random.normal((BATCH, 16))
            return inputs * self.scale

    inputs = keras.Input((16,))
    x = layers.Dense(16, activation="relu")(inputs)
    x = layers.Dense(16, activation="relu")(Counting()(x))
    x = layers.Dense(16, activation="relu")(Counting()(x))
    model = keras.Model(inputs, layers.Dense(2)(x))
    return model, _images().reshape(BATCH, -1)[:, :16], np.ones((BATCH, 2), "float32"), "mse"


def custom_step() -> Any:
    class Stepping(keras.Model):
        def train_step(self, data: Any) -> Any:
            import tensorflow as tf

            x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
            with tf.GradientTape() as tape:
                loss = self.compute_loss(x, y, self(x, training=True))
                loss += self.compute_loss(x, y, self(x * 0.5, training=True))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply([0.5 * gradient for gradient in gradients], self.trainable_variables)
            return {"loss": loss}

    inputs = keras.Input((16,))
    x = inputs
    for _ in range(3):
        x = layers.Dropout(0.3)(layers.BatchNormalization()(layers.Dense(16, activation="relu")(x)))
    model = Stepping(inputs, layers.Dense(2)(x))
    return model, _images().reshape(BATCH, -1)[:, :16], np.ones((BATCH, 2), "float32"), "mse"


def sequential() -> Any:
    model = keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 3)),
            layers.RandomFlip(),
            layers.SeparableConv2D(6, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.DepthwiseConv2D(3),
            layers.GroupNormalization(2),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(4, activation="softmax"),
        ]
    )
    return model, _images(), _classes(), CROSS


CROSS = "sparse_categorical_crossentropy"
NETS: dict[str, Callable[[], Any]] = {
    make.__name__: make
    for make in (
        batch_norm,
        dropout,
        noise,
        shared,
        several_outputs,
        recurrent,
        attention,
        nested,
        bfloat16,
        regularised,
        long_skips,
        hidden_state,
        custom_step,
        sequential,
    )
}
