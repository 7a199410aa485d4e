"""Kernels in other orders as they run, and those whose blocks may not change their order."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.launch.types import Argument, Launch
from binalloc.models.batches.order import BlockOrder
from binalloc.models.machines.reader import load_machine
from binalloc.transform.block_order.renumber import MOST_BLOCKS, require_movable
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.block_order.check import check_order
from tests.support.kits.block_order import CALLED, PLACES, Three, renumbered
from tests.support.programs.builder import program

MACHINE = load_machine("v100")
TICKETS = PLACES.replace("STG.32 [R6], R5", "STG.32 [R10+0x4], R5").replace(
    "S2R R8, SR_TID.X",
    "MOV R12, c[0][out]\nMOV R13, c[0][out+0x4]\nMOV R14, 0x1\nATOMG.ADD R11, [R12], R14\n"
    "IMAD.WIDE R10, R11, 0x4, R12\nS2R R8, SR_TID.X",
)
"""The blocks write their numbers behind one another, in the order in which they come: word 0 counts them."""


def results(module: Module, grid: Three, words: int) -> list[int]:
    """What the kernel leaves: blocks of one thread run one after the other."""
    launch = Launch("k", grid, (1, 1, 1), 0, (Argument("out", "buffer", "u32", (words,)),))
    options = RunOptions(machine=MACHINE, engine="python", blocks_per_sm=1)
    found: np.ndarray = run_launch(schedule(module, MACHINE), "k", launch, options).buffers["out"]
    return [int(n) for n in found]


@pytest.mark.parametrize("order", ["tile:2x2", "tile:3x1", "mod:4", "stride:3"])
@pytest.mark.parametrize("grid", [(5, 3, 1), (4, 2, 2), (13, 1, 1)])
def test_blocks_come_in_the_order(order: str, grid: Three) -> None:
    blocks = grid[0] * grid[1] * grid[2]
    made = renumbered(program(TICKETS), order, grid).module
    wanted = BlockOrder.parse(order, blocks, "").numbers(grid, 4)
    seen = results(made, grid, blocks + 1)
    assert seen == [blocks, *(int(n) for n in wanted)]


def test_other_grids_keep_their_order() -> None:
    made = renumbered(program(TICKETS), "tile:2x2", (5, 3, 1)).module
    for grid in ((5, 4, 1), (3, 5, 1), (15, 1, 1), (5, 3, 2)):
        blocks = grid[0] * grid[1] * grid[2]
        assert results(made, grid, blocks + 1) == [blocks, *range(blocks)]


def test_called_functions_ask_for_the_same_block() -> None:
    made = renumbered(program(CALLED), "tile:2x2", (5, 3, 1))
    assert made.reads == 3
    assert results(made.module, (5, 3, 1), 15) == list(range(15))


SPIN = """
.kernel k
.param flag, 8
MOV R6, c[0][flag]
MOV R7, c[0][flag+0x4]
S2R R0, SR_CTAID.X
again:
{load}
ISETP.NE P0, PT, R1, {value}, PT
{between}
@P0 BRA again, again
IADD3 R1, R0, 0x1, RZ
STG.32 [R6], R1
EXIT
.end
"""
"""A block goes on when the flag is its number."""


def spin(load: str, value: str = "R0", between: str = "NOP") -> Module:
    return program(SPIN.format(load=load, value=value, between=between))


@pytest.mark.parametrize("load", [
    "LDG.32.CG R1, [R6]", "LDG.32.CV R1, [R6]", "MOV R2, 0x0\nATOMG.ADD R1, [R6], R2",
    "MOV R2, 0x0\nMOV R3, 0x1\nATOMG.CAS R1, [R6], R2, R3",
])  # fmt: skip
def test_a_kernel_that_waits_for_other_blocks_is_refused(load: str) -> None:
    module = spin(load)
    with pytest.raises(Refused, match="blocks wait for what other blocks write") as error:
        require_movable(module, "k", (4, 1, 1))
    assert str(error.value.place).startswith("k+")
    assert "waits" in {e.kind for e in check_order(module, module, "k", "tile:1x1", (4, 1, 1), 1).errors}


@pytest.mark.parametrize("text", [
    "MOV R1, R0",  # plain arithmetic
    "LDG.32 R1, [R6]",  # a plain load of what another block might write races
    "ATOMG.ADD R1, [R6], R0\nMOV R1, R0",  # what comes of it decides nothing
    "LDS.32.CV R1, [RZ]",  # of the own block
])  # fmt: skip
def test_other_loops_are_not(text: str) -> None:
    module = spin(text)
    require_movable(module, "k", (4, 1, 1))
    assert renumbered(module, "mod:2", (4, 1, 1)).reads == 1
    made = renumbered(module, "mod:2", (4, 1, 1)).module
    report = check_order(module, made, "k", "mod:2", (4, 1, 1), 4)
    assert report.ok, str(report)


def test_the_last_block_of_all_does_not_wait() -> None:
    """It counts itself, and does more if it is the last one: there is no loop."""
    module = program(SPIN.format(load="ATOMG.ADD R1, [R6], R0", value="0x7", between="NOP").replace(
        "@P0 BRA again, again", "@P0 EXIT"))  # fmt: skip
    assert require_movable(module, "k", (4, 1, 1)).graph.kernel == "k"
    made = renumbered(module, "mod:2", (4, 1, 1)).module
    assert check_order(module, made, "k", "mod:2", (4, 1, 1), 4).ok


def test_what_is_waited_for_may_come_by_memory_by_calls_and_by_branches() -> None:
    by_memory = spin("LDG.32.CG R1, [R6]\nSTS.32 [RZ], R1\nBAR.SYNC 0\nLDS.32 R1, [RZ]")
    called = program(SPIN.format(load="CALL ask", value="R0", between="NOP")
                     + ".func ask\nLDG.32.CG R1, [R6]\nRET\n.end\n")  # fmt: skip
    chain = program(SPIN.format(load="CALL ask", value="R0", between="NOP")
                    + ".func ask\nCALL deeper\nRET\n.end\n.func deeper\nLDG.32.CG R1, [R6]\nRET\n.end\n")  # fmt: skip
    by_branch = spin("LDG.32.CG R1, [R6]", between="MOV R3, 0x1\n@P0 BRA skip, skip\nMOV R3, 0x0\nskip:\n"
                     "ISETP.NE P0, PT, R3, RZ, PT")  # fmt: skip
    for module in (by_memory, called, chain, by_branch):
        with pytest.raises(Refused, match="blocks wait for what other blocks write"):
            require_movable(module, "k", (4, 1, 1))
        assert "waits" in {e.kind for e in check_order(module, module, "k", "tile:1x1", (4, 1, 1), 1).errors}


def test_grids_that_are_too_large_for_a_proof_are_refused() -> None:
    with pytest.raises(Refused, match="too large for a proof"):
        require_movable(program(PLACES), "k", (MOST_BLOCKS + 1, 1, 1))


def test_a_kernel_without_free_registers_is_refused() -> None:
    with pytest.raises(Refused, match="too many registers"):
        renumbered(program(PLACES.replace("R14", "R251").replace("R5", "R252")), "tile:2x2", (5, 3, 1))


def test_a_function_of_other_kernels_is_left_alone() -> None:
    other = CALLED[: CALLED.index(".func")].replace(".kernel k", ".kernel l")
    with pytest.raises(Refused, match="that other kernels call, too") as error:
        renumbered(program(CALLED + other), "tile:2x2", (5, 3, 1))
    assert (error.value.place, error.value.found) == ("where", "l")


def test_reads_of_two_words_are_refused() -> None:
    module = program(PLACES.replace("S2R R1, SR_CTAID.Y", "CS2R.64 R10, SR_CTAID.Y\nMOV R1, R10"))
    with pytest.raises(Refused, match="asks for two words at once"):
        renumbered(module, "tile:2x2", (5, 3, 1))
    report = check_order(module, module, "k", "tile:1x1", (5, 3, 1), 4)
    assert {e.kind for e in report.errors} == {"not proven"}


def test_reads_at_fixed_latency_are_replaced_too() -> None:
    module = program(TICKETS.replace("S2R R1, SR_CTAID.Y", "CS2R R1, SR_CTAID.Y"))
    made = renumbered(module, "tile:2x2", (4, 2, 1)).module
    assert results(made, (4, 2, 1), 9) == [8, 0, 1, 4, 5, 2, 3, 6, 7]
