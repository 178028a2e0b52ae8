"""TensorFlow's allocator and its imitation: the same requests, the same answers."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys

import pytest

from sknc.runtime.memory.bfc import Pool, PoolFull
from sknc.runtime.memory.tfrules import ALLOCATORS

MIB = 2**20
# Makes tensors of some sizes and forgets others; prints what the allocator shows after each.
ALLOCATE = """
import json, sys
import tensorflow as tf
held, shown = {}, []
for number, size in json.loads(sys.argv[1]):
    if size:
        held[number] = tf.fill([size // 4], 1.0)
    else:
        del held[number]
    shown.append(tf.config.experimental.get_memory_info("CPU:0")["current"])
print(json.dumps(shown))
"""

# Makes tensors of one size until the allocator has no room; prints how many.
FILL = """
import sys
import tensorflow as tf
held = []
try:
    while True:
        held.append(tf.fill([int(sys.argv[1]) // 4], 1.0))
except tf.errors.ResourceExhaustedError:
    print(len(held))
"""


class TestPool:
    def test_chunks_are_handed_out_as_tensorflow_hands_them_out(self) -> None:
        """The same requests to a fresh TensorFlow and to the imitation, which show the same after each of them."""
        rng = random.Random(1)
        sizes = (64, 262_140, 262_144, 300_000, MIB, 1_500_000, 2 * MIB, 3 * MIB, 5 * MIB)
        pool, held, events, shown = Pool(ALLOCATORS["default"]), {}, [], []
        for number in range(60):
            if held and rng.random() < 0.4:
                gone = rng.choice(list(held))
                pool.free(held.pop(gone))
                events.append((gone, 0))
            else:
                size = rng.choice(sizes)
                held[number] = pool.allocate(size)
                events.append((number, size))
            shown.append(pool.in_use)
        command = [sys.executable, "-c", ALLOCATE, json.dumps(events)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        assert json.loads(done.stdout.splitlines()[-1]) == shown

    def test_a_chunk_of_less_than_twice_the_size_is_handed_out_whole(self) -> None:
        pool = Pool(ALLOCATORS["bfc"])
        first = pool.allocate(3 * MIB)
        assert pool.in_use == 4 * MIB
        second = pool.allocate(MIB)
        pool.free(first)
        pool.allocate(2 * MIB)
        assert pool.in_use <= 4 * MIB
        pool.free(second)

    def test_free_neighbours_join(self) -> None:
        pool = Pool(ALLOCATORS["bfc"])
        handles = [pool.allocate(MIB // 4) for _ in range(8)]
        for handle in random.Random(0).sample(handles, len(handles)):
            pool.free(handle)
        assert pool.in_use == 0
        assert len(pool.chunks) == 1
        assert next(iter(pool.chunks.values())).size == 2 * MIB

    def test_a_limit_leaves_as_much_room_as_tensorflows(self) -> None:
        """Regions double until the limit is reached: 60 MiB take ten tensors of 5 MiB, not twelve."""
        limited = {**os.environ, "TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": "60"}
        command = [sys.executable, "-c", FILL, str(5 * MIB)]
        done = subprocess.run(command, env=limited, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        pool = Pool(ALLOCATORS["bfc"], 60 * MIB)
        pool.allocate(4)  # what the scalars are that tensors are filled with
        count = int(done.stdout.splitlines()[-1])
        for _ in range(count):
            pool.allocate(5 * MIB)
        assert count == 10
        with pytest.raises(PoolFull):
            pool.allocate(5 * MIB)

    def test_a_pool_that_is_stretched_has_the_room_of_a_larger_limit(self) -> None:
        pool = Pool(ALLOCATORS["bfc"], 50 * MIB)
        handles = [pool.demand(5 * MIB) for _ in range(12)]
        assert pool.limit is not None and 60 * MIB <= pool.in_use <= pool.limit <= 75 * MIB
        assert pool.asked_for <= pool.limit
        used = sorted((pool.chunks[handle].start, pool.chunks[handle].size) for handle in handles)
        assert all(start + size <= after for (start, size), (after, _) in itertools.pairwise(used))
        same = Pool(ALLOCATORS["bfc"], pool.limit)
        for _ in range(12):
            same.allocate(5 * MIB)

    def test_random_use_never_overlaps(self) -> None:
        rng = random.Random(3)
        pool = Pool(ALLOCATORS["bfc"])
        held: list[int] = []
        for _ in range(2000):
            if held and rng.random() < 0.5:
                pool.free(held.pop(rng.randrange(len(held))))
            else:
                held.append(pool.allocate(rng.choice((100, 5000, 70_000, MIB, 3 * MIB))))
            used = sorted((pool.chunks[handle].start, pool.chunks[handle].size) for handle in held)
            assert all(start + size <= after for (start, size), (after, _) in itertools.pairwise(used))
            assert pool.in_use == sum(size for _, size in used)
