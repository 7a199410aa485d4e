"""Fewer blocks than there is room for: slots that nothing uses hold them down, in the file, and nobody is fooled."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import assemble, load, write_module
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.advice.recommend import recommend
from binalloc.pipeline.pipeline import Request, add_provenance, rewrite_kernel
from binalloc.pipeline.steps.build import build_unproven
from binalloc.pipeline.steps.holding import IDLE_SLOTS, declared_idle, hold
from binalloc.pipeline.steps.kernels import kernel_use
from binalloc.pipeline.steps.proof import prove
from binalloc.pipeline.steps.version import Version
from binalloc.report.recommend.facts import recommendation_to_dict
from binalloc.verify.checker import check
from tests.support.kits.cli import call
from tests.support.paths import sample_file

MACHINES = ["c2075", "gtx680", "a100", "h100"]


def kernel(registers: int, threads: int, shared: int = 0, line: str = "") -> Module:
    """Writes R0 + R<registers - 1>, of as many as are asked for."""
    return assemble(
        f".kernel k\n.param out, 8\n.block {threads}, 1, 1\n.registers {registers}\n"
        + (f".shared buffer, {shared}\n" if shared else "")
        + f"{line}\nMOV R2, c[0][out]\nMOV R3, c[0][out+4]\nS2R R0, SR_TID.X\nSTG [R2], R0\nEXIT\n.end\n"
    )


def held_at(module: Module, version: Version, request: Request, blocks: int) -> Version | None:
    try:
        return hold(module, version, request, blocks)
    except Refused:
        return None


@settings(max_examples=150)
@given(
    machine=st.sampled_from(MACHINES),
    registers=st.integers(8, 63),
    warps=st.integers(1, 32),
    shared=st.sampled_from([0, 4, 1000, 8192, 40000]),
    blocks=st.integers(1, 16),
)
@pytest.mark.rotates
def test_exactly_so_many_are_resident_with_the_least_that_does_it(
    machine: str, registers: int, warps: int, shared: int, blocks: int
) -> None:
    request = Request("k", machine=machine)
    module = kernel(registers, 32 * warps, shared)
    if request.machine.occupancy(kernel_use(module.function("k"), None)).blocks_per_sm == 0:
        return
    version = build_unproven(module, request, registers, 0)
    held = held_at(module, version, request, blocks)
    registers = version.registers
    occupancy = request.machine.occupancy
    if version.blocks_per_sm <= blocks:
        assert held is version
        return
    use = kernel_use(module.function("k"), None)
    most = request.machine.limits.shared_per_block // use.slot_row
    possible = {occupancy(use.given(registers, slots)).blocks_per_sm for slots in range(most + 1)}
    assert (held is not None) == (blocks in possible)
    if held is None:
        return
    assert held.slots == version.slots == 0
    reserved = held.module.function("k").info
    assert (held.idle_slots, held.blocks_per_sm) == (reserved.slots, blocks)
    assert occupancy(use.given(registers, held.idle_slots)).blocks_per_sm == blocks
    assert occupancy(use.given(registers, held.idle_slots - 1)).blocks_per_sm > blocks
    assert prove(module, request, held).proven
    assert version.module.function("k").info.slots == 0, "the version that was held stays as it was"


def test_the_checker_knows_how_many_may_be_idle() -> None:
    request = Request("k", machine="gtx680")
    module = kernel(20, 256)
    held = hold(module, build_unproven(module, request, 20, 0), request, 2)
    for known in (0, held.idle_slots - 1):
        (finding,) = check(module, held.module, "k", idle_slots=known).errors
        assert "reserves more slots than it uses" in finding.message
        assert finding.found == str(held.idle_slots)
    assert check(module, held.module, "k", idle_slots=held.idle_slots).ok


def test_a_kernel_that_asks_where_its_slots_would_lie_is_not_held() -> None:
    request = Request("k", machine="gtx680", blocks=2)
    module = kernel(20, 256, line="S2R R0, SR_TOTAL_SMEM")
    outcome = rewrite_kernel(module, request)
    assert outcome.rewritten.idle_slots == 0
    assert outcome.rewritten.blocks_per_sm == 8
    assert "8 blocks are resident with what 2 would leave: it reads SR_TOTAL_SMEM" in outcome.reason


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_binary_keeps_to_it_wherever_it_is_run(tmp_path: Path, blocks: int) -> None:
    source, launch = sample_file("nbody.loom"), sample_file("nbody.toml")
    written = tmp_path / "held.loom"
    there = ["--launch", str(launch), "--size", "test", "--json"]
    asked = ["--machine", "gtx680", "--blocks", str(blocks), "-o", str(written)]
    told = call("rewrite", str(source), *asked, *there).json
    assert told["rewritten"]["blocks_per_sm"] == blocks < told["original"]["blocks_per_sm"]
    assert told["rewritten"]["idle_slots"] > 0
    assert told["same_results"] is True
    module = load(written)
    assert declared_idle(module, "nbody") == told["rewritten"]["idle_slots"]
    assert declared_idle(module, "another") == 0
    found = call("verify", str(source), str(written), *there).json
    assert found["verified"] is True
    assert found["cycles"]["rewritten"] == told["rewritten"]["cycles"]


def test_slots_that_no_rewrite_set_aside_are_found(tmp_path: Path) -> None:
    request = Request("nbody", machine="gtx680", blocks=2)
    source = sample_file("nbody.loom")
    outcome = rewrite_kernel(load(source), request)
    module = copy.deepcopy(add_provenance(outcome, source.read_bytes()))
    for records in ([], [{**module.provenance[-1], IDLE_SLOTS: "many"}], [{**module.provenance[-1], "kernel": "k"}]):
        module.provenance = records
        path = tmp_path / "held.loom"
        path.write_bytes(write_module(module))
        answer = call("verify", str(source), str(path))
        assert answer.code == 1
        assert "reserves more slots than it uses" in answer.out


@pytest.mark.rotates
def test_levels_below_the_original_are_searched_and_held() -> None:
    """Of nbody, every number of blocks; what is written is what was run."""
    launch = load_launch(sample_file("nbody.toml"), "test")
    module = load(sample_file("nbody.loom"))
    outcome = rewrite_kernel(module, Request(machine="gtx680", launch=launch, policy="exhaustive"))
    own = outcome.given.blocks_per_sm
    below = [t.version for t in outcome.tried if t.budget.blocks < own]
    assert {v.blocks_per_sm for v in below if v is not None} == set(range(1, own))
    assert all(v is not None and v.idle_slots and v.cycles and v.proven for v in below)
    assert {v.allocator for v in below if v is not None} == {"best", "unified"}  # `local` is as `best` there
    machine = load_machine("gtx680")
    assert all(
        machine.occupancy(kernel_use(v.module.function("nbody"), launch)).blocks_per_sm == v.blocks_per_sm
        for v in below
        if v is not None
    )


@pytest.mark.rotates
def test_versions_with_slots_are_held_too_and_local_beside_them() -> None:
    """nbody with few registers: its own slots leave room for four blocks, and `local` has none."""
    launch = load_launch(sample_file("nbody.toml"), "test")
    module = load(sample_file("nbody.loom"))
    for blocks in (1, 2, 3):
        outcome = rewrite_kernel(module, Request(machine="gtx680", launch=launch, registers=24, slots=6, blocks=blocks))
        assert outcome.rewritten.slots == 6
        assert outcome.rewritten.blocks_per_sm == blocks
        assert outcome.verified
        assert outcome.local is not None
        assert (outcome.local.slots, outcome.local.blocks_per_sm) == (0, blocks)


@pytest.mark.rotates("long")
def test_what_holds_code_without_slots_is_told_for_cuda() -> None:
    """Also where slots that are used are what holds the rewrite."""
    launch = load_launch(sample_file("nbody.toml"), "test")
    module = load(sample_file("nbody.loom"))
    for blocks, slots in ((2, 24), (2, 0), (5, 8)):
        request = Request(machine="gtx680", launch=launch, registers=48, slots=slots, blocks=blocks, emulate=False)
        told = recommendation_to_dict(module, recommend(module, request), "")
        unused = told["next"]["unused_shared_bytes"]
        use = replace(kernel_use(module.function("nbody"), launch), registers=told["next"]["maxrregcount"])
        assert request.machine.occupancy(use).blocks_per_sm == 5
        assert (unused is None) == (blocks == 5)
        held = replace(use, shared_bytes=use.shared_bytes + (unused or 0))
        assert request.machine.occupancy(held).blocks_per_sm == blocks
