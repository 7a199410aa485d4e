"""Which instructions may change places inside a block, and which may not."""

from __future__ import annotations

import pytest

from tests.support.pairs.verdict import verdict

AROUND = """
.kernel k registers=24 local_bytes=64
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.128 R4, [R2]
LDG.128 R8, [R2+0x10]
LDG.128 R12, [R2+0x30]
ISETP.LT.AND P0, PT, R4, R5, PT
ISETP.LT.AND P1, PT, R4, R6, PT
{first}
{second}
STG.128 [R2+0x40], R12
@P1 STG.32 [R2+0x60], R2
EXIT
"""
FIRST = 7


def swapped(first: str, second: str, model: str = "loom") -> set[str]:
    original = AROUND.format(first=first, second=second).strip()
    head, *lines = original.splitlines()
    numbered = [f"{n}| {line}" for n, line in enumerate(lines)]
    numbered[FIRST], numbered[FIRST + 1] = numbered[FIRST + 1], numbered[FIRST]
    head += f"\n.memory_model {model}"
    return verdict("\n".join([head, *lines]), "\n".join([head, *numbered]))


@pytest.mark.parametrize(("first", "second"), [
    ("IADD3 R12, R4, R5, RZ", "IADD3 R13, R6, R7, RZ"),
    ("IADD3 R4, R4, R5, RZ", "IADD3 R13, R6, R7, RZ"),
    ("LDG.32 R12, [R2+0x20]", "LDG.32 R13, [R2+0x20]"),
    ("LDG.32 R12, [R2+0x20]", "LDG.32 R13, [R8]"),
    ("LDS.32 R12, [R4]", "LDS.32 R13, [R5]"),
    ("STG.32 [R2+0x20], R4", "LDG.32 R13, [R2+0x24]"),
    ("STG.32 [R2+0x20], R4", "STG.64 [R2+0x28], R4"),
    ("LDG.64 R12, [R2+0x20]", "STG.32 [R2+0x28], R4"),
    ("STG.32 [R2], R4", "LDS.32 R13, [R4]"),
    ("STS.32 [R4], R4", "LDG.32 R13, [R2]"),
    ("STL.32 [R4], R4", "LDG.32 R13, [R2]"),
    ("STL.32 [R4], R4", "STL.32 [R4+0x4], R5"),
    ("TEX.2D R12, R4, R6", "STS.32 [R4], R4"),
    ("IADD3 R12, R4, R5, RZ", "BAR 0x0"),
    ("MEMBAR.GPU", "IADD3 R12, R4, R5, RZ"),
    ("SHFL.IDX PT, R12, R4, 0x0, 0x1f", "LDG.32 R13, [R2]"),
    ("LDSM.16.M88.4 R12, [R4]", "LDS.32 R16, [R4]"),
    ("LDSM.16.M88 R12, [R4]", "STG.32 [R2], R4"),
    ("@P0 IADD3 R12, R4, R5, RZ", "@!P0 IADD3 R13, R4, R5, RZ"),
    ("@P0 IADD3 R12, R4, R5, RZ", "@!P0 IADD3 R12, R6, R7, RZ"),
    ("LDG.32 R12, [R2]", "ISETP.LT.AND P1, PT, R5, R6, PT"),
])
def test_words_that_commute_may_change_places(first: str, second: str) -> None:
    assert swapped(first, second) == set()
    assert swapped(second, first) == set()


@pytest.mark.parametrize(("first", "second"), [
    ("IADD3 R12, R4, R5, RZ", "IADD3 R13, R12, R7, RZ"),  # a true dependence
    ("IADD3 R12, R4, R5, RZ", "@P0 IADD3 R12, R6, R7, RZ"),  # one value, defined in two places
    ("IADD3 R12, P1, R4, R5, RZ", "IADD3.X R13, R6, R7, RZ, P1"),  # a carry
    ("ISETP.LT.AND P1, PT, R5, R6, PT", "@P1 IADD3 R12, R4, R5, RZ"),  # a guard
    ("@P1 IADD3 R12, R4, R5, RZ", "@P0 ISETP.LT.AND P1, PT, R5, R6, PT"),
    ("STG.32 [R2+0x20], R4", "LDG.32 R13, [R2+0x20]"),  # the same word
    ("STG.32 [R2+0x24], R4", "LDG.64 R12, [R2+0x20]"),  # part of it
    ("STG.U8 [R2+0x20], R4", "STG.U16 [R2+0x20], R5"),
    ("STG.32 [R2+0x20], R4", "LDG.32 R13, [R8]"),  # who knows
    ("STG.32 [R2+0x20], R4", "STG.32 [R8], R4"),
    ("STG.32 [R2+0x20], R4", "LD.32 R13, [R2+0x24]"),  # generic: any space
    ("STS.32 [R4], R4", "LD.32 R13, [R2]"),
    ("STL.32 [R4], R4", "LD.32 R13, [R2]"),
    ("STS.32 [R4], R4", "LDS.32 R13, [R4+0x4]"),  # perhaps another lane's word
    ("STG.32 [R2+0x20], R4", "TEX.2D R12, R4, R6"),
    ("LDG.32 R12, [R2]", "BAR 0x0"),
    ("LDS.32 R12, [R4]", "BAR 0x0"),
    ("STG.32 [R2], R4", "MEMBAR.GPU"),
    ("BAR 0x0", "MEMBAR.GPU"),
    ("BAR 0x0", "SHFL.IDX PT, R12, R4, 0x0, 0x1f"),
    ("LDSM.16.M88 R12, [R4]", "STS.32 [R5+0x400], R4"),  # any lane's rows
    ("LDSM.16.M88 R12, [R4]", "ST.32 [R2], R4"),
    ("LDSM.16.M88 R12, [R4]", "BAR 0x0"),
    ("LDSM.16.M88 R12, [R4]", "SHFL.IDX PT, R13, R4, 0x0, 0x1f"),
    ("LDSM.16.M88 R12, [R4]", "ATOMS.ADD R13, [R4], R4"),
    ("VOTE.ALL R12, PT, P0", "SHFL.IDX PT, R13, R4, 0x0, 0x1f"),
    ("LDG.32 R12, [R2]", "ATOMG.ADD R13, [R8], R4"),
    ("ATOMS.ADD R12, [R4], R4", "LDG.32 R13, [R8]"),
    ("LDG.32.CV R12, [R2]", "LDG.32 R13, [R2+0x4]"),
    ("S2R R12, SR_CLOCKLO", "LDG.32 R13, [R2]"),
    ("S2R R12, SR_CLOCKLO", "S2R R13, SR_CLOCKLO"),
    ("WARPSYNC 0xf", "LDS.32 R13, [R4]"),
])
def test_words_that_do_not_commute_stay(first: str, second: str) -> None:
    assert swapped(first, second) != set()
    assert swapped(second, first) != set()


def test_what_only_one_thread_may_tell_apart() -> None:
    """Under `ptx` whole words are compared, from one value of the base; under `loom` bytes, by what is known of it."""
    assert swapped("STG.U8 [R2+0x20], R4", "STG.U8 [R2+0x21], R5") == set()
    assert swapped("STG.U8 [R2+0x20], R4", "STG.U8 [R2+0x21], R5", "ptx") != set()
    assert swapped("STG.32 [R8], R4", "LDG.32 R13, [R8+0x4]") != set()
    assert swapped("STG.32 [R8], R4", "LDG.32 R13, [R8+0x4]", "ptx") == set()
    for model in ("loom", "ptx"):
        assert swapped("STG.32 [R8], R4", "STG.64 [R8], R4", model) != set()
        assert swapped("STS.32.CV [R4], R4", "LDG.32 R13, [R2]", model) != set()
        assert swapped("LDS.32.CV R12, [R4]", "LDS.32.CV R13, [R4]", model) != set()


ADVANCING = """
.kernel k registers=12
.memory_model ptx
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
loop:
LDG.32 R0, [R2]
STG.32 [R2+0x4], R0
{between}
LDG.32 R1, [R2+{offset}]
ISETP.LT.AND P0, PT, R0, R1, PT
@P0 BRA loop, done
done:
EXIT
"""


@pytest.mark.parametrize(("between", "offset", "right"), [
    ("IADD3 R4, R2, 0x4, RZ", 8, True),
    ("IADD3 R4, R2, 0x4, RZ", 4, False),
    ("IADD3 R2, R2, 0x4, RZ", 8, False),  # another address under the same name
    ("IADD3 R2, R2, 0x4, RZ", 0, False),
])
def test_offsets_are_compared_from_one_value_of_the_base(between: str, offset: int, right: bool) -> None:
    original = ADVANCING.format(between=between, offset=hex(offset))
    order = [0, 1, 2, 4, 5, 3, 6, 7, 8]
    lines = [line for line in original.strip().splitlines() if not line.endswith(":") and line[0] != "."]
    out = [".kernel k registers=12", ".memory_model ptx"]
    for place, n in enumerate(order):
        out += ["loop:"] * (place == 2) + ["done:"] * (place == 8) + [f"{n}| {lines[n]}"]
    if "R2, R2" in between:  # the store's address must live on
        out[out.index("loop:") + 1 : out.index("loop:") + 1] = ["-| MOV R6, R2", "-| MOV R7, R3"]
        out = [line.replace("STG.32 [R2", "STG.32 [R6") for line in out]
    assert (verdict(original, "\n".join(out)) == set()) is right


COUNTED = """
.kernel k registers=8
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
MOV R0, 0x0
loop:
{words}
ISETP.LT.AND P0, PT, R0, 0x9, PT
@P0 BRA loop, done
done:
EXIT
"""


@pytest.mark.parametrize(("first", "second"), [
    ("STG.32 [R2], R0", "IADD3 R0, R0, 0x1, RZ"),  # the read comes before the next turn's value
    ("IADD3 R0, R0, 0x1, RZ", "STG.32 [R2], R0"),
    ("@P1 IADD3 R0, R0, 0x1, RZ", "LDG.32 R0, [R2]"),
    ("LDG.32 R0, [R2]", "@P1 IADD3 R0, R0, 0x1, RZ"),
])
def test_reads_and_writes_of_one_value_keep_their_order(first: str, second: str) -> None:
    def text(numbers: bool, *words: str) -> str:
        lines = COUNTED.format(words="\n".join(words)).strip().splitlines()
        count, out = 0, []
        at = {first: 3, second: 4}
        for line in lines:
            plain = not line.endswith(":") and not line.startswith(".")
            out.append(f"{at.get(line, count)}| {line}" if plain and numbers else line)
            count += plain
        return "\n".join(out)

    assert verdict(text(False, first, second), text(True, first, second)) == set()
    assert verdict(text(False, first, second), text(True, second, first)) != set()


def test_effects_stay_on_their_side_of_a_branch_and_of_a_call() -> None:
    original = """
.kernel k registers=12
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.32 R0, [R2]
{first}
{second}
over:
STG.32 [R2+0x4], R0
EXIT
.func f
RET
"""
    for first, second in (
        ("LDG.32 R4, [R2+0x8]", "CALL f"),
        ("CALL f", "STG.32 [R2+0x8], R0"),
        ("@P0 EXIT", "STG.32 [R2+0x8], R0"),
        ("STG.32 [R2+0x8], R0", "@P0 BRA over, over"),
    ):
        text = original.format(first=first, second=second)
        lines = text.strip().splitlines()
        count, numbered = 0, []
        for line in lines:
            if line.startswith("."):
                count = 0
            plain = not line.endswith(":") and not line.startswith(".")
            numbered.append(f"{count}| {line}" if plain else line)
            count += plain
        at = lines.index(first)
        assert verdict(text, "\n".join(numbered)) == set()
        numbered[at], numbered[at + 1] = numbered[at + 1], numbered[at]
        assert verdict(text, "\n".join(numbered)) != set(), (first, second)


# -- a value that only those threads read which wrote it, under the same guard, is none of those before it -------

BESIDE = """
.kernel k registers=12
S2R R8, SR_TID.X
MOV R2, 0x40
MOV R3, 0x0
ISETP.LT.AND P1, PT, R8, 0x10, PT
IADD3 R4, R8, 0x1, RZ
STG.32 [R2], R4
@P1 LDG.32 R4, [R2+0x10]
{reads}
EXIT
"""
IN_FRONT = """
.kernel k registers=12
0| S2R R8, SR_TID.X
1| MOV R2, 0x40
2| MOV R3, 0x0
3| ISETP.LT.AND P1, PT, R8, 0x10, PT
{first}
4| IADD3 R4, R8, 0x1, RZ
5| STG.32 [R2], R4
{then}
"""
OWN = "@P1 STG.32 [R2+0x4], R4"
BRANCH = "@!P1 BRA far, far\nSTG.32 [R2+0x4], R4\nfar:"
CALLED = ".func f registers=12\n{}STG.32 [R2+0x4], R4\n{}RET\n"


def beside(reads: str, more: str = "") -> str:
    return BESIDE.format(reads=reads) + more


def in_front(first: str, then: str, more: str = "") -> str:
    return IN_FRONT.format(first=first, then=then) + more


def test_read_under_the_guard_it_was_written_under() -> None:
    """Fuzz seed 9601508: the rewriter, which looks at guards, had put the store of another value of R4 behind."""
    first, then = "6| @P1 LDG.32 R5, [R2+0x10]\n7| @P1 STG.32 [R2+0x4], R5", "8| EXIT"
    assert verdict(beside(OWN), in_front(first, then)) == set()
    for reads in ("@!P1 STG.32 [R2+0x4], R4", "STG.32 [R2+0x4], R4"):
        assert verdict(beside(reads), in_front(first, then)) != set()
        assert verdict(beside(reads), in_front(first.replace("@P1 STG", reads.split("STG")[0] + "STG"), then)) != set()
    assert verdict(beside(OWN), in_front(first.replace("0x10", "0x14"), then)) != set()
    changed = "ISETP.LT.AND P1, PT, R8, 0x8, PT\n" + OWN
    again = "6| @P1 LDG.32 R5, [R2+0x10]\n7| ISETP.LT.AND P1, PT, R8, 0x8, PT\n8| @P1 STG.32 [R2+0x4], R5"
    assert verdict(beside(changed), in_front(again, "9| EXIT")) != set()


def test_read_where_only_those_threads_go_on_to() -> None:
    first = "6| @P1 LDG.32 R5, [R2+0x10]"
    then = "7| @!P1 BRA far, far\n8| STG.32 [R2+0x4], R5\nfar:\n9| EXIT"
    assert verdict(beside(BRANCH), in_front(first, then)) == set()
    other = BRANCH.replace("@!P1", "@P1")
    assert verdict(beside(other), in_front(first, then.replace("@!P1", "@P1"))) != set()
    behind = BRANCH + "\nSTG.32 [R2+0x8], R4"
    rest = then.replace("9| EXIT", "9| STG.32 [R2+0x8], R5\n10| EXIT")
    assert verdict(beside(behind), in_front(first, rest)) != set()


def test_read_by_a_callee_that_only_those_threads_call() -> None:
    first = "6| @P1 LDG.32 R5, [R2+0x10]"
    then = "-| @!P1 BRA far, far\n7| CALL f\nfar:\n8| EXIT"
    old, new = CALLED.format("", ""), CALLED.format("0| ", "1| ").replace("R4", "R5")
    assert verdict(beside("@P1 CALL f", old), in_front(first, then, new)) == set()
    for guard in ("@!P1 ", ""):
        around = then if guard else then.replace("-| @!P1 BRA far, far\n", "")
        around = around.replace("@!P1", "@P1") if guard else around
        assert verdict(beside(f"{guard}CALL f", old), in_front(first, around, new)) != set()


KEPT = """
.kernel k registers=12
S2R R8, SR_TID.X
MOV R2, 0x40
MOV R3, 0x0
ISETP.LT.AND P1, PT, R8, 0x10, PT
LDG.64 R4, [R2+0x20]
@!P1 IADD3 R4, R8, 0x2, RZ
LDG.32 R7, [R2+0x10]
{guard} CALL f
STG.32 [R2], R4
STG.32 [R2+0x4], R5
STG.32 [R2+0x8], R7
EXIT
.func f
{write}
RET
"""
KEPT_LATE = """
.kernel k registers=12
0| S2R R8, SR_TID.X
1| MOV R2, 0x40
2| MOV R3, 0x0
3| ISETP.LT.AND P1, PT, R8, 0x10, PT
5| @!P1 IADD3 R6, R8, 0x2, RZ
6| LDG.32 R7, [R2+0x10]
4| LDG.64 R4, [R2+0x20]
7| {guard} CALL f
8| STG.32 [R2], R6
9| STG.32 [R2+0x4], R5
10| STG.32 [R2+0x8], R7
11| EXIT
.func f
0| {write}
1| RET
"""


def test_a_callee_that_always_writes_ends_what_its_callers_other_threads_did_not_write() -> None:
    """Fuzz seed 9803097: of the pair only R5 is read, since R4 is written under one guard, and by a call under the
    other."""
    always, moved = "MOV R4, 0x3", "MOV R6, 0x3"

    def told(guard: str, write: str, rewritten: str) -> set[str]:
        return verdict(KEPT.format(guard=guard, write=write), KEPT_LATE.format(guard=guard, write=rewritten))

    assert told("@P1", always, moved) == set()
    assert told("@!P1", always, moved) != set()
    assert told("@P1", "NOP", "NOP") != set()
    assert told("@P2", always, moved) != set()


APART = """
.kernel k registers=12
.memory_model loom
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
S2R R4, SR_LANEID
{guard}IMAD.WIDE R2, R4, {stride}, R2
{words}
CALL f
STG.32 [R2+0x40], R5
EXIT
.func f
ISETP.LT.AND P0, PT, R2, 0x4, PT
@P0 MOV R2, {written}
RET
"""


def read_first(guard: str = "", stride: str = "0x8", more: str = "") -> set[str]:
    """The store and the load change places. more: an offset of the load's."""
    words = ["STG.32 [R2], R4", f"LDG.32 R5, [R2+{more or '0x4'}]"]
    made = APART.format(guard=guard, stride=stride, words="\n".join(words), written="0x40")
    lines = [line for line in made.strip().splitlines() if not line.startswith(".")]
    order = [0, 1, 2, 3, 5, 4, 6, 7, 8, 9, 10, 11]
    numbered = [f"{n if n < 9 else n - 9}| {lines[n]}" for n in order]
    new = "\n".join([".kernel k registers=12", ".memory_model loom", *numbered[:9], ".func f", *numbered[9:]])
    return verdict(made, new)


def test_what_a_call_may_write_later_says_nothing_of_an_address_before() -> None:
    """Random programs, seed 277: the address and what the callee may leave in its register are one value by name."""
    assert read_first() == set()
    assert read_first(stride="0x4") != set()
    assert read_first(more="0x8") != set()
    assert read_first(guard="@!P5 ", stride="0x4") != set()
