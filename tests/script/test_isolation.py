"""A split runs nothing of the user's and imports no framework; it is the same each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.script.helpers import block, compiled, dense

CANARY = "from pathlib import Path\nPath('canary').write_text('run')\n"
CHECK = """\
import sys
from pathlib import Path
from sknc.pipeline import compile_script
made = compile_script(Path("train.py"), 6)
assert "submodel_05.py" in made.files, made.diagnostics
assert made.files["helper.py"] == Path("helper.py").read_bytes()
found = [name for name in ("tensorflow", "keras", "helper", "sknc.runtime", "numpy") if name in sys.modules]
assert found in ([], ["numpy"]), found
"""


def test_nothing_of_the_users_is_run_and_no_framework_is_imported(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(CANARY)
    before = (
        CANARY
        + "import helper\nfrom helper import *\nclass A(type):\n    open('canary', 'w')\nprint(__import__('helper'))\n"
    )
    (tmp_path / "train.py").write_text(block(dense("64"), before))
    done = subprocess.run([sys.executable, "-c", CHECK], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "canary").exists()


def test_two_splits_are_the_same() -> None:
    text = block(dense("64"), "import os, sys\n")
    one, two = compiled(text), compiled(text)
    assert (one.files, one.blocks) == (two.files, two.blocks)
    assert compiled(text + "#\n").files != one.files
