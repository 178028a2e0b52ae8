"""The bottleneck ResNets of the SuperNeurons paper (sections 4.2 and 4.3), 227x227.

`resnet((6, 32, 788, 6))` is the paper's ResNet2500: 832 blocks, 2501 convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..network import Network
from .builder import ImageNet, Output


def _conv_norm(net: ImageNet, x: Output, filters: int, kernel: int, stride: int = 1) -> Output:
    return net.norm(net.conv(x, filters, kernel, stride, pad=kernel // 2))


def _block(net: ImageNet, x: Output, filters: int, stride: int, project: bool) -> Output:
    y = net.plain("ACT", _conv_norm(net, x, filters, 1, stride))
    y = net.plain("ACT", _conv_norm(net, y, filters, 3))
    y = _conv_norm(net, y, 4 * filters, 1)
    short = _conv_norm(net, x, 4 * filters, 1, stride) if project else x
    return net.plain("ACT", net.join([y, short]))


def resnet(blocks: Sequence[int], name: str = "resnet") -> Network:
    """A bottleneck ResNet.

    Args:
        blocks: residual blocks in each of the four stages.
        name: the network's name.

    Returns:
        The network, without its FORK layers.
    """
    net = ImageNet(name, 227)
    x = net.plain("ACT", _conv_norm(net, net.input, 64, 7, 2))
    x = net.pool(x, 3, 2)
    for stage, count in enumerate(blocks):
        for number in range(count):
            x = _block(net, x, 64 << stage, 2 if stage and number == 0 else 1, project=number == 0)
    x = net.dense(net.pool(x, x.rows, 1), 1000)
    net.plain("SOFTMAX", x, work=5)
    return net.network()
