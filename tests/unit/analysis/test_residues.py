"""What is known of addresses in all lanes at all times."""

from __future__ import annotations

import pytest

from binalloc.analysis.program import analyse
from tests.support.programs.builder import program

HEAD = """.kernel k registers=40 local_bytes=64
MOV R2, c[0][p]
MOV R3, c[0][p+4]
S2R R0, SR_TID.X
S2R R1, SR_CTAID.X
"""


def apart(body: str) -> bool:
    """Whether the last two accesses are, whichever lanes they are of."""
    f = analyse(program(f"{HEAD}{body}\nEXIT\n"), "k").kernel
    (i, one), (j, other) = sorted(f.addresses.items())[-2:]
    sizes = [f.cfg.views[n].memory.size for n in (i, j)]  # type: ignore[union-attr]
    assert one.apart(sizes[0], other, sizes[1]) is other.apart(sizes[1], one, sizes[0])
    return one.apart(sizes[0], other, sizes[1])


@pytest.mark.parametrize(("address", "expected"), [
    ("IMAD.WIDE R4, R0, 16, R2", True),
    ("IMAD.WIDE R4, R0, 4, R2", False),
    ("IMAD.WIDE R4, R0, 12, R2", False),  # 4 is all of 12 that is a power of two
    ("IMAD.WIDE R4, R0, 24, R2", True),
    ("IMAD.WIDE R4, R0, R1, R2", False),
    ("IMAD.WIDE R4, R1, 4, R2", True),  # one block is at one place
    ("SHF.L.U32 R6, R0, 3, RZ\\nIADD3 R4, P0, R2, R6, RZ\\nIADD3.X R5, R3, RZ, RZ, P0", True),
    ("LEA R4, R0, R2, 3\\nMOV R5, R3", True),
    ("LEA R4, R0, R2, 2\\nMOV R5, R3", False),
    ("IMAD R6, R1, 256, R0\\nIMAD.WIDE R4, R6, 8, R2", True),
    ("IADD3 R6, -R0, 7, RZ\\nIMAD.WIDE R4, R6, -8, R2", True),
    ("LOP3 R6, R0, 0xf0, RZ, 0xc0\\nIMAD.WIDE R4, R6, 8, R2", True),
    ("LOP3 R4, R0, 0xf0, RZ, 0xc0\\nMOV R5, RZ", False),  # logic is not followed
    ("LDG.64 R4, [R2]", False),
    ("LDC.64 R4, c[0][p]", True),
    ("MOV R4, R2\\nMOV R5, R3", True),
    ("CS2R R4, SR_CLOCKLO\\nMOV R5, RZ", False),
    ("S2R R4, SR_EQMASK\\nMOV R5, RZ", False),
])
def test_accesses_four_bytes_apart(address: str, expected: bool) -> None:
    address = address.replace("\\n", "\n")
    assert apart(f"{address}\nSTG [R4], R0\nLDG R8, [R4+4]") is expected
    assert not apart(f"{address}\nSTG [R4], R0\nLDG R8, [R4]")
    assert not apart(f"{address}\nSTG.64 [R4], R8\nLDG R8, [R4+4]")


@pytest.mark.parametrize(("step", "expected"), [(8, True), (4, False), (16, True)])
def test_a_loop_that_goes_on_by_a_multiple_changes_no_residue(step: int, expected: bool) -> None:
    body = f"IMAD.WIDE R4, R0, 8, R2\nloop:\nIADD3 R4, P0, R4, {step}, RZ\nIADD3.X R5, R5, RZ, RZ, P0\n"
    body += "STG [R4], R0\nLDG R8, [R4+4]\nISETP.LT P1, PT, R8, R0, PT\n@P1 BRA loop, out\nout:"
    assert apart(body) is expected


def test_two_ways_to_one_address() -> None:
    ways = "ISETP.LT P1, PT, R0, R1, PT\nIMAD.WIDE R4, R0, 16, R2\n@P1 IADD3 R4, R4, {}, RZ\n"
    assert apart(f"{ways.format(32)}STG [R4], R0\nLDG R8, [R4+8]")
    assert apart(f"{ways.format(8)}STG [R4], R0\nLDG R8, [R4+4]")
    assert not apart(f"{ways.format(8)}STG [R4], R0\nLDG R8, [R4+8]")


def test_two_bases() -> None:
    two = "IMAD.WIDE R4, R0, 16, R2\nIMAD.WIDE R6, R1, 32, R4\n"
    assert apart(f"{two}STG [R4], R0\nLDG R8, [R6+4]")
    assert not apart(f"{two}STG [R4], R0\nLDG R8, [R6]")
    assert not apart(f"{two}MOV R6, c[0][p+8]\nMOV R7, c[0][p+12]\nSTG [R4], R0\nLDG R8, [R6+4]")
    assert apart("STG [RZ+0x1000], R0\nLDG R8, [RZ+0x1004]")


def test_what_is_read_unwritten_or_comes_from_a_call_is_not_known() -> None:
    assert not apart("STG [R4], R0\nLDG R8, [R4+4]")
    body = f"{HEAD}IMAD.WIDE R4, R0, 16, R2\nCALL f\nSTG [R4], R0\nLDG R8, [R4+4]\nEXIT\n.func f\nMOV R4, {{}}\nRET\n"
    for source in ("R0", "0x40"):
        f = analyse(program(body.format(source)), "k").kernel
        one, other = (f.addresses[i] for i in sorted(f.addresses)[-2:])
        assert not one.apart(4, other, 4)
