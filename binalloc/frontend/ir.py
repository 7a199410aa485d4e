"""This module defines virtual Loom: PTX is lowered to it, the optimiser works on it, and registers are allocated for
it.

Instructions are ordinary `isa.instruction.Instr`, except that their register numbers are *virtual units* and their
predicates virtual predicates. A unit holds one 32-bit value. Units are numbered from FIRST_REGISTER. An operand of
several registers names its first unit and covers the next ones. Units come in groups of 1, 2 or 4 consecutive numbers.
A group is allocated to consecutive, aligned registers. RZ and PT keep their numbers, so that `isa.loom.view` reads
virtual code as it reads real code. The code is not in SSA form: a unit may be written several times (PTX variables that
merge values), but most units have a single definition.

These invariants hold in a Routine. Blocks are in code order. Only the last node of a block may be BRA, unguarded EXIT
or unguarded RET. A block whose last node is no unguarded BRA, EXIT or RET falls through to the next in order. The last
block never falls through. BRA's offset fields stay 0 and mean nothing: `Node.target` names the block. Control codes
mean nothing.
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

FIRST_REGISTER = RZ + 1  # units begin behind RZ, so that no unit has the number of a real register
FIRST_PREDICATE = PT + 1  # predicates begin behind PT, for the same reason
STACK_BYTES = 1024
"""Stack per thread for the frames of recursive functions: CUDA's default stack size."""
STACK_LIMIT = 1 << 22
"""Largest stack per thread that may be asked for. Static frames and stack are refused beyond 16 MB per thread in any
case."""


@dataclass
class Registers:
    """The registers of a routine are its virtual units and predicates."""

    #: base[k]: first unit of the group that unit FIRST_REGISTER + k belongs to
    base: list[int] = field(default_factory=list)
    width: list[int] = field(default_factory=list)  #: width[k]: size of that group, in units
    predicates: int = 0  #: number of predicates
    names: dict[int, str] = field(default_factory=dict)  #: first unit of a group -> PTX name, for dumps
    predicate_names: dict[int, str] = field(default_factory=dict)  #: predicate -> PTX name, for dumps

    def new(self, units: int = 1, name: str = "") -> int:
        """Make a group of 1, 2 or 4 units and return its first unit."""
        first = FIRST_REGISTER + len(self.base)
        self.base += [first] * units
        self.width += [units] * units
        if name:
            self.names[first] = name
        return first

    def predicate(self, name: str = "") -> int:
        """Make a predicate and return its number."""
        number = FIRST_PREDICATE + self.predicates
        self.predicates += 1
        if name:
            self.predicate_names[number] = name
        return number

    def group(self, unit: int) -> tuple[int, int]:
        """Return (first unit, width) of the group that `unit` belongs to."""
        k = unit - FIRST_REGISTER
        return self.base[k], self.width[k]

    @property
    def end(self) -> int:
        """Return one more than the highest unit."""
        return FIRST_REGISTER + len(self.base)


class VirtualNode:
    """A node is one virtual instruction.

    Assign a new instruction to the property `instr`, so that the cached view is renewed. The view of a CALL does not
    show its arguments and results: use `indices`.
    """

    __slots__ = ("_instr", "_view", "args", "callee", "loc", "results", "target", "touches", "uniform")

    def __init__(
        self,
        instr: Instr,
        loc: int = -1,
        target: int = -1,
        callee: str = "",
        args: tuple[int, ...] = (),
        results: tuple[int, ...] = (),
        uniform: bool = False,
        touches: tuple[str, ...] = (),
    ) -> None:
        self._instr = instr
        self._view: View | None = None
        self.loc = loc  #: index into Program.locations, -1 for none
        self.target = target  #: for BRA, the number of the block that it jumps to
        self.callee = callee  #: for CALL, the routine's name
        self.args = args  #: for CALL, its argument units in the order of the callee's parameters
        self.results = results  #: for CALL, its result units in the order of the callee's results
        self.uniform = uniform  #: for a guarded BRA, whether all active lanes are known to agree
        self.touches = touches  #: the shared variables that an access touches, as `Function.touches` has them

    @property
    def instr(self) -> Instr:
        return self._instr

    @instr.setter
    def instr(self, instr: Instr) -> None:
        self._instr = instr
        self._view = None

    @property
    def view(self) -> View:
        """Return the view of the instruction, cached."""
        if self._view is None:
            self._view = view(self._instr)
        return self._view

    @property
    def falls_through(self) -> bool:
        """Return whether control may continue at the next node (or block)."""
        return self._instr.guarded or self._instr.op.control not in ENDS


@dataclass
class RoutineBlock:
    """A basic block is a run of nodes that control enters at the first one alone. The order of blocks is that of
    Routine.blocks."""

    number: int  #: unique in its routine, never reused
    nodes: list[VirtualNode] = field(default_factory=list)
    label: str = ""


@dataclass(frozen=True)
class Stack:
    """The stack for recursive functions is a part of local memory. All fields are in bytes."""

    pointer: int  #: address of the word that holds where the next frame begins
    start: int  #: where the first frame begins
    end: int  #: end of the stack
    align: int  #: frames begin at multiples of this
    room: int  #: bytes behind the end, for the arguments of a call whose frame does not fit any more


@dataclass
class Routine:
    """A routine is a kernel or function in virtual Loom."""

    name: str
    registers: Registers
    blocks: list[RoutineBlock]
    #: kind, params, block, max_threads, local_frame, shared bytes; registers and machine are set at the end
    info: FunctionInfo
    #: units, one per 32-bit word, for a function's parameters in order; empty for kernels, whose parameters are in
    #: constant bank 0
    arguments: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)  #: units, one per 32-bit word, for a function's results in order
    shared: list[SharedVar] = field(default_factory=list)  #: shared variables of the function with their offsets
    min_blocks: int = 0  #: `.minnctapersm`
    place: str = ""  #: where the PTX text defines it, for messages
    path: str = ""  #: the file that defines it, for messages
    #: all routines of its cycle in the call graph, itself among them; empty where it is not recursive
    cycle: tuple[str, ...] = ()
    #: for a recursive function, the unit that points to its frame on the stack: an argument in front of the others,
    #: until `allocate.recursion` sets it
    frame: int = RZ

    @property
    def is_kernel(self) -> bool:
        return self.info.is_kernel

    def successors(self) -> dict[int, tuple[int, ...]]:
        """Return block number -> numbers of the blocks that control may continue at, the jump target first."""
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

    def nodes(self) -> list[VirtualNode]:
        return [node for block in self.blocks for node in block.nodes]


def indices(routine: Routine, node: VirtualNode) -> tuple[list[int], list[int]]:
    """Return (defined, used) by `node`: its operands and guard, a call's arguments and results, at RET the routine's
    results.

    They are indices: a unit's is its number - FIRST_REGISTER. Predicates follow behind all units, from FIRST_PREDICATE
    on.
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
class VirtualProgram:
    """A program holds the wanted kernels and all functions that they call, directly or through others.

    Callees come before callers, and the routines of a cycle stand side by side.
    """

    routines: dict[str, Routine] = field(default_factory=dict)
    constants: dict[int, bytes] = field(default_factory=dict)  #: constant bank -> bytes
    locations: list[tuple[str, int]] = field(default_factory=list)  #: (file, source line), indexed by Node.loc
    #: module-scope variables in global memory, at their fixed addresses
    globals: list[GlobalVar] = field(default_factory=list)
    constant_vars: list[ConstantVar] = field(default_factory=list)  #: module-scope variables in constant banks
    path: str = ""
    stack: Stack | None = None  #: None where no routine is recursive
    #: directives of the text that have no effect on the binary
    ignored: list[IgnoredText] = field(default_factory=list)


def dump(routine: Routine) -> str:
    """Return readable text of a routine, one node a line."""
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
