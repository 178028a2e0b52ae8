"""Behind `sknc memplan` and `sknc.plan_memory`: a target is resolved, a report is made."""

from sknc.memplan.reports import make_report
from sknc.memplan.request import ACCOUNTINGS, Request

__all__ = ["ACCOUNTINGS", "Request", "make_report"]
