# split: -m 4
# refused: SKN209 tf.keras.layers.Reshape([OUT_STEPS, num_features])
import numpy as np
import tensorflow as tf
OUT_STEPS, num_features, CONV_WIDTH = 24, 19, 3
x, y = np.random.rand(99, 24, 19), np.random.rand(99, 24, 19)
#SKYNNET:BEGIN_REGRESSION
multi_conv_model = tf.keras.Sequential([
    tf.keras.layers.Lambda(lambda x: x[:, -CONV_WIDTH:, :]),
    tf.keras.layers.Conv1D(256, activation='relu', kernel_size=(CONV_WIDTH)),
    tf.keras.layers.Dense(OUT_STEPS*num_features, kernel_initializer=tf.initializers.zeros()),
    tf.keras.layers.Reshape([OUT_STEPS, num_features])
])
MAX_EPOCHS = 20
def compile_and_fit(model, patience=2):
  early_stopping = tf.keras.callbacks.EarlyStopping(monitor='val_loss', patience=patience, mode='min')
  model.compile(loss=tf.keras.losses.MeanSquaredError(), optimizer=tf.keras.optimizers.Adam(), metrics=[tf.keras.metrics.MeanAbsoluteError()])
  history = model.fit(x, y, epochs=MAX_EPOCHS, callbacks=[early_stopping])
  return history
history = compile_and_fit(multi_conv_model)
val = multi_conv_model.evaluate(x, y)
#SKYNNET:END
