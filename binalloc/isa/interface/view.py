"""Analyses, models, transformations and the checker see an instruction as a `View`, which its instruction set makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from binalloc.isa.instruction import Instr
from binalloc.isa.interface.places import TRUE
from binalloc.isa.kinds import LEAVES, Access, File, Flow, Space
from binalloc.isa.table.faults import Faults as Faults

Guard = tuple[int, bool]  # (predicate, negated)
ALWAYS: Guard = (TRUE, False)  # the guard under which every active thread executes an instruction
NEVER: Guard = (TRUE, True)  # the guard under which no thread executes an instruction


_NO_FLAG: int = field(default=-1, compare=False, repr=False)  # not in `Ref`, where `field` names a member


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference is a register or predicate operand: a group of `units` consecutive 32-bit registers from `index`."""

    file: File
    index: int
    units: int
    #: the instruction set's name for the operand's field, for `rename`; "" where the encoding fixes the position
    field: str
    operand: int = _NO_FLAG  #: the operand's bit in the control code's `reuse`, -1 where it has none
    alignment: int = 1  #: `index` has to be a multiple of this power of two

    def registers(self) -> range:
        return range(self.index, self.index + self.units)


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory access goes to `size` bytes of one memory space, at its base plus its offset."""

    space: Space
    access: Access
    size: int  #: bytes
    offset: int  #: bytes
    base: Ref | None  #: the operand with the address, or None
    spill: bool = False  #: an access that rewriting made
    bank: int = 0  #: constant bank
    ordered: bool = False  #: volatile or the like: no other access may change places with it
    #: 0 where each lane accesses its own address. Else the warp accesses together `size` bytes at the address of each
    #: of its first `givers` lanes, and a lane may get data from any of them.
    givers: int = 0

    def data(self, refs: tuple[Ref, ...]) -> list[Ref]:
        """Return the operands of `refs` that hold the data, without the address."""
        base = self.base
        return [r for r in refs if base is None or r.field != base.field]


@dataclass(frozen=True, slots=True)
class ConstantRead:
    """A constant read covers consecutive bytes of a constant bank."""

    bank: int
    offset: int  #: first byte in the bank
    size: int  #: bytes
    indexed: bool = False  #: a register is added to `offset`


@dataclass(slots=True)
class View:
    """A view is all that analyses know of an instruction; it is not to be changed. defs and uses are in operand order.
    They leave out constants of the machine: a zero register, a true predicate."""

    defs: tuple[Ref, ...]  #: registers and predicates that are written; under a guard they do not kill
    uses: tuple[Ref, ...]  #: registers and predicates that are read, without the guard
    guard: Guard | None
    control: Flow
    memory: Memory | None
    unit: str  #: execution unit class
    variable: bool  #: needs a scoreboard on every machine
    #: no effect but its defs and perhaps a fault, which depend on its uses alone (same thread, same launch): it may be
    #: removed
    pure: bool
    #: what decides whether executing it stops the run. A pure instruction that cannot fault (`sets.table.may_fault`)
    #: may be executed once more, or elsewhere.
    faults: Faults
    constant: bool  #: pure, without uses, and no faults but BANK
    convergent: bool  #: exchanges values between lanes, so it may not move across control flow
    instr: Instr = field(repr=False, compare=False)
    sign: Callable[[Instr], tuple[object, ...]] = field(repr=False, compare=False)  #: computes `signature`
    copy: bool = False  #: unguarded plain copy of one register (its use) into another (its def)
    _signature: tuple[object, ...] | None = field(default=None, repr=False, compare=False)

    @property
    def address_operand(self) -> int | None:
        """Return which of `uses` has the memory access's address, None where no register has it."""
        base = None if self.memory is None else self.memory.base
        return None if base is None else next(k for k, ref in enumerate(self.uses) if ref.field == base.field)

    @property
    def signature(self) -> tuple[object, ...]:
        """Return operation, modifiers and immediates: all but registers, guard, control code and branch offsets.

        Equal signatures and equal inputs give equal results. The first part is the operation's name. The others are
        pairs (field, value), with "zero" or "place" as the value for an operand that is a constant or has a place. It
        is computed at the first call, which most views never get.
        """
        if self._signature is None:
            self._signature = self.sign(self.instr)
        return self._signature


def successors(control: Flow, guarded: bool) -> tuple[bool, bool]:
    """Return (falls through, jumps) for a control kind. RET and EXIT fall through only under a guard; calls fall
    through."""
    if control == Flow.BRANCH:
        return guarded, True
    if control in LEAVES:
        return guarded, False
    return True, False
