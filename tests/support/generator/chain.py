"""A chain of functions that fills the reconvergence stack: each calls the next, under a guard or behind a branch."""

from __future__ import annotations

import random

from tests.support.generator.flow import Summary
from tests.support.generator.ops import IMM, RZ
from tests.support.generator.options import Options
from tests.support.generator.warps import PT
from tests.support.programs.builder import ALWAYS, Code

SUM = 0
FLAGS = (0, 1, 2)


def chain(rng: random.Random, o: Options) -> tuple[list[Code], Summary]:
    """Functions that together take `o.chain` entries of the stack, the first one first, and what its callers must know.

    Every function keeps a register of its own over its call and adds it to R0. Some callers make their predicate anew,
    so that the guards differ in lanes; three predicates live through all of the chain.
    """
    codes: list[Code] = []
    left, written, flags = o.chain, {SUM}, set(FLAGS)
    while left > 0:
        code = Code(f"link{len(codes)}", kernel=False)
        codes.append(code)
        left -= 1  # the CALL that enters it
        around = left > 1 and rng.random() < 0.2
        left -= around
        own = rng.randrange(1, o.registers)
        written.add(own)
        code.emit("MOV", rd=own, rb=SUM)
        if rng.random() < 0.5:
            code.emit("IADD3", rd=SUM, ra=SUM, form=IMM, imm=rng.randrange(1, 100), rc=RZ)
        flag, negated = rng.choice(FLAGS), rng.random() < 0.5
        if rng.random() < 0.2:
            flag = rng.randrange(3, 7)
            flags.add(flag)
            code.emit("LOP3", rd=RZ, pd0=flag, ra=SUM, form=IMM, imm=1 << rng.randrange(8), lut=0xC0, rc=RZ)
        if left:
            _call(rng, code, f"link{len(codes)}", (flag, negated), around)
        else:
            code.emit("VOTE", rd=SUM, vote=1, ps0=flag, ps0n=0)
        code.emit("LOP3", rd=SUM, ra=SUM, rb=own, lut=0x96, form=0, rc=RZ)
        code.emit("RET")
    # a link may be skipped, so that nothing but what the first one does itself is certain
    return codes, Summary(codes[0].name, {SUM}, set(FLAGS), written, flags, {SUM}, set(), False)


def _call(rng: random.Random, code: Code, callee: str, guard: tuple[int, bool], around: bool) -> None:
    if not around:
        code.call(callee, guard if rng.random() < 0.8 else ALWAYS)
        return
    skip = code.new_label()
    code.bra(skip, skip, (guard[0], not guard[1]))
    code.call(callee, rng.choice([ALWAYS, ALWAYS, guard, (PT, False)]))
    code.label(skip)
