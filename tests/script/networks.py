"""Random networks whose widths depend on each other in many ways, written as scripts; each builds in Keras."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

WIDTHS = (8, 12, 16, 20, 24, 32)
Shape = tuple[int, ...]


class Network:
    """A network that grows: a line of script for each tensor, whose shape is known.

    Args:
        seed: which one.
    """

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines = ["i = keras.Input((8, 8, 4))"]
        self.shapes: dict[str, Shape] = {"i": (8, 8, 4)}
        for _ in range(self.r.randint(4, 16)):
            self._grow()
        last = list(self.shapes)[-1]
        flat = len(self.shapes[last]) == 1
        self.lines.append(f"h = {last}" if flat else f"h = Flatten()({last})")
        self.lines.append("model = keras.Model(i, Dense(10, 'softmax')(h))")

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def _add(self, code: str, *shape: int) -> None:
        name = f"v{len(self.shapes)}"
        self.lines.append(f"{name} = {code}")
        self.shapes[name] = shape

    def _other(self, wanted: Callable[[Shape], bool]) -> str | None:
        names = [name for name, shape in self.shapes.items() if wanted(shape)]
        return self.r.choice(names) if names else None

    def _grow(self) -> None:
        a = self.r.choice(list(self.shapes))
        s = self.shapes[a]
        steps = [self._any, self._any, self._joined, (self._row, self._series, self._image)[len(s) - 1]]
        self.r.choice(steps)(a, s, self.r.choice(WIDTHS))

    def _any(self, a: str, s: Shape, w: int) -> None:
        choice = self.r.randrange(6)
        if choice == 0 and s[-1] > 3:
            self._add(f"Dense({a}.shape[-1] // 2)({a})", *s[:-1], s[-1] // 2)
        elif choice == 1 and math.prod(s) < 3000:
            self._add(f"Flatten()({a})", math.prod(s))
        elif choice == 2 and len(s) > 1:
            self._add(f"ops.mean({a}, axis=1)", *s[1:])
        else:
            self._add(f"Dense({w})({a})", *s[:-1], w)

    def _joined(self, a: str, s: Shape, w: int) -> None:
        same = self._other(lambda t: t == s)
        wide = self._other(lambda t: t[:-1] == s[:-1])
        long = self._other(lambda t: len(s) == 2 == len(t) and t[1] == s[1])
        choice = self.r.randrange(4)
        if choice == 0 and long:
            self._add(f"Concatenate(axis=1)([{a}, {long}])", s[0] + self.shapes[long][0], s[1])
        elif choice == 1 and wide:
            self._add(f"Concatenate()([{a}, {wide}])", *s[:-1], s[-1] + self.shapes[wide][-1])
        elif same:
            self._add(f"{a} * {same}" if choice == 2 else f"Add()([{a}, {same}])", *s)

    def _row(self, a: str, s: Shape, w: int) -> None:
        choice = self.r.randrange(3)
        if choice == 0:
            self._add(f"Dense({s[0]}, 'sigmoid')({a}) * {a}", *s)
        elif choice == 1 and s[0] % 4 == 0:
            self._add(f"Reshape((4, {s[0] // 4}))({a})", 4, s[0] // 4)
        else:
            self._add(f"RepeatVector(3)({a})", 3, s[0])

    def _series(self, a: str, s: Shape, w: int) -> None:
        options: list[tuple[str, Shape]] = [
            (f"Permute((2, 1))({a})", (s[1], s[0])),
            (f"ops.transpose({a}, (0, 2, 1))", (s[1], s[0])),
            (f"LSTM({w}, return_sequences=True)({a})", (s[0], w)),
            (f"Bidirectional(GRU({w}))({a})", (2 * w,)),
            (f"MultiHeadAttention(2, 4)({a}, {a})", s),
            (f"Dot(axes=2)([{a}, {a}])", (s[0], s[0])),
            (f"{a}[:, 0]", (s[1],)),
            (f"Conv1D({w}, 3, padding='same')({a})", (s[0], w)),
        ]
        code, shape = self.r.choice(options)
        self._add(code, *shape)

    def _image(self, a: str, s: Shape, w: int) -> None:
        options: list[tuple[str, Shape]] = [
            (f"Conv2D({w}, 3, padding='same')({a})", (*s[:-1], w)),
            (f"Conv2D({w}, 3, padding='same')({a})", (*s[:-1], w)),
            (f"Reshape(({s[0] * s[1]}, {s[2]}))({a})", (s[0] * s[1], s[2])),
            (f"Reshape((-1, {s[2]}))({a})", (s[0] * s[1], s[2])),
            (f"GlobalAveragePooling2D()({a})", (s[2],)),
            (f"DepthwiseConv2D(3, padding='same', depth_multiplier=2)({a})", (*s[:-1], 2 * s[2])),
            (f"Permute((3, 1, 2))({a})", (s[2], s[0], s[1])),
        ]
        if s[2] % 4 == 0:
            options += [
                (f"GroupNormalization(4)({a})", s),
                (f"Conv2D({w}, 1, groups=4)({a})", (*s[:-1], w)),
            ]
        code, shape = self.r.choice(options)
        self._add(code, *shape)
