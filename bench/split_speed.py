"""How long a split takes: by the length of the script, by the number of submodels, and the start of the command.

python bench/split_speed.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

BLOCK = """\
#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential([keras.Input((64,)), Dense(128, "relu"), Dense(64, "relu"), Dense(10, "softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, y, epochs=40)
#SKYNNET:END
"""


def script(lines: int) -> str:
    """Return a script with about so many lines in front of its block."""
    one = "def f{0}(a):\n    b = a + {0}\n    return b * 2\nc{0} = f{0}({0})\n"
    return "import keras\nfrom keras.layers import Dense\n" + "".join(map(one.format, range(lines // 4))) + BLOCK


def seconds(*arguments: str, tries: int = 5) -> float:
    """Return the best wall time of a command of sknc."""
    taken = []
    for _ in range(tries):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-m", "sknc", *arguments], capture_output=True, check=True)
        taken.append(time.perf_counter() - begin)
    return min(taken)


def main() -> None:
    """Print the table."""
    print("| command | seconds, best of 5 |\n|---|--:|")
    print(f"| sknc --help | {seconds('--help'):.2f} |")
    with tempfile.TemporaryDirectory() as folder:
        for lines in (250, 1000, 4000):
            path = Path(folder, f"train{lines}.py")
            path.write_text(script(lines), encoding="utf-8")
            for count in ("6", "45"):
                taken = seconds("split", str(path), "-m", count, "-o", str(Path(folder, f"{lines}_{count}")))
                print(f"| sknc split, {lines:,} lines, -m {count} | {taken:.2f} |")


if __name__ == "__main__":
    main()
