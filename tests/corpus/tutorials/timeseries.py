# split: -m 4
# widths: 32->8 8->2
import numpy as np
import keras
x, y = np.random.rand(99, 120, 7), np.random.rand(99, 8)
learning_rate, epochs, path_checkpoint = 0.001, 10, "model_checkpoint.weights.h5"
dataset_train = keras.preprocessing.timeseries_dataset_from_array(x, y, sequence_length=120, sampling_rate=6, batch_size=256)
dataset_val = keras.preprocessing.timeseries_dataset_from_array(x, y, sequence_length=120, sampling_rate=6, batch_size=256)
for batch in dataset_train.take(1):
    inputs, targets = batch
#SKYNNET:BEGIN_REGRESSION
inputs = keras.layers.Input(shape=(inputs.shape[1], inputs.shape[2]))
lstm_out = keras.layers.LSTM(32)(inputs)
outputs = keras.layers.Dense(8)(lstm_out)
model = keras.Model(inputs=inputs, outputs=outputs)
model.compile(optimizer=keras.optimizers.Adam(learning_rate=learning_rate), loss="mse")
es_callback = keras.callbacks.EarlyStopping(monitor="val_loss", min_delta=0, patience=5)
modelckpt_callback = keras.callbacks.ModelCheckpoint(monitor="val_loss", filepath=path_checkpoint, verbose=1, save_weights_only=True, save_best_only=True)
history = model.fit(dataset_train, epochs=epochs, validation_data=dataset_val, callbacks=[es_callback, modelckpt_callback])
#SKYNNET:END
