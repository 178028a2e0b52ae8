"""Settings in objects that no class of the script's makes: argparse, SimpleNamespace, named tuples, enumerations."""

from __future__ import annotations

import pytest

from tests.script.helpers import block, compiled, errors, line_of, program, units_of, widths

NET = "model = keras.Sequential([Dense({}, 'relu'), Dense({}, 'softmax')])\n"
PARSER = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--hidden', type=int, default=64)\n"
OPTION = "p.add_argument('--num-classes', '-n', type=int, default=10)\n"
PARSE = "args = p.parse_args()\n"


def parsed(before: str, output: str = "args.num_classes", inside: str = "") -> str:
    return block(inside + NET.format("args.hidden", output), before=PARSER + before)


KNOWN = {
    "option": OPTION + PARSE,
    "text": OPTION.replace("=10", "='10'") + PARSE,
    "no type": OPTION.replace("type=int, ", "") + PARSE,
    "a constant": "CLASSES = 5 * 2\n" + OPTION.replace("=10", "=CLASSES") + PARSE,
    "dest": "p.add_argument('-c', '--number', dest='num_classes', default=10)\n" + PARSE,
    "set_defaults": OPTION.replace("=10", "=12") + "p.set_defaults(num_classes=10)\n" + PARSE,
    "a group": "g = p.add_argument_group('sizes')\n" + OPTION.replace("p.", "g.") + PARSE,
    "other arguments": OPTION + "args, rest = p.parse_known_args()\n",
    "in a function": f"def get():\n    {OPTION}    return p.parse_args()\nargs = get()\n",
    "a function with options": f"def options(p):\n    {OPTION}options(p)\n" + PARSE,
    "printed": OPTION + PARSE + "print(args, vars(args))\n",
    "another attribute": OPTION + PARSE + "args.verbose = True\n",
    "in a main": OPTION + "if __name__ == '__main__':\n    args = p.parse_args()\n",
}


@pytest.mark.parametrize("before", KNOWN.values(), ids=KNOWN)
def test_a_number_of_classes_with_a_default(before: str) -> None:
    text = parsed(before)
    made = compiled(text)
    assert [b["classes"] for b in made.blocks] == [10] and "Dense(5, 'softmax')" in program(made)
    told = [(d.span.line, d.message) for d in made.diagnostics if d.code == "SKN230"]
    assert [line for line, _ in told] == [line_of(text, "model = ")] and "10, the default of" in told[0][1]
    # A program can be told another size of a hidden layer.
    assert "skn_runtime.width(args.hidden, 2)" in program(made)


UNKNOWN = {
    "no default": OPTION.replace(", default=10", "") + PARSE,
    "required": OPTION.replace("default=10", "required=True") + PARSE,
    "positional": "p.add_argument('num_classes', type=int, default=10)\n" + PARSE,
    "several": OPTION.replace(")\n", ", nargs='+')\n") + PARSE,
    "computed": OPTION.replace("=10", "=len(set(y))") + PARSE,
    "perhaps": "if sys.platform == 'linux':\n    " + OPTION + PARSE,
    "twice": OPTION + OPTION.replace("--num-classes', '-n", "--count', dest='num_classes").replace("10", "12") + PARSE,
    "given": OPTION + "args = p.parse_args(['--num-classes', '12'])\n",
    "into another": OPTION + "args = p.parse_args(namespace=settings)\n",
    "changed": OPTION + PARSE + "args.num_classes = len(set(y))\n",
    "perhaps changed": OPTION + PARSE + "if len(x) > 5:\n    args.num_classes = 12\n",
    "setattr": OPTION + PARSE + "for k, v in settings():\n    setattr(args, k, v)\n",
    "vars": OPTION + PARSE + "vars(args).update(settings())\n",
    "an item of vars": OPTION + PARSE + "vars(args)[key()] = 12\n",
    "vars by a name": OPTION + PARSE + "d = vars(args)\nd.update(settings())\n",
    "dict": OPTION + PARSE + "args.__dict__.update(settings())\n",
    "handed over": OPTION + PARSE + "import configs\nconfigs.load(args)\n",
    "vars handed over": OPTION + PARSE + "import configs\nconfigs.load(vars(args))\n",
    "its parser handed over": OPTION + "import configs\nconfigs.options(p)\n" + PARSE,
    "subcommands": OPTION + "sub = p.add_subparsers()\n" + PARSE,
    "another parser": OPTION + "if len(x) > 5:\n    args = p.parse_args()\nelse:\n    args = other()\n",
}


@pytest.mark.parametrize("before", UNKNOWN.values(), ids=UNKNOWN)
def test_a_number_of_classes_without_one(before: str) -> None:
    text = parsed(before)
    assert [(d.code, d.span.line) for d in errors(compiled(text))] == [("SKN210", line_of(text, "model = "))]


@pytest.mark.parametrize("inside", ["", "n = args.num_classes\n", "cfg = {'n': args.num_classes}\n"])
def test_on_its_way_to_the_layer(inside: str) -> None:
    output = {"n": "n", "cfg": "cfg['n']"}.get(inside.partition(" ")[0], "args.num_classes")
    assert [b["classes"] for b in compiled(parsed(OPTION + PARSE, output, inside)).blocks] == [10]


def test_a_name_that_functions_change() -> None:
    change = "def other():\n    global n\n    n = 12\nimport jobs\njobs.submit(other)\n"
    text = parsed(OPTION + PARSE + "n = args.num_classes\n" + change, "n")
    assert [d.code for d in errors(compiled(text))] == ["SKN210"]


def test_the_command_line_of_sknc_comes_first() -> None:
    made = compiled(parsed(OPTION + PARSE), classes=12)
    assert [b["classes"] for b in made.blocks] == [12] and "SKN230" not in [d.code for d in made.diagnostics]


MADE = {
    "SimpleNamespace": "from types import SimpleNamespace\ns = SimpleNamespace(u=64, n=10)\n",
    "argparse.Namespace": "import argparse\ns = argparse.Namespace(n=10, u=64)\n",
    "a named tuple": "from collections import namedtuple\nS = namedtuple('S', 'u n')\ns = S(64, n=10)\n",
    "a named tuple of a list": "from collections import namedtuple\nS = namedtuple('S', ['u', 'n'])\ns = S(64, 10)\n",
    "set later": "from types import SimpleNamespace\ns = SimpleNamespace()\ns.u, s.n = 64, 10\n",
}


@pytest.mark.parametrize("before", MADE.values(), ids=MADE)
def test_objects_with_numbers(before: str) -> None:
    text = block(NET.format("s.u", "s.n"), before=before).replace("from keras import layers, ops\n", "")
    made = compiled(text)
    assert widths(made) == [[64, 32], [10, 5]] and units_of(program(made)) == [32, 5]


@pytest.mark.parametrize("change", ["s.u = int(sys.argv[1])", "setattr(s, 'u', 128)", "load(s)", "vars(s)['u'] = 8"])
def test_objects_that_change(change: str) -> None:
    text = block(NET.format("s.u", "10"), before=f"{MADE['SimpleNamespace']}if len(sys.argv) > 1:\n    {change}\n")
    assert "skn_runtime.width(s.u, 2)" in program(compiled(text))


ENUM = "from enum import Enum, auto\nclass Kind(Enum):\n"


@pytest.mark.parametrize(
    ("members", "count"), [("A = 1\n B = 2\n C = 2\n D = 'd'", 3), ("A = auto()\n B = auto()\n C = auto()", 3)]
)
def test_as_many_classes_as_an_enumeration_has(members: str, count: int) -> None:
    text = block(NET.format(64, "len(Kind)"), before=ENUM + f" {members}\n")
    assert [b["classes"] for b in compiled(text, 3).blocks] == [count]


@pytest.mark.parametrize("members", ["A = f()\n B = 2", "A = 1\n B = auto()", "A = 1\n def f(self): pass"])
def test_an_enumeration_that_is_not_counted(members: str) -> None:
    text = block(NET.format(64, "len(Kind)"), before=ENUM + f" {members}\n")
    assert [d.code for d in errors(compiled(text))] == ["SKN210"]
