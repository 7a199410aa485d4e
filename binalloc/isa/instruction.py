"""This module defines the decoded Loom instruction, `Instr`, and the containers of a program around it, `Function` and
`Module`.

`Instr.f` holds every field that the opcode uses in its form, by the names of `fields.py`: registers as numbers, branch
offsets in words relative to the next instruction. Instructions are immutable: change one by `replace`. The type checker
enforces this. Checks at run time would double the cost of building an instruction and, over `f`, make a change six
times as dear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from binalloc.isa.kinds import Flow
from binalloc.isa.source_facts import LOOM, PTX, SourceFacts
from binalloc.isa.table.fields import NO_BARRIER, PT, RZ
from binalloc.isa.table.opcodes import BY_NAME, OPCODES, OpSpec


class Control(NamedTuple):
    """The control code of an instruction says when it and the next one may issue (ISA.md, Control codes)."""

    stall: int = 1  #: cycles until the next instruction of the warp may issue
    yield_: int = 1  #: 0: the scheduler should prefer another warp
    wbar: int = NO_BARRIER  #: scoreboard that is lowered when the results are written; 7 for none
    rbar: int = NO_BARRIER  #: scoreboard that is lowered when the sources are read; 7 for none
    wait: int = 0  #: mask of the six scoreboards to wait for
    reuse: int = 0  #: mask of the operands to keep in the operand cache


DEFAULT_CONTROL = Control()  # the control code that assembly has where none is written


class Instr:
    """An instruction consists of its operation, its fields, its guard and its control code.

    op: its row of the table. f: its fields; whoever makes an instruction may not change the mapping afterwards. guard,
    guard_neg: its predicate. ctrl: its control code. `seen` caches the view that its instruction set made of it and is
    no part of its value.
    """

    __slots__ = ("ctrl", "f", "guard", "guard_neg", "op", "seen")

    def __init__(
        self,
        op: OpSpec,
        f: Mapping[str, int],
        guard: int = PT,
        guard_neg: bool = False,
        ctrl: Control = DEFAULT_CONTROL,
    ) -> None:
        self.op: Final = op
        self.f: Final = f
        self.guard: Final = guard
        self.guard_neg: Final = guard_neg
        self.ctrl: Final = ctrl
        self.seen: Any = None

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def control(self) -> Flow:
        """Return what the instruction does to control flow, as `View.control` has it."""
        return self.op.control

    @property
    def form(self) -> int:
        return self.f.get("form", 0)

    @property
    def guarded(self) -> bool:
        """Return whether the instruction has a guard; without one (@PT) it executes in every active lane."""
        return self.guard != PT or self.guard_neg

    def replace(self, *, ctrl: Control | None = None, guard: tuple[int, bool] | None = None, **fields: int) -> Instr:
        """Return a copy with some fields, the control code or the guard changed."""
        pred, neg = guard if guard is not None else (self.guard, self.guard_neg)
        return Instr(self.op, {**self.f, **fields} if fields else self.f, pred, neg, ctrl or self.ctrl)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instr):
            return NotImplemented
        return (
            self.op is other.op
            and self.f == other.f
            and self.guard == other.guard
            and self.guard_neg == other.guard_neg
            and self.ctrl == other.ctrl
        )

    def __hash__(self) -> int:
        return hash((self.op.code, tuple(sorted(self.f.items())), self.guard, self.guard_neg, self.ctrl))

    def __repr__(self) -> str:
        guard = f"@{'!' if self.guard_neg else ''}P{self.guard} " if self.guarded else ""
        return f"<{guard}{self.op.name} {self.f}>"


def make(
    name: str | int,
    *,
    guard: tuple[int, bool] = (PT, False),
    ctrl: Control = DEFAULT_CONTROL,
    **fields: int,
) -> Instr:
    """Build an instruction by name from the given fields; the others take their defaults (RZ, PT, zero).

    Raises KeyError for an unknown opcode and ValueError for a field that the opcode does not use in that form.
    """
    op = OPCODES[name] if isinstance(name, int) else BY_NAME[name]
    f = default_fields(op, fields)
    for key, value in fields.items():
        if key not in f:
            raise ValueError(f"{op.name} has no field {key} in form {f.get('form', 0)}")
        f[key] = value
    return Instr(op, f, guard[0], guard[1], ctrl)


def default_fields(op: OpSpec, given: Mapping[str, int]) -> dict[str, int]:
    """Return every field that `op` uses under the form and flags in `given`, at its default: RZ, PT (or !PT), zero."""
    form = given.get("form", op.forms[0])
    f: dict[str, int] = {}
    for name in op.fields_for(form, given):
        if name in ("opcode", "guard", "guardn"):
            continue
        f[name] = _FIELD_DEFAULTS.get(name, 0)
    for o in op.operands:
        if o.default_false:
            f[o.name + "n"] = 1
    if "form" in f:
        f["form"] = form
    return f


_FIELD_DEFAULTS = dict.fromkeys(("rd", "ra", "rb", "rc"), RZ) | dict.fromkeys(("pd0", "pd1", "ps0", "ps1", "ps2"), PT)
"""Defaults of fields that are not 0."""


@dataclass
class Param:
    """A kernel parameter lies in constant bank 0."""

    name: str
    offset: int  #: bytes
    size: int  #: bytes


@dataclass
class SharedVar:
    """A static shared variable of a function lies in the block's shared memory."""

    name: str
    offset: int  #: bytes
    size: int  #: bytes
    align: int = 4  #: bytes


SHARED_WINDOW = 0x01000000
LOCAL_WINDOW = 0x02000000
WINDOW_SIZE = 0x01000000
"""The generic addresses of a block's shared and of a thread's local memory form two windows: these are their first
addresses and their length in bytes. They are Loom's own choice (ISA.md, State and memory)."""

GLOBAL_VARIABLES = 0x08000000
"""First address of the module's global variables in the global and generic address spaces, above both windows."""

CONSTANTS_COPY = "__binalloc_constants."
"""A global variable whose name is this and the number of a constant bank holds a copy of that bank at launch."""


@dataclass
class GlobalVar:
    """A variable of the module lies in global memory, at GLOBAL_VARIABLES + offset."""

    name: str
    offset: int  #: bytes
    size: int  #: bytes
    align: int = 4  #: bytes
    data: bytes = b""  #: its first bytes at launch, without zeros at the end; the rest is zero

    @property
    def address(self) -> int:
        return GLOBAL_VARIABLES + self.offset


@dataclass
class ConstantVar:
    """A constant variable names bytes of a constant bank, so that a launch can fill them."""

    name: str
    bank: int
    offset: int  #: first byte in the bank
    size: int  #: bytes


DYNAMIC = "*"
"""Stands for dynamic shared memory among the variables of `Function.touches`; no variable can have this name."""

NO_REGISTER = 255  # the number of RZ, so that no register that holds a value has it
LANES = 32  # threads of a warp, as on every GPU that Loom is modelled on
WORD = 4  # bytes of a register, and so of a slot of one thread
SLOT_ROW = LANES * WORD  # shared bytes of one slot of all threads of a warp: the lanes' words lie side by side


@dataclass
class FunctionInfo(SourceFacts):
    """A function's info record, `.loom.info.<function>` of a binary, says what a launch, a caller and a rewrite need to
    know of it. It includes the fields of `SourceFacts`. Sizes are in bytes; a field for a register holds its number, or
    255 for none."""

    kind: str = "kernel"  #: or "function"
    registers: int = 0  #: registers per thread to reserve; a kernel's cover its whole call graph
    local_frame: int = 0  #: bytes of this function's own local frame
    local_bytes: int = 0  #: of a kernel: local memory per thread of a launch, user part
    local_stack: int = NO_REGISTER  #: register that is set to 0 at launch as local stack pointer
    spill_local: int = 0  #: bytes of the spill area, directly above local_bytes
    shared_bytes: int = 0  #: static shared memory
    slot_bytes: int = 0  #: shared bytes per warp for slots (128 * S)
    slot_pointer: int = NO_REGISTER  #: register that holds the thread's slot pointer
    block: tuple[int, int, int] = (0, 0, 0)  #: required block size (0 = any)
    max_threads: int = 0  #: launch bound (0 = none)
    params: list[Param] = field(default_factory=list)
    machine: str = ""  #: name of the machine it was scheduled for, "" = not scheduled

    @property
    def is_kernel(self) -> bool:
        return self.kind == "kernel"

    @property
    def slots(self) -> int:
        """Return the number of slots per thread."""
        return self.slot_bytes // SLOT_ROW


@dataclass
class Origin:
    """The instruction map of a rewritten function relates each word to an instruction of the original function. It is a
    hint for checker, `diff` and profiles, never trusted."""

    function: str  #: name of the original function
    index: list[int]  #: per new word the original's word index, or -1 where the word was inserted
    #: words whose calls were replaced by their callees' code before the map was made, in the order of inlining. Each is
    #: counted as the ones before it left the code; `index` counts as the last one left it.
    inlined: list[int] = field(default_factory=list)


@dataclass
class Function:
    """A function consists of its code, info record, shared variables and labels."""

    name: str
    instrs: list[Instr]
    info: FunctionInfo = field(default_factory=FunctionInfo)
    shared: list[SharedVar] = field(default_factory=list)
    #: word index in this function -> name, from the binary's symbols; branch targets need none
    labels: dict[int, str] = field(default_factory=dict)
    #: word index -> (file, line); an entry holds up to the next one
    lines: dict[int, tuple[str, int]] = field(default_factory=dict)
    address: int = 0  #: index of its first word in code space
    origin: Origin | None = None  #: instruction map, where a rewrite made the function
    #: word index of an access to shared memory -> the shared variables from whose symbols the address was computed,
    #: sorted; `DYNAMIC` stands for dynamic shared memory. The producer says so; nothing proves it.
    touches: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.instrs)

    @property
    def addressable(self) -> bool:
        """Return whether an indirect call may enter it: only direct callers may enter a rewritten function."""
        return not self.info.is_kernel and self.origin is None

    @property
    def calls_by_address(self) -> bool:
        """Return whether an indirect call is among its words."""
        by_address = Flow.CALL_INDIRECT
        return any(instr.control == by_address for instr in self.instrs)

    def source_line(self, index: int) -> tuple[str, int] | None:
        """Return file and line of the instruction at `index`, None where the line table has none for it."""
        start = max((word for word in self.lines if word <= index), default=None)
        return None if start is None else self.lines[start]

    def source_lines(self) -> list[tuple[str, int] | None]:
        """Return `source_line` of every instruction."""
        place = None
        out = []
        for index in range(len(self.instrs)):
            place = self.lines.get(index, place)
            out.append(place)
        return out

    def touches_of(self, instrs: Sequence[Instr], index: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Return `touches` for new words that are copies of this function's. index: per new word the word here, or
        less than 0. A word that another instruction has taken the place of loses its entry."""
        found = {}
        for new, (instr, old) in enumerate(zip(instrs, index, strict=True)):
            if old in self.touches and instr.op is self.instrs[old].op:
                found[new] = self.touches[old]
        return found

    def target(self, index: int) -> int:
        """Return the word index that the branch or direct call at `index` goes to, counted from the function's first
        word (the container refuses a branch outside)."""
        instr = self.instrs[index]
        return index + 1 + instr.op.distance(instr.f)

    def reconvergence(self, index: int) -> int | None:
        """Return the word index of the reconvergence point named by the BRA at `index`, or None."""
        instr = self.instrs[index]
        distance = instr.op.reconvergence(instr.f)
        return None if distance is None else index + 1 + distance


LAYOUT_WORDS = 8  # functions start at multiples of this many words: 128 bytes (ISA.md, Control flow)


def code_end(fn: Function) -> int:
    """Return the first address behind `fn` where another function may begin."""
    return fn.address + -(-len(fn.instrs) // LAYOUT_WORDS) * LAYOUT_WORDS


@dataclass
class Module:
    """A module is a whole binary. Addresses of functions are word indexes in one code space; CALL offsets are relative
    in it."""

    functions: list[Function] = field(default_factory=list)  #: in file order
    constants: dict[int, bytes] = field(default_factory=dict)  #: bytes of the constant banks by number
    provenance: list[dict[str, object]] = field(default_factory=list)  #: records of past rewrites
    isa_version: int = 1
    path: str = ""  #: the file that it came from, for messages
    globals: list[GlobalVar] = field(default_factory=list)  #: variables in global memory
    constant_vars: list[ConstantVar] = field(default_factory=list)  #: variables in constant banks
    isa: str = "loom"  #: name of the instruction set

    def function(self, name: str) -> Function:
        """Return the function of that name; KeyError if there is none."""
        for fn in self.functions:
            if fn.name == name:
                return fn
        raise KeyError(name)

    @property
    def memory_model(self) -> str:
        """Return the strictest memory model of the functions: "ptx" where all of them have it, else "loom"."""
        return PTX if self.functions and all(fn.info.memory_model == PTX for fn in self.functions) else LOOM

    def kernels(self) -> list[Function]:
        return [fn for fn in self.functions if fn.info.is_kernel]

    def at(self, address: int) -> Function | None:
        """Return the function whose code starts at word `address`, or None."""
        for fn in self.functions:
            if fn.address == address:
                return fn
        return None

    def callee(self, fn: Function, index: int) -> Function | None:
        """Return the function that the CALL at `index` of `fn` enters, or None where the offset hits no function's
        start."""
        return self.at(fn.address + fn.target(index))

    def callees(self, fn: Function) -> dict[int, Function]:
        """Return the functions that the direct calls of `fn` enter, by the calls' indexes. A call that enters no
        function has no key."""
        return _callees(fn, self._starts())

    def reached(self, root: Function, *, indirect: bool = True) -> list[Function]:
        """Return `root`, then in file order every other function that a chain of calls from any word of `root` can
        enter.

        indirect: calls by address may enter every addressable function. The call graph of `analysis` is finer: it
        leaves out calls in unreachable code.
        """
        starts = self._starts()
        seen = {root.name}
        work = [root]
        while work:
            fn = work.pop()
            entered = list(_callees(fn, starts).values())
            if indirect and fn.calls_by_address:
                entered += [f for f in self.functions if f.addressable]
            for callee in entered:
                if callee.name not in seen:
                    seen.add(callee.name)
                    work.append(callee)
        return [root, *(fn for fn in self.functions if fn.name in seen and fn.name != root.name)]

    def comes_back(self, root: Function) -> bool:
        """Return whether the graph of direct calls from `root` has a cycle."""
        starts = self._starts()
        callees: dict[str, set[str]] = {}
        work = [root]
        while work:
            fn = work.pop()
            if fn.name not in callees:
                entered = _callees(fn, starts).values()
                callees[fn.name] = {callee.name for callee in entered}
                work += entered
        callers: dict[str, list[str]] = {name: [] for name in callees}
        for name, below in callees.items():
            for callee in below:
                callers[callee].append(name)
        ends = [name for name, below in callees.items() if not below]
        for name in ends:  # the list grows: without the functions found to end, others may have no callee left
            for caller in callers[name]:
                callees[caller].discard(name)
                if not callees[caller]:
                    ends.append(caller)
        return len(ends) < len(callees)

    def _starts(self) -> dict[int, Function]:
        return {fn.address: fn for fn in reversed(self.functions)}

    def layout(self, at: Mapping[str, int] | None = None) -> None:
        """Assign addresses: functions one after the other, each start a multiple of `LAYOUT_WORDS`. at: given addresses
        of some functions, by name; `validate_module` checks whether they are possible."""
        given = at or {}
        address = 0
        for fn in self.functions:
            fn.address = given.get(fn.name, address)
            address = code_end(fn)

    def __iter__(self) -> Iterator[Function]:
        return iter(self.functions)


def _callees(fn: Function, starts: Mapping[int, Function]) -> dict[int, Function]:
    """Return `Module.callees` of `fn`. starts: every function by its address."""
    out = {}
    call = Flow.CALL
    for index, instr in enumerate(fn.instrs):
        if instr.control == call:
            callee = starts.get(fn.address + fn.target(index))
            if callee is not None:
                out[index] = callee
    return out
