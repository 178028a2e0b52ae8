"""Engines: they run the programs of an output folder."""

from sknc.engines.base import Engine, Observer, Outcome, Stop, Task
from sknc.engines.conduct import Options, make_engine, run
from sknc.engines.files import clean
from sknc.engines.report import Report, Row

__all__ = [
    "Engine",
    "Observer",
    "Options",
    "Outcome",
    "Report",
    "Row",
    "Stop",
    "Task",
    "clean",
    "make_engine",
    "run",
]
