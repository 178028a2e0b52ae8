"""The networks of the SuperNeurons paper as definitions (section 4), by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..errors import PlanError
from ..network import Network
from .inception import inception_v4
from .plain import alexnet, vgg16
from .resnet import resnet

PAPER_NETWORKS: dict[str, Callable[[], Network]] = {
    "alexnet": alexnet,
    "vgg16": vgg16,
    "resnet50": partial(resnet, (3, 4, 6, 3), "resnet50"),
    "resnet101": partial(resnet, (3, 4, 23, 3), "resnet101"),
    "resnet152": partial(resnet, (3, 8, 36, 3), "resnet152"),
    "resnet2500": partial(resnet, (6, 32, 788, 6), "resnet2500"),
    "inception_v4": inception_v4,
}


def paper_network(name: str) -> Network:
    """A network of the paper by its name.

    Args:
        name: one of PAPER_NETWORKS.

    Returns:
        The network, without its FORK layers.

    Raises:
        PlanError: when the paper has no such network.
    """
    if name not in PAPER_NETWORKS:
        raise PlanError(f"no paper network '{name}'; there are {', '.join(PAPER_NETWORKS)}")
    return PAPER_NETWORKS[name]()


__all__ = ["PAPER_NETWORKS", "paper_network", "resnet"]
