# split: -m 6
# widths: 100->50 10->n
# note: scaler.fit and pca.fit_transform are no trainings, ModelCheckpoint is no model
import os
import tempfile
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler
from keras.models import Sequential
from keras.layers import Dense, Input
from keras.callbacks import ModelCheckpoint

X, y = load_digits(return_X_y=True)
folder = tempfile.mkdtemp()

#SKYNNET:BEGIN_MULTICLASS_ACC
scaler = StandardScaler()
scaler.fit(X)
X = scaler.transform(X)
pca = PCA(30)
X = pca.fit_transform(X)
checkpointer = ModelCheckpoint(filepath=os.path.join(folder, 'best.weights.h5'), save_best_only=True,
                               save_weights_only=True, monitor='loss')
net = Sequential([Input((30,)), Dense(100, activation='relu'), Dense(10, activation='softmax')])
net.compile(optimizer='adam', loss='sparse_categorical_crossentropy', metrics=['accuracy'])
net.fit(X, y, epochs=1, callbacks=[checkpointer])
y_pred = net.predict(X)
#SKYNNET:END
