# split: -m 6
# widths: 32->16 16->8 96->48 24->12 144->72 24->12 144->72 32->16 192->96 32->16 1280->640 10->5
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, Model, backend as K
x_train, y_train = np.random.rand(8, 32, 32, 3), np.random.randint(0, 10, 8)


def _make_divisible(v, divisor, min_value=None):
    if min_value is None:
        min_value = divisor
    new_v = max(min_value, int(v + divisor / 2) // divisor * divisor)
    if new_v < 0.9 * v:
        new_v += divisor
    return new_v


def _inverted_res_block(inputs, expansion, stride, alpha, filters, block_id):
    in_channels = inputs.shape[-1]
    pointwise_conv_filters = int(filters * alpha)
    pointwise_filters = _make_divisible(pointwise_conv_filters, 8)
    x = inputs
    prefix = 'block_{}_'.format(block_id)
    if block_id:
        x = layers.Conv2D(expansion * in_channels, kernel_size=1, padding='same', use_bias=False, name=prefix + 'expand')(x)
        x = layers.BatchNormalization(epsilon=1e-3, momentum=0.999, name=prefix + 'expand_BN')(x)
        x = layers.ReLU(6., name=prefix + 'expand_relu')(x)
    else:
        prefix = 'expanded_conv_'
    x = layers.DepthwiseConv2D(kernel_size=3, strides=stride, use_bias=False, padding='same', name=prefix + 'depthwise')(x)
    x = layers.BatchNormalization(name=prefix + 'depthwise_BN')(x)
    x = layers.ReLU(6., name=prefix + 'depthwise_relu')(x)
    x = layers.Conv2D(pointwise_filters, kernel_size=1, padding='same', use_bias=False, name=prefix + 'project')(x)
    x = layers.BatchNormalization(name=prefix + 'project_BN')(x)
    if in_channels == pointwise_filters and stride == 1:
        return layers.Add(name=prefix + 'add')([inputs, x])
    return x


def MobileNetV2(input_shape=(32, 32, 3), alpha=1.0, classes=10):
    img_input = layers.Input(shape=input_shape)
    first_block_filters = _make_divisible(32 * alpha, 8)
    x = layers.Conv2D(first_block_filters, kernel_size=3, strides=(2, 2), padding='same', use_bias=False, name='Conv1')(img_input)
    x = layers.BatchNormalization(name='bn_Conv1')(x)
    x = layers.ReLU(6., name='Conv1_relu')(x)
    x = _inverted_res_block(x, filters=16, alpha=alpha, stride=1, expansion=1, block_id=0)
    x = _inverted_res_block(x, filters=24, alpha=alpha, stride=2, expansion=6, block_id=1)
    x = _inverted_res_block(x, filters=24, alpha=alpha, stride=1, expansion=6, block_id=2)
    x = _inverted_res_block(x, filters=32, alpha=alpha, stride=2, expansion=6, block_id=3)
    x = _inverted_res_block(x, filters=32, alpha=alpha, stride=1, expansion=6, block_id=4)
    if alpha > 1.0:
        last_block_filters = _make_divisible(1280 * alpha, 8)
    else:
        last_block_filters = 1280
    x = layers.Conv2D(last_block_filters, kernel_size=1, use_bias=False, name='Conv_1')(x)
    x = layers.BatchNormalization(name='Conv_1_bn')(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(classes, activation='softmax', name='predictions')(x)
    return Model(img_input, x, name='mobilenetv2')


#SKYNNET:BEGIN_MULTICLASS
model = MobileNetV2()
model.compile(optimizer='adam', loss='sparse_categorical_crossentropy', metrics=['accuracy'])
model.fit(x_train, y_train, epochs=1, batch_size=4)
#SKYNNET:END
