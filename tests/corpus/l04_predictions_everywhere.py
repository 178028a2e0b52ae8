# split: -m 6
# widths: 64->32 10->n
# note: each prediction and evaluation is the composed network's
import numpy as np
from keras import Sequential, layers
from sklearn.datasets import load_digits

x, y = load_digits(return_X_y=True)
x_train, x_test = x[:1500], x[1500:]
y_train, y_test = y[:1500], y[1500:]

#SKYNNET:BEGIN_MULTICLASS
model = Sequential([layers.Input((64,)), layers.Dense(64, 'relu'), layers.Dense(10, 'softmax')])
model.compile('adam', 'sparse_categorical_crossentropy', metrics=['acc'])
model.fit(x_train, y_train, epochs=2, verbose=0)

classes = model.predict(x_test).argmax(axis=1)
print(model.predict(x_test[:5]))
print(np.argmax(model.predict(x_test[:5]), axis=1), y_test[:5])
if model.predict(x_test[:1])[0, 0] > 0.5:
    print('the first one is a zero')
results = model.evaluate(x_test, y_test, batch_size=128)
named = model.evaluate(x_test, y_test, return_dict=True)
both = [model.predict(part, verbose=0) for part in (x_train, x_test)]
single = model(x_test[:2])
#SKYNNET:END
print('error rate', np.mean(classes != y_test), results, named['loss'], len(both), single.shape)
