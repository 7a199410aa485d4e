"""This module makes guarded calls plain: `@P CALL f` becomes `@!P BRA skip, skip; CALL f; skip:`, which means the same.
(`emit` makes a guarded call of it again if nothing was inserted beside the call.)

Afterwards every call is executed by all lanes that reach it. So its argument and result copies and the slot pointer's
shifts need no guard of their own. A call that never executes (`@!PT`) becomes a NOP. The original is not changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from binalloc.isa.instruction import Function, Instr
from binalloc.isa.interface.view import ALWAYS, NEVER
from binalloc.isa.kinds import CALLS, Flow
from binalloc.isa.sets.table import set_of


@dataclass(frozen=True)
class Normalised:
    """A normalised function has plain calls, and is related to the original word by word."""

    function: Function  #: the rewritten function
    origin: list[int]  #: per word the original's word, -1 where a branch was inserted

    def executed(self, counts: Sequence[int]) -> list[int]:
        """Return how often each word is executed. counts: the same for the original's words. An inserted branch is
        executed as often as the guarded call behind it was issued."""
        out: list[int] = []
        behind = 0
        for old in reversed(self.origin):
            behind = counts[old] if old >= 0 else behind
            out.append(behind)
        return out[::-1]


def expand_guarded_calls(fn: Function) -> Normalised:
    """Return `fn` with its guarded direct calls expanded; other instructions keep their order."""
    new_index: list[int] = []
    count = 0
    for instr in fn.instrs:
        new_index.append(count)
        count += 2 if _guarded_call(instr) and not _never_called(instr) else 1
    new_index.append(count)
    instrs: list[Instr] = []
    origin: list[int] = []
    for index, instr in enumerate(fn.instrs):
        isa = set_of(instr)
        if _never_called(instr):
            instrs.append(isa.build.nothing())
            origin.append(-1)
            continue
        if _guarded_call(instr):
            around = (instr.guard, not instr.guard_neg)
            instrs.append(isa.build.branch(guard=around, target=1, reconvergence=1))
            origin.append(-1)
            instr = instr.replace(guard=ALWAYS)
        here = len(instrs)
        moved = {
            name: new_index[index + 1 + offset] - here - 1
            for name, offset in isa.links(instr).items()
            if 0 <= index + 1 + offset <= len(fn.instrs)
        }
        instrs.append(isa.relink(instr, moved))
        origin.append(index)
    lines = {new_index[i]: line for i, line in fn.lines.items()}
    labels = {new_index[i]: name for i, name in fn.labels.items()}
    touches = fn.touches_of(instrs, origin)
    made = Function(fn.name, instrs, fn.info, fn.shared, labels, lines, fn.address, touches=touches)
    return Normalised(made, origin)


def _never_called(instr: Instr) -> bool:
    """Say whether this is a call, direct or by address, that no lane ever executes."""
    return (instr.guard, instr.guard_neg) == NEVER and instr.control in CALLS


def _guarded_call(instr: Instr) -> bool:
    return instr.guarded and instr.control == Flow.CALL
