# split: -m 3
# refused: SKN212 decoder_dense = keras.layers.Dense(num_decoder_tokens, activ
import numpy as np
import keras
num_encoder_tokens, num_decoder_tokens, latent_dim = 71, 93, 256
encoder_input_data = np.zeros((10, 16, num_encoder_tokens), dtype="float32")
decoder_input_data = np.zeros((10, 59, num_decoder_tokens), dtype="float32")
decoder_target_data = np.zeros((10, 59, num_decoder_tokens), dtype="float32")
#SKYNNET:BEGIN_MULTICLASS
encoder_inputs = keras.Input(shape=(None, num_encoder_tokens))
encoder = keras.layers.LSTM(latent_dim, return_state=True)
encoder_outputs, state_h, state_c = encoder(encoder_inputs)
encoder_states = [state_h, state_c]
decoder_inputs = keras.Input(shape=(None, num_decoder_tokens))
decoder_lstm = keras.layers.LSTM(latent_dim, return_sequences=True, return_state=True)
decoder_outputs, _, _ = decoder_lstm(decoder_inputs, initial_state=encoder_states)
decoder_dense = keras.layers.Dense(num_decoder_tokens, activation="softmax")
decoder_outputs = decoder_dense(decoder_outputs)
model = keras.Model([encoder_inputs, decoder_inputs], decoder_outputs)
model.compile(optimizer="rmsprop", loss="categorical_crossentropy", metrics=["accuracy"])
model.fit([encoder_input_data, decoder_input_data], decoder_target_data, batch_size=64, epochs=1, validation_split=0.2)
#SKYNNET:END
