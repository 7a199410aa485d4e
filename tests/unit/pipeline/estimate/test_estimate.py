"""What a version is expected to take, beside what it takes in the emulator; and what its accesses ask for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.emulator.runs.run import run
from binalloc.isa.instruction import Module
from binalloc.isa.interface.view import Memory
from binalloc.isa.kinds import Access, Space
from binalloc.isa.sets.files import load
from binalloc.isa.text.assembler import assemble
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.estimate.estimate import Estimates, _expanded
from binalloc.pipeline.estimate.traffic import Traffic
from binalloc.pipeline.estimate.walk.repeats import Again
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.build import build_version
from tests.support.paths import sample_file

MACHINE = load_machine("gtx680")
SPILL_LOAD = Memory(Space.LOCAL, Access.LOAD, 4, 0, None, spill=True)
SPILL_STORE = replace(SPILL_LOAD, access=Access.STORE)
LOAD, STORE = (Memory(Space.GLOBAL, access, 4, 0, None) for access in (Access.LOAD, Access.STORE))
FETCH = Memory(Space.TEXTURE, Access.LOAD, 4, 0, None)


@pytest.mark.parametrize(("name", "within"), [("stencil3d", 1.5), ("stencil2d", 1.8), ("matmul", 2.2)])
def test_cycles_are_about_those_of_the_emulator(name: str, within: float) -> None:
    """Kernels whose loops hang on no data, at full size; nothing was fitted to them."""
    launch = load_launch(sample_file(f"{name}.toml"))
    module = load(sample_file(f"{name}.loom"))
    request = Request(kernel=module.kernels()[0].name, machine=MACHINE, launch=launch)
    version = baseline(module, request)
    estimates = Estimates(module, request)
    assert estimates.sure
    warps = launch.blocks * -(-launch.threads_per_block // 32)
    ran = run(version.module, request.kernel, launch, MACHINE).cycles
    assert 1 / within < ran * estimates.rate(version) / warps < within


@pytest.mark.rotates("long")
def test_it_ranks_what_hides_latencies_and_what_spills() -> None:
    """nbody: the more blocks the better, down to where what they spill costs more."""
    launch = load_launch(sample_file("nbody.toml"))
    module = load(sample_file("nbody.loom"))
    request = Request(kernel=module.kernels()[0].name, machine=MACHINE, launch=launch, emulate=False)
    estimates = Estimates(module, request)
    original, spilling, most = baseline(module, request), *(build_version(module, request, r, 0) for r in (40, 24))
    assert most.local_bytes > spilling.local_bytes > 0
    assert estimates.rate(spilling) > estimates.rate(most)
    assert estimates.rate(original) > 1.5 * estimates.rate(most)
    fewer = [estimates.rate(replace(original, blocks_per_sm=blocks)) for blocks in (1, 2, 4)]
    assert fewer == sorted(fewer)


def test_without_a_launch_loops_go_round_ten_times() -> None:
    module = load(sample_file("stencil3d.loom"))
    request = Request(kernel=module.kernels()[0].name, machine=MACHINE, emulate=False)
    assert Estimates(module, request).rate(baseline(module, request)) > 0


def test_spilled_words_go_further_the_more_threads_spill() -> None:
    few, many = (Traffic(MACHINE, threads, 64, 0.0, 1.0, 1.0) for threads in (128, 2048))
    assert few.asked(SPILL_LOAD, 0.0).latency == MACHINE.l1.latency
    assert few.asked(SPILL_LOAD, 0.0).dram == few.asked(SPILL_STORE, 0.0).requests == 0
    load, store = many.asked(SPILL_LOAD, 0.0), many.asked(SPILL_STORE, 0.0)
    assert load.latency > MACHINE.l2.latency
    assert load.answers == store.requests > 0
    assert load.requests == store.answers == 0
    assert 0 < load.dram < load.answers
    polluted = Traffic(load_machine("c2075"), 128, 64, 1e6, 1.0, 1.0)
    assert polluted.asked(SPILL_LOAD, 0.0).answers > 0, "Fermi's L1 holds what is loaded from global memory, too"


def test_what_a_block_asks_for_again_is_near() -> None:
    streaming, again = Traffic(MACHINE, 512, 0, 1e5, 1.0, 1.0), Traffic(MACHINE, 512, 0, 1e5, 0.1, 0.1)
    assert streaming.asked(LOAD, 4.0).dram == streaming.asked(LOAD, 4.0).answers == 128
    assert again.asked(LOAD, 4.0).dram == pytest.approx(12.8)
    assert again.asked(LOAD, 4.0).answers == 128, "Kepler's L1 holds nothing of global memory"
    assert again.asked(FETCH, 4.0).answers < 128
    assert again.asked(FETCH, 4.0).latency < again.asked(LOAD, 4.0).latency < streaming.asked(LOAD, 4.0).latency
    assert again.asked(STORE, 4.0).requests == 128
    beside = Traffic(MACHINE, 512, 0, 1e5, 1.0, 0.5).asked(LOAD, 4.0)
    assert (beside.answers, beside.dram) == (128, 64), "what another block has asked for is in L2"
    crowded = Traffic(MACHINE, 2048, 0, 1e7, 0.1, 0.1)
    assert crowded.asked(FETCH, 4.0).answers > again.asked(FETCH, 4.0).answers


def test_an_l1_that_fills_lines_asks_for_whole_ones() -> None:
    fermi = Traffic(load_machine("c2075"), 512, 0, 1e7, 1.0, 1.0)
    assert fermi.asked(LOAD, 11.0, 11.0).answers == 11 * 128
    assert fermi.asked(LOAD, 4.0, 1.0).answers == 128
    assert fermi.asked(STORE, 11.0, 11.0).requests == 11 * 32
    assert Traffic(MACHINE, 512, 0, 1e7, 1.0, 1.0).asked(LOAD, 11.0, 11.0).answers == 11 * 32


ROUND_AND_ROUND = """
.kernel k
.param out, 8
.block 256, 1, 1
MOV R2, c[0][out]
MOV R3, c[0][out+4]
MOV R1, 0x0
outer:
MOV R4, 0x0
middle:
MOV R5, 0x0
inner:
{body}
LDG R6, [R2]
IADD3 R5, R5, 0x1, RZ
ISETP.NE.AND P0, PT, R5, R6, PT
@P0 BRA inner, next
next:
IADD3 R4, R4, 0x1, RZ
ISETP.NE.AND P0, PT, R4, R6, PT
@P0 BRA middle, after
after:
IADD3 R1, R1, 0x1, RZ
ISETP.NE.AND P0, PT, R1, R6, PT
@P0 BRA outer, done
done:
STG [R2], R1
EXIT
.end
"""


def test_walks_that_are_cut_short_are_held_against_the_same_work() -> None:
    """Ten times ten times ten rounds of 40 instructions are beyond a walk, and so are those of 60: a warp takes half as
    long again for each, and the walk does not come as far."""

    def module(extra: int) -> Module:
        return assemble(ROUND_AND_ROUND.format(body="\n".join(["FADD R7, R8, R9"] * (36 + extra))))

    request = Request(kernel="k", machine=MACHINE, emulate=False)
    original, longer = (baseline(module(extra), request) for extra in (0, 20))
    estimates = Estimates(module(0), request)
    assert not estimates.sure
    assert estimates.rate(original) / estimates.rate(longer) == pytest.approx(1.5, rel=0.05)


def test_a_long_way_is_taken_with_fewer_rounds() -> None:
    way: list[int | Again] = [0, 1, 2, Again(1, 3, 99), 3]
    assert _expanded(way, 1000) == ([0, *[1, 2] * 100, 3], 1.0)
    words, share = _expanded(way, 50)
    assert words == [0, *[1, 2] * (len(words) // 2 - 1), 3]
    assert len(words) <= 54
    assert share == len(words) / 202
    nested: list[int | Again] = [0, 1, Again(1, 2, 2), 2, Again(0, 4, 1), 3]
    assert _expanded(nested, 1000)[0] == [0, 1, 1, 1, 2, 0, 1, 1, 1, 2, 3]
