# split: -m 4
# refused: predict : the encoder and decoder of a trained autoencoder are used on their own: the submodels have none of them
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

z = np.random.rand(50, 784)
#SKYNNET:BEGIN_REGRESSION_LOSS
encoding_dim = 32
input_img = keras.Input(shape=(784,))
encoded = layers.Dense(encoding_dim, activation='relu')(input_img)
decoded = layers.Dense(784, activation='sigmoid')(encoded)
autoencoder = keras.Model(input_img, decoded)
encoder = keras.Model(input_img, encoded)
encoded_input = keras.Input(shape=(encoding_dim,))
decoder_layer = autoencoder.layers[-1]
decoder = keras.Model(encoded_input, decoder_layer(encoded_input))
autoencoder.compile(optimizer='adam', loss='binary_crossentropy')
autoencoder.fit(z, z, epochs=1)
encoded_imgs = encoder.predict(z)
decoded_imgs = decoder.predict(encoded_imgs)
#SKYNNET:END
