# split: -m 3
# widths: 24->16 3->n
# note: names of classes made to one-hot rows by LabelBinarizer before the fit
import numpy as np
import keras
from keras.layers import Dense
from sklearn.datasets import load_iris
from sklearn.preprocessing import LabelBinarizer

iris = load_iris()
names = iris.target_names[iris.target]
binarizer = LabelBinarizer()
Y = binarizer.fit_transform(names)

#SKYNNET:BEGIN_MULTICLASS_ACC
model = keras.models.Sequential()
model.add(Dense(24, input_shape=(4,), activation="relu"))
model.add(Dense(3, activation="softmax"))
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
model.fit(iris.data, Y, epochs=3, batch_size=5, verbose=0)
answer = binarizer.inverse_transform(model.predict(iris.data, verbose=0))
#SKYNNET:END
print(np.mean(answer == names))
