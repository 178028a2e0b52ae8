# split: -m 6
# widths: expr*2 10->5
import argparse
import numpy as np
from tensorflow import keras


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--units", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--model-dir", default="models")
    return parser.parse_args()


def load_data():
    return (np.random.rand(99, 20), np.random.randint(0, 10, 99)), (np.random.rand(9, 20), np.random.randint(0, 10, 9))


def build_model(units, num_classes):
    inputs = keras.Input(shape=(20,))
    x = keras.layers.Dense(units, activation="relu")(inputs)
    x = keras.layers.Dense(units // 2, activation="relu")(x)
    outputs = keras.layers.Dense(num_classes, activation="softmax")(x)
    return keras.Model(inputs, outputs)


def train(model, data, epochs):
    (x_train, y_train), val = data
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model.fit(x_train, y_train, epochs=epochs, validation_data=val)


def main(args):
    data = load_data()
    #SKYNNET:BEGIN_MULTICLASS_ACC
    model = build_model(args.units, 10)
    history = train(model, data, args.epochs)
    loss, acc = model.evaluate(*data[1])
    #SKYNNET:END
    print(history.history, loss, acc)
    model.save(args.model_dir + "/final.keras")


if __name__ == "__main__":
    main(parse_args())
