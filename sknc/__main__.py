"""`python -m sknc`."""

import sys

from sknc.cli import main

if __name__ == "__main__":
    sys.exit(main())
