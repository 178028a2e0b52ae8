"""Plans for budgets."""

from __future__ import annotations

import json

import pytest

from sknc.runtime.memory import search
from sknc.runtime.memory.accounting import unroll
from sknc.runtime.memory.errors import InfeasibleBudget, PlanError
from sknc.runtime.memory.graph import StepGraph
from sknc.runtime.memory.liveness import liveness_timeline
from sknc.runtime.memory.machine import PAPER_MACHINE, Machine, load_machine, save_machine
from sknc.runtime.memory.papernets import paper_network
from sknc.runtime.memory.planner import Budgets, Planner, read_schedule
from sknc.runtime.memory.schedule import HOST, KEEP, RECOMPUTE, walk

from .test_graph_walk import random_network

PLENTY = 1 << 50


@pytest.fixture(autouse=True)
def little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested here holds however much is searched."""
    monkeypatch.setattr(search, "SEARCH_WORK", 40_000)


def budgets_between(planner: Planner, count: int) -> list[int]:
    low, high = planner.smallest, planner.trials[0].peak + planner.fixed
    return [low + (high - low) * number // (count - 1) for number in range(count)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("host", [0, PLENTY])
def test_a_larger_budget_never_gives_a_slower_plan_and_no_plan_exceeds_its_budget(seed: int, host: int) -> None:
    planner = Planner(unroll(random_network(seed), 1), fixed=100, host=host)
    plans = [planner.plan(budget) for budget in budgets_between(planner, 20)]
    for plan in plans:
        assert plan.device_peak <= plan.budgets.device
        assert walk(plan.graph, plan.trial.schedule).timeline.peak.bytes + 100 == plan.device_peak
    added = [plan.trial.added for plan in plans]
    assert added == sorted(added, reverse=True)
    assert added[-1] == 0


def test_enough_memory_means_nothing_is_done() -> None:
    graph = unroll(paper_network("alexnet"), 200)
    plan = Planner(graph, host=PLENTY).plan(liveness_timeline(graph).peak.bytes)
    assert plan.trial.added == 0
    assert plan.as_json()["tensors"] == []


def test_too_small_a_budget_names_the_smallest_feasible_one() -> None:
    planner = Planner(unroll(paper_network("alexnet"), 200), fixed=1000, host=PLENTY)
    with pytest.raises(InfeasibleBudget, match="smallest feasible") as caught:
        planner.plan(500 * 2**20)
    assert caught.value.smallest <= 886.231 * 2**20 + 1000
    assert planner.plan(caught.value.smallest).device_peak == caught.value.smallest
    with pytest.raises(InfeasibleBudget):
        planner.plan(caught.value.smallest - 1)


def test_without_a_host_nothing_is_moved() -> None:
    planner = Planner(unroll(paper_network("vgg16"), 32))
    plan = planner.plan(planner.smallest)
    assert set(plan.trial.schedule.actions) == {KEEP, RECOMPUTE}
    assert plan.trial.host == plan.trial.disk == 0


def test_the_host_budget_is_kept() -> None:
    graph = unroll(paper_network("vgg16"), 32)
    limit = 256 * 2**20
    slow = Machine(flops=1e9, memory=1e9, host=1e12, disk=1e6)
    planner = Planner(graph, machine=slow, host=limit)
    hosts = [planner.plan(budget).trial.host for budget in budgets_between(planner, 10)]
    assert max(hosts) <= limit
    assert max(hosts) > limit // 2


def test_a_machine_that_moves_fast_moves_and_one_that_computes_fast_computes() -> None:
    graph = unroll(paper_network("alexnet"), 200)
    mover = Planner(graph, machine=Machine(1e9, 1e9, 1e12, 1e6), host=PLENTY)
    computer = Planner(graph, machine=Machine(1e18, 1e18, 1e6, 1e6), host=PLENTY)
    budget = 1300 * 2**20
    assert HOST in mover.plan(budget).trial.schedule.actions
    assert RECOMPUTE not in mover.plan(budget).trial.schedule.actions
    assert HOST not in computer.plan(budget).trial.schedule.actions


def test_a_plan_is_read_back_from_its_json() -> None:
    graph = unroll(paper_network("alexnet"), 200)
    planner = Planner(graph, host=PLENTY)
    for budget in budgets_between(planner, 5):
        plan = planner.plan(budget)
        content = json.loads(json.dumps(plan.as_json()))
        again = walk(graph, read_schedule(content, graph))
        assert again.timeline.peak.bytes == content["peaks"]["device"]
        assert again.extra == content["recomputed_layers"]
        assert again.moved_in + again.moved_out == content["moved_bytes"]


def test_a_plan_for_another_network_or_schema_is_refused() -> None:
    plan = Planner(unroll(paper_network("alexnet"), 200), host=PLENTY)
    content = plan.plan(plan.smallest).as_json()
    other = unroll(paper_network("alexnet"), 100)
    with pytest.raises(PlanError, match="another network"):
        read_schedule(content, other)
    with pytest.raises(PlanError, match="schema 7"):
        read_schedule({**content, "schema": 7}, other)


@pytest.mark.parametrize("sizes", [(0, 0, 0), (-1, 0, 0), (5, -1, 0), (5, 0, -1)])
def test_budgets_below_zero_are_refused(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(PlanError, match="above zero"):
        Budgets(*sizes)


def test_large_networks_are_planned() -> None:
    graph: StepGraph = unroll(paper_network("resnet2500"), 1)
    planner = Planner(graph, host=PLENTY)
    assert planner.smallest <= 12.7 * 2**20


def test_a_machine_profile_is_stored_and_read(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "machine.json"
    save_machine(PAPER_MACHINE, path)
    assert load_machine(path) == PAPER_MACHINE
    path.write_text('{"flops": 1}')
    with pytest.raises(PlanError, match="no machine profile"):
        load_machine(path)
    with pytest.raises(PlanError, match="above zero"):
        Machine(1, 1, 0, 1)
