"""What directives leave a thread, held against ptxas 13.0.88 on a kernel of 200 live values."""

from __future__ import annotations

import re

import pytest

from binalloc.isa.instruction import FunctionInfo
from binalloc.models.machines.author_bounds import directives
from binalloc.models.machines.reader import load_machine

MACHINES = ("rtx2060", "a100", "h100")
PTXAS = [  # directives, and registers that ptxas -v gives on sm_75, sm_80 and sm_90
    ("", 255, 255, 255),
    (".maxnreg 24", 24, 24, 24),
    (".maxnreg 16", 24, 24, 24),
    (".maxnreg 1", 24, 24, 24),
    (".maxnreg 33", 33, 33, 33),
    (".maxnreg 40", 40, 40, 40),
    (".maxnreg 255", 255, 255, 255),
    (".maxnreg 256", 255, 255, 255),
    (".maxnreg 100000", 255, 255, 255),
    (".minnctapersm 8", 255, 255, 255),
    (".maxntid 256 .minnctapersm 8", 255, 32, 32),
    (".reqntid 256 .minnctapersm 8", 255, 32, 32),
    (".maxntid 256 .maxnreg 24 .minnctapersm 2", 24, 24, 24),
    (".maxnreg 24 .minnctapersm 2", 24, 24, 24),
    (".maxntid 256 .maxnreg 40 .minnctapersm 8", 40, 32, 32),
    (".maxntid 256 .minnctapersm 4", 64, 64, 64),
    (".maxntid 256 .minnctapersm 9", 255, 255, 255),
    (".maxntid 256 .minnctapersm 100", 255, 255, 255),
    (".maxntid 1024 .minnctapersm 3", 64, 64, 64),
    (".maxntid 1024", 64, 64, 64),
    (".maxntid 512", 128, 32, 32),
    (".maxntid 128 .minnctapersm 16", 255, 32, 32),
    (".maxntid 96 .minnctapersm 7", 80, 80, 80),
    (".maxntid 32 .minnctapersm 32", 255, 64, 64),
    (".maxntid 192 .minnctapersm 5", 64, 64, 64),
    (".maxntid 320 .minnctapersm 3", 64, 64, 64),
    (".maxntid 64 .minnctapersm 16", 64, 64, 64),
    (".maxntid 100 .minnctapersm 9", 255, 56, 56),
    (".maxntid 1000", 64, 64, 64),
]
CHOICES = {(".maxntid 512", "a100"), (".maxntid 512", "h100")}
"""Where ptxas takes fewer registers than it may: of 90 live values it keeps all in 127 registers there."""


def info_of(text: str) -> FunctionInfo:
    def number(word: str) -> int:
        found = re.search(rf"\.{word} (\d+)", text)
        return int(found[1]) if found else 0

    block = (number("reqntid"), 1, 1) if ".reqntid" in text else (0, 0, 0)
    return FunctionInfo(
        max_registers=number("maxnreg"), min_blocks=number("minnctapersm"), max_threads=number("maxntid"), block=block
    )


@pytest.mark.rotates
@pytest.mark.parametrize(("text", "registers"), [(text, found) for text, *found in PTXAS])
def test_the_least_of_all_caps_is_that_of_ptxas(text: str, registers: list[int]) -> None:
    for machine, expected in zip(MACHINES, registers, strict=True):
        found = directives(load_machine(machine), info_of(text))
        most = min([255, *(d.registers for d in found if d.registers is not None)])
        if (text, machine) in CHOICES:
            assert most > expected
        else:
            assert most == expected, machine


@pytest.mark.parametrize(
    ("text", "machine", "note"),
    [
        (".maxnreg 16", "a100", "24, the fewest that ptxas keeps to"),
        (".maxnreg 256", "a100", "a100 has 255 registers per thread: it bounds nothing"),
        (".maxnreg 64", "gtx680", "gtx680 has 63 registers per thread: it bounds nothing"),
        (".minnctapersm 8", "a100", "it bounds nothing without .maxntid or .reqntid, as in ptxas"),
        (".maxntid 32 .minnctapersm 33", "a100", "a100 holds 32 blocks at most: it bounds nothing, as in ptxas"),
        (
            ".maxntid 256 .minnctapersm 9", "a100",
            "9 blocks of 256 threads do not fit a100's 2048 threads per SM: it bounds nothing, as in ptxas",
        ),
        (".maxntid 1024", "gtx285", "gtx285 holds no block of 1024 threads"),
    ],
)  # fmt: skip
def test_what_is_used_instead_is_said(text: str, machine: str, note: str) -> None:
    assert [d.note for d in directives(load_machine(machine), info_of(text)) if d.note] == [note]


def test_a_kernel_that_says_nothing_is_bound_to_nothing() -> None:
    assert directives(load_machine("a100"), FunctionInfo()) == []
