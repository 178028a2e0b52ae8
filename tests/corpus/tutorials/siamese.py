# split: -m 2
# widths: 4->2 16->8 10->10 1->1
import numpy as np
import keras
from keras import ops
from keras.layers import Input, Flatten, Dense, Dropout, Lambda, Conv2D, MaxPooling2D, BatchNormalization, AveragePooling2D
from keras.models import Model

x1, x2 = np.random.rand(50, 28, 28, 1), np.random.rand(50, 28, 28, 1)
labels = np.random.randint(0, 2, 50)


def euclidean_distance(vects):
    x, y = vects
    sum_square = ops.sum(ops.square(x - y), axis=1, keepdims=True)
    return ops.sqrt(ops.maximum(sum_square, keras.backend.epsilon()))


#SKYNNET:BEGIN_BINARYCLASS
input = Input((28, 28, 1))
x = BatchNormalization()(input)
x = Conv2D(4, (5, 5), activation="tanh")(x)
x = AveragePooling2D(pool_size=(2, 2))(x)
x = Conv2D(16, (5, 5), activation="tanh")(x)
x = AveragePooling2D(pool_size=(2, 2))(x)
x = Flatten()(x)
x = BatchNormalization()(x)
x = Dense(10, activation="tanh")(x)
embedding_network = keras.Model(input, x)
input_1 = Input((28, 28, 1))
input_2 = Input((28, 28, 1))
tower_1 = embedding_network(input_1)
tower_2 = embedding_network(input_2)
merge_layer = Lambda(euclidean_distance, output_shape=(1,))([tower_1, tower_2])
normal_layer = BatchNormalization()(merge_layer)
output_layer = Dense(1, activation="sigmoid")(normal_layer)
siamese = keras.Model(inputs=[input_1, input_2], outputs=output_layer)
siamese.compile(loss="binary_crossentropy", optimizer="RMSprop", metrics=["accuracy"])
history = siamese.fit([x1, x2], labels, batch_size=16, epochs=1)
results = siamese.evaluate([x1, x2], labels)
#SKYNNET:END
print("test loss, test acc:", results)
