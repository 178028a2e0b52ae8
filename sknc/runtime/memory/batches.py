"""The largest batch that fits a budget.

What a step needs is nearly linear in the batch: few batches are tried, the next one where a line through two of
them says, until one fits and the next does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .analysis import TECHNIQUES, Subject, apply_techniques
from .recompute import COST
from .units import format_size

LARGEST_BATCH = 1 << 20
# The second batch that is tried, how much further a line may lead at once, and how near halving is as quick as a line.
SECOND, REACH, NEAR = 16, 64, 8

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Need:
    """What a step needs of the device and of the host, in bytes."""

    device: int
    host: int

    def fits(self, device: int, host: int | None) -> bool:
        """Whether budgets hold it; None sets no limit."""
        return self.device <= device and (host is None or self.host <= host)

    def share(self, device: int, host: int | None) -> float:
        """How much of the tighter budget it takes."""
        return max(self.device / device, 0.0 if host is None else self.host / max(1, host))


def largest_batches(
    make: Callable[[int], Subject], device: int, host: int | None = None, tell: Tell | None = None
) -> dict[str, int]:
    """The largest batch that fits, with each technique on top of the one before it.

    Args:
        make: the training step for a batch size.
        device: bytes of the device.
        host: bytes of the host, None for any number.
        tell: is told of each batch that was tried.

    Returns:
        For each of TECHNIQUES the largest batch; 0 where not even one sample fits.
    """
    known: dict[int, dict[str, Need]] = {}

    def need(technique: str, batch: int) -> Need:
        if batch not in known:
            known[batch] = needs(make(batch))
            if tell is not None:
                tell(f"batch {batch}: {format_size(known[batch]['liveness'].device)} of {format_size(device)}")
        return known[batch][technique]

    found = {}
    for technique in TECHNIQUES:
        # Batches that were tried for another technique cost nothing.
        ready = sorted(known)
        found[technique] = largest(lambda batch, name=technique: need(name, batch), device, host, ready)  # type: ignore[misc]
    return found


def needs(subject: Subject) -> dict[str, Need]:
    """What a training step needs, by technique."""
    graph = subject.graph
    techniques = apply_techniques(graph, subject.offload)
    on_host = {"offload": techniques.offload.host, "recompute": techniques.recompute[COST].host}
    return {
        name: Need(peak.bytes + subject.fixed, max(on_host.get(name, ()), default=0))
        for name, peak in techniques.peaks(graph).items()
    }


def largest(need: Callable[[int], Need], device: int, host: int | None, ready: list[int]) -> int:
    """The largest batch that fits where the next one does not.

    Args:
        need: what a batch needs.
        device: bytes of the device.
        host: bytes of the host, None for any number.
        ready: batches whose need is known already.

    Returns:
        The batch, up to LARGEST_BATCH; 0 where not even one sample fits.
    """
    shares: dict[int, float] = {}

    def fits(batch: int) -> bool:
        found = need(batch)
        shares[batch] = found.share(device, host)
        return found.fits(device, host)

    low, high = 0, LARGEST_BATCH + 1
    for batch in ready:
        if fits(batch):
            low = max(low, batch)
        else:
            high = min(high, batch)
    if high <= low:  # a larger one fitted by chance: the smallest that does not is what counts
        low = max((batch for batch in shares if batch < high), default=0)
    tries = 0
    while high - low > 1:
        tries += 1
        batch = _next(shares, low, high, tries)
        low, high = (batch, high) if fits(batch) else (low, batch)
    return low


def _next(shares: dict[int, float], low: int, high: int, tries: int) -> int:
    """The batch to try between one that fits and one that does not."""
    unbounded = high > LARGEST_BATCH
    if not shares:
        return 1
    if len(shares) == 1:
        guess = SECOND if unbounded else (low + high) // 2
    elif not unbounded and (high - low <= NEAR or tries % 3 == 0):
        # A line alone may come nearer from one side only, a step at a time.
        guess = (low + high) // 2
    else:
        guess = _crossing(shares, low, high)
    # One above what fits, and one below what does not, are tried at last.
    return max(low + 1, min(guess, high - 1, max(SECOND, low * REACH) if unbounded else high))


def _crossing(shares: dict[int, float], low: int, high: int) -> int:
    """Where a line through the two batches that are nearest to the budget reaches it."""
    below = [batch for batch in shares if batch <= low]
    above = [batch for batch in shares if batch >= high]
    if below and above:
        one, two = max(below), min(above)
    else:
        # Allocators hand out in steps: a line through two neighbours would say little.
        two = max(shares) if below else min(shares)
        one = min(shares, key=lambda batch: abs(batch - two // 2) if batch != two else len(shares) + LARGEST_BATCH)
        one, two = min(one, two), max(one, two)
    slope = (shares[two] - shares[one]) / (two - one)
    if slope <= 0:
        return (low + high) // 2 if above else 2 * two
    return int(one + (1.0 - shares[one]) / slope)
