"""The static hazard check against two judges: the brute-force oracle, and the emulator; and no false alarms."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from binalloc.emulator.runs.run import run
from binalloc.errors import KernelFault
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import load, read_module, write_module
from binalloc.launch.types import Launch
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.hazards.check import find_hazards
from tests.support.generator.programs import random_program
from tests.support.generator.transform.dependent import random_shape
from tests.support.kits.machines import machines, roomy_machine
from tests.support.oracles.transform.schedule import Oracle
from tests.support.pairs.control_mutants import KINDS, control_mutants
from tests.support.paths import sample_files

PATHS = sample_files(".loom")
ROOMY = roomy_machine()


@pytest.mark.parametrize("leavers", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_mutants_are_judged_as_the_oracle_does(seed: int, leavers: bool) -> None:
    """Random control flow, calls, EXIT and RET inside divergent code, three machines. What the oracle knows to be a
    hazard the check finds; what the check finds beyond it, which is rare, only concerns scoreboards of lanes that
    parted (see `hazards`)."""
    machine = machines()[seed % 3]
    module = schedule(random_shape(seed, leavers), machine)
    assert find_hazards(module, machine.unit_latencies) == []
    mutants = list(control_mutants(module))
    random.Random(seed).shuffle(mutants)
    for mutant in mutants[:24]:
        found = find_hazards(mutant.module, machine.unit_latencies)
        oracle = Oracle(mutant.module, machine, per_lane=True)
        fixed, pending = oracle.fixed_violations(), oracle.scoreboard_violations()
        name = (mutant.kind, mutant.place)
        if fixed or pending:
            assert found, (name, [(oracle.where[a], oracle.where[b]) for a, b, _ in (*fixed, *pending)])
        else:
            assert all(h.other_lanes and h.needed is None for h in found), (name, str(found[0]))
        assert all(h.producer for h in found), name
        if not any(h.kind == "drain" for h in found):  # behind one nothing is in flight any more
            reported = {(h.function, h.index, h.found) for h in found if h.needed is not None}
            assert reported >= {(*_at(oracle, c), cycles) for _, c, cycles in _nearest(oracle, fixed)}, name


def _at(oracle: Oracle, node: int) -> tuple[str, int]:
    f, index = oracle.where[node]
    return oracle.module.functions[f].name, index


def _nearest(oracle: Oracle, fixed: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """(producer, consumer, cycles between them) for consumers that meet one producer only, drains apart."""
    met = Counter(c for _, c, _ in fixed)
    out = []
    for p, c, missing in fixed:
        if met[c] == 1 and c not in oracle.drains and oracle.writes[p] & oracle.reads[c]:
            out.append((p, c, oracle.latency[p] - missing))
    return out


@pytest.mark.parametrize("seed", range(16))
def test_what_stops_the_emulator_is_found(seed: int) -> None:
    module, launch = random_program(seed)
    module = schedule(module, ROOMY)
    assert find_hazards(module, ROOMY.unit_latencies) == []
    mutants = list(control_mutants(module))
    random.Random(seed).shuffle(mutants)
    stopped = 0
    for mutant in mutants[:16]:
        fault = fault_of(mutant.module, launch)
        if fault:
            assert "hazard" in fault
            assert find_hazards(mutant.module, ROOMY.unit_latencies), (mutant.kind, mutant.place, fault)
        stopped += bool(fault)
    assert stopped


def fault_of(module: Module, launch: Launch) -> str:
    """What stops the emulator, or nothing."""
    try:
        run(module, "kernel", launch, ROOMY, max_cycles=2_000_000)
    except KernelFault as fault:
        return str(fault)
    return ""


@pytest.mark.parametrize("machine", list_machines())
@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_no_false_alarm_on_a_sample(path: Path, machine: str) -> None:
    model = load_machine(machine)
    module = read_module(write_module(schedule(load(path), model)))
    assert find_hazards(module, model.unit_latencies) == []


@pytest.mark.parametrize("start", range(0, 100, 20))
def test_no_false_alarm_on_random_programs(start: int) -> None:
    for seed in range(start, start + 20):
        options = {"size": 60 + seed % 200, "registers": 8 + seed % 40, "callees": seed % 4, "depth": seed % 4}
        module = schedule(random_program(seed, **options)[0], ROOMY)
        assert find_hazards(module, ROOMY.unit_latencies) == [], (seed, options)


def test_every_kind_of_mutant_occurs() -> None:
    module = schedule(random_program(0)[0], ROOMY)
    assert {mutant.kind for mutant in control_mutants(module)} == set(KINDS)
