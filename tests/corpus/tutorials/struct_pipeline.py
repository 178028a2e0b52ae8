# split: -m 2
# refused: SKN217 inference_model.predict({"sex": 1})
import pandas as pd
import tensorflow as tf
import keras
from keras.utils import FeatureSpace
df = pd.read_csv("heart.csv")
feature_space = FeatureSpace(features={"sex": FeatureSpace.integer_categorical(num_oov_indices=0), "age": FeatureSpace.float_discretized(num_bins=30)}, output_mode="concat")
train_ds = tf.data.Dataset.from_tensor_slices((dict(df), df["target"]))
feature_space.adapt(train_ds.map(lambda x, _: x))
preprocessed_train_ds = train_ds.map(lambda x, y: (feature_space(x), y))
#SKYNNET:BEGIN_BINARYCLASS
dict_inputs = feature_space.get_inputs()
encoded_features = feature_space.get_encoded_features()
x = keras.layers.Dense(32, activation="relu")(encoded_features)
x = keras.layers.Dropout(0.5)(x)
predictions = keras.layers.Dense(1, activation="sigmoid")(x)
training_model = keras.Model(inputs=encoded_features, outputs=predictions)
training_model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
inference_model = keras.Model(inputs=dict_inputs, outputs=predictions)
training_model.fit(preprocessed_train_ds, epochs=20, verbose=2)
#SKYNNET:END
inference_model.predict({"sex": 1})
