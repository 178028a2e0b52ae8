"""`sknc run` where nothing can train: an environment with sknc and its core dependencies alone."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.engines import standin

# What `sknc run` imports, and what that imports.
_CORE = ("click", "rich", "pygments", "markdown_it", "mdurl")
_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def core_only(tmp_path: Path) -> Path:
    """The interpreter of an environment without TensorFlow and Keras."""
    place = tmp_path / "core"
    venv.create(place, with_pip=False, symlinks=True)
    packages = place / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    for name in _CORE:
        found = importlib.util.find_spec(name)
        assert found is not None
        assert found.origin is not None
        (packages / name).symlink_to(Path(found.origin).parent)
    (packages / "sknc.pth").write_text(f"{_ROOT}\n")
    return place / "bin" / "python"


def test_what_is_missing_is_named_in_one_line(tmp_path: Path, core_only: Path) -> None:
    folder = standin.make(tmp_path / "out", ("",))
    done = subprocess.run(
        [str(core_only), "-m", "sknc", "run", str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        env=standin.environment(),
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == ("error: sknc run needs tensorflow, which comes with the extra sknc[cpu]")
    assert "pip install 'sknc[cpu]'" in done.stderr
    assert standin.ran(folder) == {}
    assert not (folder / "artifacts").exists()


def test_cleaning_needs_no_extra(tmp_path: Path, core_only: Path) -> None:
    folder = standin.make(tmp_path / "out", ("",))
    (folder / "artifacts").mkdir()
    command = [str(core_only), "-m", "sknc", "clean", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=standin.environment(), check=False)
    assert done.returncode == 0, done.stderr
    assert not (folder / "artifacts").exists()


def test_neither_tensorflow_nor_keras_is_imported_by_the_run_itself(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("",))
    code = f"""import sys
from sknc.cli import main
status = main(["run", {str(folder)!r}])
print(status, [name for name in ("tensorflow", "keras") if name in sys.modules])"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=standin.environment(), check=False
    )
    assert done.stdout.splitlines()[-1] == "0 []"
