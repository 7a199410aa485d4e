"""Virtual-register code: a function whose register operands name values (webs and temporaries) instead of registers.

This is the form the allocator works on, between analysis and the rewritten binary. A value is one 32-bit unit. Values
that an instruction needs side by side form a group with fixed offsets. Besides the function's own instructions there
are copies, reloads and stores of memory values, and two pseudo items: `entry` defines the arguments, and calls carry
their callee's fixed argument and result registers as precoloured values.

What must hold: blocks are in original order and fall through as before; nothing here has control codes that matter
(scheduling comes last); predicates keep their architectural numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from binalloc.analysis.locations import Location
from binalloc.isa.instruction import Function, Instr
from binalloc.models.allocation.terms import GroupNumber, Register, Value


class ItemKind(StrEnum):
    """What a line of virtual code is: the function's own instruction, a copy, spill code, or `entry`."""

    INSTR = "instr"
    COPY = "copy"
    RELOAD = "reload"
    STORE = "store"
    ENTRY = "entry"


INSTR, COPY, RELOAD, STORE, ENTRY = ItemKind

MOVED = "moved"
"""Field of what a copy, reload or store moves: the instruction is only made when its registers are known."""
KEEP = "keep"
"""Field of an operand that only asks for a value to stay in its register, if it is in one: an argument at RET that
callers go on using, so that they need no copy of it."""


NO_VALUE = Value(-1)


@dataclass(frozen=True, slots=True)
class VOperand:
    """Values in consecutive registers. field: the instruction field to fill; MOVED; "" or KEEP: implicit."""

    field: str
    values: tuple[Value, ...]


@dataclass(slots=True)
class Item:
    """One line of virtual code.

    origin: index of the original instruction it stands for, or -1. guard: (predicate, negated). predicate_defs: bitset.
    memory: the value reloaded or stored (RELOAD, STORE). callee: name, for calls. weight: execution frequency estimate.
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


@dataclass
class VBlock:
    """A basic block. leader: index of its first original instruction (-1: the entry block). succs: block numbers.
    taken: the one of them that its last item jumps to, -1 if that is no branch."""

    leader: int
    items: list[Item] = field(default_factory=list)
    succs: tuple[int, ...] = ()
    taken: int = -1


@dataclass
class Values:
    """The value table of one function. Groups are lists of (value, offset); every value is in exactly one group."""

    group_of: list[GroupNumber] = field(default_factory=list)
    offset: list[int] = field(default_factory=list)
    members: list[list[tuple[Value, int]]] = field(default_factory=list)
    units: list[int] = field(default_factory=list)
    align: list[int] = field(default_factory=list)
    spillable: list[bool] = field(default_factory=list)
    fixed: dict[Value, Register] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def group(self, units: int = 1, *, align: int = 1, spillable: bool = False) -> GroupNumber:
        """A new empty group of `units` registers; returns its number."""
        self.members.append([])
        self.units.append(units)
        self.align.append(align)
        self.spillable.append(spillable)
        return GroupNumber(len(self.members) - 1)

    def value(self, group: GroupNumber, offset: int = 0, name: str = "") -> Value:
        """A new value at `offset` of `group`."""
        number = Value(len(self.group_of))
        self.group_of.append(group)
        self.offset.append(offset)
        self.members[group].append((number, offset))
        self.names.append(name or f"t{number}")
        return number

    def temporary(self, units: int = 1) -> tuple[Value, ...]:
        """Fresh values in consecutive aligned registers which never go to memory."""
        group = self.group(units, align=units)
        return tuple(self.value(group, k) for k in range(units))

    def precoloured(self, register: Register) -> Value:
        number = self.value(self.group(), 0, f"R{register}")
        self.fixed[number] = register
        return number

    def __len__(self) -> int:
        return len(self.group_of)


@dataclass
class VCode:
    """A function in virtual registers. constants: value -> the instruction that recomputes it (rematerialisation).

    arguments: architectural register -> value defined by `entry`; results: architectural register -> value that every
    RET uses. Both are rewritten when the value goes to memory, so that after colouring they tell callers where to look.
    before: value -> the architectural register it has in the input.
    """

    function: Function
    blocks: list[VBlock]
    values: Values
    constants: dict[Value, Instr] = field(default_factory=dict)
    arguments: dict[Location, Value] = field(default_factory=dict)
    results: dict[Location, Value] = field(default_factory=dict)
    before: dict[Value, Register] = field(default_factory=dict)

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
            return " ".join(":".join(self.values.names[v] for v in o.values) for o in operands)

        guard = f"@{'!' if item.guard[1] else ''}P{item.guard[0]} " if item.guard else ""
        what = item.instr.name if item.instr is not None else item.kind
        memory = f" [{self.values.names[item.memory]}]" if item.memory >= 0 else ""
        return f"{item.origin:5d} {guard}{what} {show(item.defs)} <- {show(item.uses)}{memory}".rstrip()


def mask_of(operands: tuple[VOperand, ...]) -> int:
    """Bitset of the values in `operands`."""
    mask = 0
    for operand in operands:
        for value in operand.values:
            mask |= 1 << value
    return mask
