"""The multiplex paper's golden transformations: order of parts and barriers; and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from binalloc.emulator.runs.issue_log import Batch, IssueLog, Listener
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.emulator.state.parts.log import LogColumn, LogKind
from binalloc.errors import Refused
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Instr, Module
from binalloc.launch.file import load_launch
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.multiplex.merged import HANDED, PIPED, merge_blocks
from binalloc.transform.multiplex.public import get_as_they_run
from binalloc.transform.schedule.schedule import schedule
from tests.support.paths import sample_file
from tests.support.programs.builder import program

MACHINE = load_machine("t4")
PARTS = {"STS": "save", "LDS": "load", "BAR": "sync", "BAR.ALLOC": "allocate", "BAR.FREE": "free"}
"""What the paper's figures call FFT's accesses and barriers."""
ACCESSES = ("STS", "LDS")


KERNEL = """.kernel k
.shared_bytes 512
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    S2R R2, SR_CTAID.X
    ISETP.LT.AND P0, PT, R0, 0x5, PT
    ISETP.LT.AND P1, PT, R2, 0x5, PT
{}
    EXIT
.end
{}"""
USE = "STS.32 [R1], R0\nBAR.SYNC 0\nLDS.32 R5, [R1]\nBAR.SYNC 0"


def sample(name: str) -> tuple[Module, Launch]:
    imported = import_ptx(sample_file(f"{name}.ptx").read_text(), machine=MACHINE)
    return imported.module, load_launch(sample_file(f"{name}.toml"), "test")


def parts(instrs: list[Instr]) -> list[str]:
    """The parts in order, repetitions left out."""
    found = [PARTS[i.name] for i in instrs if i.name in PARTS]
    return [p for k, p in enumerate(found) if k == 0 or p != found[k - 1]]


def test_figure_8_has_three_barriers_in_a_region() -> None:
    module, launch = sample("fourierTransform")
    made = get_as_they_run(module, launch.kernel, launch.block)
    staging = ["save", "sync", "load"]
    assert parts(module.function("FFT").instrs) == [*staging, *["save", "sync", "load", "sync"] * 4]
    assert parts(made.module.function("FFT").instrs) == [*staging, *["allocate", "save", "sync", "load", "free"] * 4]
    # the private part is the staged parameters; nobody stores the last words of the arrays' padding
    assert (made.parts.first, made.parts.public, made.parts.private) == (16, 8700, 48)
    assert [v.size for v in made.module.function("FFT").shared] == [8, 8, 4, 4, 4, 4]


class Steps:
    """What each virtual block of the first merged block does between the openings of barriers."""

    def __init__(self, module: Module, part: Callable[[int, str], str | None], threads: int) -> None:
        """part: the name of the part that a word of the original and its mnemonic belong to, None for other words."""
        fn = module.function("FFT")
        assert fn.origin is not None
        self.part = {
            fn.address + k: name
            for k, (instr, old) in enumerate(zip(fn.instrs, fn.origin.index, strict=True))
            if old >= 0 and (name := part(old, instr.name)) is not None
        }
        self.warps = threads // 32
        self.found: list[list[tuple[int, str]]] = [[]]

    def receive(self, batch: Batch) -> None:
        for row in batch.rows:
            if row[LogColumn.KIND] == LogKind.OPEN:
                self.found.append([])
            elif row[LogColumn.KIND] == LogKind.ISSUE and row[LogColumn.PC] in self.part:
                seen = int(row[LogColumn.WARP]) // self.warps, self.part[int(row[LogColumn.PC])]
                if seen not in self.found[-1]:
                    self.found[-1].append(seen)


@pytest.mark.parametrize("region", range(4))
@pytest.mark.parametrize("count", [2, 3])
def test_figure_3_has_one_virtual_block_after_the_other(region: int, count: int) -> None:
    module, launch = sample("fourierTransform")
    made = merge_blocks(module, launch.kernel, launch.block, count)
    merged = made.merge.launch(launch)
    code = schedule(made.module, MACHINE)
    ((first, end),) = made.regions[region].spans
    steps = Steps(code, lambda w, name: PARTS[name] if first <= w < end and name in ACCESSES else None, 64)
    options = RunOptions(machine=MACHINE, blocks_per_sm=1, log=IssueLog([Listener(steps.receive)]))
    run_launch(code, launch.kernel, merged, options)
    blocks = np.prod(launch.grid)
    busy = [step for step in steps.found if step]
    turns = [[(v, "save")] if k == 0 else [(v, "load")] for v in range(count) for k in range(2)]
    assert busy[: 2 * count] == turns
    assert len(busy) == 2 * blocks


def test_figure_5_has_one_virtual_block_compute_while_the_other_loads() -> None:
    """A stage is annotated by hand there, and runs beside the loads. Here it is cut, and the first piece of it runs
    beside the saving."""
    module, launch = sample("fourierTransform")
    made = merge_blocks(module, launch.kernel, launch.block, 2, order=PIPED)
    spans = [region.spans[0] for region in made.regions]
    ends = [0, *(end for _, end in spans)]

    def part(word: int, name: str) -> str | None:
        within = next((k for k, (first, end) in enumerate(spans) if first <= word < end), None)
        if within is not None:
            return f"{PARTS[name]} {within}" if name in ACCESSES else None
        stage = next((k for k, (first, _) in enumerate(spans) if ends[k] <= word < first), None)
        return f"compute {stage}" if stage is not None and name in ("FADD", "FMUL", "FFMA") else None

    code = schedule(made.module, MACHINE)
    steps = Steps(code, part, 64)
    options = RunOptions(machine=MACHINE, sms=1, blocks_per_sm=1, log=IssueLog([Listener(steps.receive)]))
    run_launch(code, launch.kernel, replace(made.merge.launch(launch), grid=(1, 1, 1)), options)
    accesses = [[seen for seen in step if not seen[1].startswith("compute")] for step in steps.found]
    slots = [(v, f"{what} {k}") for k in range(4) for v in range(2) for what in ("save", "load")]
    assert [step for step in accesses if step] == [[slot] for slot in slots]
    beside = {accesses[s][0]: {seen for seen in step if seen[1].startswith("compute")}
              for s, step in enumerate(steps.found) if accesses[s]}  # fmt: skip
    for k in range(4):
        assert beside[0, f"load {k}"] == {(1, f"compute {k}")}
        assert beside[1, f"load {k}"] == ({(0, f"compute {k + 1}")} if k < 3 else set())
        own = {seen for slot in [(v, f"{what} {k}") for v in range(2) for what in ("save", "load")]
               for seen in beside[slot] if seen[0] == slot[0]}  # fmt: skip
        assert own == ({(0, "compute 0")} if k == 0 else set())  # in front of the first region of all


def test_a_pipe_is_of_two_virtual_blocks() -> None:
    module, launch = sample("fourierTransform")
    with pytest.raises(Refused, match="a pipe is of two virtual blocks"):
        merge_blocks(module, launch.kernel, launch.block, 3, order=PIPED)


@pytest.mark.parametrize(("body", "count", "message", "place"), [
    (USE, 8, "a block has too few barriers", "k"),
    (f"@P0 EXIT\n{USE}", 2, "threads may end in front of the end of an access region", "k+6"),
    ("STS.32 [R1], R0\n@P0 EXIT\nBAR.SYNC 0\nLDS.32 R5, [R1]", 2,
     "threads may end in front of the end of an access region", "k+5"),
    (f"{USE}\n@P0 EXIT\nBAR.SYNC 0", 2, "threads may have ended in front of a barrier", "k+10"),
    (f"@P1 BRA off, off\n{USE}\noff:", 2, "some blocks of the grid may come to a region or barrier, and others not",
     "k+5"),
    (f"@P1 EXIT\n{USE}", 2, "some blocks of the grid may come to a region or barrier, and others not", "k+5"),
])  # fmt: skip
def test_a_turn_that_cannot_be_handed_on_is_refused(body: str, count: int, message: str, place: str) -> None:
    module = program(KERNEL.format(body, ""))
    with pytest.raises(Refused) as error:
        merge_blocks(module, "k", (64, 1, 1), count, order=HANDED)
    assert (error.value.message, error.value.place) == (message, place)


def test_a_turn_is_handed_on_at_fourteen_barriers() -> None:
    """Seven virtual blocks have one each, and one each at which they get the turn."""
    made = merge_blocks(program(KERNEL.format(USE, "")), "k", (64, 1, 1), 7, order=HANDED)
    found = {i.f["barid"] for i in made.module.function("k").instrs if i.name == "BAR"}
    assert found == set(range(1, 15))


def test_a_merged_launch_has_all_blocks_and_knows_their_number() -> None:
    module, launch = sample("fourierTransform")
    made = merge_blocks(module, launch.kernel, launch.block, 3)
    merged = made.merge.launch(launch)
    assert merged.block == (64, 1, 3)
    assert merged.grid == (-(-launch.grid[0] // 3), 1, 1)
    assert merged.arguments[-1].value == launch.grid[0]
    info = made.module.function("FFT").info
    assert info.max_threads == 192
    assert info.params[-1].size == 4
    assert info.shared_bytes == 8736


@pytest.mark.parametrize(("body", "callee", "message", "place"), [
    ("NOP", "", "no block waits for shared memory", "k"),
    (f"{USE}\nLD.32 R5, [R8]", "", "a generic access may go to shared memory", "k+9"),
    (f"{USE}\nCALL f", ".func f\n    LDS.32 R5, [R1]\n    RET\n.end\n",
     "a function accesses shared memory for the kernel", "f+0"),
    (f"{USE}\nS2R R5, SR_TOTAL_SMEM", "", "the code asks where its shared memory lies", "k+9"),
    ("BAR.ALLOC R5, 0x80\nBAR.FREE R5", "", "the kernel's blocks get shared memory as they run already", "k+5"),
])  # fmt: skip
def test_dynamic_memory_is_refused(body: str, callee: str, message: str, place: str) -> None:
    with pytest.raises(Refused) as error:
        get_as_they_run(program(KERNEL.format(body, callee)), "k", (64, 1, 1))
    assert (error.value.message, error.value.place) == (message, place)


ALL = (1 << 512) - 1
"""All bytes of the kernel, private."""


@pytest.mark.parametrize(("body", "message", "found"), [
    (USE, "no block waits for shared memory", "all accesses in the private part"),
    (f"{USE}\nLD.32 R5, [R8]", "a generic access may go to shared memory", "an address of which nothing is known"),
])  # fmt: skip
def test_a_private_part_with_all_accesses_is_refused(body: str, message: str, found: str) -> None:
    with pytest.raises(Refused) as error:
        get_as_they_run(program(KERNEL.format(body, "")), "k", (64, 1, 1), ALL)
    assert (error.value.message, error.value.found) == (message, found)


@pytest.mark.parametrize("body", [
    f"@P0 BRA on, on\nBAR.SYNC 0\non:\n{USE}", f"{USE}\nBAR.SYNC 1, 0x40", f"{USE}\n@P1 BAR.SYNC 0",
])  # fmt: skip
def test_what_no_scheme_can_prove_is_not_sent_to_another(body: str) -> None:
    """The proof of `hw` knows no barriers but those of the whole block, to which all threads come."""
    with pytest.raises(Refused, match="barrier") as error:
        merge_blocks(program(KERNEL.format(body, "")), "k", (64, 1, 1), 2)
    assert "__syncthreads()" in (error.value.remedy or "")
    assert "hw" not in (error.value.remedy or "")


def test_a_barrier_in_a_function_is_refused() -> None:
    callee = ".func f\n" + 40 * "    NOP\n" + "    BAR.SYNC 0\n    RET\n.end\n"
    with pytest.raises(Refused) as error:
        merge_blocks(program(KERNEL.format(f"{USE}\nCALL f", callee)), "k", (64, 1, 1), 2)
    assert (error.value.message, error.value.place) == ("a function has a barrier", "f+40")


@pytest.mark.parametrize(("body", "block", "message", "place"), [
    ("NOP", (64, 1, 1), "no block waits for shared memory", "k"),
    (f"{USE}\nCS2R R5, SR_CLOCKLO", (64, 1, 1), "the code reads a clock", "k+9"),
    (f"{USE}\nS2R R5, SR_SMID", (64, 1, 1), "the code asks on which SM it runs", "k+9"),
    (f"@P0 BRA on, on\nBAR.SYNC 0\non:\n{USE}", (64, 1, 1), "not all threads of a block come to a barrier", "k+6"),
    (f"{USE}\nBAR.SYNC 1, 0x40", (64, 1, 1), "a barrier is not a plain one of the whole block", "k+9"),
    (f"@P1 BRA on, on\nBAR.SYNC 0\non:\n{USE}", (64, 1, 1), "blocks of the grid may come to different barriers", "k+5"),
    (("STS.32 [R1], R0\nhead:\nBAR.SYNC 0\nLDS.32 R5, [R1]\nISETP.LT.AND P2, PT, R5, 0x4, PT\nBAR.RED.OR P2, 0, P2\n"
     "@P2 BRA head, on\non:"), (64, 1, 1), "a barrier is not a plain one of the whole block", "k+9"),
])  # fmt: skip
def test_merging_is_refused(body: str, block: tuple[int, int, int], message: str, place: str) -> None:
    with pytest.raises(Refused) as error:
        merge_blocks(program(KERNEL.format(body, "")), "k", block, 2)
    assert (error.value.message, error.value.place) == (message, place)


def test_a_kernel_is_merged_once() -> None:
    module = program(KERNEL.format(USE, "").replace(".shared_bytes", ".param original_grid, 4\n.shared_bytes"))
    with pytest.raises(Refused, match="a parameter has the name of one that merging adds"):
        merge_blocks(module, "k", (64, 1, 1), 2)
    merged = merge_blocks(program(KERNEL.format(USE, "")), "k", (64, 1, 1), 2)
    with pytest.raises(Refused, match="a parameter has the name of one that merging adds"):
        merge_blocks(merged.module, "k", merged.merge.merged_block, 2)


WAIT = "wait:\nLDG.32.CV R8, [R6-0x4]\nISETP.EQ.AND P1, PT, R8, 0x0, PT\n@P1 BRA wait, on\non:"
"""Each block waits for what the one before it stores."""
COUNTED = WAIT.replace(
    "wait:", "MOV R10, RZ\nwait:\nIADD3 R10, R10, 0x1, RZ\nISETP.GE.AND P2, PT, R10, 0x9, PT\n@P2 BRA on, on"
)
"""Each block waits no longer than eight rounds."""
LOADED = """LDG.32 R8, [R6]
MOV R10, 0x1
head:
SHF.L.U32 R10, R10, 0x1, RZ
ISETP.LT.U32.AND P1, PT, R10, R8, PT
@P1 BRA head, on
on:"""
"""What is loaded in front of a loop says how long it goes on."""
BESIDE = LOADED.replace(
    "ISETP.LT", "LDG.32 R9, [R6]\nISETP.EQ.AND P2, PT, R9, 0x0, PT\n@P2 BRA join, join\nMOV R12, R9\njoin:\nISETP.LT"
)
"""What is loaded in a loop decides something else."""
GUARDED = WAIT.replace("P1, PT, R8", "P2, PT, R8").replace(
    "@P1", "MOV R11, RZ\n@P2 MOV R11, 0x1\nISETP.NE.AND P1, PT, R11, RZ, PT\n@P1"
)
"""What is loaded guards the word that asks whether the loop goes on."""
DECIDED = WAIT.replace("P1, PT, R8", "P2, PT, R8").replace(
    "@P1",
    "@P2 BRA two, over\nMOV R11, RZ\nBRA over\ntwo:\nMOV R11, 0x1\nover:\nISETP.EQ.AND P1, PT, R11, RZ, PT\n@P1",
)
"""What is loaded decides on which way the word that asks gets its number."""
NESTED = WAIT.replace("P1, PT, R8", "P2, PT, R8").replace("@P1", "@P2 BRA again, again\n@P0 BRA on, on\nagain:\n    ")
"""What is loaded decides whether threads come to the branch that leaves."""
CALLED = "wait:\nCALL f\nISETP.EQ.AND P1, PT, R8, 0x0, PT\n@P1 BRA wait, on\non:"


@pytest.mark.parametrize(("body", "place"), [
    (WAIT, "k+5"), (GUARDED, "k+5"), (DECIDED, "k+5"), (NESTED, "k+5"), (CALLED, "k+5"),
    (COUNTED, None), (LOADED, None), (BESIDE, None),
])  # fmt: skip
def test_a_loop_that_waits_for_another_block_is_refused(body: str, place: str | None) -> None:
    """Virtual blocks of a merged block wait for each other at barriers: none may wait for what another stores."""
    module = program(KERNEL.format(f"{body}\n{USE}", ".func f\n    LDG.32 R8, [R6]\n    RET\n.end\n"))
    if place is None:
        merge_blocks(module, "k", (64, 1, 1), 2)
        return
    with pytest.raises(Refused) as error:
        merge_blocks(module, "k", (64, 1, 1), 2)
    assert (error.value.message, error.value.place) == ("a loop may wait for what another block writes", place)


def test_blocks_are_merged_along_any_axis() -> None:
    body = """    S2R R3, SR_CTAID.Y
    S2R R4, SR_NCTAID.Y
    S2R R5, SR_NTID.Z
    S2R R6, SR_TID.Z
    S2R R7, SR_WARPID
    S2R R8, SR_NWARPID
    STS.32 [R1], R3
    BAR.SYNC 0
    LDS.32 R9, [R1]
    BAR.SYNC 0
    IMAD R9, R4, 0x10, R9
    IMAD R9, R5, 0x100, R9
    IMAD R9, R6, 0x1000, R9
    IMAD R9, R7, 0x10000, R9
    IMAD R9, R8, 0x100000, R9
    IMAD R10, R2, 0x3, R3
    IMAD R10, R6, 0x6, R10
    SHF.L.U32 R10, R10, 0x5, RZ
    IADD3 R10, R10, R0, RZ
    MOV R12, c[0][out]
    MOV R13, c[0][out+0x4]
    IMAD.WIDE R12, R10, 0x4, R12
    STG.32 [R12], R9
"""
    module = program(KERNEL.format(body, "").replace(".shared_bytes", ".param out, 8\n.shared_bytes"))
    launch = Launch("k", (2, 3, 1), (32, 1, 2), 0, (Argument("out", "buffer", "u32", (2 * 3 * 2 * 32,)),))
    run = RunOptions(machine=MACHINE)
    expected = run_launch(schedule(module, MACHINE), "k", launch, run).buffers["out"]
    for axis in (0, 1):
        made = merge_blocks(module, "k", (32, 1, 2), 2, axis)
        found = run_launch(schedule(made.module, MACHINE), "k", made.merge.launch(launch), run).buffers["out"]
        assert np.array_equal(found, expected)
    assert len(np.unique(expected)) == 3 * 2
