# -*- coding: utf-8 -*-
# split: -m 6
# widths: 36->18 10->n
# note: non-ASCII comments, triple-quoted strings with marker-like lines, comments at ends of lines: all kept
"""Größe, 大きさ, размер.

#SKYNNET:BEGIN_MULTICLASS  <- inside a string: no marker
"""
import numpy as np
import keras  # Künstliche neuronale Netze

TEXT = '''
    keras.layers.Dense(99)
#SKYNNET:END
'''
x, y = np.random.rand(100, 9), np.random.randint(0, 10, 100)

#SKYNNET:BEGIN_MULTICLASS_ACC
model = keras.Sequential([  # das Netz
    keras.Input((9,)),      # neun Größen
    keras.layers.Dense(36, "relu"),  # 36 Neuronen, "Dense(36)"
    # keras.layers.Dense(77, "relu"),
    keras.layers.Dense(10, "softmax"),  # zehn Klassen…
])
"""A string as a comment: model.fit(x, y)"""
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y)  # ¡entrenar!
#SKYNNET:END
print(len(TEXT))
