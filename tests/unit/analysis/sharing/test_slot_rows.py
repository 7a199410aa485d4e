"""Slots that accesses are to: by the slot pointer's height, through calls; and numbers that they may get."""

from __future__ import annotations

import pytest

from binalloc.analysis.program import analyse
from binalloc.analysis.sharing.slot_rows import SlotPlaces, SlotRows, slot_rows
from tests.support.programs.builder import program

KERNEL = """.kernel k
.slots 512 R5
.block 32
    S2R R5, SR_SLOTBASE
    STS.SPILL [R5+128], R1
{more}
    EXIT
.end
.func f
.slots 512 R5
    LDS.SPILL R2, [R5]
    RET
.end
"""


def _rows(more: str = "") -> SlotRows:
    return slot_rows(analyse(program(KERNEL.format(more=more)), "k"))


def test_an_access_is_to_a_slot() -> None:
    found = _rows("    LDS.SPILL R1, [R5+384]")
    assert (found.count, found.rows, found.movable) == (4, {"k": {1: 0b10, 2: 0b1000}}, 0b1111)


def test_a_callee_has_the_slots_above_the_callers() -> None:
    call = "    IADD3 R5, R5, {up}, RZ\n    CALL f\n    IADD3 R5, R5, -{up}, RZ\n"
    assert _rows(call.format(up=256)).rows["f"] == {0: 0b100}
    both = _rows(call.format(up=256) + call.format(up=384) + "    LDS.SPILL R1, [R5+128]")
    assert both.rows["f"] == {0: 0b1100}
    assert both.rows["k"] == {1: 0b10, 8: 0b10}
    assert both.movable == 0b0011


@pytest.mark.parametrize(
    "more",
    [
        "    MOV R5, R1\n    LDS.SPILL R1, [R5]", "    @P0 IADD3 R5, R5, 128, RZ\n    LDS.SPILL R1, [R5]",
        "    LDS.SPILL R1, [R6]", "    LDS.SPILL R1, [R5+512]",
        "    @P0 BRA one, two\n    IADD3 R5, R5, 128, RZ\none:\ntwo:\n    LDS.SPILL R1, [R5]",
    ],
)  # fmt: skip
def test_an_unknown_access_may_be_to_every_slot(more: str) -> None:
    found = _rows(more)
    assert found.rows["k"][max(found.rows["k"])] == 0b1111
    assert found.movable == 0


def test_a_callee_that_changes_the_pointer_leaves_nothing_known() -> None:
    text = KERNEL.format(more="    CALL f").replace("    RET", "    IADD3 R5, R5, 128, RZ\n    RET")
    found = slot_rows(analyse(program(text), "k"))
    assert found.rows == {"k": {1: 0b1111}, "f": {0: 0b1111}}


def test_places() -> None:
    rows = _rows("    LDS.SPILL R1, [R5+384]")
    places = SlotPlaces(rows, (1, 3, 2, 0), 3)
    assert places.fits
    assert places.distances() == {"k": {1: 256, 2: -384}}
    assert places.shared() == {"k": {1: 1}}
    assert not SlotPlaces(rows, (1, 1, 2, 0), 3).fits
    assert not SlotPlaces(rows, (0, 1, 2), 3).fits
    assert not SlotPlaces(rows, (0, 1, 2, 3), 5).fits
    unknown = _rows("    LDS.SPILL R1, [R6]")
    assert SlotPlaces.unmoved(unknown, 2).fits
    assert not SlotPlaces(unknown, (1, 0, 2, 3), 2).fits
