# split: -m 6
# widths: 64->32 64->32 10->n
# note: names of the block are used after END; history is used after the fit and after END
import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt
import tempfile
from keras import models, layers
from sklearn.datasets import load_digits

data = load_digits()
#SKYNNET:BEGIN_MULTICLASS_ACC_LOSS
partial_x, x_val = data.data[:1400] / 16, data.data[1400:] / 16
partial_y, y_val = data.target[:1400], data.target[1400:]
model = models.Sequential([
    layers.Dense(64, activation='relu'),
    layers.Dense(64, activation='relu'),
    layers.Dense(10, activation='softmax')])
model.compile(optimizer='rmsprop', loss='sparse_categorical_crossentropy', metrics=['accuracy'])
history = model.fit(partial_x, partial_y, epochs=4, batch_size=512, validation_data=(x_val, y_val))
best = min(history.history['val_loss'])
#SKYNNET:END
loss_values = history.history['loss']
val_loss_values = history.history['val_loss']
epochs = range(1, len(loss_values) + 1)
plt.plot(epochs, loss_values, 'bo', label='Training loss')
plt.plot(epochs, val_loss_values, 'b', label='Validation loss')
plt.title('Training and validation loss')
plt.legend()
plt.savefig(tempfile.gettempdir() + '/loss.png')
print(best, model.predict(x_val)[0].sum(), x_val.shape)
