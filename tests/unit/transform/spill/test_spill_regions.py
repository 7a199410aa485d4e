"""Where spilled values come back: once behind a loop, not at every use, and in no loop that does not use them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from binalloc.analysis.program import analyse
from binalloc.frontend.importer import import_ptx
from binalloc.models.allocation.homes import choose_homes
from binalloc.models.allocation.regions import Border, Crossing, RegionChoice, Regions, choose
from binalloc.models.allocation.stores import DEFINED
from binalloc.transform.allocate.functions.registers import SpillOptions, allocate_registers, emitted_cost
from binalloc.transform.spill.prices import Prices
from binalloc.transform.spill.spill import spill_to_room
from binalloc.transform.virtual.analysed import analysed
from binalloc.transform.virtual.code import RELOAD
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.virtualise import virtualise
from tests.support.paths import sample_file
from tests.support.programs.builder import program

LOADS = "\n".join(f"LDG R{r}, [R4+{4 * r}]" for r in range(10, 18))
SUMS = "\n".join(f"IADD3 R10, R10, R{r}, RZ" for r in range(11, 18))
SKIPPED_LOOP = f"""
.kernel k registers=40
MOV R4, c[0][p]
MOV R5, c[0][p+4]
LDG R0, [R4]
LDG R6, [R4+4]
ISETP.EQ P0, PT, R6, 0, PT
@P0 BRA behind, behind
again:
{LOADS}
{SUMS}
STG [R4], R10
IADD3 R6, R6, -1, RZ
ISETP.GT P1, PT, R6, 0, PT
@P1 BRA again, behind
behind:
ISETP.GT P2, PT, R6, 5, PT
@P2 BRA first, first
STG [R4+8], R0
first:
ISETP.GT P2, PT, R6, 7, PT
@P2 BRA second, second
STG [R4+12], R0
second:
STG [R4+16], R0
EXIT
"""


def test_a_value_comes_back_once_behind_a_loop_though_no_code_can_stand_on_the_ways_out() -> None:
    given = analysed(virtualise(analyse(program(SKIPPED_LOOP), "k"), "k", {}))
    after = spill_to_room(given, (1 << 11) - 1, {})
    reloads = [b for b, block in enumerate(after.code.blocks) for item in block.items if item.kind == RELOAD]
    assert len(reloads) == 1
    assert len(after.flat.preds[reloads[0]]) == 2


def _loops(inner: float) -> tuple[Regions, NDArray[np.int32], NDArray[np.int32]]:
    """A value spilled around a loop that does not use it. inner: cost of coming back on the ways into and out of it."""
    regions = Regions(
        value=[0, 0],
        points=[[(0, 2), (3, 5)], [(2, 3)]],
        exits=[4.0, 0.0],
        stored=[True, False],
        borders=[[Border(1, inner, inner)], [Border(0, inner, inner)]],
        ways=[[(DEFINED, 4.0)], [(0, 40.0)]],
        together=[[], []],
        families=[(0,), (1,)],
    )
    return regions, np.array([2, 2, 1, 2, 2], np.int32), np.ones(5, np.int32)


def test_a_value_stays_away_in_a_loop_that_does_not_use_it() -> None:
    choice = choose(*_loops(40.0))
    assert choice.spilled == [0, 1]
    assert choice.cost == 8.0


def test_what_a_recomputation_on_a_border_reads_is_dear_only_where_it_stands() -> None:
    regions, pressure, capacity = _loops(40.0)
    regions.value.append(1)
    regions.points.append([(0, 2)])
    regions.exits.append(1.0)
    regions.stored.append(True)
    regions.borders.append([])
    regions.ways.append([(DEFINED, 1.0)])
    regions.together.append([])
    regions.families.append((2,))
    regions.crossings.append(Crossing(0, 1, 2, 1000.0))
    pressure[:2] += 1
    assert regions.cost([0, 1, 2]) == 10.0
    assert regions.cost([0, 2]) == 4 + 40 + 1000 + 2 + 4
    assert choose(regions, pressure, capacity).spilled == [0, 1, 2]


@pytest.mark.rotates
@pytest.mark.parametrize("name", ["histogram", "hotspot", "recursiveGaussian", "imageDenoising", "convolution"])
def test_emitted_code_costs_what_the_model_says(name: str) -> None:
    """What is recomputed on a border finds what it reads there, too."""
    module = import_ptx(sample_file(f"{name}.ptx").read_text(), name, machine="gtx680").module
    kernel = next(fn.name for fn in module.functions if fn.info.is_kernel)
    choices: list[RegionChoice] = []

    def watched(*problem: object) -> RegionChoice:
        choices.append(choose_homes(*problem))  # type: ignore[arg-type]
        return choices[-1]

    whole = analyse(module, kernel)
    contracts: dict[str, Contract] = {}
    for function in whole.graph.bottom_up:
        given = analysed(virtualise(whole, function, contracts))
        found = allocate_registers(given, (1 << 24) - 1, contracts, SpillOptions(Prices(4.0), watched))
        contracts[function] = found.contract
    assert choices
    assert emitted_cost(found.code, Prices(4.0)) <= sum(choice.cost for choice in choices)
