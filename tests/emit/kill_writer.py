"""Written to be killed: replaces one folder with two versions in turn, until it dies. Run by test_kill.py."""

import sys
from pathlib import Path

from sknc.emit import _exchange, write
from tests.emit.versions import version

folder, way = Path(sys.argv[1]), sys.argv[2]
if way == "journal":
    _exchange.exchange = lambda first, second: False
print("ready", flush=True)
turn = 0
while True:
    write(folder, version(turn % 2))
    turn += 1
