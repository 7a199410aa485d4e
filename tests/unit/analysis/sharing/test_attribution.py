"""Which variables an access may touch, and on what evidence: ranges first, then what the producer says."""

from __future__ import annotations

import pytest

from binalloc.analysis.program import analyse
from binalloc.analysis.shared.memory import shared_memory
from binalloc.analysis.sharing.attribution import Attributed, Evidence, attributed
from binalloc.analysis.sharing.touching import staying
from binalloc.analysis.sharing.units import Units, units_of
from binalloc.isa.instruction import DYNAMIC, Module
from tests.support.programs.builder import program

KERNEL = """.kernel k
.block 32
.shared one, 128
.shared two, 128
.shared three, 4
    S2R R1, SR_TID.X
    IMAD R2, R1, 4, RZ
    LDG R6, [R8]
{body}
    EXIT
.end
{rest}
"""
PROVED, SYMBOL, UNKNOWN = Evidence.PROVED, Evidence.SYMBOL, Evidence.UNKNOWN


def _module(body: str, rest: str = "") -> Module:
    return program(KERNEL.format(body=body, rest=rest))


def _found(body: str, rest: str = "") -> list[Attributed]:
    return attributed(shared_memory(analyse(_module(body, rest), "k")))


def _units(body: str) -> tuple[Units, int]:
    memory = shared_memory(analyse(_module(body), "k"))
    units = units_of(memory)
    return units, staying(memory, units)


@pytest.mark.parametrize(
    ("body", "evidence", "touches"),
    [
        ("LDS R3, [R2]", PROVED, ["one"]),
        (".touches one\nLDS R3, [R2]", PROVED, ["one"]),
        ("LDS R3, [R2+0x40]", PROVED, ["one", "two"]),
        (".touches one\nLDS R3, [R2+0x40]", SYMBOL, ["one"]),  # ranges alone would let it into the next one
        (".touches one, two\nLDS R3, [R2+0x40]", PROVED, ["one", "two"]),
        ("LDS R3, [R6]", UNKNOWN, []),
        (".touches two\nLDS R3, [R6]", SYMBOL, ["two"]),
        (".touches one, three\nLDS R3, [R6]", SYMBOL, ["one", "three"]),
        (".touches *\nLDS R3, [R6]", SYMBOL, [DYNAMIC]),
        (".touches *, one\nLDS R3, [R6]", SYMBOL, ["one", DYNAMIC]),
        ("LD R3, [R6]", UNKNOWN, []),
        (".touches two\nLD R3, [R6]", SYMBOL, ["two"]),
        (".touches one, three\nLDS R3, [R2+0x100]", SYMBOL, ["three"]),  # both together
    ],
)
def test_evidence(body: str, evidence: Evidence, touches: list[str]) -> None:
    (found,) = _found(body)
    assert (found.evidence, list(found.touches), found.contradicted) == (evidence, touches, ())


@pytest.mark.parametrize(
    ("body", "evidence"), [("LDS R3, [R2]", PROVED), ("LDS R3, [R2+0x1000]", UNKNOWN), ("LDS R3, [R2+0x104]", UNKNOWN)]
)
def test_a_contradiction_is_not_believed(body: str, evidence: Evidence) -> None:
    (found,) = _found(f".touches two\n{body}" if evidence == PROVED else f".touches one\n{body}")
    assert found.evidence == evidence
    assert found.contradicted == (("two",) if evidence == PROVED else ("one",))


def test_multiplexing_knows_nothing_of_symbols() -> None:
    body = ".touches two\nLDS R3, [R6]"
    reach = shared_memory(analyse(_module(body), "k")).reach
    assert [each.may for each in reach.accesses] == [reach.everything]


def test_symbols_make_variables_movable() -> None:
    apart, stay = _units("LDS R3, [R2]\n.touches two\nSTS [R6], R3\n.touches three\nLDS R4, [R6]")
    assert [extent.names for extent in apart.extents] == [["one"], ["two"], ["three"]]
    assert not stay
    assert apart.accesses["k"] == {3: 1, 4: 2, 5: 4}
    together, stay = _units("LDS R3, [R2]\nSTS [R6], R3\n.touches three\nLDS R4, [R6]")
    assert [extent.names for extent in together.extents] == [["one", "two", "three"]]
    assert stay == 1
    two, stay = _units("LDS R3, [R2]\n.touches two, three\nSTS [R6], R3")
    assert [extent.names for extent in two.extents] == [["one"], ["two", "three"]]
    assert not stay


def test_dynamic_memory_and_generic_accesses_do_not_move() -> None:
    dynamic, stay = _units("LDS R3, [R2]\n.touches *\nSTS [R6], R3")
    assert [extent.names for extent in dynamic.extents] == [["one"], ["two"], ["three"]]
    assert not stay
    generic, stay = _units(".touches two\nST [R6], R3\n.touches one\nLDS R3, [R6]")
    assert [extent.names for extent in generic.extents] == [["one"], ["two"], ["three"]]
    assert stay == 2


def test_a_function_means_its_own_variables_and_then_the_kernels() -> None:
    rest = ".func f\n.shared_bytes 128\n.shared two, 64\n.touches {names}\nLDS R3, [R6]\nRET\n.end\n"
    (found,) = _found("CALL f", rest.format(names="two"))
    assert (found.evidence, found.reached.may) == (SYMBOL, (1 << 64) - 1)
    assert found.touches == ("one", "two")  # of those that lie there, the kernel's one, and the function's two
    (found,) = _found("CALL f", rest.format(names="three"))
    assert (found.evidence, found.touches) == (SYMBOL, ("three",))
    other = rest.format(names="fourth") + ".kernel other\n.shared_bytes 128\n.shared fourth, 4\nCALL f\nEXIT\n.end\n"
    (found,) = _found("CALL f", other)
    assert (found.evidence, found.touches) == (UNKNOWN, ())
