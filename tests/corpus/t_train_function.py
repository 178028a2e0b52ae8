# split: -m 6
# widths: 64->32 32->16 10->n
# note: fit and compile in a function outside the block, which returns the model and the history
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

def train(model, x, y, epochs=5):
    model.compile('adam', 'sparse_categorical_crossentropy', metrics=['accuracy'])
    history = model.fit(x, y, epochs=epochs)
    return model, history
def build(n):
    return keras.Sequential([layers.Dense(n, 'relu'), layers.Dense(n // 2, 'relu'), layers.Dense(10, 'softmax')])
#SKYNNET:BEGIN_MULTICLASS_ACC
net, h = train(build(64), x, y)
p = net.predict(x)
#SKYNNET:END
print(h.history, p.shape)
