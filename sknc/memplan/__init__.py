"""Behind `sknc memplan` and `sknc.plan_memory`: a target is resolved, a report is made."""

from sknc.memplan.api import plan_memory
from sknc.memplan.reports import make_report
from sknc.memplan.request import ACCOUNTINGS, ALLOCATORS, Request

__all__ = ["ACCOUNTINGS", "ALLOCATORS", "Request", "make_report", "plan_memory"]
