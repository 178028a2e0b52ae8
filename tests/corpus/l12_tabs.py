# split: -m 6
# widths: 64->32 10->n
# note: tab indentation, semicolons, a line continuation, no newline at the end
import numpy as np; import keras
from keras.layers import Dense, \
		Dropout

def run(x, y):
	#SKYNNET:BEGIN_MULTICLASS_ACC
	model = keras.Sequential([
		Dense(64, activation='relu'),
		Dropout(.2),
		Dense(10, activation='softmax')])
	model.compile(optimizer='adam', loss='sparse_categorical_crossentropy',
		metrics=['accuracy'])
	model.fit(x, y, epochs=1); p = model.predict(x)
	#SKYNNET:END
	return p

if True:
	p = run(np.random.rand(100, 5), np.random.randint(0, 10, 100))
	print(p.shape)