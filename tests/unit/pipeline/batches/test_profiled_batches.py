"""The profile of a run against the pages that the kernel's own formulas give, lane by lane."""

from __future__ import annotations

from pathlib import Path

import pytest

from binalloc.emulator.runs.options import RunOptions
from binalloc.errors import KernelFault, LimitHit, UsageError
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import load
from binalloc.launch.file import load_launch, parse_launch
from binalloc.launch.program.file import load_program
from binalloc.models.batches.formula import BatchFormula
from binalloc.pipeline.batches import recorder
from binalloc.pipeline.batches.profiled import BatchProfile, profiled_batches, profiled_step
from tests.support.kits.emulator.textures import scheduled
from tests.support.paths import sample_file

PAGE = 4096
BLOCKS, THREADS = 6, 40  # the second warp has eight lanes
KERNEL = """
.global pad 4
.global table 65536 4
.kernel k
.shared s, 16, 16, 0
.param words, 8
.param bytes, 8
.param count, 8
    S2R R0, SR_TID.X
    S2R R1, SR_CTAID.X
    S2R R2, SR_CTAID.Y
    S2R R3, SR_NCTAID.X
    IMAD R1, R2, R3, R1                     // number of the block
    IMAD R4, R1, 3456, RZ
    IMAD R4, R0, 16, R4
    MOV R6, table
    IADD3 R6, R6, 12, R4                    // 16 bytes at a multiple of 16, and 8 modulo 16 in the variable
    MOV R7, RZ
    LDG.128 R8, [R6]
    IMAD R12, R0, 129, R1
    MOV R14, 0x1
    IMAD.WIDE R16, R12, R14, c[0][bytes]
    LDG.U8 R18, [R16]                       // one byte
    ISETP.GE.AND P0, PT, R0, 0x21, PT
    @P0 EXIT                                // the last seven lanes
    IMAD R20, R1, 3072, RZ
    IMAD R20, R0, 8, R20
    IMAD.WIDE R22, R20, R14, c[0][words]
    ST.64 [R22], R8                         // generic, to global memory
    S2R R24, SR_SHARED_WINDOW
    MOV R25, RZ
    ST.32 [R24], R8                         // and to shared memory
    ISETP.EQ.AND P1, PT, R0, R1, PT
    MOV R26, c[0][count]
    MOV R27, c[0][count+4]
    @P1 ATOMG.ADD R28, [R26+4096], R14  // one lane of each block
    EXIT
.end
"""
LAUNCH = f"""
kernel = "k"
grid = [2, 3]
block = [{THREADS}]

[[argument]]
name = "words"
kind = "buffer"
dtype = "u32"
shape = 8192

[[argument]]
name = "bytes"
kind = "buffer"
dtype = "u8"
shape = 9000

[[argument]]
name = "count"
kind = "buffer"
dtype = "u32"
shape = 2048
"""


def module() -> Module:
    return scheduled(KERNEL)


def profile(tmp_path: Path, text: str = LAUNCH, pages: int = PAGE, **options: object) -> BatchProfile:
    (tmp_path / "k.toml").write_text(text)
    asked = RunOptions(machine="gtx680", engine="python", **options)  # type: ignore[arg-type]
    return profiled_batches(module(), None, load_launch(tmp_path / "k.toml"), asked, pages)


def expected(page: int) -> dict[str, set[tuple[int, int]]]:
    """Pages and blocks by buffer, lane by lane, from the formulas of the kernel."""
    found: dict[str, set[tuple[int, int]]] = {".global table": set(), "bytes": set(), "words": set(), "count": set()}

    def touch(name: str, block: int, at: int, size: int) -> None:
        found[name] |= {(byte // page, block) for byte in range(at, at + size)}

    for block in range(BLOCKS):
        for thread in range(THREADS):
            touch(".global table", block, 12 + 3456 * block + 16 * thread, 16)
            touch("bytes", block, 129 * thread + block, 1)
            if thread < 33:
                touch("words", block, 3072 * block + 8 * thread, 8)
            if thread == block:
                touch("count", block, 4096, 4)
    return found


def by_buffer(found: BatchProfile, page: int) -> dict[str, set[tuple[int, int]]]:
    out: dict[str, set[tuple[int, int]]] = {name: set() for name, _ in found.buffers}
    for at, block in zip(found.touches.pages.tolist(), found.touches.numbers.tolist(), strict=True):
        name, first = max(
            ((name, first * PAGE // page) for (name, _), first in zip(found.buffers, found.first_pages, strict=True)
             if first * PAGE // page <= at), key=lambda each: each[1],
        )  # fmt: skip
        out[name].add((at - first, block))
    return {name: pairs for name, pairs in out.items() if pairs}


@pytest.mark.parametrize("page", [PAGE, 2 * PAGE, 1 << 21])
def test_pages_are_those_of_each_lane(tmp_path: Path, page: int) -> None:
    found = profile(tmp_path, pages=page)
    assert by_buffer(found, page) == expected(page)
    four = {name: len({at for at, _ in pairs}) for name, pairs in expected(PAGE).items()}
    assert {each.name: each.pages for each in found.counts[0].buffers} == four
    assert found.counts[0].pages == sum(four.values())
    assert found.counts[2].pages == len(four)


def test_one_access_alone_touches_a_page() -> None:
    """Its first bytes are in the page before: else the test above says nothing of accesses to two pages."""
    last = [12 + 3456 * block + 16 * (THREADS - 1) for block in range(BLOCKS)]
    assert any(at // PAGE < (at + 15) // PAGE for at in last)


def test_a_profile_hardly_needs_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs are merged as they come, and too many are an error."""
    whole = profile(tmp_path)
    assert len(whole.touches.pages) == sum(map(len, expected(PAGE).values()))
    monkeypatch.setattr(recorder, "MOST_TOUCHES", len(whole.touches.pages) - 1)
    with pytest.raises(LimitHit, match="too many pages"):
        profile(tmp_path)


def test_runs_that_do_not_end_have_no_profile(tmp_path: Path) -> None:
    with pytest.raises(LimitHit):
        profile(tmp_path, max_cycles=300)
    with pytest.raises(KernelFault):
        profile(tmp_path, LAUNCH.replace("shape = 9000", "shape = 4500"))


@pytest.mark.parametrize("page", [0, 1, 2048, 4095, 6144, 1 << 22])
def test_pages_that_there_are_not(tmp_path: Path, page: int) -> None:
    with pytest.raises(UsageError, match="no size of pages"):
        profile(tmp_path, pages=page)


def test_a_step_of_a_sequence_is_profiled_alone(tmp_path: Path) -> None:
    """The second launch has fewer blocks, and no pair is of the first."""
    arguments = LAUNCH.split("[[argument]]")[1:]
    step = f'\n[[step]]\nlaunch = "k"\narguments = ["words", "bytes", "count"]\nblock = {THREADS}\ngrid = '
    steps = "".join(f"{step}{grid}\n" for grid in ("[2, 3]", "[2, 1]"))
    (tmp_path / "p.toml").write_text("[[argument]]".join(["", *arguments]) + steps)
    options = RunOptions(machine="gtx680", engine="python")
    loaded = load_program(tmp_path / "p.toml")
    first, second = (profiled_step(module(), loaded, options, step) for step in (0, 1))
    assert by_buffer(first, PAGE) == expected(PAGE)
    kept = {name: {(at, block) for at, block in pairs if block < 2} for name, pairs in expected(PAGE).items()}
    assert by_buffer(second, PAGE) == kept
    assert (second.grid, second.run.step) == ((2, 1, 1), 1)


def test_surfaces_count_and_textures_do_not() -> None:
    """Each thread stores an element of a surface of 64 KB, 1,024 bytes apart. Then a kernel fetches from a texture."""
    text = """
    .kernel k
    .param s 8
    S2R R0, SR_TID.X
    IMAD R8, R0, 1024, RZ
    MOV R11, c[0][s]
    SUADDR.1D.CLAMP.8 P0, R12, R8, R11
    @P0 STG.U8 [R12], R0
    EXIT
    .end
    """
    surface = {"name": "s", "kind": "surface", "dtype": "u8", "shape": [1 << 16]}
    options = RunOptions(machine="gtx680", engine="python")
    launch = parse_launch({"kernel": "k", "grid": 1, "block": 64, "argument": [surface]})
    found = profiled_batches(scheduled(text), None, launch, options)
    assert [(each.name, each.pages) for each in found.counts[0].buffers] == [("s", 16)]
    fetching = load(sample_file("chase_texture.loom"))
    launch = load_launch(sample_file("chase_texture.toml"), "test")
    found = profiled_batches(fetching, None, launch, options)
    assert found.left_out == ["texture"]
    assert [each.name for each in found.counts[0].buffers] == ["ends", "cycles"]


def test_a_kernel_without_buffers(tmp_path: Path) -> None:
    (tmp_path / "k.toml").write_text('kernel = "k"\ngrid = 3\nblock = 32\n')
    options = RunOptions(machine="gtx680", engine="python")
    found = profiled_batches(
        scheduled(".kernel k\nEXIT\n.end"), "k", load_launch(tmp_path / "k.toml"), options
    )  # fmt: skip
    assert found.formula == BatchFormula("none")
    assert [(each.pages, each.resident.most) for each in found.counts] == [(0, 0)] * 3
