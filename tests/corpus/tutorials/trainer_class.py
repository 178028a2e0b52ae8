# split: -m 6
# widths: 256->128 10->5
import numpy as np
import keras
from dataclasses import dataclass, field


@dataclass
class Config:
    units: int = 64
    layers: list = field(default_factory=lambda: [64, 32])
    epochs: int = 3


class Trainer:
    def __init__(self, config: Config):
        self.config = config
        self.model = self.build()

    def build(self):
        model = keras.Sequential()
        model.add(keras.Input((20,)))
        model.add(keras.layers.Dense(self.config.units, activation="relu"))
        model.add(keras.layers.Dense(10, activation="softmax"))
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        return model

    def train(self, x, y):
        self.history = self.model.fit(x, y, epochs=self.config.epochs)

    def test(self, x, y):
        return self.model.evaluate(x, y)


x, y = np.random.rand(99, 20), np.random.randint(0, 10, 99)
#SKYNNET:BEGIN_MULTICLASS
trainer = Trainer(Config(units=256))
trainer.train(x, y)
print(trainer.test(x, y))
#SKYNNET:END
