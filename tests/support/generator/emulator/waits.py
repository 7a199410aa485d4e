"""Random programs whose warps wait for all there is to wait for: stall counts, branches, slow units, memory, barriers,
ports, each other's ends. Control codes are random too, so runs of them leave the hazard check out."""

from __future__ import annotations

import random
from typing import Any

from binalloc.isa.instruction import Instr, Module
from tests.support.kits.emulator.small import address, module, op

WORDS = 8192
"""Of the buffer `x`, the only parameter."""
_LOOPS = 3


BANK = 3
BANK_BYTES = 4096


def waiting_program(seed: int, machine: str, *, constants: bool = False) -> Module:
    """A loop that the warps of a block run through different numbers of times, over 8 to 30 random instructions.
    constants: among more that read constants, and code that few warps run through or none."""
    rng = random.Random(f"waits {seed}")
    body = [instr for _ in range(rng.randrange(8, 30)) for instr in _some(rng)]
    if constants:
        body = [instr for one in body for instr in [one, *(_constant(rng) if rng.randrange(2) else ())]]
        body = [instr for instr in body if instr.op.name != "BRA"] + _skipped(rng)
    head = [
        *address(), op("S2R", rd=1, sreg=6), op("SHF", rd=12, ra=255, form=1, imm=5, rc=0, dir=1),
        op("IADD3", rd=12, ra=12, rb=1, rc=255), op("LOP3", rd=12, ra=12, form=1, imm=_LOOPS, rc=255, lut=0xC0),
        op("IMAD", rd=14, ra=0, form=1, imm=rng.choice((0, 4, 8)), rc=255),
    ]  # fmt: skip
    tail = [
        op("IADD3", rd=12, ra=12, form=1, imm=0xFFFFFFFF, rc=255),
        op("ISETP", pd0=3, ra=12, form=1, imm=0x80000000, icmp=1, u32cmp=1),
        op("BRA", stall=rng.randrange(1, 16), guard=(3, False), target=-(len(body) + 3), diverges=1, reconv=0),
        op("EXIT"),
    ]
    return module(
        [*head, *body, *tail], params={"x": 8}, machine=machine, shared_bytes=3200, local_bytes=64,
        registers=rng.choice((16, 24, 40)), constants={BANK: bytes(BANK_BYTES)} if constants else None,
    )  # fmt: skip


def _constant(rng: random.Random) -> list[Instr]:
    """An instruction with a constant operand, or a load of constants, of one address or of one for each lane."""
    code: dict[str, Any] = {
        "stall": rng.choice((0, 1, 1, 2, 9)), "wait": rng.choice((0, 0, 1 << rng.randrange(6))),
    }
    if rng.randrange(3):
        place = {"cbank": BANK, "coff": 4 * rng.randrange(BANK_BYTES // 4)} if rng.randrange(4) else {"coff": 0}
        return [op("IADD3", rd=rng.randrange(6, 12), ra=6, form=2, rc=7, **place, **code)]
    index = rng.choice((255, 14))  # R14: 0, 4 or 8 times the thread
    far = rng.randrange(0, BANK_BYTES - 8 * 384, 4)
    return [op("LDC", rd=rng.randrange(6, 12), ra=index, cbank=BANK, coff=far, width=4, wbar=rng.randrange(6), **code)]


def _skipped(rng: random.Random) -> list[Instr]:
    """Code that a branch leads around, where few lanes go or all but few, at most some lines long."""
    code = [op("IADD3", stall=1, rd=9, ra=6, rb=7, rc=8) for _ in range(rng.randrange(1, 40))]
    bound = rng.choice((0, 40, 1 << 20))
    return [
        op("ISETP", pd0=2, ra=0, form=1, imm=bound, icmp=1, u32cmp=1),
        op("BRA", stall=1, guard=(2, False), target=len(code), diverges=1, reconv=len(code)), *code,
    ]  # fmt: skip


def _some(rng: random.Random) -> list[Instr]:
    """One instruction, or a few that belong together."""
    code: dict[str, Any] = {
        "stall": rng.choice((0, 1, 1, 1, 2, 4, 9, 15)),
        "wait": rng.choice((0, 0, 0, 1 << rng.randrange(6), rng.randrange(64))),
    }
    result = code | {"rd": rng.randrange(6, 12), "wbar": rng.choice((rng.randrange(6), rng.randrange(6), 7))}
    source = code | {"rb": rng.randrange(6, 12), "rbar": rng.choice((rng.randrange(6), 7))}
    far = 128 * rng.randrange(200)
    kind = rng.randrange(13)
    if kind < 3:
        return [op(rng.choice(("IADD3", "FFMA", "IMAD")), ra=6, rb=7, rc=8, **code, rd=9) for _ in range(1 + kind)]
    if kind < 6:
        return [op("LDG", ra=4, width=4, moff=far, cache=rng.randrange(4), **result)]
    if kind == 6:
        return [op("STG", ra=4, width=4, moff=far, cache=rng.randrange(4), **source)]
    if kind == 7:
        return [op("RED", ra=4, moff=far, aop=0, **source)]
    if kind == 8:
        local = {"ra": 255, "width": 4, "moff": 4 * rng.randrange(16)}
        return [op("LDL", **local, **result) if rng.randrange(2) else op("STL", **local, **source)]
    if kind == 9:
        return [op("LDS", ra=14, width=4, **result) if rng.randrange(2) else op("STS", ra=14, width=4, **source)]
    if kind == 10:
        return [op("MUFU", rb=6, func=0, **result)]
    if kind == 11:
        return [op("BAR", form=1, imm=0, **code)]
    return [op("BRA", stall=1, guard=(3, True), target=1, diverges=1, reconv=1), op("DADD", rd=6, ra=8, rb=10)]
