"""AlexNet (no groups, 227x227) and VGG16 (224x224): the paper's linear networks (section 4)."""

from __future__ import annotations

from ..network import Network
from .builder import ImageNet, Output


def _classifier(net: ImageNet, x: Output) -> Network:
    for _ in range(2):
        x = net.plain("DROPOUT", net.plain("ACT", net.dense(x, 4096)))
    net.plain("SOFTMAX", net.dense(x, 1000), work=5)
    return net.network()


def alexnet() -> Network:
    """AlexNet in the 23 layers of the paper's footnote 3."""
    net = ImageNet("alexnet", 227)
    x = net.conv(net.input, 96, 11, stride=4)
    x = net.pool(net.plain("LRN", net.plain("ACT", x), work=10), 3, 2)
    x = net.conv(x, 256, 5, pad=2)
    x = net.pool(net.plain("LRN", net.plain("ACT", x), work=10), 3, 2)
    for filters in (384, 384, 256):
        x = net.plain("ACT", net.conv(x, filters, 3, pad=1))
    net.numbers["POOL"] = 4  # the paper calls it POOL5, after CONV5
    return _classifier(net, net.pool(x, 3, 2))


def vgg16() -> Network:
    """VGG16: 13 convolutions of 3x3 in five groups."""
    net = ImageNet("vgg16", 224)
    x = net.input
    for filters, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            x = net.plain("ACT", net.conv(x, filters, 3, pad=1))
        x = net.pool(x, 2, 2)
    return _classifier(net, x)
