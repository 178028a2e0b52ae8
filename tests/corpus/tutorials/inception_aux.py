# split: -m 6
# refused: SKN207 model = Model(i, [out, aux])
import numpy as np
from keras import Model, Input, layers
x_train, y_train = np.random.rand(8, 64, 64, 3), np.random.randint(0, 10, 8)
#SKYNNET:BEGIN_MULTICLASS
i = Input((64, 64, 3))
a = layers.Conv2D(32, 3, activation='relu')(i)
aux = layers.Dense(10, activation='softmax')(layers.Flatten()(a))
b = layers.Conv2D(64, 3, activation='relu')(a)
out = layers.Dense(10, activation='softmax')(layers.GlobalMaxPool2D()(b))
model = Model(i, [out, aux])
model.compile('adam', loss=['sparse_categorical_crossentropy'] * 2, loss_weights=[1, 0.3])
model.fit(x_train, [y_train, y_train])
#SKYNNET:END
