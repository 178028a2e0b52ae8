"""What this machine has, and what of it works: behind `sknc doctor`."""

from sknc.doctor.examination import Check, Examination, examine

__all__ = ["Check", "Examination", "examine"]
