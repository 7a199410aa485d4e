"""An instruction as analyses, models, transformations and the checker see it: `View`, made by its instruction set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from binalloc.isa.instruction import Instr
from binalloc.isa.interface.places import TRUE
from binalloc.isa.kinds import LEAVES, Access, File, Flow, Space
from binalloc.isa.table.faults import Faults as Faults

Guard = tuple[int, bool]
"""(predicate, negated)."""
ALWAYS: Guard = (TRUE, False)
NEVER: Guard = (TRUE, True)
"""The guard under which no thread executes an instruction."""


_NO_FLAG: int = field(default=-1, compare=False, repr=False)  # in `Ref` the name `field` is a member's


@dataclass(frozen=True, slots=True)
class Ref:
    """A register or predicate operand. `units` consecutive 32-bit registers from `index`, aligned to `units`.

    field: what the instruction set calls the place of the operand, to be named in `rename`; "" where the position is
    fixed by the encoding. operand: the bit of the control code's `reuse` that speaks of it, -1 where none does.
    """

    file: File
    index: int
    units: int
    field: str
    operand: int = _NO_FLAG

    def registers(self) -> range:
        return range(self.index, self.index + self.units)


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory access.

    size in bytes; offset in bytes; base is the address Ref or None (absolute); spill: an access that rewriting made;
    bank: constant bank; ordered: volatile or the like, so that no other access may change places with it. givers: 0
    where each lane accesses what its own address says; else the warp accesses together what the addresses of so many
    lanes, the first ones, say, `size` bytes at each: what a lane gets may come from any of them.
    """

    space: Space
    access: Access
    size: int
    offset: int
    base: Ref | None
    spill: bool = False
    bank: int = 0
    ordered: bool = False
    givers: int = 0

    def data(self, refs: tuple[Ref, ...]) -> list[Ref]:
        """Of the operands `refs` those that are moved, not the address."""
        base = self.base
        return [r for r in refs if base is None or r.field != base.field]


@dataclass(frozen=True, slots=True)
class ConstantRead:
    """`size` bytes of constant bank `bank` from byte `offset`; indexed: at a register's distance from there."""

    bank: int
    offset: int
    size: int
    indexed: bool = False


@dataclass(slots=True)
class View:
    """An instruction as analyses see it; not to be changed.

    defs, uses: Refs in operand order, without operands that are constants of the machine (a zero register, a true
    predicate); the guard is not among the uses, but in `guard`.
    guard: (predicate, negated) or None; with a guard, defs do not kill. pure: no effect but its defs, which depend on
    its uses alone (same thread, same launch), and perhaps a fault, which does, too: may be removed. faults: what it
    hangs on whether executing it stops the run; where that cannot be (`sets.table.may_fault`) a pure instruction may be
    executed once more, or elsewhere. constant: pure, without uses, and no faults but for BANK. convergent: exchanges
    values between lanes, so it may not move across control flow.
    unit: execution unit class; variable: needs a scoreboard on every machine. signature: operation with modifiers and
    immediates, everything but registers, guard, control code, branch offsets and memory-offset-free; equal signatures
    and equal inputs give equal results. Its first part is the operation's name, the others are pairs (what, value),
    "zero" or "place" for an operand that is a constant or has a place. copy: unguarded plain copy of one register (a
    use) into another (the def). sign: what works the signature out.
    """

    defs: tuple[Ref, ...]
    uses: tuple[Ref, ...]
    guard: Guard | None
    control: Flow
    memory: Memory | None
    unit: str
    variable: bool
    pure: bool
    faults: Faults
    constant: bool
    convergent: bool
    instr: Instr = field(repr=False, compare=False)
    sign: Callable[[Instr], tuple[object, ...]] = field(repr=False, compare=False)
    copy: bool = False
    _signature: tuple[object, ...] | None = field(default=None, repr=False, compare=False)

    @property
    def signature(self) -> tuple[object, ...]:
        """Worked out when it is first asked for: most views never are."""
        if self._signature is None:
            self._signature = self.sign(self.instr)
        return self._signature


def successors(control: Flow, guarded: bool) -> tuple[bool, bool]:
    """(falls through, jumps) for a control kind: RET and EXIT fall through only under a guard; calls fall through."""
    if control == Flow.BRANCH:
        return guarded, True
    if control in LEAVES:
        return guarded, False
    return True, False
