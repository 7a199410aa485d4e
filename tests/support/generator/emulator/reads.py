"""Random programs that read registers of all banks, with reuse flags: arithmetic mostly, and of the rest what takes
turns away or has no part in it. Control codes are random, so runs leave the hazard check out."""

from __future__ import annotations

import random
from typing import Any

from binalloc.isa.instruction import Instr, Module
from tests.support.kits.emulator.small import address, module, op

REGISTERS = 48
_FREE = range(16, REGISTERS)
_THREE = ("FFMA", "IADD3", "IMAD", "LOP3", "SHF")
_TWO = ("FADD", "FMUL", "SEL")


def reading_program(seed: int, machine: str) -> Module:
    """A loop over 20 to 60 random instructions on few registers, which the warps run through once or twice."""
    rng = random.Random(f"reads {seed}")
    some = rng.sample(_FREE, rng.randrange(3, 9))
    body = [_one(rng, some) for _ in range(rng.randrange(20, 60))]
    head = [
        *address(), op("SHF", rd=12, ra=255, form=1, imm=5, rc=0, dir=1),
        op("LOP3", rd=12, ra=12, form=1, imm=1, rc=255, lut=0xC0),
    ]  # fmt: skip
    tail = [
        op("IADD3", rd=12, ra=12, form=1, imm=0xFFFFFFFF, rc=255),
        op("ISETP", pd0=3, ra=12, form=1, imm=0x80000000, icmp=1, u32cmp=1),
        op("BRA", stall=1, guard=(3, False), target=-(len(body) + 3), diverges=1, reconv=0),
        op("EXIT"),
    ]
    return module([*head, *body, *tail], params={"x": 8}, machine=machine, registers=REGISTERS)


def _one(rng: random.Random, some: list[int]) -> Instr:
    """An instruction on the registers `some`, or other ones now and then, or RZ."""

    def register(pair: bool = False) -> int:
        r = rng.choice(some) if rng.random() < 0.8 else rng.choice((*_FREE, 255))
        return r & ~1 if pair and r != 255 else r

    code: dict[str, Any] = {"stall": rng.choice((0, 1, 1, 1, 1, 2, 5))}
    code["reuse"] = rng.choice((0, 0, rng.randrange(8), 7))
    if rng.random() < 0.1:
        code["guard"] = (rng.randrange(4), bool(rng.randrange(2)))
    if rng.random() < 0.1:
        code["wbar"] = rng.randrange(6)
    if rng.random() < 0.1:
        code["wait"] = rng.randrange(64)
    kind = rng.randrange(12)
    if kind < 5:
        form = rng.choice((0, 0, 0, 1, 3))
        others = {"imm": 7} if form else {"rb": register()}
        return op(rng.choice(_THREE), rd=register(), ra=register(), rc=register(), form=form, **others, **code)
    if kind < 8:
        return op(rng.choice(_TWO), rd=register(), ra=register(), rb=register(), **code)
    if kind == 8:
        name = rng.choice(("DADD", "DMUL"))
        return op(name, rd=register(True), ra=register(True), rb=register(True), **code)
    if kind == 9:
        wide = {"rd": register(True), "rc": register(True)}
        if rng.randrange(2):
            return op("IMAD.WIDE", ra=register(), rb=register(), **wide, **code)
        return op("DFMA", ra=register(True), rb=register(True), **wide, **code)
    if kind == 10:
        return op("MOV", rd=register(), rb=register(), **code)
    return rng.choice((
        op("LDG", rd=register(), ra=4, width=4, **(code | {"wbar": 1})), op("NOP", stall=1),
        op("MUFU", rd=register(), rb=register(), func=0, **(code | {"wbar": 2})),
        op("STG", ra=4, rb=register(), width=4, **code),
    ))  # fmt: skip
