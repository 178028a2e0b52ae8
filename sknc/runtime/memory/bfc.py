"""TensorFlow's best-fit-with-coalescing allocator, imitated for its statistics.

What `get_memory_info` shows is not what was asked for: requests are rounded up, a free chunk of less than
twice the wanted size is handed out whole, and the default allocator of a CPU build with oneDNN does not count
small requests at all.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from contextlib import suppress
from dataclasses import dataclass

from .tfrules import Allocator

_NOTHING = -1


class PoolFull(Exception):
    """A request for which a limited pool has neither a free chunk nor room for another region."""


@dataclass(slots=True)
class _Chunk:
    start: int
    size: int
    free: bool
    before: int = _NOTHING
    after: int = _NOTHING


class Pool:
    """An allocator's chunks.

    Args:
        allocator: its constants.
        limit: bytes that it may ask the system for; none when left out.

    Attributes:
        limit: as it is now.
        asked_for: bytes that it has asked the system for.
        in_use: bytes that are handed out.
        peak: the most that were.
    """

    def __init__(self, allocator: Allocator, limit: int | None = None) -> None:
        self.allocator = allocator
        self.limit = limit
        self.asked_for = 0
        self.chunks: dict[int, _Chunk] = {}
        self.free_bins: list[list[tuple[int, int, int]]] = [[] for _ in range(21)]
        self.next_region = allocator.first_region
        self.next_start = 0
        self.next_id = 0
        self.in_use = 0
        self.peak = 0

    def allocate(self, wanted: int) -> int:
        """Hand out a chunk.

        Args:
            wanted: bytes.

        Returns:
            A handle; negative for a request that is not counted.

        Raises:
            PoolFull: the limit leaves no room.
        """
        if wanted < self.allocator.counted_from:
            return _NOTHING
        unit = self.allocator.alignment
        rounded = max(unit, -(-wanted // unit) * unit)
        handle = self._best_fit(rounded)
        if handle is None:
            self._extend(rounded)
            handle = self._best_fit(rounded)
            assert handle is not None
        self.in_use += self.chunks[handle].size
        self.peak = max(self.peak, self.in_use)
        return handle

    def free(self, handle: int) -> None:
        """Take a chunk back and join it with free neighbours.

        Args:
            handle: what `allocate` returned.
        """
        if handle == _NOTHING:
            return
        chunk = self.chunks[handle]
        self.in_use -= chunk.size
        chunk.free = True
        if chunk.after != _NOTHING and self.chunks[chunk.after].free:
            self._remove_free(chunk.after)
            self._merge(handle, chunk.after)
        if chunk.before != _NOTHING and self.chunks[chunk.before].free:
            before = chunk.before
            self._remove_free(before)
            self._merge(before, handle)
            handle = before
        self._insert_free(handle)

    def demand(self, wanted: int) -> int:
        """Hand out a chunk, and stretch the pool where there is none.

        Args:
            wanted: bytes.

        Returns:
            A handle; negative for a request that is not counted.
        """
        while True:
            with suppress(PoolFull):
                return self.allocate(wanted)
            self.stretch()

    def stretch(self) -> None:
        """Raise the limit by half a percent; where all of it was given out, the last region gets longer.

        That is what the region would have been like under the higher limit, had that been in the same power of two.
        """
        assert self.limit is not None, "a pool without a limit is never full"
        more = self.allocator.alignment * (1 + self.limit // (200 * self.allocator.alignment))
        self.limit += more
        if self.limit - self.asked_for >= more + self.allocator.alignment:
            return
        self.asked_for += more
        last = max(self.chunks, key=lambda handle: self.chunks[handle].start)
        chunk = self.chunks[last]
        if chunk.free:
            self._remove_free(last)
            chunk.size += more
        else:
            rest = _Chunk(chunk.start + chunk.size, more, True, last)
            chunk.after = last = self._add(rest)
        self.next_start += more
        self._insert_free(last)

    def _bin(self, size: int) -> int:
        return min(20, (size >> 8).bit_length() - 1) if size >= 256 else 0

    def _insert_free(self, handle: int) -> None:
        chunk = self.chunks[handle]
        insort(self.free_bins[self._bin(chunk.size)], (chunk.size, chunk.start, handle))

    def _remove_free(self, handle: int) -> None:
        chunk = self.chunks[handle]
        row = self.free_bins[self._bin(chunk.size)]
        del row[bisect_left(row, (chunk.size, chunk.start, handle))]

    def _merge(self, first: int, second: int) -> None:
        one, two = self.chunks[first], self.chunks.pop(second)
        one.size += two.size
        one.after = two.after
        if two.after != _NOTHING:
            self.chunks[two.after].before = first

    def _best_fit(self, rounded: int) -> int | None:
        for row in self.free_bins[self._bin(rounded) :]:
            place = bisect_left(row, (rounded, -1, -1))
            if place < len(row):
                handle = row.pop(place)[2]
                chunk = self.chunks[handle]
                chunk.free = False
                if chunk.size >= 2 * rounded or chunk.size - rounded >= self.allocator.split_from:
                    self._split(handle, rounded)
                return handle
        return None

    def _split(self, handle: int, size: int) -> None:
        chunk = self.chunks[handle]
        rest = _Chunk(chunk.start + size, chunk.size - size, True, handle, chunk.after)
        new = self._add(rest)
        if chunk.after != _NOTHING:
            self.chunks[chunk.after].before = new
        chunk.size, chunk.after = size, new
        self._insert_free(new)

    def _add(self, chunk: _Chunk) -> int:
        self.next_id += 1
        self.chunks[self.next_id] = chunk
        return self.next_id

    def _extend(self, rounded: int) -> None:
        """Ask the system for a region; regions double in size, and the last one takes what the limit leaves."""
        left = None if self.limit is None else (self.limit - self.asked_for) // self.allocator.alignment
        if left is not None and rounded > left * self.allocator.alignment:
            raise PoolFull
        grown = False
        while self.next_region < rounded:
            self.next_region *= 2
            grown = True
        size = self.next_region if left is None else min(self.next_region, left * self.allocator.alignment)
        self.asked_for += size
        region = _Chunk(self.next_start, size, True)
        # Regions do not touch, so that chunks never join across them.
        self.next_start += 2 * size
        self._insert_free(self._add(region))
        if not grown:
            self.next_region *= 2
