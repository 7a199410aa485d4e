"""Small kernels whose stores to shared memory wait, each with the one thing that decides whether the proof may hold."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.isa.source_facts import LOOM, MEMORY_MODELS, PTX
from binalloc.launch.types import Argument, Launch
from binalloc.transform.shorten.late_stores import with_late_stores
from binalloc.verify.report import CheckReport
from binalloc.verify.shorten.late import check_late_stores
from tests.property.verify.multiplex.test_public_proofs import left, same
from tests.support.programs.builder import program

LAUNCH = Launch("k", (1, 1, 1), (32, 1, 1), 0, (Argument("out", "buffer", "u32", (32,)),))


def text(body: str, model: str = LOOM) -> str:
    """A kernel whose first words find addresses: R1 of the lane's word, R5 of the last lane's for the first, R6 of the
    output; P0 holds in even lanes, P1 in lanes below 10. The lanes' words are 0 before the body."""
    return f"""

.kernel k registers=24
.memory_model {model}
.param out, 8
.shared_bytes 128
    0| S2R R0, SR_TID.X
    1| SHF.L.U32 R1, R0, 0x2, RZ
    2| IADD3 R5, -R1, 0x7c, RZ
    3| MOV R6, c[0][out]
    4| MOV R7, c[0][out+0x4]
    5| IMAD.WIDE R6, R0, 0x4, R6
    6| LOP3 R8, R0, 0x1, RZ, 0xc0
    7| ISETP.EQ.AND P0, PT, R8, 0x0, PT
    8| ISETP.LT.AND P1, PT, R0, 0xa, PT
    9| MOV R10, 0x1
    10| STS.32 [R1], RZ
    11| BAR.SYNC 0
{body}
    40| STG.32 [R6], R4
    41| EXIT
"""


def numbered(body: str) -> str:
    """The body of an original: each of its words has its number, from 12."""
    lines, number = [], 12
    for line in body.strip().splitlines():
        label = line.strip().endswith(":")
        lines.append(line if label else f"    {number}| {line.strip()}")
        number += not label
    return "\n".join(lines)


def proof(original: str, made: str, model: str = LOOM) -> CheckReport:
    """The proof of one body for another. 40 and 41 stand for the last words of the original."""
    one = program(text(numbered(original), model))
    other = program(text(made, model))
    origin, last = other.function("k").origin, len(one.function("k").instrs) - 1
    assert origin is not None
    origin.index[-2:] = [last - 1, last]
    report = check_late_stores(one, other, "k", LAUNCH.block)
    assert not any(error.kind in ("internal", "malformed", "map") for error in report.errors), report
    if model == LOOM and report.ok:
        assert same(left(one, LAUNCH), left(other, LAUNCH))
    return report


STORED_AND_READ = """
    STS.32 [R1], R0
    @P0 BRA other, on
    LDS.32 R4, [R5]
    BRA on
other:
    LDS.32 R4, [R5]
on:
    IADD3 R4, R4, 0x1, RZ
"""
ON_EACH_SIDE = """
    13| @P0 BRA other, on
    12| STS.32 [R1], R0
    14| LDS.32 R4, [R5]
    15| BRA on
other:
    12| STS.32 [R1], R0
    16| LDS.32 R4, [R5]
on:
    17| IADD3 R4, R4, 0x1, RZ
"""
MET_LATE = """
    STS.32 [R1], R0
    @P0 BRA on, far
    IADD3 R8, R8, 0x1, RZ
on:
    LDS.32 R4, [R5]
far:
    IADD3 R4, R4, 0x1, RZ
"""
BEFORE_THEY_MEET = """
    13| @P0 BRA on, far
    14| IADD3 R8, R8, 0x1, RZ
on:
    12| STS.32 [R1], R0
    15| LDS.32 R4, [R5]
far:
    16| IADD3 R4, R4, 0x1, RZ
"""
MEET_FIRST = """
    STS.32 [R1], R0
    @P0 BRA on, on
    IADD3 R8, R8, 0x1, RZ
on:
    LDS.32 R4, [R5]
"""
WHERE_THEY_MEET = """
    13| @P0 BRA on, on
    14| IADD3 R8, R8, 0x1, RZ
on:
    12| STS.32 [R1], R0
    15| LDS.32 R4, [R5]
"""
# odd lanes leave a loop in the first round; in the second one even lanes store to their neighbours' words
LEFT_AND_STORED = """
    MOV R9, R0
    MOV R11, R1
again:
    STS.32 [R11], R9
    IADD3 R9, R9, 0x1, RZ
    IADD3 R11, R11, 0x4, RZ
    LOP3 R8, R9, 0x1, RZ, 0xc0
    ISETP.EQ.AND P2, PT, R8, 0x1, PT
    LOP3 R9, R9, 0x41, RZ, 0xfc
    @P2 BRA again, on
on:
    LDS.32 R4, [R1]
"""
STORED_TOGETHER = """
    12| MOV R9, R0
    13| MOV R11, R1
again:
    -| MOV R20, R9
    -| MOV R21, R11
    15| IADD3 R9, R9, 0x1, RZ
    16| IADD3 R11, R11, 0x4, RZ
    17| LOP3 R8, R9, 0x1, RZ, 0xc0
    18| ISETP.EQ.AND P2, PT, R8, 0x1, PT
    19| LOP3 R9, R9, 0x41, RZ, 0xfc
    20| @P2 BRA before, on
    -| BRA on
before:
    14| STS.32 [R21], R20
    -| BRA again
on:
    14| STS.32 [R21], R20
    21| LDS.32 R4, [R1]
"""
# lanes that have parted store to one word, one after the other, and meet
MEET_WITH_STORES = """
    LOP3 R11, R1, 0x78, RZ, 0xc0
    @P0 BRA on, far
    IADD3 R8, R8, 0x1, RZ
on:
    STS.32 [R11], R0
    IADD3 R9, R8, 0x1, RZ
far:
    LDS.32 R4, [R11]
"""
STORED_WHERE_THEY_MEET = """
    12| LOP3 R11, R1, 0x78, RZ, 0xc0
    13| @P0 BRA on, far
    14| IADD3 R8, R8, 0x1, RZ
on:
    16| IADD3 R9, R8, 0x1, RZ
far:
    15| STS.32 [R11], R0
    17| LDS.32 R4, [R11]
"""
# the inner branch's lanes pass the outer one's point before they meet: so lanes of the outer one stay apart
CROSSED = """
    STS.32 [R1], R0
    @P0 BRA x, jay
    IADD3 R8, R8, 0x1, RZ
x:
    @P1 BRA y, kay
    IADD3 R8, R8, 0x1, RZ
y:
    IADD3 R8, R8, 0x1, RZ
jay:
    IADD3 R8, R8, 0x1, RZ
kay:
    LDS.32 R4, [R5]
"""
STORED_APART = """
    13| @P0 BRA x, jay
    14| IADD3 R8, R8, 0x1, RZ
x:
    15| @P1 BRA y, kay
    16| IADD3 R8, R8, 0x1, RZ
y:
    17| IADD3 R8, R8, 0x1, RZ
jay:
    18| IADD3 R8, R8, 0x1, RZ
kay:
    12| STS.32 [R1], R0
    19| LDS.32 R4, [R5]
"""


@pytest.mark.parametrize(("original", "made", "loom", "ptx"), [
    (STORED_AND_READ, ON_EACH_SIDE, False, True),
    (MET_LATE, BEFORE_THEY_MEET, False, True),
    (MEET_FIRST, WHERE_THEY_MEET, True, True),
    (LEFT_AND_STORED, STORED_TOGETHER, False, True),
    (MEET_WITH_STORES, STORED_WHERE_THEY_MEET, False, True),
    (CROSSED, STORED_APART, False, True),
], ids=["a side each", "before they meet", "where they meet", "out of a loop", "others meet", "crossed"])  # fmt: skip
def test_a_store_stays_with_its_lanes(original: str, made: str, loom: bool, ptx: bool) -> None:
    """Lanes of one warp see each other's stores under the model loom; under ptx they may not count on them."""
    expected = {"loom": loom, "ptx": ptx}
    for model in MEMORY_MODELS:
        assert proof(original, made, model).ok is expected[model], model


@pytest.mark.parametrize(("step", "offset", "ok"), [
    ("S2R R20, SR_NTID.X", -0x20, True),
    ("S2R R20, SR_NTID.X", -0x1f, False),
    ("S2R R20, SR_NTID.Y", -0x1, True),
    ("S2R R20, SR_NCTAID.X", -0x1, False),  # the launch may have another grid
    ("LOP3 R20, R0, 0x1c, RZ, 0xc0", -0x1c, False),  # not the same in all threads
    ("LOP3 R20, R0, 0x1c, RZ, 0xc0", 0, False),  # right in the first threads
    ("LOP3 R20, R1, 0x3, RZ, 0xc0", 0, True),
    ("SHF.R.U32 R20, R1, 0x7, RZ", 0, True),
    ("LDG.32 R20, [R6]", 0, False),
    ("@P0 MOV R20, 0x4", -0x4, False),
])  # fmt: skip
def test_addresses_differ_by_what_the_blocks_size_decides(step: str, offset: int, ok: bool) -> None:
    """R2 gets R1, and R20 more."""
    add = "IADD3 R2, R1, R20, RZ"
    body = f"MOV R20, 0x0\n{step}\n{add}\nSTS.32 [R1], R0\nLOP3 R8, R0, 0x1, RZ, 0xc0\nLDS.32 R4, [R5]"
    made = f"""
    12| MOV R20, 0x0
    13| {step}
    14| {add}
    16| LOP3 R8, R0, 0x1, RZ, 0xc0
    15| STS.32 [R2{offset:+#x}], R0
    17| LDS.32 R4, [R5]
    """
    assert proof(body, made).ok == ok


@pytest.mark.parametrize("original", [
    STORED_AND_READ, MET_LATE, MEET_FIRST, LEFT_AND_STORED, MEET_WITH_STORES, CROSSED,
])  # fmt: skip
def test_made_stores_stay_with_their_lanes(original: str) -> None:
    module = program(text(numbered(original)))
    made = with_late_stores(module, "k", (32, 1, 1))
    report = check_late_stores(module, made, "k", LAUNCH.block)
    assert report.ok, report.errors[0]
    expected = left(module, LAUNCH)
    assert expected is not None
    assert np.any(expected["out"])
    assert same(expected, left(made, LAUNCH))


@pytest.mark.parametrize("loop", [
    "x:\n    -| BRA x\n",
    "x:\n    -| MOV R20, R0\n    -| BRA x\n",
])  # fmt: skip
def test_a_kernel_that_goes_round_alone_is_not_proven(loop: str) -> None:
    body = "    12| STS.32 [R1], R0\n    13| LDS.32 R4, [R5]\n"
    original = "STS.32 [R1], R0\nLDS.32 R4, [R5]"
    assert proof(original, body).ok
    report = proof(original, loop + body)
    assert [error.kind for error in report.errors] == ["order"]


def test_points_that_are_passed_in_another_order_are_not_proven() -> None:
    """The inner branch's lanes meet first in the original. Made, they pass the outer one's point before that, and stay
    apart from its other lanes."""
    original = """
    @P0 BRA on, jay
    @P1 BRA on, kay
    IADD3 R8, R8, 0x1, RZ
on:
    IADD3 R8, R8, 0x1, RZ
kay:
    STS.32 [R1], R0
jay:
    STS.32 [R1], R10
    IADD3 R9, R8, 0x1, RZ
    VOTE.ALL R4, P2, PT
    """
    made = """
    12| @P0 BRA on, jay
    13| @P1 BRA on, kay
    14| IADD3 R8, R8, 0x1, RZ
on:
    15| IADD3 R8, R8, 0x1, RZ
jay:
    -| MOV R20, R0
kay:
    -| MOV R21, R10
    18| IADD3 R9, R8, 0x1, RZ
    16| STS.32 [R1], R20
    17| STS.32 [R1], R21
    19| VOTE.ALL R4, P2, PT
    """
    assert not proof(original, made, LOOM).ok
    assert [error.kind for error in proof(original, made, PTX).errors] == ["reconvergence"]


@pytest.mark.parametrize("deep", [True, False])
def test_no_more_entries_of_the_stack_are_taken_where_calls_are_deep(deep: bool) -> None:
    """A jump in front of the place where lanes meet makes an entry of lanes that waited there in the original. Without
    calls in calls there are always enough: 32 lanes part 31 times at most."""
    functions = f""".end
.func f
    {"CALL g" if deep else "NOP"}
    RET
.end
.func g
    RET
"""
    original = text(numbered("@P0 BRA on, on\nIADD3 R8, R8, 0x1, RZ\non:\nCALL f\nLDS.32 R4, [R1]"))
    made = text("""
    12| @P0 BRA by, on
    13| IADD3 R8, R8, 0x1, RZ
    -| BRA on
by:
    -| BRA on
on:
    14| CALL f
    15| LDS.32 R4, [R1]
    """).replace("40|", "16|").replace("41|", "17|")
    report = check_late_stores(program(original + functions), program(made + functions), "k", LAUNCH.block)
    assert [error.kind for error in report.errors] == ["stack"] * deep
