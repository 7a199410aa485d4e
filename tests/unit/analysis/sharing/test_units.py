"""Units are variables that can be moved: what one access may both touch, or shares bytes, stays together."""

from __future__ import annotations

from binalloc.analysis.program import analyse
from binalloc.analysis.shared.memory import shared_memory
from binalloc.analysis.sharing.units import Units, units_of
from tests.support.programs.builder import program

KERNEL = """.kernel k
.param n, 4
.block 32
.shared one, 16
.shared two, 128, 8
.shared three, 4
    S2R R1, SR_TID.X
    IMAD R2, R1, 4, RZ
    LDS R3, [RZ+4]
    STS [R2+16], R3
    LDS R4, [RZ+144]
{more}
    EXIT
.end
"""


def _units(more: str = "") -> Units:
    return units_of(shared_memory(analyse(program(KERNEL.format(more=more)), "k")))


def test_each_variable_is_a_unit() -> None:
    found = _units()
    assert [(each.names, each.first, each.size, each.align) for each in found.extents] == [
        (["one"], 0, 16, 4), (["two"], 16, 128, 8), (["three"], 144, 4, 4)
    ]  # fmt: skip
    assert found.accesses == {"k": {2: 1, 3: 2, 4: 4}}
    assert found.loose == 0


def test_an_access_to_two_variables_keeps_them_together() -> None:
    found = _units("    LDS R5, [R2+24]")
    assert [(each.names, each.first, each.size, each.align) for each in found.extents] == [
        (["one"], 0, 16, 4), (["two", "three"], 16, 132, 8)
    ]  # fmt: skip
    assert found.accesses == {"k": {2: 1, 3: 2, 4: 2, 5: 2}}
    assert found.loose == 1  # up to byte 152


def test_an_unknown_address_keeps_all_together() -> None:
    found = _units("    LDG R6, [R2]\n    LDS R5, [R6]")
    assert [each.names for each in found.extents] == [["one", "two", "three"]]
    assert found.loose == 1


def test_bytes_of_no_variable_are_a_unit_where_they_are_accessed() -> None:
    text = KERNEL.format(more="").replace(".shared ", ".shared_bytes 400\n.shared ", 1)
    assert len(units_of(shared_memory(analyse(program(text), "k"))).extents) == 3, "nobody touches the rest"
    found = units_of(shared_memory(analyse(program(text.replace("[RZ+144]", "[RZ+200]")), "k")))
    assert [each.names for each in found.extents] == [["one"], ["two"], ["three"], ["bytes 148 to 399"]]
    assert found.accesses["k"][4] == 8
    assert found.loose == 0
