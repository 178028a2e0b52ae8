"""Start a program that does not outlive the run that started it (Linux). Standard library only.

Called as `python launcher.py PARENT_PID PROGRAM`: asks the kernel to kill this process when its parent
ends, then becomes the program. The request survives `exec`, so a `kill -9` of `sknc run` leaves nobody
training behind its back.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Become the program.

    Args:
        arguments: the parent's process id, then the program and its arguments.
    """
    parent, program = int(arguments[0]), arguments[1:]
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        # The parent ended before the kernel was asked.
        os._exit(128 + signal.SIGKILL)
    os.execv(sys.executable, [sys.executable, *program])


if __name__ == "__main__":
    main(sys.argv[1:])
