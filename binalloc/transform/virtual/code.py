"""This module defines virtual-register code: a function whose register operands name values instead of registers.

The allocator works on this form, between analysis and the rewritten binary. A value is a web or a temporary, and one
32-bit unit. Values that an instruction needs in consecutive registers are together in one operand. Besides the
function's own instructions there are copies, exchanges, reloads and stores of memory values, and the pseudo item
`entry`. That item defines the arguments. A call names the register that its callee has fixed for each argument and
result. Values live across the call avoid these registers and all others that the callee overwrites. Arguments may be
passed in memory instead: the caller has a `pass` in front of the call, the callee an `arrive` behind its entry, and a
reload of it.

Invariants: blocks are in original order and fall through as before, except for blocks without a leader, which only hold
the code of an edge. Control codes do not matter here, because scheduling comes last. Predicates keep their
architectural numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from binalloc.analysis.locations import Location
from binalloc.analysis.residues import Residue
from binalloc.isa.instruction import Function, Instr
from binalloc.isa.interface.places import ALL_PREDICATES
from binalloc.models.allocation.terms import Register, Value


class ItemKind(StrEnum):
    """The kind of an item is an instruction, a copy of values, spill code, or a pseudo item at a function's border."""

    INSTR = "instr"  #: an instruction, calls included
    COPY = "copy"  #: a copy of a value
    EXCHANGE = "exchange"  #: an exchange of two values: each result takes the other's operand
    AGAIN = "again"  #: an instruction executed once more, in place of a reload
    RELOAD = "reload"  #: a load of a memory value
    STORE = "store"  #: a store of a memory value
    ENTRY = "entry"  #: pseudo item that defines the arguments
    ARRIVE = "arrive"  #: pseudo item for an argument that a caller has stored
    PASS = "pass"  #: a store of an argument, where the callee of the next call has it


INSTR, COPY, EXCHANGE, AGAIN, RELOAD, STORE, ENTRY, ARRIVE, PASS = ItemKind

MOVED = "moved"
"""Operands of a copy, reload or store have this field: the instruction is only made when its registers are known."""
KEEP = "keep"
"""An operand with this field only asks for a value to stay in its register, if it is in one. Such an operand is an
argument at RET that callers use after the call, so that they need no copy of it."""


NO_VALUE = Value(-1)  # numbers of values begin at 0


ANYWHERE = Register(-1)  # in `VOperand.fixed`: any register will do
INSIDE = Location(-1)  # in `VOperand.location`: the operand does not cross the function's border


@dataclass(frozen=True, slots=True)
class VOperand:
    """An operand holds one or several values, which are in consecutive registers."""

    field: str  #: the instruction field to fill; or MOVED; or, for an implicit operand, "" or KEEP
    values: tuple[Value, ...]  #: in the order of their registers
    fixed: Register = ANYWHERE  #: the register that the callee's contract demands for an argument or result of a call
    location: Location = INSIDE  #: of an argument at `entry` and of a result at RET: the place that callers know it by
    alignment: int = 1  #: the first value's register has to be a multiple of it: 1, 2, 4, ...

    def of(self, values: tuple[Value, ...]) -> VOperand:
        """Return the same operand with other values."""
        return VOperand(self.field, values, self.fixed, self.location, self.alignment)

    @property
    def grouped(self) -> bool:
        """Return whether the operand demands more of its registers than to be there."""
        return len(self.values) > 1 or self.alignment > 1


@dataclass(slots=True)
class Item:
    """An item is one line of virtual code."""

    kind: ItemKind  #: what the line is
    instr: Instr | None = None
    origin: int = -1  #: index of the original instruction that the item stands for, or -1
    defs: tuple[VOperand, ...] = ()
    uses: tuple[VOperand, ...] = ()
    guard: tuple[int, bool] | None = None  #: (predicate, negated)
    predicate_defs: int = 0  #: predicates that the item may write, as bits
    memory: Value = NO_VALUE  #: the value that a RELOAD or STORE moves, or that a caller has stored (ARRIVE)
    callee: str = ""  #: of calls: the function's name
    weight: float = 1.0  #: estimate of how often the item is executed
    predicate_uses: int = 0  #: predicates that the item reads, as bits, without its guard
    #: the original instruction that several copies replace together: an item that has to stay before or behind one of
    #: them has to stay so for all
    part: int = -1
    serves: Value = NO_VALUE  #: the value that a RELOAD or AGAIN brings back
    passes: Location = INSIDE  #: the argument of the next call that a PASS stores where the callee expects it

    @property
    def changes_own_guard(self) -> bool:
        """Say whether the item may write the predicate of its guard."""
        return self.guard is not None and bool(self.predicate_defs >> self.guard[0] & 1)

    def of(self, defs: tuple[VOperand, ...], uses: tuple[VOperand, ...]) -> Item:
        """Return the same item with other operands. (This is many times faster than `dataclasses.replace`.)"""
        return Item(
            self.kind, self.instr, self.origin, defs, uses, self.guard, self.predicate_defs, self.memory, self.callee,
            self.weight, self.predicate_uses, self.part, self.serves, self.passes,
        )  # fmt: skip


@dataclass
class VBlock:
    """A virtual block is a basic block of virtual code."""

    leader: int  #: index of its first original instruction; -1 for the entry block and for code of an edge
    items: list[Item] = field(default_factory=list)
    succs: tuple[int, ...] = ()  #: numbers of the successors
    taken: int = -1  #: the successor that the last item jumps to, -1 if that item is no branch
    weight: float = 1.0  #: estimate of how often the block is executed
    loop: int = -1  #: number of the innermost loop around the block, -1 for none
    meeting: int = -1  #: the block where lanes reconverge after the branch at the end, -1 for none


@dataclass
class VCode:
    """Virtual code is a function in virtual registers."""

    function: Function
    blocks: list[VBlock]
    names: list[str] = field(default_factory=list)  #: by value, for people
    #: value -> the instruction that recomputes it (rematerialisation)
    constants: dict[Value, Instr] = field(default_factory=dict)
    before: dict[Value, Register] = field(default_factory=dict)  #: value -> its architectural register in the input
    unwritten: frozenset[Value] = frozenset()  #: values that may be read without having been written
    #: predicates that the function may write, as bits; the others belong to the callers
    predicates: int = ALL_PREDICATES
    arrives: dict[Location, Value] = field(default_factory=dict)  #: argument -> the memory value in which it arrives
    #: values that memory holds as long as they live -> the memory value; such values are never stored
    held: dict[Value, Value] = field(default_factory=dict)
    #: by original instruction that accesses memory: its address, where accesses of other lanes of the warp count; None
    #: where they order nothing (the memory model `ptx`)
    lanes: Mapping[int, Residue] | None = None
    #: sizes of the banks of constant memory in bytes, by bank; a read outside of them may fault
    banks: Mapping[int, int] = field(default_factory=dict)

    def value(self, name: str = "") -> Value:
        """Create a new value and return its number."""
        number = Value(len(self.names))
        self.names.append(name or f"t{number}")
        return number

    def items(self) -> list[Item]:
        return [item for block in self.blocks for item in block.items]

    def dump(self) -> str:
        """Return the code as readable text, one item a line."""
        lines = [f"function {self.function.name}"]
        for number, block in enumerate(self.blocks):
            lines.append(f"block {number} -> {', '.join(map(str, block.succs)) or 'none'}")
            lines += [f"  {self._line(item)}" for item in block.items]
        return "\n".join(lines) + "\n"

    def _line(self, item: Item) -> str:
        def show(operands: tuple[VOperand, ...]) -> str:
            return " ".join(
                ":".join(self.names[v] for v in o.values) + (f"=R{o.fixed}" if o.fixed >= 0 else "") for o in operands
            )

        guard = f"@{'!' if item.guard[1] else ''}P{item.guard[0]} " if item.guard else ""
        what = item.instr.name if item.instr is not None else item.kind
        memory = f" [{self.names[item.memory]}]" if item.memory >= 0 else ""
        return f"{item.origin:5d} {guard}{what} {show(item.defs)} <- {show(item.uses)}{memory}".rstrip()


def copy_item(target: Value, source: Value, weight: float, guard: tuple[int, bool] | None = None) -> Item:
    """Return an item that sets `target` to `source`."""
    defs, uses = (VOperand(MOVED, (target,)),), (VOperand(MOVED, (source,)),)
    return Item(COPY, defs=defs, uses=uses, guard=guard, weight=weight)
