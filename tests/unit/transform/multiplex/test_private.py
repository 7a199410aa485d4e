"""The multiplex paper's collaborative schemes, to the byte: Figures 6, 7 and 10; which cuts are refused, and why."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from binalloc.analysis.program import analyse
from binalloc.analysis.shared.memory import SharedMemory, shared_memory
from binalloc.emulator.runs.issue_log import Batch, IssueLog, Listener
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.emulator.state.parts.log import LogColumn, LogKind
from binalloc.errors import Refused, UsageError
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.launch.file import load_launch
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.multiplex.merged import merge_blocks
from binalloc.transform.multiplex.public import get_as_they_run
from binalloc.transform.multiplex.split import Split, private_bytes
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.multiplex.check import check_public
from binalloc.verify.multiplex.division import Division
from tests.support.kits.emulator.public import GT200, HEAD
from tests.support.paths import sample_file
from tests.support.programs.builder import program

T4 = load_machine("t4")
KB = 1024
SAMPLES = {"marchingCubes": "vertices=16", "slidingMD5": "staged=80/16256", "histogram": "counters=16/32"}
"""The three kernels to which the paper applied these schemes (section 6), each with a cut."""


@cache
def sample(name: str) -> tuple[Module, Launch, SharedMemory]:
    module = import_ptx(sample_file(f"{name}.ptx").read_text(), machine=T4).module
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    return module, launch, shared_memory(analyse(module, launch.kernel), launch.block)


def private(name: str, *splits: str) -> int:
    return private_bytes(sample(name)[2], [Split.parse(text) for text in splits])


# -- Figure 6


@pytest.mark.parametrize("split", ["vertices=16", "vertices=16/24", "_ZZ2MCE8vertices=6144/9216", "MC::vertices=2/3"])
def test_figure_6_has_two_private_parts_and_a_public_one(split: str) -> None:
    """2 * 6,144 + 3,072 = 15,360 bytes; the sample's 108 bytes of parameters are common, and there once."""
    module, launch, _ = sample("marchingCubes")
    made = merge_blocks(module, launch.kernel, launch.block, 2, private=private("marchingCubes", split))
    assert (made.copies.private, made.copies.public) == (6144, 3072)
    assert made.module.function("MC").info.shared_bytes == 2 * 6144 + 3072 + 108
    assert made.copies.ranges == [(40, 40 + 6144)]


def test_what_is_private_needs_no_region() -> None:
    module, launch, _ = sample("marchingCubes")
    whole = merge_blocks(module, launch.kernel, launch.block, 2)
    cut = merge_blocks(module, launch.kernel, launch.block, 2, private=private("marchingCubes", "vertices=16"))
    ((begin, end),), ((later, same_end),) = whole.regions[0].spans, cut.regions[0].spans
    assert begin < later < end == same_end
    alone = merge_blocks(module, launch.kernel, launch.block, 2, private=private("marchingCubes", "vertices=24"))
    assert (alone.regions, alone.copies.size) == ([], 2 * 9216 + 108)


@pytest.mark.rotates
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", SAMPLES)
def test_samples_with_private_copies_leave_the_same(name: str, count: int) -> None:
    module, launch, _ = sample(name)
    made = merge_blocks(module, launch.kernel, launch.block, count, private=private(name, SAMPLES[name]))
    assert same(name, made.module, made.merge.launch(launch))


@pytest.mark.rotates("long")
@pytest.mark.parametrize("name", SAMPLES)
def test_samples_that_get_the_public_part_as_they_run_leave_the_same_and_are_proven(name: str) -> None:
    module, launch, _ = sample(name)
    made = get_as_they_run(module, launch.kernel, launch.block, private(name, SAMPLES[name]))
    parts = made.parts
    division = Division(parts.low, parts.first, parts.high, parts.moved)
    assert check_public(module, made.module, launch.kernel, launch.block, division).ok
    assert same(name, made.module, launch, over=1)


def same(name: str, made: Module, other: Launch, **options: int) -> bool:
    """Whether a version leaves what the original does, without races and reads of words that nobody wrote."""
    module, launch, _ = sample(name)
    expected = run_launch(schedule(module, T4), launch.kernel, launch, RunOptions(machine=T4)).buffers
    given = RunOptions(machine=T4, check=True, race=True, sms=1, **options)  # type: ignore[arg-type]
    found = run_launch(schedule(made, T4), launch.kernel, other, given).buffers
    return all(np.array_equal(expected[k], found[k]) for k in expected)


# -- Figures 7 and 10


def rows(size: int, kept: int) -> Module:
    """A kernel of 64 threads with one array of `size` KB. It uses the first row, then the one behind `kept` KB, and
    then the last."""
    use = "".join(
        f"    STS.32 [R4+{at:#x}], R9\n    BAR.SYNC 0\n    LOP3 R6, R4, 0x80, RZ, 0x3c\n    LDS.32 R7, [R6+{at:#x}]\n"
        "    BAR.SYNC 0\n    IADD3 R9, R9, R7, RZ\n" for at in (0, kept * KB, size * KB - 256)
    )  # fmt: skip
    text = f".kernel k\n.auto_reconv\n.param out, 8\n.shared words {size * KB} 4\n{HEAD}{use}    STG.32 [R2], R9\n"
    return program(text + "    EXIT\n.end\n")


def out(grid: int) -> Launch:
    return Launch("k", (grid, 1, 1), (64, 1, 1), 0, (Argument("out", "buffer", "u32", (64 * grid,)),))


@pytest.mark.parametrize(("size", "kept", "resident", "addresses"), [
    (6, 4, 3, {12 * KB, 14 * KB}), (9, 7, 2, {14 * KB}),
])  # fmt: skip
def test_figure_10_has_private_parts_in_front_and_public_ones_behind(
    size: int, kept: int, resident: int, addresses: set[int]
) -> None:
    module = rows(size, kept)
    memory = shared_memory(analyse(module, "k"), (64, 1, 1))
    bytes_ = private_bytes(memory, [Split.parse(f"words={4 * kept}")])
    made = get_as_they_run(module, "k", (64, 1, 1), bytes_)
    assert (made.parts.private, made.parts.public) == (kept * KB, (size - kept) * KB)
    assert made.module.function("k").info.shared_bytes == kept * KB
    taken: list[int] = []

    def receive(batch: Batch) -> None:
        rows = batch.rows[batch.rows[:, LogColumn.KIND] == LogKind.TAKE]
        taken.extend(int(row[LogColumn.MASK]) for row in rows)

    options = RunOptions(machine=GT200, sms=1, engine="python", log=IssueLog([Listener(receive)]))
    found = run_launch(schedule(made.module, GT200), "k", out(8), options)
    static = run_launch(schedule(module, GT200), "k", out(8), RunOptions(machine=GT200, sms=1, engine="python"))
    assert (static.blocks_per_sm, found.blocks_per_sm) == (16 // size, resident)
    assert (set(taken), len(taken)) == (addresses, 8 * len(made.regions))
    assert np.array_equal(static.buffers["out"], found.buffers["out"])


def test_nine_kilobytes_merge_as_seven_and_two() -> None:
    module = rows(9, 7)
    memory = shared_memory(analyse(module, "k"), (64, 1, 1))
    made = merge_blocks(module, "k", (64, 1, 1), 2, private=private_bytes(memory, [Split.parse("words=28")]))
    assert (made.copies.private, made.copies.public, made.copies.size) == (7 * KB, 2 * KB, 16 * KB)


# -- splits


@pytest.mark.parametrize(("split", "message", "expected"), [
    ("other=1", "no such shared variable", "one of _ZZ2MCE8pointers_$_0, "),
    ("vertices=25", "an index is outside of a shared variable", "0 to 24, as a part has 384 bytes"),
    ("vertices=25/24", "an index is outside of a shared variable", "0 to 24"),
    ("vertices=1/7", "a shared variable has no such parts", "a divisor of its 9,216 bytes"),
    ("vertices=0/0", "a shared variable has no such parts", "a divisor"),
])  # fmt: skip
def test_wrong_splits(split: str, message: str, expected: str) -> None:
    with pytest.raises(UsageError) as error:
        private("marchingCubes", split)
    assert error.value.message == message
    assert error.value.found == split
    assert str(error.value.expected).startswith(expected)


def test_rows_are_what_accesses_show() -> None:
    assert private("marchingCubes", "vertices=0") == 0
    with pytest.raises(UsageError, match="do not show what a row"):
        private("histogram", "counters=16")
    with pytest.raises(UsageError, match="split twice"):
        private("histogram", "counters=1/2", "HG::counters=1/2")
    for text in ("vertices", "vertices=", "=1", "vertices=-1", "vertices=1/", "vertices=x"):
        with pytest.raises(UsageError, match="not clear how to divide"):
            Split.parse(text)


# -- cuts that are refused

TWO = """.kernel k
.param out, 8
.shared one 256 4
.shared two 256 4
.shared three 256 4
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    ISETP.LT.AND P0, PT, R0, 0x5, PT
    STS.32 [R1], R0
    STS.32 [R1+0x100], R0
    STS.32 [R1+0x200], R0
    BAR.SYNC 0
    LDG.32 R3, [R8]
    LOP3 R3, R3, 0x1fc, RZ, 0xc0
{}
    STG.32 [R8], R5
    EXIT
.end
"""


@pytest.mark.parametrize(("body", "kept", "message", "place"), [
    ("LDS.32 R5, [R1]", (256, 512), "private bytes of shared memory lie between public ones", "k"),
    ("@P0 LDS.32 R5, [R3]", (0, 256), "an access may go to both parts of shared memory", "k+9"),
    ("LDS.64 R4, [R3]", (0, 132), "an access may go to both parts of shared memory", "k+9"),
    ("LDS.64 R4, [0xfc]", (0, 256), "an access may go to both parts of shared memory", "k+9"),
    ("LD.32 R5, [R8]", (0, 256), "a generic access may go to shared memory", "k+9"),
    ("LDS.32 R5, [R3]", (0, 256), "", ""),
    ("LDS.64 R4, [R3]", (0, 136), "", ""),
])  # fmt: skip
def test_cuts_are_refused(body: str, kept: tuple[int, int], message: str, place: str) -> None:
    module, bytes_ = program(TWO.format(body)), (1 << kept[1]) - (1 << kept[0])
    for make in (
        lambda: get_as_they_run(module, "k", (64, 1, 1), bytes_),
        lambda: merge_blocks(module, "k", (64, 1, 1), 2, private=bytes_),
    ):
        if not message:
            make()
            continue
        with pytest.raises(Refused) as error:
            make()
        assert (error.value.message, error.value.place) == (message, place)
        assert error.value.remedy


def test_bytes_between_private_ones_in_front_and_behind_are_public() -> None:
    module = program(TWO.format("LDS.32 R5, [R3+0x100]"))
    outer = (1 << 256) - 1 | (1 << 768) - (1 << 512)
    made = merge_blocks(module, "k", (64, 1, 1), 3, private=outer)
    assert (made.copies.ranges, made.copies.size) == ([(0, 256), (512, 768)], 3 * 512 + 256)
    assert [(v.name, v.offset) for v in made.module.function("k").shared] == [
        ("one", 0), ("two", 3 * 256), ("three", 4 * 256),
    ]  # fmt: skip
    parts = get_as_they_run(module, "k", (64, 1, 1), outer).parts
    assert (parts.first, parts.high, parts.private) == (256, 512, 512)


def test_copies_keep_the_alignment_of_the_widest_access() -> None:
    made = merge_blocks(program(TWO.format("LDS.32 R5, [R3+0x100]")), "k", (64, 1, 1), 3, private=(1 << 132) - 1)
    assert (made.copies.ranges, made.copies.size) == ([(0, 132)], 768 + 2 * 144)


COMMON = """.kernel k
.param out, 8
.param a, 4
.shared words 1024 4
    S2R R0, SR_TID.X
    S2R R2, SR_CTAID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    MOV R10, c[0][out]
    MOV R11, c[0][out+0x4]
    IMAD R12, R2, 0x40, R0
    IMAD.WIDE R10, R12, 0x4, R10
    MOV R14, c[0][a]
    ISETP.EQ.AND P0, PT, R0, 0x0, PT
{store}
    BAR.SYNC 0
    LDS.32 R5, [0x100]
    STS.32 [R1], R12
    STS.32 [R1+0x104], R12
    STS.32 [R1+0x300], R12
    BAR.SYNC 0
    LOP3 R6, R1, 0x80, RZ, 0x3c
    LDS.32 R7, [R6]
    LDS.32 R8, [R6+0x104]
    LDS.32 R9, [R6+0x300]
    IADD3 R5, R5, R7, R8
    IADD3 R5, R5, R9, RZ
    STG.32 [R10], R5
    EXIT
.end
"""
"""A word at 0x100 is common; it lies between words of each block's own."""
STORE = "    STS.32 [0x100], R14"


@pytest.mark.parametrize("store", [f"@P0 {STORE}", f"    @!P0 BRA on, on\n{STORE}\non:"])
@pytest.mark.parametrize("outer", [[(0, 256), (260, 516)], [(0, 516)], [(0, 256)], [(0, 1024)]])
def test_common_bytes_among_private_ones_have_copies_too(store: str, outer: list[tuple[int, int]]) -> None:
    module, kept = program(COMMON.format(store=store)), sum((1 << end) - (1 << first) for first, end in outer)
    launch = Launch("k", (5, 1, 1), (64, 1, 1), 0, (
        Argument("out", "buffer", "u32", (320,)), Argument("a", "scalar", "u32", value=1000),
    ))  # fmt: skip
    given = RunOptions(machine=T4, check=True, race=True, sms=1)
    expected = run_launch(schedule(module, T4), "k", launch, given).buffers["out"]
    made = merge_blocks(module, "k", launch.block, 2, private=kept)
    found = run_launch(schedule(made.module, T4), "k", made.merge.launch(launch), given).buffers["out"]
    assert np.array_equal(expected, found)
