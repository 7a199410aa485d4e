"""A small kernel and what was made of it for blocks that share memory, written as one."""

from __future__ import annotations

from binalloc.isa.instruction import Module
from binalloc.verify.report import CheckReport
from binalloc.verify.sharing.check import check_shared
from tests.support.programs.builder import program

HEAD = """
    .kernel k
    .shared_bytes 512
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    ISETP.LT.AND P0, PT, R0, 0x20, PT
    MOV R8, c[0][0x0]
    MOV R9, c[0][0x4]
"""
"""R0: thread, R1: 4 * thread, P0: it is in the first warp of two, R8: an address in global memory."""
BLOCK = (64, 1, 1)
PRIVATE = 256
"""Private bytes of the kernels here: half of their shared memory."""


def pair(text: str) -> tuple[Module, Module]:
    """The original and the new module. Lines begin with `-|` where they are only in the new one, with `o|` where they
    are only in the original, and `o| x => y` is the original's x and the new one's y."""
    old: list[str] = []
    new: list[str] = []
    for line in filter(None, map(str.strip, text.split("\n"))):
        mark, was, (first, arrow, other) = line[:2], line[2:].strip(), line[2:].partition("=>")
        if mark == "-|":
            new.append(was)
        elif mark == "o|":
            old.append(first.strip())
            new += [other.strip()] if arrow else []
        else:
            old.append(line)
            new.append(line)
    modules = program("\n".join(old)), program("\n".join(new))
    for module in modules:
        for fn in module.kernels():
            fn.info.registers = 32
    return modules


def judge(
    body: str, *, block: tuple[int, int, int] | None = BLOCK, private: int = PRIVATE, dynamic: int | None = 0,
    head: str = HEAD,
) -> CheckReport:  # fmt: skip
    """What the checker says of a pair behind `head`."""
    original, made = pair(head + body)
    return check_shared(original, made, "k", block, private, dynamic)


def kinds(report: CheckReport) -> set[str]:
    """The kinds of findings; an internal one is a defect of the checker."""
    assert "internal" not in {error.kind for error in report.errors}, str(report)
    return {error.kind for error in report.errors}
