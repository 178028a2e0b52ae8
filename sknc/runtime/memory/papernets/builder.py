"""Writes down image networks: each call adds a layer and knows its output shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..network import Layer, Network, Window


@dataclass(frozen=True, slots=True)
class Output:
    """A layer's output: the layer's name, and rows, columns and channels for one sample."""

    name: str
    rows: int
    columns: int
    channels: int

    @property
    def elements(self) -> int:
        """Elements for one sample."""
        return self.rows * self.columns * self.channels


def strided(size: int, kernel: int, stride: int, pad: int) -> int:
    """Output size of a convolution or pooling along one axis (rounded down, as in the release)."""
    return (size + 2 * pad - kernel) // stride + 1


class ImageNet:
    """A network over square images, written from its input to its last layer."""

    def __init__(self, name: str, size: int, channels: int = 3) -> None:
        self.name = name
        self.input = Output("", size, size, channels)
        self.layers: list[Layer] = []
        self.numbers: dict[str, int] = {}

    def network(self) -> Network:
        """The finished network."""
        shape = (self.input.rows, self.input.columns, self.input.channels)
        return Network(self.name, self.input.elements, tuple(self.layers), shape)

    def add(
        self,
        kind: str,
        sources: Sequence[Output],
        shape: Sequence[int],
        work: int,
        weights: int = 0,
        state: int = 0,
        window: Window | None = None,
    ) -> Output:
        """Add a layer of a type, named by its type and number."""
        self.numbers[kind] = self.numbers.get(kind, 0) + 1
        out = Output(f"{kind}{self.numbers[kind]}", *shape)
        inputs = tuple(source.name for source in sources if source.name)
        size = (out.rows, out.columns, out.channels)
        self.layers.append(Layer(out.name, kind, inputs, out.elements, weights, state, work, shape=size, window=window))
        return out

    def conv(
        self,
        x: Output,
        filters: int,
        kernel: int | tuple[int, int],
        stride: int = 1,
        pad: int | tuple[int, int] = 0,
    ) -> Output:
        """A convolution with a bias, as the release's are; kernel and pad may differ by axis."""
        high, wide = (kernel, kernel) if isinstance(kernel, int) else kernel
        pad_rows, pad_columns = (pad, pad) if isinstance(pad, int) else pad
        rows = strided(x.rows, high, stride, pad_rows)
        columns = strided(x.columns, wide, stride, pad_columns)
        weights = high * wide * x.channels * filters
        work = 2 * weights * rows * columns
        window = Window((high, wide), stride, (pad_rows, pad_columns))
        return self.add("CONV", [x], (rows, columns, filters), work, weights + filters, window=window)

    def pool(self, x: Output, kernel: int, stride: int, pad: int = 0) -> Output:
        """A pooling."""
        rows, columns = strided(x.rows, kernel, stride, pad), strided(x.columns, kernel, stride, pad)
        work = kernel * kernel * rows * columns * x.channels
        window = Window((kernel, kernel), stride, (pad, pad))
        return self.add("POOL", [x], (rows, columns, x.channels), work, window=window)

    def norm(self, x: Output) -> Output:
        """A batch normalisation: two trained and two moving values a channel."""
        return self.add("BN", [x], (x.rows, x.columns, x.channels), 8 * x.elements, 2 * x.channels, 2 * x.channels)

    def plain(self, kind: str, x: Output, work: int = 1) -> Output:
        """A layer that keeps the shape: ACT, LRN, DROPOUT, SOFTMAX; `work` operations an element."""
        return self.add(kind, [x], (x.rows, x.columns, x.channels), work * x.elements)

    def dense(self, x: Output, units: int) -> Output:
        """A fully connected layer."""
        return self.add("FC", [x], (1, 1, units), 2 * x.elements * units, x.elements * units + units)

    def join(self, xs: Sequence[Output]) -> Output:
        """The sum of branches."""
        return self.add("JOIN", xs, (xs[0].rows, xs[0].columns, xs[0].channels), xs[0].elements * (len(xs) - 1))

    def concat(self, xs: Sequence[Output]) -> Output:
        """The branches side by side along the channels."""
        channels = sum(x.channels for x in xs)
        return self.add("CONCAT", xs, (xs[0].rows, xs[0].columns, channels), xs[0].rows * xs[0].columns * channels)
