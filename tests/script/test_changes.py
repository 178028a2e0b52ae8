"""Values that change in places that are easy to overlook: side effects, library calls, properties, the end of reading.

As in test_values: the script and its program run against a recorder with several command lines.
"""

from __future__ import annotations

import pytest

from tests.script.helpers import compiled, errors, program, units_of
from tests.script.test_values import RUNS, half, script

OBJECT = "class C:\n    u = 32\nc = C()\n"

CASES = {
    "delete several": ("s = [16, 32, 64, 128]\ndel s[0], s[0]", "s[0]"),
    "delete attribute": (OBJECT + "c.u = 64\ndel c.u", "c.u"),
    "dictionary union": ("a = {'u': 32}\nb = a\nb |= {'u': 64}", "a['u']"),
    "list times": ("a = [32]\nb = a\nb *= 2", "32 * len(a)"),
    "match": ("u = 32\nmatch (64,):\n    case (u,):\n        pass", "u"),
    "match mapping": ("u = 32\nmatch {'k': 64}:\n    case {'k': u}:\n        pass", "u"),
    "suppress": (
        "import contextlib\nu = 32\nwith contextlib.suppress(Exception):\n    sys.argv[1]\n    u = 64",
        "u",
    ),
    "handler": (
        "u = 32\ntry:\n    u = 64\n    sys.argv[1]\n    v = 32\nexcept IndexError:\n    v = u",
        "v",
    ),
    "while else": ("u = 32\nwhile len(sys.argv) > 9:\n    pass\nelse:\n    u = 64", "u"),
    "for else": ("u = 32\nfor a in sys.argv:\n    pass\nelse:\n    u = 64", "u"),
    "effect on a condition": ("s = [32]\ns.append(64) if len(sys.argv) > 2 else None", "s[-1]"),
    "effect behind and": ("s = [32]\nlen(sys.argv) > 2 and s.append(64)", "s[-1]"),
    "effect that is not reached": ("s = [32]\nFalse and s.append(64)", "s[-1]"),
    "walrus behind and": ("u = 32\nlen(sys.argv) > 2 and (u := 64)", "u"),
    "start of enumerate": ("for k, _ in enumerate([0], len(sys.argv)):\n    u = 64 + 64 * k", "u"),
    "behind a star": ("def f(u, v=1):\n    return u\nu = f(*[int(a) for a in sys.argv[1:2]], 32)", "u"),
    "settings by keyword": (
        "import copy\ncfg = {}\ncfg.update({k: 64 for k in 'u' if len(sys.argv) > 1})\ndef f(u=32):\n    return u",
        "f(**cfg)",
    ),
    "merged settings": (
        "cfg = {}\ncfg.update({k: 64 for k in 'u' if len(sys.argv) > 1})\ncfg = {**cfg}",
        "cfg.get('u', 32)",
    ),
    "unknown length": ("s = [1]\nimport heapq\nheapq.heappush(s, 2)\nn = 0\nfor _ in s:\n    n += 1", "16 * n"),
    "namespace": (
        OBJECT + "import argparse\np = argparse.ArgumentParser()\np.add_argument('--u', type=int)\n"
        "p.parse_args(['--u', '64'], namespace=c)",
        "c.u",
    ),
    "method of a library": (
        "import configparser\nimport collections\nd = {'u': 32}\ncollections.ChainMap(d).update(u=64)\nu = d['u']",
        "u",
    ),
    "callback": (OBJECT + "def f(v):\n    c.u = 64\nlist(map(f, [1]))", "c.u"),
    "property": ("class C:\n    @property\n    def big(self):\n        return False\nu = 64 if C().big else 32", "u"),
    "cached property": (
        "import functools\nclass C:\n    @functools.cached_property\n    def u(self):\n        return 64",
        "C().u",
    ),
    "setter": (
        (
            "class C:\n    @property\n    def u(self):\n        return self._u\n    @u.setter\n    def u(self, v):\n"
            "        self._u = 2 * v\nc = C()\nc.u = 32"
        ),
        "c.u",
    ),
    "post init": (
        (
            "from dataclasses import dataclass\n@dataclass\nclass C:\n    u: int = 32\n    def __post_init__(self):\n"
            "        self.u *= 2"
        ),
        "C().u",
    ),
    "class decorator": ("def double(c):\n    c.u = 64\n    return c\n@double\nclass C:\n    u = 32", "C.u"),
    "dictionary of an object": (
        "class C:\n    u = 32\n    def __init__(self, **k):\n        self.__dict__.update(k)",
        "C(u=64).u",
    ),
    "vars": ("class C:\n    u = 32\n    def __init__(self, **k):\n        vars(self).update(k)", "C(u=64).u"),
    "globals": ("u = 32\nglobals().update(u=64)", "u"),
    "setattr": (
        (
            "class C:\n    u = 32\n    def __init__(self, k):\n"
            "        for n, v in k.items():\n            setattr(self, n, v)"
        ),
        "C({n: 64 for n in ['u'] if len(sys.argv) > 1}).u",
    ),
    "end of reading": ("u = 32\nfor a in range(300):\n    for b in range(300):\n        t = a * b\nu = 64", "u"),
    "end of reading in a count": ("n = 0\nfor a in range(150):\n    for b in range(150):\n        n = n + 1", "n % 96"),
    "formatted": ("u = 3\nd = {'u=3': 64, '3': 32}", "d[f'{u=}']"),
    "keyword of a method": ("", "16 * len('a b'.split(sep='x')) + 32"),
    "context": (
        (
            "class C:\n    u = 32\n    def __enter__(self):\n        self.u = 64\n        return self\n"
            "    def __exit__(self, *a):\n        pass\nc = C()\nwith c:\n    pass"
        ),
        "c.u",
    ),
    "generator function": ("s = [32]\ndef g():\n    s[0] = 64\n    yield 1\nfor _ in g():\n    pass", "s[0]"),
    "generator": ("g = (8 * k for k in (2, 8))\nnext(g)", "list(g)[0]"),
    "zip": ("z = zip([1], [2])\nlist(z)", "32 + 16 * len(list(z))"),
    "member": ("from enum import Enum\nclass M(Enum):\n    A = 1", "32 if M.A == 1 else 64"),
    "type": (OBJECT + "type(c).u = 64", "c.u"),
    "nonlocal": (
        (
            "def main():\n    u = 32\n    def f(v):\n        nonlocal u\n        u = 64\n"
            "    list(map(f, [1]))\n    return u"
        ),
        "main()",
    ),
    "taken": ("s = [8, 64]", "s.pop()"),
    "named": ("u = 8", "(u := 64) + len(range(u))"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("inside", [False, True], ids=["before the block", "in the block"])
def test_program_has_half_the_units_in_every_run(name: str, inside: bool) -> None:
    before, units = CASES[name]
    text = script("", units, before + "\n") if inside else script(before, units)
    made = compiled(text)
    assert not errors(made), [d.message for d in errors(made)]
    for argv in RUNS:
        old, new = units_of(text, argv), units_of(program(made), argv)
        assert new == [half(old[0]), 5], (old, new, argv, program(made))


TRAINING = """\
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x, y)
#SKYNNET:END
"""
BUILD = """\
import keras
from functools import partial
from keras import layers
x = y = data()
def build(n, activation='relu'):
    i = keras.Input((20,))
    return keras.Model(i, layers.Dense(n, 'softmax')(layers.Dense(64, activation)(i)))
def run(f, n):
    return f(n)
f = 3
same = build
table = {'a': build}
tanh = partial(build, activation='tanh')
class Base(keras.Model):
    def __init__(self):
        super().__init__()
        self.a, self.b = layers.Dense(64), layers.Dense(10, 'softmax')
    def call(self, t):
        return self.b(self.a(t))
class Net(Base):
    def call(self, t):
        return self.b(keras.activations.relu(self.a(t)))
#SKYNNET:BEGIN_MULTICLASS
"""


def test_a_parameter_is_no_alias_of_the_block() -> None:
    text = program(compiled(BUILD + "model = run(build, 10)\n" + TRAINING))
    assert "f = build" not in text and "Dense(32, activation)" in text


def test_another_name_of_a_function_is_an_alias() -> None:
    assert "same = build" in program(compiled(BUILD + "model = same(10)\n" + TRAINING)).split("BEGIN")[1]


@pytest.mark.parametrize("made", ["model = tanh(10)", "make = table['a']\nmodel = make(10)"])
def test_what_holds_the_original_is_refused(made: str) -> None:
    assert [d.code for d in errors(compiled(BUILD + made + "\n" + TRAINING))] == ["SKN216"]


def test_a_class_that_derives_from_a_copy_is_copied() -> None:
    text = program(compiled(BUILD + "model = Net()\n" + TRAINING)).split("BEGIN")[1]
    assert "Net = Base" not in text and text.index("class Base") < text.index("class Net(Base)")


def test_a_name_that_no_longer_holds_a_prediction() -> None:
    inside = "model = build(10)\np = model(x[:1])\nprint(p)\np = [1]\np.append(2)\n"
    text = program(compiled(BUILD.replace("x = y = data()", "x = y = data()[0]") + inside + TRAINING))
    assert "p.append(2)" in text and "print(p)" not in text


def test_a_function_that_looks_and_compiles() -> None:
    setup = "def setup(m):\n    print(m(x[:1]))\n    m.compile('adam', 'sparse_categorical_crossentropy')\n"
    text = program(compiled(setup + BUILD + "model = build(10)\nsetup(model)\n" + TRAINING))
    assert "\nsetup(model)" in text and "print(m(" not in text.split("BEGIN")[1]


def test_class_variables_are_no_fields() -> None:
    # Not among the cases: a dataclass looks for its module, which a script under the recorder has not.
    cls = (
        "from dataclasses import dataclass\nfrom typing import ClassVar\n@dataclass\nclass C:\n    n: ClassVar[int] = 5"
    )
    assert "Dense(32, 'relu')" in program(compiled(script(cls + "\n    u: int = 32", "C(64).u")))


@pytest.mark.parametrize("train", ["fit = model.fit\nfit(x, y)\n", "getattr(model, 'fit')(x, y)\n"])
def test_a_training_without_a_place_for_the_call(train: str) -> None:
    made = compiled(BUILD + "model = build(10)\n" + TRAINING.replace("model.fit(x, y)\n", train))
    assert [d.code for d in errors(made)] == ["SKN227"]
