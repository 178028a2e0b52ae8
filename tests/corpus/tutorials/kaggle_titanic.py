# split: -m 2
# widths: 16->8 8->4 4->2 1->1
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from keras.models import Sequential
from keras.layers import Dense
df = pd.read_csv('../input/titanic/train.csv')
X, y = df.drop('Survived', axis=1), df['Survived']
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)
sc = StandardScaler()
X_train = sc.fit_transform(X_train)
X_test = sc.transform(X_test)
#SKYNNET:BEGIN_BINARYCLASS
def create_model(lyrs=[8], act='linear', opt='Adam', dr=0.0):
    model = Sequential()
    model.add(Dense(lyrs[0], input_dim=X_train.shape[1], activation=act))
    for i in range(1, len(lyrs)):
        model.add(Dense(lyrs[i], activation=act))
    model.add(Dense(1, activation='sigmoid'))
    model.compile(loss='binary_crossentropy', optimizer=opt, metrics=['accuracy'])
    return model
model = create_model(lyrs=[16, 8, 4])
print(model.summary())
training = model.fit(X_train, y_train, epochs=100, batch_size=32, validation_split=0.2, verbose=0)
#SKYNNET:END
submission = pd.DataFrame({'Survived': (model.predict(X_test) > 0.5).astype(int).ravel()})
submission.to_csv('submission.csv', index=False)
