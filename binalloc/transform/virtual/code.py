"""Virtual-register code: a function whose register operands name values (webs and temporaries) instead of registers.

This is the form the allocator works on, between analysis and the rewritten binary. A value is one 32-bit unit. Values
that an instruction needs side by side stand in one operand. Besides the function's own instructions there are copies,
exchanges, reloads and stores of memory values, and the pseudo item `entry`, which defines the arguments. A call names
the register that its callee has fixed for each argument and result; what is live across it stays out of those and of
all that the callee overwrites. Arguments may travel in memory instead: the caller has a `pass` in front of the call,
the callee an `arrive` behind its entry, and a reload of it.

What must hold: blocks are in original order and fall through as before, but for blocks without a leader, which hold
code of an edge alone; nothing here has control codes that matter (scheduling comes last); predicates keep their
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
    """What a line of virtual code is: an instruction, copies of values, spill code, or what stands for a function's
    border."""

    INSTR = "instr"
    COPY = "copy"
    EXCHANGE = "exchange"
    AGAIN = "again"
    RELOAD = "reload"
    STORE = "store"
    ENTRY = "entry"
    ARRIVE = "arrive"
    PASS = "pass"


INSTR, COPY, EXCHANGE, AGAIN, RELOAD, STORE, ENTRY, ARRIVE, PASS = ItemKind

MOVED = "moved"
"""Field of what a copy, reload or store moves: the instruction is only made when its registers are known."""
KEEP = "keep"
"""Field of an operand that only asks for a value to stay in its register, if it is in one: an argument at RET that
callers go on using, so that they need no copy of it."""


NO_VALUE = Value(-1)


ANYWHERE = Register(-1)
"""In `VOperand.fixed`: any register will do."""
INSIDE = Location(-1)
"""In `VOperand.location`: the operand has nothing to do with the function's border."""


@dataclass(frozen=True, slots=True)
class VOperand:
    """Values in consecutive registers. field: the instruction field to fill; MOVED; "" or KEEP: implicit.

    fixed: the register that it has to be in: an argument or result of a call, where the callee's contract has it.
    location: of an argument at `entry` and of a result at RET, the place that callers know it by.
    """

    field: str
    values: tuple[Value, ...]
    fixed: Register = ANYWHERE
    location: Location = INSIDE

    def of(self, values: tuple[Value, ...]) -> VOperand:
        """The same operand of other values."""
        return VOperand(self.field, values, self.fixed, self.location)


@dataclass(slots=True)
class Item:
    """One line of virtual code.

    origin: index of the original instruction it stands for, or -1. guard: (predicate, negated). predicate_defs,
    predicate_uses: as bits, the guard's not among them. memory: the value reloaded or stored (RELOAD, STORE), or that a
    caller has stored (ARRIVE). callee: name, for calls. weight: execution frequency estimate. EXCHANGE: each result
    takes the other's operand. AGAIN: an instruction executed once more, in place of a reload. part: the original
    instruction that several copies stand for together; what has to stay before or behind one of them has to for all.
    serves: the value that a reload or AGAIN brings back. passes: the argument of the next call that a PASS stores where
    the callee has it.
    """

    kind: ItemKind
    instr: Instr | None = None
    origin: int = -1
    defs: tuple[VOperand, ...] = ()
    uses: tuple[VOperand, ...] = ()
    guard: tuple[int, bool] | None = None
    predicate_defs: int = 0
    memory: Value = NO_VALUE
    callee: str = ""
    weight: float = 1.0
    predicate_uses: int = 0
    part: int = -1
    serves: Value = NO_VALUE
    passes: Location = INSIDE

    def of(self, defs: tuple[VOperand, ...], uses: tuple[VOperand, ...]) -> Item:
        """The same line with other operands. (Many times faster than `dataclasses.replace`.)"""
        return Item(
            self.kind, self.instr, self.origin, defs, uses, self.guard, self.predicate_defs, self.memory, self.callee,
            self.weight, self.predicate_uses, self.part, self.serves, self.passes,
        )  # fmt: skip


@dataclass
class VBlock:
    """A basic block. leader: index of its first original instruction (-1: the entry block, or code of an edge). succs:
    block numbers. taken: the one of them that its last item jumps to, -1 if that is no branch. weight: execution
    frequency estimate. loop: number of the innermost loop around it, -1 for none. meeting: the block where the lanes
    meet again that its last item parts, -1 for none."""

    leader: int
    items: list[Item] = field(default_factory=list)
    succs: tuple[int, ...] = ()
    taken: int = -1
    weight: float = 1.0
    loop: int = -1
    meeting: int = -1


@dataclass
class VCode:
    """A function in virtual registers.

    names: by value, for people. constants: value -> the instruction that recomputes it (rematerialisation). before:
    value -> the architectural register it has in the input. unwritten: values that may be read without having been
    written. predicates: those that the function may write, as bits; what callers have in others is theirs. arrives:
    argument -> the memory value that it arrives in. held: values that memory holds wherever they live -> the memory
    value, so that they are never stored. lanes: by original instruction that accesses memory, its address, where
    accesses of other lanes of the warp count; None where they order nothing (the memory model `ptx`). banks: bytes of
    constant memory, by bank; what is read elsewhere may fault.
    """

    function: Function
    blocks: list[VBlock]
    names: list[str] = field(default_factory=list)
    constants: dict[Value, Instr] = field(default_factory=dict)
    before: dict[Value, Register] = field(default_factory=dict)
    unwritten: frozenset[Value] = frozenset()
    predicates: int = ALL_PREDICATES
    arrives: dict[Location, Value] = field(default_factory=dict)
    held: dict[Value, Value] = field(default_factory=dict)
    lanes: Mapping[int, Residue] | None = None
    banks: Mapping[int, int] = field(default_factory=dict)

    def value(self, name: str = "") -> Value:
        """A new value."""
        number = Value(len(self.names))
        self.names.append(name or f"t{number}")
        return number

    def items(self) -> list[Item]:
        return [item for block in self.blocks for item in block.items]

    def dump(self) -> str:
        """Readable text of the code, one item a line."""
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
    """target = source."""
    defs, uses = (VOperand(MOVED, (target,)),), (VOperand(MOVED, (source,)),)
    return Item(COPY, defs=defs, uses=uses, guard=guard, weight=weight)
