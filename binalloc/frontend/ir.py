"""Virtual Loom: what PTX is lowered to, what is optimised, and what registers are allocated for.

Instructions are ordinary `isa.instruction.Instr`, except that their register numbers are *virtual units* and their
predicates virtual predicates. A unit is one 32-bit value place, numbered from FIRST_REGISTER; an operand of several
registers names its first unit and covers the next ones. Units come in groups of 1, 2 or 4 consecutive numbers which
will stand in consecutive, aligned registers. RZ and PT keep their numbers, so that `isa.loom.view` reads
virtual code as it reads real code. There is no SSA form: a unit may be written several times (PTX variables that merge
values), but most are written once (`single definitions`).

What must hold in a Routine: blocks are in code order, and a block ends where a branch stands (only the last node of a
block is BRA, unguarded EXIT or unguarded RET); a block that does not end in an unguarded BRA, EXIT or RET falls through
to the next in order; the last block never falls through. BRA's offset fields stay 0 and mean nothing: `Node.target`
names the block. Control codes mean nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.frontend.ignored import IgnoredText
from binalloc.isa.instruction import ConstantVar, FunctionInfo, GlobalVar, Instr, SharedVar
from binalloc.isa.interface.places import REG
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import ENDS, Flow
from binalloc.isa.loom.view import view
from binalloc.isa.table.fields import PT as PT
from binalloc.isa.table.fields import RZ as RZ

FIRST_REGISTER = RZ + 1
FIRST_PREDICATE = PT + 1
STACK_BYTES = 1024
"""Of a thread, for functions that may come back to themselves: what CUDA gives by default."""
STACK_LIMIT = 1 << 22
"""The most that may be asked for."""


@dataclass
class Registers:
    """Virtual units and predicates of a routine.

    base[k], width[k]: first unit and size of the group of unit FIRST_REGISTER + k. names: base unit or predicate ->
    PTX name, for dumps.
    """

    base: list[int] = field(default_factory=list)
    width: list[int] = field(default_factory=list)
    predicates: int = 0
    names: dict[int, str] = field(default_factory=dict)
    predicate_names: dict[int, str] = field(default_factory=dict)

    def new(self, units: int = 1, name: str = "") -> int:
        """A fresh group of 1, 2 or 4 units; returns its first unit."""
        first = FIRST_REGISTER + len(self.base)
        self.base += [first] * units
        self.width += [units] * units
        if name:
            self.names[first] = name
        return first

    def predicate(self, name: str = "") -> int:
        """A fresh predicate."""
        number = FIRST_PREDICATE + self.predicates
        self.predicates += 1
        if name:
            self.predicate_names[number] = name
        return number

    def group(self, unit: int) -> tuple[int, int]:
        """(first unit, width) of the group that `unit` belongs to."""
        k = unit - FIRST_REGISTER
        return self.base[k], self.width[k]

    @property
    def end(self) -> int:
        """One more than the highest unit."""
        return FIRST_REGISTER + len(self.base)


class Node:
    """One virtual instruction.

    instr: set it through the property; the cached view follows. loc: index into Program.locations, -1 for none. target:
    of BRA, the number of the block it jumps to. uniform: of a guarded BRA, all active lanes are known to agree. callee:
    of CALL, the routine's name; args, results: its argument and result units in order (callee's parameters, results;
    the view of a CALL does not show them: use `uses` and `defs` here).
    """

    __slots__ = ("_instr", "_view", "args", "callee", "loc", "results", "target", "uniform")

    def __init__(
        self,
        instr: Instr,
        loc: int = -1,
        target: int = -1,
        callee: str = "",
        args: tuple[int, ...] = (),
        results: tuple[int, ...] = (),
        uniform: bool = False,
    ) -> None:
        self._instr = instr
        self._view: View | None = None
        self.loc = loc
        self.target = target
        self.callee = callee
        self.args = args
        self.results = results
        self.uniform = uniform

    @property
    def instr(self) -> Instr:
        return self._instr

    @instr.setter
    def instr(self, instr: Instr) -> None:
        self._instr = instr
        self._view = None

    @property
    def view(self) -> View:
        """The view of the instruction, cached."""
        if self._view is None:
            self._view = view(self._instr)
        return self._view

    @property
    def falls_through(self) -> bool:
        """Whether control may go on to the next node (or block)."""
        return self._instr.guarded or self._instr.op.control not in ENDS


@dataclass
class Block:
    """A basic block. number: unique in its routine, never reused; the order of blocks is that of Routine.blocks."""

    number: int
    nodes: list[Node] = field(default_factory=list)
    label: str = ""


@dataclass(frozen=True)
class Stack:
    """Local memory for functions that may come back to themselves, in bytes: the address of the word that holds where
    the next frame begins, where the first one does, the end, and what frames begin at multiples of. room: bytes behind
    the end, for the arguments of a call whose frame does not fit any more."""

    pointer: int
    start: int
    end: int
    align: int
    room: int


@dataclass
class Routine:
    """A kernel or function in virtual Loom.

    arguments, results: units (one per 32-bit word) in which a function gets its parameters and leaves its results, in
    order; empty for kernels, whose parameters lie in constant bank 0. info: kind, params, block, max_threads,
    local_frame, shared bytes; registers and machine are set at the end. min_blocks: `.minnctapersm`. place, path: where
    the PTX text defines it, for messages. shared: variables of the function with their offsets. cycle: all routines
    that it may come back to itself through, itself among them; empty where it cannot. It then has a frame on the stack,
    which `frame` points to: an argument in front of the others, until `allocate.recursion` sets it.
    """

    name: str
    registers: Registers
    blocks: list[Block]
    info: FunctionInfo
    arguments: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    shared: list[SharedVar] = field(default_factory=list)
    min_blocks: int = 0
    place: str = ""
    path: str = ""
    cycle: tuple[str, ...] = ()
    frame: int = RZ

    @property
    def is_kernel(self) -> bool:
        return self.info.is_kernel

    def successors(self) -> dict[int, tuple[int, ...]]:
        """Block number -> numbers of the blocks control may go to, the jump target first."""
        out: dict[int, tuple[int, ...]] = {}
        for block, following in zip(self.blocks, [*self.blocks[1:], None], strict=True):
            last = block.nodes[-1] if block.nodes else None
            found: list[int] = []
            if last is not None and last.target >= 0:
                found.append(last.target)
            if (last is None or last.falls_through) and following is not None and following.number not in found:
                found.append(following.number)
            out[block.number] = tuple(found)
        return out

    def nodes(self) -> list[Node]:
        return [node for block in self.blocks for node in block.nodes]


def indices(routine: Routine, node: Node) -> tuple[list[int], list[int]]:
    """(defined, used) by `node`: operands, the guard, a call's arguments and results, at RET the routine's results.

    Indices: a unit's is its number - FIRST_REGISTER; predicates follow behind all units, from FIRST_PREDICATE on.
    """
    units = len(routine.registers.base)
    shift = units - FIRST_PREDICATE
    defined: list[int] = []
    used: list[int] = []
    view = node.view
    for refs, out in ((view.defs, defined), (view.uses, used)):
        for ref in refs:
            if ref.file == REG:
                first = ref.index - FIRST_REGISTER
                if ref.units == 1:
                    out.append(first)
                else:
                    out.extend(range(first, first + ref.units))
            else:
                out.append(ref.index + shift)
    if view.guard is not None and view.guard[0] != PT:
        used.append(view.guard[0] + shift)
    if node.callee:
        used += [u - FIRST_REGISTER for u in node.args if u != RZ]
        defined += [u - FIRST_REGISTER for u in node.results if u != RZ]
    elif view.control == Flow.RETURN:
        used += [u - FIRST_REGISTER for u in routine.results]
    return defined, used


@dataclass
class Program:
    """All routines reached from the kernels wanted, callees before callers, those of a cycle side by side.

    constants: bank -> bytes. locations: (file, source line) that Node.loc indexes. globals: module-scope variables in
    global memory, at their fixed addresses. constant_vars: those in constant banks. stack: None where no routine is in
    a cycle. ignored: what the text says and nothing comes of.
    """

    routines: dict[str, Routine] = field(default_factory=dict)
    constants: dict[int, bytes] = field(default_factory=dict)
    locations: list[tuple[str, int]] = field(default_factory=list)
    globals: list[GlobalVar] = field(default_factory=list)
    constant_vars: list[ConstantVar] = field(default_factory=list)
    path: str = ""
    stack: Stack | None = None
    ignored: list[IgnoredText] = field(default_factory=list)


def dump(routine: Routine) -> str:
    """Readable text of a routine, one node a line."""
    from binalloc.isa.text.disassembler import format_instr

    successors = routine.successors()
    lines = [f"{routine.info.kind} {routine.name}"]
    for block in routine.blocks:
        to = ", ".join(f"b{n}" for n in successors[block.number]) or "none"
        lines.append(f"b{block.number}: {block.label}".rstrip() + f"  -> {to}")
        for node in block.nodes:
            text = format_instr(node.instr)
            if node.target >= 0:
                text += f" -> b{node.target}"
            if node.callee:
                text += f" {node.callee}({_units(node.args)}) -> ({_units(node.results)})"
            lines.append(f"    {text}")
    return "\n".join(lines) + "\n"


def _units(units: tuple[int, ...]) -> str:
    return " ".join(f"V{unit - FIRST_REGISTER}" if unit != RZ else "RZ" for unit in units)
