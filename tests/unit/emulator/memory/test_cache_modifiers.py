"""Cache modifiers: accesses with .CG and .CV go past L1, others do not; nothing that is stored is lost or seen late."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result
from binalloc.isa.instruction import Instr
from binalloc.isa.table.opcodes import CACHE_OPS
from binalloc.isa.text.assembler import assemble
from binalloc.models.machines.reader import load_machine
from binalloc.models.machines.unloaded import link_cycles
from tests.support.kits.emulator.small import address, go, module, op

CG, CS, CV = (CACHE_OPS.index(name) for name in ("CG", "CS", "CV"))
CACHING, UPDATING, PAST = "c2075", "v100", "gtx680"
"""Machines whose L1 holds global memory, drops or keeps what is stored; one whose L1 does not."""


def run(*body: Instr, machine: str, engine: str = "python", reference: bool = False) -> Result:
    code = [*address(), *body, op("EXIT", wait=63)]
    made = module(code, params={"x": 8}, machine=machine)
    words = np.arange(4096, dtype=np.uint32)
    return go(made, buffers={"x": words}, machine=machine, engine=engine, reference=reference)


def load(cache: int = 0, rd: int = 8) -> list[Instr]:
    return [op("LDG", rd=rd, ra=4, width=4, wbar=1, cache=cache), op("NOP", wait=2)]


def store(cache: int = 0) -> list[Instr]:
    return [op("STG", ra=4, rb=0, width=4, rbar=2, cache=cache), op("NOP", wait=4)]


def test_the_machines_are_what_they_are_taken_for() -> None:
    found = [(m.l1.caches_global, m.l1.updates) for m in map(load_machine, (CACHING, UPDATING, PAST))]
    assert found[0] == (True, False)
    assert found[1] == (True, True)
    assert not found[2][0]


@pytest.mark.parametrize("machine", [CACHING, UPDATING])
@pytest.mark.parametrize(("cache", "past"), [(0, False), (CS, False), (CG, True), (CV, True)])
def test_loads_past_l1_neither_look_nor_fill(machine: str, cache: int, past: bool) -> None:
    first = run(*load(cache), *load(), machine=machine).stats  # does it fill?
    assert (first["l1_global_hits"], first["l1_global_misses"]) == ((0, 1) if past else (1, 1))
    again = run(*load(), *load(cache), machine=machine).stats  # does it look?
    assert (again["l1_global_hits"], again["l1_global_misses"]) == ((0, 1) if past else (1, 1))
    assert again["answers"] == (2 if past else 1)
    third = run(*load(), *load(cache), *load(), machine=machine).stats  # does it leave what is there?
    assert third["l1_global_hits"] == (1 if past else 2)


@pytest.mark.parametrize("machine", [CACHING, UPDATING])
def test_a_load_past_l1_takes_the_latency_of_l2(machine: str) -> None:
    m = load_machine(machine)
    lane = op("ISETP", pd0=0, ra=0, form=1, imm=1, icmp=1)
    cold, *others = ([one.replace(guard=(0, False)) for one in load(cache)] for cache in (0, 0, CG, CV))
    one = run(lane, *cold, machine=machine).cycles
    past = m.l2.latency - link_cycles(m) + link_cycles(replace(m, l1=replace(m.l1, fills_lines=False)))
    for warm, latency in zip(others, (m.l1.latency, past, past), strict=True):
        two = run(lane, *cold, *warm, machine=machine).cycles
        assert two - one == max(latency, 15) + 15


@pytest.mark.parametrize("cache", [0, CG, CS, CV])
def test_where_l1_holds_no_global_memory_nothing_differs(cache: int) -> None:
    plain, other = (run(*load(c), *store(c), *load(c), machine=PAST) for c in (0, cache))
    assert plain.stats == other.stats


@pytest.mark.parametrize(("cache", "hits"), [(0, 1), (CS, 1), (CG, 0), (CV, 0)])
def test_stores_past_l1_are_not_kept_there(cache: int, hits: int) -> None:
    assert run(*load(), *store(cache), *load(), machine=UPDATING).stats["l1_global_hits"] == hits
    assert run(*load(), *store(cache), *load(), machine=CACHING).stats["l1_global_hits"] == 0


@pytest.mark.parametrize("machine", [CACHING, UPDATING, PAST])
@pytest.mark.parametrize("cache", [CG, CV])
def test_both_engines_and_modes_agree(machine: str, cache: int) -> None:
    body = [*load(), *load(cache), *store(cache), *load(), *load(cache, 9)]
    runs = [
        run(*body, machine=machine, engine=engine, reference=reference)
        for engine in ("python", "numba")
        for reference in (False, True)
    ]
    assert all(one.stats == runs[0].stats for one in runs)
    expected: Any = np.arange(4096)
    expected[:32] = np.arange(32)
    assert all(np.array_equal(one.buffers["x"], expected) for one in runs)


def test_generic_accesses_have_modifiers_too() -> None:
    generic = [op("LD", rd=8, ra=4, width=4, wbar=1, cache=CG), op("NOP", wait=2)]
    assert run(*load(), *generic, machine=CACHING).stats["l1_global_hits"] == 0
    assert assemble(".kernel k\n    LDG.CV.32 R4, [R2]\n    EXIT\n.end\n").functions[0].instrs[0].f["cache"] == CV
