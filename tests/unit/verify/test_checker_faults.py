"""A fault is an effect: what may stop the run is executed where the original executes it, with the same operands."""

from __future__ import annotations

import pytest

from tests.support.pairs.verdict import mapped, verdict

ORIGINAL = """
.kernel k registers=24
S2R R0, SR_TID.X
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG R4, [R2]
ISETP.LT.U32.AND P0, PT, R0, 0x10, PT
@!P0 BRA skip, skip
{there}
STG [R2+4], R6
skip:
STG [R2+8], R0
EXIT
"""
THERE = {
    "query": "TXQ.WIDTH R6, R4",
    "surface": "SUADDR.1D.TRAP.32 R6, R0, R4",
    "harmless bound": "SUADDR.1D.ZERO.32 R6, R0, R4",
    "index": "LDC.32 R6, c[0][R4+0x0]",
    "operand": "IADD3 R6, R4, R0, c[0][0x200]",
    "no such bank": "IADD3 R6, R4, R0, c[7][0x0]",
    "constant": "MOV R6, c[0][0x200]",
    "constant load": "LDC.32 R6, c[0][0x40]",
    "no handle": "TXQ.WIDTH R6, RZ",
}
HARMLESS = {
    "kind": "TXQ.KIND R6, R4",
    "sum": "IADD3 R6, R4, R0, c[0][0x3c]",
    "parameter": "MOV R6, c[0][0x3c]",
    "parameter load": "LDC.128 R8, c[0][0x30]",
}


def pair(there: str) -> tuple[str, str]:
    """The original with that word behind the branch, and what moves it up in front of the branch."""
    original = ORIGINAL.format(there=there)
    same = mapped(original)
    moved = same.replace(f"6| {there}\n", "").replace("5| @!P0 BRA", f"6| {there}\n5| @!P0 BRA")
    assert moved != same
    return original, moved


@pytest.mark.parametrize("there", THERE.values(), ids=THERE)
def test_it_stays_behind_its_branch(there: str) -> None:
    original, moved = pair(there)
    assert verdict(original, mapped(original)) == set()
    assert verdict(original, moved) != set()


@pytest.mark.parametrize("there", HARMLESS.values(), ids=HARMLESS)
def test_what_cannot_fault_may_come_first(there: str) -> None:
    original, moved = pair(there)
    assert verdict(original, moved) == set()


@pytest.mark.parametrize("there", THERE.values(), ids=THERE)
def test_it_keeps_its_guard(there: str) -> None:
    original = ORIGINAL.format(there=there).replace("@!P0 BRA skip, skip\n", "").replace(there, f"@P0 {there}")
    assert verdict(original, mapped(original)) == set()
    assert verdict(original, mapped(original).replace(f"@P0 {there}", there)) != set()
    assert verdict(original, mapped(original).replace(f"@P0 {there}", f"@!P0 {there}")) != set()


@pytest.mark.parametrize("there", THERE.values(), ids=THERE)
@pytest.mark.parametrize("place", ["0| S2R", "4| ISETP", "8| STG", "9| EXIT"])
def test_none_is_added(there: str, place: str) -> None:
    original = ORIGINAL.format(there=there)
    added = there.replace(" R6,", " R10,")
    assert verdict(original, mapped(original).replace(place, f"-| {added}\n{place}")) != set()


BEFORE = """
.kernel k registers=24
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG R4, [R2]
LDG R0, [R2+4]
{there}
STG [R2+4], R6
ISETP.LT.U32.AND P0, PT, R0, 0x10, PT
@!P0 BRA skip, skip
STG [R2+12], R6
skip:
STG [R2+8], R6
EXIT
"""
EXECUTED = {name: text for name, text in THERE.items() if name in ("query", "surface", "harmless bound", "index")}


@pytest.mark.parametrize("there", EXECUTED.values(), ids=EXECUTED)
def test_what_has_been_executed_may_be_once_more(there: str) -> None:
    """With the same operands: the value is kept nowhere, it is made again."""
    original = BEFORE.format(there=there)
    same = mapped(original)
    again = same.replace("8| STG", f"-| {there}\n8| STG").replace("9| STG", f"-| {there}\n9| STG")
    assert verdict(original, again) == set()
    other = again.replace(f"-| {there}\n9| STG", "-| {}\n9| STG".format(there.replace("R4", "R0")))
    assert other != again
    assert verdict(original, other) != set()


@pytest.mark.parametrize("there", EXECUTED.values(), ids=EXECUTED)
def test_it_is_not_made_again_of_what_has_changed(there: str) -> None:
    original = BEFORE.format(there=there).replace("ISETP", "LDG R4, [R2+16]\nISETP")
    again = mapped(original).replace("9| STG", f"-| {there.replace('R6', 'R12')}\n9| STG")
    assert verdict(original, again) != set()


@pytest.mark.parametrize("there", EXECUTED.values(), ids=EXECUTED)
def test_one_that_some_threads_executed_is_not_made_again_by_all(there: str) -> None:
    original = ORIGINAL.format(there=there)
    again = mapped(original).replace("8| STG", f"-| {there}\n8| STG")
    assert verdict(original, again) != set()


@pytest.mark.parametrize("there", [*EXECUTED.values(), THERE["operand"]])
def test_it_may_be_left_out_and_go_down(there: str) -> None:
    """A run that the original ends well is not harmed."""
    original = ORIGINAL.format(there=there).replace("STG [R2+4], R6\n", "")
    assert verdict(original, mapped(original).replace(f"6| {there}\n", "")) == set()


@pytest.mark.parametrize("there", [*EXECUTED.values(), THERE["operand"]])
def test_inside_a_block_it_changes_places_with_a_store(there: str) -> None:
    original = BEFORE.format(there=f"STG [R2+32], R0\n{there}")
    swapped = mapped(original).replace(f"4| STG [R2+32], R0\n5| {there}\n", f"5| {there}\n4| STG [R2+32], R0\n")
    assert swapped != mapped(original)
    assert verdict(original, swapped) == set()


@pytest.mark.parametrize("between", ["@P1 EXIT", "CALL f", "@P1 BRA other, skip"])
def test_nothing_that_may_fault_passes_a_way_out(between: str) -> None:
    """A guarded EXIT, a call that may not come back, another branch."""
    callee = ".func f\nRET\n" if "CALL" in between else ""
    there = f"{between}\nother:\nTXQ.WIDTH R6, R4"
    original = ORIGINAL.format(there=there).replace("@!P0 BRA", "ISETP.EQ.AND P1, PT, R0, 0x3, PT\n@!P0 BRA") + callee
    if "other" not in between:
        original = original.replace("other:\n", "")
    same = mapped(original)
    assert verdict(original, same) == set()
    lines = same.splitlines()
    at = next(k for k, line in enumerate(lines) if "TXQ" in line)
    first = next(k for k, line in enumerate(lines) if between in line)
    lines.insert(first, lines.pop(at))
    assert verdict(original, "\n".join(lines)) != set()
