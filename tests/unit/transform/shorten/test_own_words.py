"""Words that belong to one thread for a while: in the paper's histogram, and where they are, or are not, owned."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.analysis.program import analyse
from binalloc.analysis.shared.memory import shared_memory
from binalloc.analysis.shared.ownership import ownership
from binalloc.analysis.shared.regions import access_regions
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.errors import Refused
from binalloc.frontend.importer import import_ptx
from binalloc.launch.file import load_launch
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.multiplex.shorter import own_words
from binalloc.pipeline.request import Request
from binalloc.transform.schedule.schedule import schedule
from binalloc.transform.shorten.own_words import with_own_words
from binalloc.verify.shorten.own import check_own_words
from tests.support.paths import sample_file
from tests.support.programs.builder import program

MACHINE = load_machine("t4")


def test_threads_of_the_histogram_count_in_local_memory() -> None:
    """Each of 64 threads has a byte of each of 128 rows. It loads them behind the barrier at which zeros have come, and
    stores them in front of the one behind which others add them up: the region holds no counting any more."""
    path = sample_file("histogram.ptx")
    launch = load_launch(path.with_suffix(".toml"), "test")
    module = import_ptx(path.read_text(), path.name, machine="t4").module
    found = own_words(module, Request("HG", MACHINE, launch))
    assert found.unproven == ""
    made = with_own_words(module, "HG", launch.block)
    assert made.parts == ((16, 16 + 8192, 64, 1, 0),)
    fn = made.module.function("HG")
    assert fn.info.local_bytes == 128
    assert fn.origin is not None
    code = [(instr.name, old < 0) for instr, old in zip(fn.instrs, fn.origin.index, strict=True)]
    copies = [name for name, inserted in code if inserted and name in ("LDS", "STL", "LDL", "STS")]
    assert [copies.count(name) for name in ("LDS", "STL", "LDL", "STS")] == [128] * 4
    assert [name for name, inserted in code if not inserted].count("LDL") == 8
    assert [name for name, inserted in code if not inserted].count("STL") == 8
    before = access_regions(shared_memory(analyse(module, "HG"), launch.block))
    after = access_regions(shared_memory(analyse(made.module, "HG"), launch.block))
    assert (len(before), len(after)) == (1, 2)
    counting = {n for n, (name, inserted) in enumerate(code) if name == "LDL" and not inserted}
    assert not any(first <= n < end for region in after for first, end in region.spans for n in counting)
    run = RunOptions(machine=MACHINE, check=True, race=True)
    expected = run_launch(schedule(module, MACHINE), "HG", launch, run).buffers
    left = run_launch(schedule(made.module, MACHINE), "HG", launch, run).buffers
    assert all(np.array_equal(left[b], expected[b]) for b in expected)


OWNED = """.kernel k
.param in, 8
.shared_bytes 2048
.shared a 2048 4 0
    S2R R0, SR_TID.X
    MOV R2, c[0][in]
    MOV R3, c[0][in+0x4]
    LDG.32 R4, [R2]
    LOP3 R5, R4, 0xf, RZ, 0xc0
    SHF.L.U32 R5, R5, 0x7, RZ
    SHF.L.U32 R1, R0, 0x2, RZ
    IADD3 R5, R5, R1, RZ
    {store}
    {middle}
    LDS.32 R6, [R5]
    {last}
    STG.32 [R2], R6
    EXIT
.end
"""
PLAIN = {"store": "STS.32 [R5], R4", "middle": "NOP", "last": "NOP"}


def owned(**parts: str) -> tuple[int, int, list[int]] | None:
    """The stride, the width and the first columns of what is owned in the kernel above."""
    module = program(OWNED.format(**{**PLAIN, **parts}))
    found = ownership(shared_memory(analyse(module, "k"), (32, 1, 1)))
    return None if found is None else (found.owned[0].stride, found.owned[0].width, list(found.owned[0].begins[:3]))


@pytest.mark.parametrize("parts", [
    {}, {"middle": "BAR.SYNC 0"}, {"last": "BAR.SYNC 0"}, {"store": "STS.32 [R1+0x80], R4"},
    {"last": "BAR.SYNC 0\nLDS.32 R7, [RZ+0x4]"},
])  # fmt: skip
def test_columns_are_owned(parts: dict[str, str]) -> None:
    assert owned(**parts) == (128, 4, [0, 4, 8])


@pytest.mark.parametrize(("parts", "why"), [
    ({"store": "STS.32 [RZ+0x4], R4"}, "all threads store to one word"),
    ({"middle": "LDS.32 R7, [R5+0x4]"}, "a thread loads its neighbour's word"),
    ({"middle": "LDS.64 R8, [R5]"}, "a load is of two columns"),
    ({"middle": "ATOMS.ADD R7, [R5], R4"}, "an atomic"),
    ({"middle": "LDS.32 R7, [R4]"}, "an address of which nothing is known"),
    ({"middle": "ISETP.EQ.AND P0, PT, R4, 0x0, PT\n@P0 BRA on, on\nBAR.SYNC 0\non:"}, "not all come to a barrier"),
    ({"last": "ISETP.EQ.AND P0, PT, R4, 0x0, PT\n@P0 EXIT\nBAR.SYNC 0"}, "threads have ended in front of a barrier"),
])  # fmt: skip
def test_columns_in_which_threads_may_meet_are_not_owned(parts: dict[str, str], why: str) -> None:
    assert owned(**parts) is None, why


def test_words_that_others_read_are_not_left_behind() -> None:
    """A thread that ends in the phase would take its words along."""
    last = "S2R R9, SR_CTAID.X\nISETP.EQ.AND P0, PT, R9, 0x0, PT\n@P0 EXIT\nBAR.SYNC 0\nLDS.32 R6, [RZ+0x4]"
    module = program(OWNED.format(**{**PLAIN, "last": last}))
    with pytest.raises(Refused, match="a thread may end with words that others read later"):
        with_own_words(module, "k", (32, 1, 1))


def test_a_kernel_without_own_words_is_refused() -> None:
    module = program(OWNED.format(**{**PLAIN, "store": "STS.32 [RZ+0x4], R4"}))
    with pytest.raises(Refused, match="no thread has words of shared memory to itself"):
        with_own_words(module, "k", (32, 1, 1))


REVISITED = """.kernel k
.param out, 8
.shared_bytes 256
.shared a 256 4 0
    S2R R0, SR_TID.X
    MOV R2, c[0][out]
    MOV R3, c[0][out+0x4]
    SHF.L.U32 R1, R0, 0x2, RZ
    IADD3 R4, -R1, 0x7c, RZ
    LDG.32 R5, [R2]
    LOP3 R5, R5, 0x1, RZ, 0xc0
    LEA R5, R5, R1, 7
    STS.32 [{at}], R0
    STS.32 [{at}+0x80], R0
    {meet}
    LDS.32 R6, [R5]
    IADD3 R6, R6, R0, RZ
    STS.32 [R5], R6
    BAR.SYNC 0
    NOP
    BAR.SYNC 0
    LDS.32 R6, [R5]
    {last}
    IMAD.WIDE R2, R0, 0x4, R2
    STG.32 [R2], R6
    EXIT
.end
"""


@pytest.mark.parametrize("given", [
    {"at": "R4", "meet": "BAR.SYNC 0", "last": "NOP"},
    {"at": "R1", "meet": "NOP", "last": "BAR.SYNC 0\nLDS.32 R6, [R4]"},
])  # fmt: skip
def test_words_are_at_one_place_again_when_their_thread_comes_back(given: dict[str, str]) -> None:
    """Between two phases in which a variable is owned, one does not touch it: either copies go both ways, or none."""
    module = program(REVISITED.format(**given))
    made = with_own_words(module, "k", (32, 1, 1))
    report = check_own_words(module, made.module, "k", (32, 1, 1), made.parts)
    assert report.ok, report
    launch = Launch("k", (1, 1, 1), (32, 1, 1), 0, (Argument("out", "buffer", "u32", (32,)),))
    run = RunOptions(machine=MACHINE, check=True, race=True)
    left = [run_launch(schedule(each, MACHINE), "k", launch, run).buffers["out"] for each in (module, made.module)]
    assert np.array_equal(*left)
