# split: -m 6
# widths: 16->16*2 1->1 16->16 64->32*2 4->2 64->32 10->5
import numpy as np
from keras import Input, Model
from keras.layers import *
x_train, y_train = np.random.rand(8, 32, 32, 3), np.random.randint(0, 10, 8)


def se_block(tensor, ratio=16):
    init = tensor
    filters = init.shape[-1]
    se_shape = (1, 1, filters)
    se = GlobalAveragePooling2D()(init)
    se = Reshape(se_shape)(se)
    se = Dense(filters // ratio, activation='relu', kernel_initializer='he_normal', use_bias=False)(se)
    se = Dense(filters, activation='sigmoid', kernel_initializer='he_normal', use_bias=False)(se)
    x = multiply([init, se])
    return x


#SKYNNET:BEGIN_MULTICLASS
inp = Input(shape=(32, 32, 3))
x = Conv2D(16, 3, padding='same', activation='relu')(inp)
x = se_block(x)
x = Conv2D(64, 3, padding='same', activation='relu')(x)
x = se_block(x)
x = GlobalAveragePooling2D()(x)
out = Dense(10, activation='softmax')(x)
model = Model(inp, out)
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x_train, y_train)
#SKYNNET:END
