"""The instruction interface is here: an instruction set has to provide this, and the rooms above `isa` know no more of
it.

An instruction itself is the neutral record `Instr`: its operation, named fields, guard and control code. Only its
instruction set knows the fields and their meaning. To add one, write one object of this protocol and one row in
`sets.table`. Tests watch in the emulator which registers and predicates each opcode really reads and writes. They also
analyse, allocate and check code of a second, tiny instruction set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from binalloc.isa.instruction import Function, Instr, Module
from binalloc.isa.interface.barriers import Barrier
from binalloc.isa.interface.file_section import FileSection
from binalloc.isa.interface.formulas import Formula
from binalloc.isa.interface.places import TRUE
from binalloc.isa.interface.roles import Roles
from binalloc.isa.interface.sums import Sum
from binalloc.isa.interface.view import ALWAYS, ConstantRead, Guard, View
from binalloc.isa.kinds import Space


@dataclass(frozen=True)
class SetLimits:
    """The limits of an instruction set are the sizes and names that allocation and analyses need."""

    registers: int  #: most registers that a thread may have, numbered from 0
    zero: int  #: number of the register that reads zero and keeps nothing
    frame_reach: int  #: highest byte of local memory that a spill access can address
    slot_base: str  #: name of the special register with the address of a thread's first slot
    shared_size: str  #: name of the special register with the bytes of shared memory, slots included
    shared_window: str = ""  #: name of the special register with the generic address of shared memory
    lane_registers: frozenset[str] = frozenset()  #: special registers that may differ between the lanes of a warp
    warp_registers: frozenset[str] = frozenset()  #: others that may differ between the warps of a block
    block_registers: frozenset[str] = frozenset()  #: others that may differ between the blocks of a grid
    #: special registers with a thread's index along an axis: x, y and z in its block are 0 to 2, the block's in the
    #: grid 3 to 5
    places: Mapping[str, int] = field(default_factory=dict)
    #: special registers with a size along an axis: threads of a block 0 to 2, blocks of the grid 3 to 5
    sizes: Mapping[str, int] = field(default_factory=dict)
    lane: str = ""  #: name of the special register with a thread's number in its warp
    warp: str = ""  #: name of the special register with a warp's number in its block
    warps: str = ""  #: name of the special register with the warps of a block

    def allocatable(self, count: int) -> int:
        """Return the registers that a budget of `count` leaves for values, as a bitset."""
        return ((1 << count) - 1) & ~(1 << self.zero)


class Builder(Protocol):
    """A builder makes the few instructions that transformations insert."""

    def copy(self, target: int, source: int, guard: Guard = ALWAYS) -> Instr:
        """Return an instruction: target = source, 32 bits."""

    def zero(self) -> tuple[Instr, str]:
        """Return an instruction that sets a register to 0, and the name of the field to write the register's number
        into."""

    def load_slot(self, target: int, pointer: int, slot: int, guard: Guard = ALWAYS) -> Instr:
        """Return an instruction: target = the thread's slot `slot`, counted from the slot pointer."""

    def store_slot(self, source: int, pointer: int, slot: int, guard: Guard = ALWAYS) -> Instr:
        """Return an instruction: the thread's slot `slot` = source."""

    def load_local(self, target: int, offset: int, guard: Guard = ALWAYS) -> Instr:
        """Return an instruction: target = the spill word at byte `offset` of the thread's local memory."""

    def store_local(self, source: int, offset: int, guard: Guard = ALWAYS) -> Instr:
        """Return an instruction: the spill word at byte `offset` of the thread's local memory = source."""

    def load(self, target: int, space: Space, size: int, base: int | None, offset: int) -> Instr:
        """Return an instruction: target = 1, 2 or 4 bytes, zeros behind them, of shared or local memory."""

    def store(self, source: int, space: Space, size: int, base: int | None, offset: int) -> Instr:
        """Return an instruction: 1, 2 or 4 bytes of shared or local memory = the lowest of source."""

    def slot_pointer(self, register: int) -> Instr:
        """Return an instruction: register = address of the thread's first slot."""

    def shift_pointer(self, register: int, slots: int) -> Instr:
        """Return the instruction that raises (or, negative, lowers) the slot pointer by whole slots: the step of the
        moving stack."""

    def branch(self, *, guard: Guard, target: int, reconvergence: int) -> Instr:
        """Return a branch that may diverge; offsets are in words relative to the next instruction."""

    def jump(self) -> Instr:
        """Return a branch of all lanes. The caller sets its offset."""

    def exchange(self, one: int, other: int) -> tuple[Instr, ...]:
        """Return three exclusive ors that exchange the contents of two different registers, without a third one."""

    def stop(self, guard: Guard = ALWAYS) -> Instr:
        """Return the end of the thread."""

    def add(self, target: int, one: int, other: int, guard: Guard = ALWAYS) -> Instr:
        """Return an instruction: target = one + other, 32 bits."""

    def multiply_add(self, target: int, one: int, factor: int, other: int, guard: Guard = ALWAYS) -> Instr:
        """Return an instruction: target = one times factor + other, 32 bits. `other` may be the zero register."""

    def shift_right(self, target: int, source: int, count: int, guard: Guard = ALWAYS) -> Instr:
        """Return an instruction: target = source shifted to the right, zeros behind it."""

    def number(self, target: int, value: int, guard: Guard = ALWAYS) -> Instr:
        """Return an instruction: target = value."""

    def parameter(self, target: int, offset: int, guard: Guard = ALWAYS) -> Instr:
        """Return an instruction: target = the word at a byte of the kernel's parameters."""

    def special(self, target: int, name: str) -> Instr:
        """Return an instruction: target = a special register."""

    def less(self, predicate: int, one: int, other: int) -> Instr:
        """Return an instruction: the predicate is whether `one` is less than `other`, both unsigned."""

    def same(self, predicate: int, one: int, other: int) -> Instr:
        """Return an instruction: the predicate is whether two registers are equal."""

    def product(self, target: int, one: int, other: int, third: int) -> Instr:
        """Return an instruction: target = one times other + third, 32 bits."""

    def high(self, target: int, source: int, number: int) -> Instr:
        """Return an instruction: target = the upper word of source times number, both unsigned."""

    def at_most(self, target: int, source: int, number: int) -> Instr:
        """Return an instruction: target = the lesser of source and number, both unsigned."""

    def at_least(self, target: int, source: int, number: int) -> Instr:
        """Return an instruction: target = the greater of source and number, both unsigned."""

    def greater(self, target: int, one: int, other: int) -> Instr:
        """Return an instruction: target = the greater of two registers, both unsigned."""

    def table(self, target: int, one: int, other: int, third: int, rows: int) -> Instr:
        """Return an instruction: bit i of target = bit 4 a + 2 b + c of `rows`, a, b and c being bits i of three
        registers."""

    def table_with(self, target: int, one: int, number: int, third: int, rows: int) -> Instr:
        """Return the same with a number in place of the second register."""

    def plus(self, target: int, source: int, number: int) -> Instr:
        """Return an instruction: target = source + number, 32 bits. `source` may be the zero register."""

    def below(self, predicate: int, source: int, number: int) -> Instr:
        """Return an instruction: the predicate is whether `source` is less than `number`, both unsigned."""

    def equal(self, predicate: int, source: int, number: int) -> Instr:
        """Return an instruction: the predicate is whether `source` is equal to `number`."""

    def barrier(self, guard: Guard = ALWAYS) -> Instr:
        """Return a barrier of the whole block."""

    def counted_barrier(self, number: int, threads: int, guard: Guard = ALWAYS) -> Instr:
        """Return a wait at one of the block's barriers until so many threads have arrived."""

    def arrival(self, number: int, threads: int, guard: Guard = ALWAYS) -> Instr:
        """Return an arrival at one of the block's barriers, for so many threads, that does not wait."""

    def vote(self, gives: bool, predicate: int = TRUE) -> Instr:
        """Return a barrier of the whole block at which a thread gives a truth value: the predicate is whether any gave
        "true"."""

    def hold_shared(self, register: int, size: int) -> Instr:
        """Return a barrier of the whole block at which it gets `size` bytes of shared memory: register = address of the
        first one."""

    def free_shared(self, register: int) -> Instr:
        """Return a barrier of the whole block at which it gives back what it holds from the address in `register` on.
        """

    def release_shared(self, guard: Guard = ALWAYS) -> Instr:
        """Return an instruction by which a thread releases the shared memory that its block shares with another."""

    def nothing(self) -> Instr:
        """Return a word without effect, to keep two places in the code apart."""


class InstructionSet(Protocol):
    """An instruction set reads, changes and makes instructions, and has their container and text."""

    @property
    def name(self) -> str: ...  # its name, as rows of operations and modules have it

    @property
    def suffix(self) -> str: ...  # the end of its binaries' file names

    @property
    def limits(self) -> SetLimits: ...  # its sizes, and names of special registers

    @property
    def build(self) -> Builder: ...  # its builder, for transformations alone: the checker does without

    # -- view

    def view(self, instr: Instr) -> View:
        """Return the instruction's view. It is computed at the first call and kept with the instruction. Raises
        KeyError or IndexError where fields are missing or hold reserved values."""

    def constant_reads(self, instr: Instr) -> tuple[ConstantRead, ...]:
        """Return the instruction's reads of constant memory, as an operand or as a load."""

    def roles(self, instr: Instr) -> Roles:
        """Return the types of the instruction's operands, and how each enters the result."""

    def highest_register(self, instrs: Iterable[Instr]) -> int:
        """Return the number of the highest register that the instructions read or write, or -1."""

    def alike(self, one: Instr, other: Instr) -> bool:
        """Return whether two instructions are the same, except for their control codes and the distance of a call."""

    # -- change

    def rename(self, instr: Instr, mapping: dict[str, int]) -> Instr:
        """Return the instruction with registers or predicates changed. mapping: field of a `Ref` -> new number."""

    def links(self, instr: Instr) -> dict[str, int]:
        """Return the branch offsets within the function, by field, the jump's first: words relative to the next
        instruction (calls have none)."""

    def relink(self, instr: Instr, offsets: dict[str, int]) -> Instr:
        """Return the branch with other offsets: field -> words relative to its next instruction."""

    def readdress(self, instr: Instr, base: int | None, offset: int) -> Instr:
        """Return a memory access at another address: the register `base`, if any, plus `offset` bytes. Raises
        ValueError if the encoding has no room for the offset."""

    def in_space(self, instr: Instr, space: Space) -> Instr | None:
        """Return the load or store that differs in nothing but its memory, which is `space`: shared or local. None
        where there is none."""

    def recall(self, instr: Instr, distance: int) -> Instr:
        """Return the direct call with another distance to its callee: words relative to the next instruction."""

    # -- recognise instructions whose result is one of the inputs; guards are ignored; None for all others

    def register_copy(self, instr: Instr) -> tuple[int, int] | None:
        """Return (destination, source) of a 32-bit move between registers."""

    def register_zero(self, instr: Instr) -> bool:
        """Return whether an instruction sets a register to 0."""

    def add_immediate(self, instr: Instr) -> tuple[int, int, int] | None:
        """Return (destination, source, signed immediate) of a plain 32-bit addition."""

    def predicate_pack(self, instr: Instr) -> tuple[int, int, int] | None:
        """Return (destination, register whose other bits are kept, mask) where predicate i goes to bit i for i in the
        mask. The register is NO_REGISTER where the other bits become 0."""

    def predicate_unpack(self, instr: Instr) -> tuple[int, int] | None:
        """Return (source, mask) where bit i goes to predicate i for i in the mask. The source is NO_REGISTER where it
        is 0."""

    def truth_of_predicate(self, instr: Instr) -> tuple[int, int] | None:
        """Return (destination, predicate) of a word that is not zero exactly where the predicate holds."""

    def predicate_of_truth(self, instr: Instr) -> tuple[int, int] | None:
        """Return (predicate, source) where the predicate becomes whether the word is not zero."""

    def exclusive_or(self, instr: Instr) -> tuple[int, int, int] | None:
        """Return (destination, one, other) of the bitwise exclusive or of two registers."""

    def special_register(self, instr: Instr) -> str | None:
        """Return the name of the special register that is read, or None."""

    def barrier(self, instr: Instr) -> Barrier | None:
        """Return the block's barrier at which the instruction arrives, or None."""

    def held_shared(self, instr: Instr) -> int | None:
        """Return the bytes of shared memory that the instruction lets its block hold from then on; None where only a
        run shows them, and for all other instructions."""

    def sums(self, instr: Instr) -> tuple[Sum, ...]:
        """Return the results that are sums of operands times constants, as far as the instruction set knows them."""

    def formulas(self, instr: Instr) -> tuple[Formula, ...]:
        """Return the results that integer arithmetic or logic gives, other than sums, as far as the instruction set
        knows them."""

    def is_nop(self, instr: Instr) -> bool:
        """Return whether the instruction is the one that does nothing."""

    # -- container and text

    def recognises(self, data: bytes) -> bool:
        """Return whether a file, binary or assembly, begins like this set's files and no other's."""

    def read(self, data: bytes, path: str = "") -> Module:
        """Return the module in a file's bytes. Raises MalformedInput and nothing else."""

    def write(self, module: Module) -> bytes:
        """Return the file of a module; `write(read(data)) == data` for everything that was written so."""

    def sections(self, data: bytes) -> list[FileSection]:
        """Return the sections of a file that `read` has accepted."""

    def text(
        self, instr: Instr, fn: Function | None = None, index: int | None = None, module: Module | None = None
    ) -> str:
        """Return the instruction as assembly; with its function, branch targets and callees have their names."""

    def assemble(self, text: str, path: str = "") -> Module:
        """Return the module that assembly describes."""

    def disassemble(self, module: Module) -> str:
        """Return assembly from which `assemble` makes the module again."""
