# split: -m 6
# widths: 24->12*7 10->5
import numpy as np
import keras
from keras import layers
from keras.layers import Conv1D, Dense, Activation, SpatialDropout1D, Add, Lambda, Input
x_train, y_train = np.random.rand(8, 100, 5), np.random.randint(0, 10, 8)


class ResidualBlock(layers.Layer):
    def __init__(self, dilation_rate, nb_filters, kernel_size, **kwargs):
        self.dilation_rate = dilation_rate
        self.nb_filters = nb_filters
        self.kernel_size = kernel_size
        super().__init__(**kwargs)

    def build(self, input_shape):
        self.conv1 = Conv1D(filters=self.nb_filters, kernel_size=self.kernel_size, dilation_rate=self.dilation_rate, padding='causal')
        self.conv2 = Conv1D(filters=self.nb_filters, kernel_size=self.kernel_size, dilation_rate=self.dilation_rate, padding='causal')
        if self.nb_filters != input_shape[-1]:
            self.shape_match_conv = Conv1D(filters=self.nb_filters, kernel_size=1, padding='same')
        else:
            self.shape_match_conv = Lambda(lambda x: x)
        super().build(input_shape)

    def call(self, inputs):
        x = self.conv1(inputs)
        x = Activation('relu')(x)
        x = self.conv2(x)
        return Activation('relu')(Add()([self.shape_match_conv(inputs), x]))


#SKYNNET:BEGIN_MULTICLASS
i = Input((100, 5))
h = i
for d in [1, 2, 4]:
    h = ResidualBlock(d, 24, 3)(h)
h = Lambda(lambda t: t[:, -1, :])(h)
model = keras.Model(i, Dense(10, activation='softmax')(h))
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x_train, y_train, epochs=2)
#SKYNNET:END
