"""The instruction interface: all that an instruction set has to provide, and all that is known of one above `isa`.

An instruction itself is the neutral record `Instr`: its operation, named fields, guard and control code. Which fields
there are and what they mean only its instruction set knows. Another one comes under binalloc as one object of this
protocol and one row in `sets.table`. The interface is tested by watching in the emulator which registers and predicates
each opcode really reads and writes, and by a second, tiny instruction set that is analysed, allocated and checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from binalloc.isa.instruction import Function, Instr, Module
from binalloc.isa.interface.roles import Roles
from binalloc.isa.interface.sums import Sum
from binalloc.isa.interface.view import ALWAYS, ConstantRead, Guard, View


@dataclass(frozen=True)
class SetLimits:
    """registers: most registers that a thread may have, numbers 0 up. zero: number of the one that reads zero and keeps
    nothing. frame_reach: the highest byte of local memory that a spill access can name. slot_base, shared_size: names
    of the special registers that give the address of a thread's first slot, and the bytes of shared memory with slots.
    lane_registers: those that may differ between the lanes of a warp. places: those that say where a thread is, with
    the axis along which they say it: x, y and z in its block are 0 to 2, those of its block in the grid 3 to 5.
    """

    registers: int
    zero: int
    frame_reach: int
    slot_base: str
    shared_size: str
    lane_registers: frozenset[str] = frozenset()
    places: Mapping[str, int] = field(default_factory=dict)

    def allocatable(self, count: int) -> int:
        """The registers that a budget of `count` leaves for values, as bits."""
        return ((1 << count) - 1) & ~(1 << self.zero)


class Builder(Protocol):
    """Makes the few instructions that transformations insert."""

    def copy(self, target: int, source: int, guard: Guard = ALWAYS) -> Instr:
        """target = source, 32 bits."""

    def zero(self) -> tuple[Instr, str]:
        """Some register = 0, and the field of the target, which is to be filled in."""

    def load_slot(self, target: int, pointer: int, slot: int, guard: Guard = ALWAYS) -> Instr:
        """target = the thread's slot `slot`, counted from the slot pointer."""

    def store_slot(self, source: int, pointer: int, slot: int, guard: Guard = ALWAYS) -> Instr:
        """The thread's slot `slot` = source."""

    def load_local(self, target: int, offset: int, guard: Guard = ALWAYS) -> Instr:
        """target = the spill word at byte `offset` of the thread's local memory."""

    def store_local(self, source: int, offset: int, guard: Guard = ALWAYS) -> Instr:
        """The spill word at byte `offset` of the thread's local memory = source."""

    def slot_pointer(self, register: int) -> Instr:
        """register = address of the thread's first slot."""

    def shift_pointer(self, register: int, slots: int) -> Instr:
        """Move the slot pointer up (or, negative, down) by whole slots: the moving stack's step."""

    def branch(self, *, guard: Guard, target: int, reconvergence: int) -> Instr:
        """A branch that may diverge; offsets in words relative to the next instruction."""

    def jump(self) -> Instr:
        """A branch that all lanes take; its offset is to be set."""

    def exchange(self, one: int, other: int) -> tuple[Instr, ...]:
        """Two registers, not the same, swap what they hold, without a third: by three exclusive ors."""

    def stop(self) -> Instr:
        """End of the thread."""

    def nothing(self) -> Instr:
        """A word that does nothing, for places that must stay apart."""


class InstructionSet(Protocol):
    """What is read of an instruction, how one is changed and made, and its container and text.

    name: as the operations' rows and modules name it. suffix: how the names of its binaries end. build: for
    transformations alone; the checker does without.
    """

    @property
    def name(self) -> str: ...

    @property
    def suffix(self) -> str: ...

    @property
    def limits(self) -> SetLimits: ...

    @property
    def build(self) -> Builder: ...

    # -- view

    def view(self, instr: Instr) -> View:
        """The instruction's view, worked out when it is first asked for and kept with it. KeyError or IndexError where
        fields are missing or hold reserved values."""

    def constant_reads(self, instr: Instr) -> tuple[ConstantRead, ...]:
        """What the instruction reads of constant memory, as an operand or as a load."""

    def roles(self, instr: Instr) -> Roles:
        """What the instruction takes its operands for, and how they come into its result."""

    def highest_register(self, instrs: Iterable[Instr]) -> int:
        """Number of the highest register that the instructions read or write, or -1."""

    def alike(self, one: Instr, other: Instr) -> bool:
        """Whether two instructions say the same, but for their control codes and how far a call goes."""

    # -- change

    def rename(self, instr: Instr, mapping: dict[str, int]) -> Instr:
        """The instruction with registers or predicates changed: field of a `Ref` -> new number."""

    def links(self, instr: Instr) -> dict[str, int]:
        """Branch offsets within the function, by field, the jump's first: words relative to the next instruction (calls
        have none)."""

    def relink(self, instr: Instr, offsets: dict[str, int]) -> Instr:
        """The branch with other offsets: field -> words relative to its next instruction."""

    def recall(self, instr: Instr, distance: int) -> Instr:
        """The direct call with another distance to its callee: words relative to the next instruction."""

    # -- recognise: where a result is one of the inputs; guards are not looked at

    def register_copy(self, instr: Instr) -> tuple[int, int] | None:
        """(destination, source) of a 32-bit move between registers."""

    def register_zero(self, instr: Instr) -> bool:
        """True for an instruction that sets a register to 0."""

    def add_immediate(self, instr: Instr) -> tuple[int, int, int] | None:
        """(destination, source, signed immediate) of a plain 32-bit addition."""

    def predicate_pack(self, instr: Instr) -> tuple[int, int, int] | None:
        """(destination, register whose other bits are kept, mask): predicate i goes to bit i for i in the mask.
        NO_REGISTER for other bits that are 0."""

    def predicate_unpack(self, instr: Instr) -> tuple[int, int] | None:
        """(source, mask): bit i goes to predicate i for i in the mask. NO_REGISTER for a source that is 0."""

    def truth_of_predicate(self, instr: Instr) -> tuple[int, int] | None:
        """(destination, predicate): a word that is other than zero exactly where the predicate holds."""

    def predicate_of_truth(self, instr: Instr) -> tuple[int, int] | None:
        """(predicate, source): whether the word is other than zero."""

    def exclusive_or(self, instr: Instr) -> tuple[int, int, int] | None:
        """(destination, one, other) of the bitwise exclusive or of two registers."""

    def special_register(self, instr: Instr) -> str | None:
        """Name of the special register read, or None."""

    def sums(self, instr: Instr) -> tuple[Sum, ...]:
        """What of its results is a sum of operands times constants, as far as that is told."""

    def is_nop(self, instr: Instr) -> bool:
        """True for the instruction that does nothing."""

    # -- container and text

    def recognises(self, data: bytes) -> bool:
        """Whether a file, binary or assembly, begins as this set's do and no other's."""

    def read(self, data: bytes, path: str = "") -> Module:
        """The module in a file's bytes. Raises MalformedInput and nothing else."""

    def write(self, module: Module) -> bytes:
        """The file of a module; `write(read(data)) == data` for everything written."""

    def sections(self, data: bytes) -> list[dict[str, object]]:
        """The sections of a file that `read` has accepted: name, type, address, offset and bytes of each."""

    def text(
        self, instr: Instr, fn: Function | None = None, index: int | None = None, module: Module | None = None
    ) -> str:
        """The instruction as assembly has it; in its function, with names of branch targets and callees."""

    def assemble(self, text: str, path: str = "") -> Module:
        """The module that assembly describes."""

    def disassemble(self, module: Module) -> str:
        """Assembly that gives the module back."""
