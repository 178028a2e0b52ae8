"""How many operations TensorFlow runs at once, by the rules of TensorFlow."""

from __future__ import annotations

import os

import pytest
import tensorflow as tf

from sknc.runtime.memory import threads


@pytest.mark.parametrize(("said", "found"), [("3", 3), ("0", 5), ("-1", 5), ("", 5), ("many", 5), ("1.5", 5)])
def test_a_variable_that_is_no_number_above_zero_means_choose(
    monkeypatch: pytest.MonkeyPatch, said: str, found: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(5)), raising=False)
    monkeypatch.setattr(tf.config.threading, "get_inter_op_parallelism_threads", lambda: 0)
    monkeypatch.setenv("TF_NUM_INTEROP_THREADS", said)
    assert threads.threads_in_use() == found


def test_what_the_process_was_configured_for_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf.config.threading, "get_inter_op_parallelism_threads", lambda: 2)
    monkeypatch.setenv("TF_NUM_INTEROP_THREADS", "7")
    assert threads.threads_in_use() == 2


def test_where_the_system_knows_no_affinity_all_cores_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    monkeypatch.setattr(tf.config.threading, "get_inter_op_parallelism_threads", lambda: 0)
    monkeypatch.delenv("TF_NUM_INTEROP_THREADS", raising=False)
    assert threads.threads_in_use() == 1
