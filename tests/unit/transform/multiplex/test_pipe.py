"""Where the two virtual blocks of a pipe wait: exact examples."""

from __future__ import annotations

import pytest

from binalloc.transform.multiplex.merged import PIPED, merge_blocks
from binalloc.verify.multiplex.merged.check import check_merged
from tests.support.programs.builder import program

BLOCK = (64, 1, 1)
KERNEL = """.kernel k
.param in, 8
.shared_bytes 512
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    MOV R2, c[0][in]
    MOV R3, c[0][in+0x4]
{}
    EXIT
.end
"""
LOAD = "LDG.32 R4, [R2]\n"
WORK = "IADD3 R4, R4, 0x1, RZ\n" * 8
REGION = "STS.32 [R1], R4\nBAR.SYNC 0\nLDS.32 R4, [0x4]\n"


def lines(body: str) -> list[str]:
    """What a pipe of a kernel has: `old` for words of the original, barriers, and guarded ones in brackets."""
    module = program(KERNEL.format(body))
    made = merge_blocks(module, "k", BLOCK, 2, order=PIPED)
    assert check_merged(module, made.module, "k", BLOCK, 2, 0).ok
    fn = made.module.function("k")
    assert fn.origin is not None
    found = []
    for instr, old in zip(fn.instrs, fn.origin.index, strict=True):
        if instr.name == "BAR":
            found.append("(wait)" if instr.guarded else "wait" if old < 0 else "own")
        elif instr.name in ("LDG", "STS", "LDS", "EXIT") and old >= 0:
            found.append(instr.name)
        elif old >= 0 and instr.f.get("rd") == 4:
            found.append("work")
    return found


def test_the_second_waits_in_the_stage_and_at_the_first_region() -> None:
    """The stage runs beside two steps of one word each, so it is cut in the middle."""
    assert lines(LOAD + WORK + REGION) == [
        "LDG", *["work"] * 4, "(wait)", *["work"] * 4, "(wait)", "STS", "own", "LDS", "wait", "EXIT",
    ]  # fmt: skip


def test_a_stage_is_cut_in_proportion_to_the_steps() -> None:
    """Three words are in front of the barrier, and one behind it."""
    region = REGION.replace("STS.32 [R1], R4\n", "STS.32 [R1], R4\nNOP\nNOP\n")
    assert lines(LOAD + WORK + region)[:10] == ["LDG", *["work"] * 6, "(wait)", *["work"] * 2]


def test_both_wait_between_two_regions() -> None:
    found = lines(LOAD + WORK + REGION + WORK + REGION)
    behind = found[found.index("LDS") + 1 :]
    assert behind == ["wait", *["work"] * 4, "wait", *["work"] * 4, "wait", "STS", "own", "LDS", "wait", "EXIT"]


def test_a_barrier_of_the_original_behind_a_region_serves() -> None:
    found = lines(LOAD + WORK + REGION + "BAR.SYNC 0\n" + WORK + REGION)
    behind = found[found.index("LDS") + 1 :]
    assert behind[:2] == ["own", "work"]
    assert behind.count("wait") == 3


@pytest.mark.parametrize("barriers", [2, 3])
def test_more_of_them_serve_as_waits(barriers: int) -> None:
    found = lines(LOAD + WORK + REGION + "BAR.SYNC 0\n" * barriers + WORK + REGION)
    behind = found[found.index("LDS") + 1 : len(found) - found[::-1].index("STS")]
    assert behind.count("own") == barriers
    assert behind.count("wait") == 3 - barriers


def test_the_first_leaves_out_the_waits_of_the_first_round_alone() -> None:
    """The region is in a loop, so its waits ask whether the virtual block was in one before."""
    again = "IADD3 R5, R5, 0x1, RZ\nISETP.LT.AND P0, PT, R5, 0x3, PT\n@P0 BRA head, on\non:"
    assert lines(f"MOV R5, RZ\nhead:\n{LOAD}{WORK}{REGION}{again}") == [
        "LDG", *["work"] * 4, "(wait)", *["work"] * 4, "(wait)", "STS", "own", "LDS", "wait", "EXIT",
    ]  # fmt: skip
