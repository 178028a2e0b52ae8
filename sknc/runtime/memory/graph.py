"""The step graph: each layer as a forward and a backward step over tensors (SuperNeurons, section 3.1).

Everything that schedules (liveness, offload, tensor cache, recomputation, the planner) reads this form and
nothing else, whether it was made from a paper network or from a traced Keras model.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Tensor:
    """A layer output or a data gradient.

    Attributes:
        name: for reports.
        bytes: its size.
        layer: position of the layer that makes it (for a gradient: whose backward step makes it).
        gradient: whether it is a gradient.
    """

    name: str
    bytes: int
    layer: int
    gradient: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """A layer in route order.

    Attributes:
        name: the layer's name.
        type: the layer's type.
        inputs: tensors that its forward step reads.
        outputs: tensors that its forward step makes.
        cheap: its outputs may be dropped and recomputed.
        checkpoint: its outputs start a segment; they may be offloaded.
        work: floating point operations of one forward step.
    """

    name: str
    type: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    cheap: bool
    checkpoint: bool
    work: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One forward or backward step.

    Attributes:
        node: position of its layer.
        backward: which of the layer's two steps.
        reads: tensors that must be there.
        writes: tensors that it makes.
        scratch: bytes that it needs only while it runs.
    """

    node: int
    backward: bool
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    scratch: int = 0

    @property
    def touches(self) -> tuple[int, ...]:
        """All tensors that the step reads or makes, each once."""
        return tuple(dict.fromkeys(self.reads + self.writes))


@dataclass(frozen=True)
class StepGraph:
    """The steps of one training iteration, forward then backward.

    Attributes:
        tensors: indexed by the ids in nodes and steps.
        nodes: the layers in route order.
        steps: forward steps in route order, then backward steps.
        layer_max: the paper's l_peak, the most bytes that the backward step of one layer touches.
    """

    tensors: tuple[Tensor, ...]
    nodes: tuple[Node, ...]
    steps: tuple[Step, ...]
    layer_max: int
    last_forward: tuple[int, ...] = field(init=False)
    last_use: tuple[int, ...] = field(init=False)
    first_backward: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        last_forward = [-1] * len(self.tensors)
        last_use = [-1] * len(self.tensors)
        first_backward = [len(self.steps)] * len(self.tensors)
        for number, step in enumerate(self.steps):
            for tensor in step.touches:
                last_use[tensor] = number
                if not step.backward:
                    last_forward[tensor] = number
                elif first_backward[tensor] > number:
                    first_backward[tensor] = number
        object.__setattr__(self, "last_forward", tuple(last_forward))
        object.__setattr__(self, "last_use", tuple(last_use))
        object.__setattr__(self, "first_backward", tuple(first_backward))

    def size(self, tensor: int) -> int:
        """Bytes of a tensor."""
        return self.tensors[tensor].bytes

    def kept_for_backward(self, tensor: int) -> bool:
        """Whether a tensor of the forward pass is read again by a backward step."""
        return 0 <= self.last_forward[tensor] < self.last_use[tensor]


@dataclass(frozen=True, slots=True)
class Peak:
    """The most that is held at one step: bytes, the step's number counted from 1, and how many tensors."""

    bytes: int
    step: int
    live_tensors: int

    def as_json(self) -> dict[str, int]:
        """The form of the contract."""
        return {"bytes": self.bytes, "step": self.step, "live_tensors": self.live_tensors}


@dataclass(frozen=True, slots=True)
class Timeline:
    """What each step holds.

    Attributes:
        bytes: for each step, the most bytes held while it runs.
        tensors: for each step, how many tensors were held at that moment.
    """

    bytes: tuple[int, ...]
    tensors: tuple[int, ...]

    @property
    def peak(self) -> Peak:
        """The step that holds the most; the first one of equals."""
        most = max(self.bytes, default=0)
        if not self.bytes:
            return Peak(0, 0, 0)
        where = self.bytes.index(most)
        return Peak(most, where + 1, self.tensors[where])
