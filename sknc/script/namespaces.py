"""Objects with attributes that no class of the script's has: settings, named tuples, and what argparse returns.

A program runs without command line arguments, but its widths follow them where they are given. So the defaults of
options stay unknown, and only a number of classes, which has to be known before the run, takes its default.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sknc.script.interpreter import Interpreter
from sknc.script.python import iterate
from sknc.script.values import (
    UNKNOWN,
    Arguments,
    Const,
    Default,
    Made,
    Partial,
    Ref,
    Seq,
    UserClass,
    Value,
    constant,
    now,
    whole,
)

PARSER = "argparse.ArgumentParser"
_NAMED_TUPLE = "collections.namedtuple"
_MAKES = f"{_NAMED_TUPLE}()"
_SPACES = ("types.SimpleNamespace", "argparse.Namespace")


@dataclass(eq=False)
class Namespace(Value):
    """An object whose attributes are known by name.

    Attributes:
        values: its attributes.
        born: when it was made.
        loose: whether any of them may have been changed in a way that is not known.
    """

    values: dict[str, Value]
    born: int = field(default_factory=now)
    loose: bool = False

    def member(self, name: str) -> Value:
        """Return an attribute."""
        self.loose = self.loose or name == "__dict__"
        return UNKNOWN if self.loose else self.values.get(name, UNKNOWN)


@dataclass(eq=False)
class Parser(Made):
    """A parser of the command line.

    Attributes:
        defaults: the defaults of its options that are whole numbers, by the attribute; others are UNKNOWN.
        born: when it was made.
        loose: whether it may have other options and defaults as well.
    """

    defaults: dict[str, Value] = field(default_factory=dict)
    born: int = field(default_factory=now)
    loose: bool = False


def make(interp: Interpreter, name: str, args: Arguments) -> Value | None:
    """Say what some functions of Python's own library return.

    Args:
        interp: the reading.
        name: the full name of the function.
        args: its arguments.

    Returns:
        A namespace, a parser or a number; None for all other functions.
    """
    if name in _SPACES and not args.open and not args.positional:
        return Namespace(dict(args.keywords))
    if name == PARSER:
        return Parser(name, args)
    if name == _NAMED_TUPLE and not args.open:
        given = args.get("field_names", 1)
        text = constant(given)
        names = [constant(item) for item in iterate(given) or ()] if isinstance(given, Seq) else []
        names = text.replace(",", " ").split() if isinstance(text, str) else names
        return Partial(Ref(_MAKES), Arguments([Seq([Const(n) for n in names])])) if names else None
    if name == _MAKES and not args.open and isinstance(args.positional[0], Seq):
        fields = [str(constant(item)) for item in args.positional[0].items]
        return Namespace({**dict(zip(fields, args.positional[1:], strict=False)), **args.keywords})
    if name == "builtins.len" and args.positional and isinstance(args.positional[0], UserClass):
        return _members(args.positional[0])
    return None


def _members(cls: UserClass) -> Value:
    """How many members an enumeration has; two names of one value are one member."""
    found = [v for name, v in cls.body.names.items() if not name.startswith("_")]
    numbers = [constant(v) for v in found if isinstance(v, Const)]
    counted = [v for v in found if isinstance(v, Made) and v.name == "enum.auto"]
    plain = bool(cls.derives("Enum", "IntEnum", "StrEnum")) and len(cls.lineage()) == 1
    known = plain and not cls.node.decorators and len(numbers) + len(counted) == len(found)
    if not known or (numbers and counted):
        return UNKNOWN
    return Const(len(set(map(repr, numbers))) + len(counted))


def forget(value: Value) -> None:
    """Let the attributes of a namespace, or the options of a parser, be unknown from now on."""
    if isinstance(value, (Namespace, Parser)):
        value.loose = True
    elif isinstance(value, Made) and value.name == "builtins.vars" and value.args.positional:
        forget(value.args.positional[0])


def set_member(interp: Interpreter, owner: Namespace, name: str, value: Value) -> None:
    """Set an attribute of a namespace."""
    if name.startswith("__"):
        owner.loose = True
    owner.values[name] = interp.join(owner.member(name), value) if interp.is_uncertain(owner.born) else value


def parser_method(interp: Interpreter, owner: Parser, name: str, args: Arguments) -> Value:
    """Call a method of a parser.

    Args:
        interp: the reading.
        owner: the parser.
        name: the method.
        args: its arguments.

    Returns:
        For `parse_args`, the defaults of the options; UNKNOWN for methods that return nothing of interest.
    """
    owner.loose = owner.loose or args.open
    if name == "add_argument":
        _add(interp, owner, args)
    elif name == "set_defaults":
        for key, value in args.keywords.items():
            _set(interp, owner, key, value, key)
    elif name in ("add_argument_group", "add_mutually_exclusive_group"):
        return owner  # its options are the parser's
    elif name in ("parse_args", "parse_known_args"):
        space = Namespace(dict(owner.defaults), loose=owner.loose or bool(args.positional or args.keywords))
        return space if name == "parse_args" else Seq([space, UNKNOWN])
    elif not name.startswith(("print_", "format_")):
        owner.loose = True  # subcommands have defaults of their own
    return UNKNOWN


def _add(interp: Interpreter, owner: Parser, args: Arguments) -> None:
    names = [constant(value) for value in args.positional]
    if not names or not all(isinstance(name, str) for name in names):
        owner.loose = True
        return
    options = [str(name) for name in names]
    named = next((option for option in options if option.startswith("--")), options[0])
    said = constant(args.get("dest"))
    key = said if isinstance(said, str) else named.lstrip("-").replace("-", "_")
    value = args.get("default") or UNKNOWN
    kind = args.get("type")
    if isinstance(constant(value), str) and isinstance(kind, Ref) and kind.name == "builtins.int":
        text = str(constant(value))
        value = Const(int(text)) if text.isdecimal() else UNKNOWN
    # Of two options with one attribute the first one's default is taken, unless it has none.
    plain = named.startswith("-") and "nargs" not in args.keywords and key not in owner.defaults
    _set(interp, owner, key, value if plain else UNKNOWN, named)


def _set(interp: Interpreter, owner: Parser, key: str, value: Value, option: str) -> None:
    number = whole(value)
    sure = number is not None and not interp.is_uncertain(owner.born)
    owner.defaults[key] = Default(number, option) if sure and number is not None else UNKNOWN
