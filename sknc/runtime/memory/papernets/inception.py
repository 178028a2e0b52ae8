"""Inception v4 (299x299): 513 layers, which the paper counts with two DATA layers as 515 (section 1)."""

from __future__ import annotations

from ..network import Network
from .builder import ImageNet, Output


def _unit(
    net: ImageNet, x: Output, filters: int, kernel: int | tuple[int, int], stride: int = 1, same: bool = True
) -> Output:
    """Convolution, batch norm, activation; 'same' keeps the size."""
    high, wide = (kernel, kernel) if isinstance(kernel, int) else kernel
    pad = (high // 2, wide // 2) if same else (0, 0)
    return net.plain("ACT", net.norm(net.conv(x, filters, (high, wide), stride, pad)))


def _stem(net: ImageNet) -> Output:
    x = _unit(net, net.input, 32, 3, 2, same=False)
    x = _unit(net, _unit(net, x, 32, 3, same=False), 64, 3)
    x = net.concat([net.pool(x, 3, 2), _unit(net, x, 96, 3, 2, same=False)])
    left = _unit(net, _unit(net, x, 64, 1), 96, 3, same=False)
    right = _unit(net, _unit(net, _unit(net, x, 64, 1), 64, (7, 1)), 64, (1, 7))
    x = net.concat([left, _unit(net, right, 96, 3, same=False)])
    return net.concat([_unit(net, x, 192, 3, 2, same=False), net.pool(x, 3, 2)])


def _block_a(net: ImageNet, x: Output) -> Output:
    pooled = _unit(net, net.pool(x, 3, 1, 1), 96, 1)
    one = _unit(net, x, 96, 1)
    two = _unit(net, _unit(net, x, 64, 1), 96, 3)
    three = _unit(net, _unit(net, _unit(net, x, 64, 1), 96, 3), 96, 3)
    return net.concat([pooled, one, two, three])


def _reduce_a(net: ImageNet, x: Output) -> Output:
    two = _unit(net, _unit(net, _unit(net, x, 192, 1), 224, 3), 256, 3, 2, same=False)
    return net.concat([net.pool(x, 3, 2), _unit(net, x, 384, 3, 2, same=False), two])


def _block_b(net: ImageNet, x: Output) -> Output:
    pooled = _unit(net, net.pool(x, 3, 1, 1), 128, 1)
    one = _unit(net, x, 384, 1)
    two = _unit(net, _unit(net, _unit(net, x, 192, 1), 224, (1, 7)), 256, (7, 1))
    three = _unit(net, x, 192, 1)
    for filters, kernel in ((192, (1, 7)), (224, (7, 1)), (224, (1, 7)), (256, (7, 1))):
        three = _unit(net, three, filters, kernel)
    return net.concat([pooled, one, two, three])


def _reduce_b(net: ImageNet, x: Output) -> Output:
    one = _unit(net, _unit(net, x, 192, 1), 192, 3, 2, same=False)
    two = _unit(net, _unit(net, _unit(net, x, 256, 1), 256, (1, 7)), 320, (7, 1))
    return net.concat([net.pool(x, 3, 2), one, _unit(net, two, 320, 3, 2, same=False)])


def _block_c(net: ImageNet, x: Output) -> Output:
    pooled = _unit(net, net.pool(x, 3, 1, 1), 256, 1)
    one = _unit(net, x, 256, 1)
    two = _unit(net, x, 384, 1)
    three = _unit(net, _unit(net, _unit(net, x, 384, 1), 448, (1, 3)), 512, (3, 1))
    ends = [_unit(net, side, 256, kernel) for side in (two, three) for kernel in ((1, 3), (3, 1))]
    return net.concat([pooled, one, *ends])


def inception_v4() -> Network:
    """Inception v4 as published, with dropout before the classifier."""
    net = ImageNet("inception_v4", 299)
    x = _stem(net)
    for block, count in ((_block_a, 4), (_reduce_a, 1), (_block_b, 7), (_reduce_b, 1), (_block_c, 3)):
        for _ in range(count):
            x = block(net, x)
    x = net.plain("DROPOUT", net.pool(x, x.rows, 1))
    net.plain("SOFTMAX", net.dense(x, 1000), work=5)
    return net.network()
