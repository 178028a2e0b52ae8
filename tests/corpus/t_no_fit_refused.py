# split: -m 6
# refused: BEGIN_MULTICLASS : nothing is trained in the block
import keras
from keras.layers import Dense, Input

#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential([Input((64,)), Dense(12, activation='relu'), Dense(10, activation='softmax')])
model.compile(loss='sparse_categorical_crossentropy', optimizer='adam', metrics=['accuracy'])
model.summary()
#SKYNNET:END
