# split: -m 6
# widths: 48->8 24->4 12->2
# note: twelve steps ahead at once, from a window of 36: Conv1D and LSTM, 1/6 of each
import numpy as np
import tensorflow as tf

t = np.arange(600)
series = np.sin(t / 20) + 0.1 * np.random.randn(600)
windows = np.lib.stride_tricks.sliding_window_view(series, 48)
x, y = windows[:, :36, None], windows[:, 36:]

#SKYNNET:BEGIN_REGRESSION_LOSS
model = tf.keras.Sequential([
    tf.keras.layers.Input([36, 1]),
    tf.keras.layers.Conv1D(filters=48, kernel_size=5, strides=1, padding="causal", activation="relu"),
    tf.keras.layers.LSTM(24),
    tf.keras.layers.Dense(12),
])
model.compile(loss=tf.keras.losses.Huber(), optimizer="adam", metrics=["mae"])
model.fit(x, y, epochs=1)
forecast = model.predict(x[-1:])
#SKYNNET:END
print(forecast.round(2))
