"""What only IPython understands becomes Python or a comment; what Python understands stays as it is."""

from __future__ import annotations

import ast
import re
import sysconfig
from pathlib import Path

import pytest

from sknc.ipython import python_lines


def python(cell: str) -> str:
    made = "\n".join(python_lines(cell))
    assert made.count("\n") == cell.rstrip("\n").count("\n"), "every line stays where it is"
    ast.parse(made)
    return made


@pytest.mark.parametrize(
    ("cell", "made"),
    [
        ("!pip install a", "# !pip install a"),
        ("%matplotlib inline", "# %matplotlib inline"),
        ("if x:\n    !wget data.zip", "if x:\n    pass  # !wget data.zip"),
        ("for i in x:\n\t%reset_selective i", "for i in x:\n\tpass  # %reset_selective i"),
        ("if x:\n    !pip install a \\\n        b\nelse:\n    y = 1",
         "if x:\n    pass  # !pip install a \\\n#         b\nelse:\n    y = 1"),
        ("!pip install a \\\n    b \\\n    c\nx = 1", "# !pip install a \\\n#     b \\\n#     c\nx = 1"),
        ("!echo 'it\nx = 1\n!ls", "# !echo 'it\nx = 1\n# !ls"),
        ("Dropout??", "# Dropout??"),
        ("?x", "# ?x"),
        ("??", "# ??"),
        ("if x:\n    x.method?", "if x:\n    pass  # x.method?"),
    ],
)  # fmt: skip
def test_lines_that_are_left_out(cell: str, made: str) -> None:
    assert python(cell) == made


@pytest.mark.parametrize(
    "cell",
    [
        "print('score %.2f'\n      % 0.5)",
        "n = 7 \\\n  % 4",
        'text = """first\n!second\n%third\n?\nwhat?\n"""\nn = 1',
        "text = '''\n%a \\''' still\n!b'''",
        "a = {'x': [7\n% 4,\n2][0]}",
        "text = 'one \\\n%two'",
        "x = 1  # why?",
        "print('why?')",
        "# it's\nn = 7 \\\n% 4",
        "s = r'\\\\' ; t = \"it's\"\nn = (7\n% 4)",
        "n = 7; m = n % 4; k = n != m",
        "f(a='!x', b=\"%y\")",
        "x = '!ls'\ny = '%d'\nz = a % b == c",
        "page = '\x0c'\nother = '\u2028'",
    ],
)
def test_python_is_not_touched(cell: str) -> None:
    assert "\n".join(python_lines(cell)) == cell
    ast.parse(cell)


def test_behind_a_long_statement_ipython_is_found_again() -> None:
    cell = 'a = f(b,\n  % c)\n!ls\ns = """\n!no\n"""\n%cd x\nn = 7 \\\n% 4\n!ls'
    made = "\n".join(python_lines(cell))
    assert made == 'a = f(b,\n  % c)\n# !ls\ns = """\n!no\n"""\n# not run: %cd x\nn = 7 \\\n% 4\n# !ls'


@pytest.mark.parametrize(
    ("cell", "made"),
    [
        ("files = !ls", "files = []  # not run: !ls"),
        ("d['a']=!ls", "d['a'] = []  # not run: !ls"),
        ("if x:\n    files = !ls 'it", "if x:\n    files = []  # not run: !ls 'it"),
        ("files = !ls \\\n  data\ny = 1", "files = []  # not run: !ls \\\n#   data\ny = 1"),
        ("here = %pwd", "here = None  # not run: %pwd"),
        ("h = %time model.fit(x)", "h = model.fit(x)"),
        ("h = %timeit -o model.fit(x)", "h = None  # not run: %timeit -o model.fit(x)"),
        ("%run other.py", "# not run: %run other.py"),
        ("if x:\n    %cd data", "if x:\n    pass  # not run: %cd data"),
    ],
)
def test_values_that_ipython_gives(cell: str, made: str) -> None:
    assert python(cell) == made


@pytest.mark.parametrize(
    ("cell", "made"),
    [
        ("%time model.fit(x)", "model.fit(x)"),
        ("with a:\n    %time y = f(x)", "with a:\n    y = f(x)"),
        ("%time -x", "-x"),
        ("%time --no-raise-error f()", "f()"),
        ("%time f(x, \\\n  y)", "f(x, \\\n  y)"),
        ("%timeit x = f()", "x = f()"),
        ("%timeit -n 10 -r3 -q f()", "f()"),
        ("%timeit -qn 10 f()", "f()"),
        ("%prun -s cumulative -l 10 f()", "f()"),
        ("%time !ls", "# !ls"),
        ("%time", "# %time"),
        ("%timer f()", "# %timer f()"),
        ("%%time\nf()\n!ls", "# %%time\nf()\n# !ls"),
        ("\n%%capture out\n%%time\nf()", "\n# %%capture out\n# %%time\nf()"),
        ("%%timeit -n 10 x = 3\nf(x)", "x = 3\nf(x)"),
        ("%%bash\nls\n\nif", "# %%bash\n# ls\n#\n# if"),
        ("%%backend tensorflow\nf()", "# not run: %%backend tensorflow\n# f()"),
        ("%%!\nls", "# %%!\n# ls"),
        ("%%time\n%%bash\nls", "# %%time\n# %%bash\n# ls"),
    ],
)
def test_the_statement_behind_a_timer_is_kept(cell: str, made: str) -> None:
    assert python(cell) == made


def test_a_cell_may_be_indented_and_end_lines_as_it_likes() -> None:
    assert python_lines("  x = 1\r\n  if x:\r    !ls\n") == ["x = 1", "if x:", "  pass  # !ls"]
    assert python_lines("") == []
    assert python_lines("\n\n") == ["", ""]


def test_no_module_of_the_standard_library_is_touched() -> None:
    folder = Path(sysconfig.get_paths()["stdlib"])
    for path in [*sorted(folder.glob("*.py")), *sorted(folder.glob("asyncio/*.py"))]:
        text = path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
        assert python_lines(text) == re.split(r"\r\n|\r|\n", text), path
