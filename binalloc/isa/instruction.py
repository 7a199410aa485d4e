"""One decoded Loom instruction, and the program containers around it: Function, Module.

`Instr.f` holds every field the opcode uses in its form (names of `fields.py`), registers as numbers, branch offsets in
words relative to the next instruction. Instructions are immutable: change one by `replace`. The type checker sees to
it; guards at run time make one twice as dear to build and, over `f`, six times as dear to change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from binalloc.isa.kinds import Flow
from binalloc.isa.source_facts import LOOM, PTX, SourceFacts
from binalloc.isa.table.fields import NO_BARRIER, PT, RZ
from binalloc.isa.table.opcodes import BY_NAME, OPCODES, OpSpec


class Control(NamedTuple):
    """Control code. stall in cycles; yield_ 0 = yield; wbar, rbar scoreboard number or 7; wait a mask of six bits."""

    stall: int = 1
    yield_: int = 1
    wbar: int = NO_BARRIER
    rbar: int = NO_BARRIER
    wait: int = 0
    reuse: int = 0


DEFAULT_CONTROL = Control()


class Instr:
    """An instruction: `op` its row of the table, `f` its fields, `guard`/`guard_neg` its predicate, `ctrl`.

    Whoever makes one gives `f` away. `seen` keeps the view that its instruction set made of it and is no part of its
    value.
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
        """What it does to control flow, as `View.control` has it."""
        return self.op.control

    @property
    def form(self) -> int:
        return self.f.get("form", 0)

    @property
    def guarded(self) -> bool:
        """True unless the instruction executes in every active lane (@PT)."""
        return self.guard != PT or self.guard_neg

    def replace(self, *, ctrl: Control | None = None, guard: tuple[int, bool] | None = None, **fields: int) -> Instr:
        """A copy with some fields, the control code or the guard changed."""
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
    """Build an instruction by name from the fields given; the others take their defaults (RZ, PT, zero).

    Raises KeyError for an unknown opcode and ValueError for a field the opcode does not use in that form.
    """
    op = OPCODES[name] if isinstance(name, int) else BY_NAME[name]
    f = default_fields(op, fields)
    for key, value in fields.items():
        if key not in f:
            raise ValueError(f"{op.name} has no field {key} in form {f.get('form', 0)}")
        f[key] = value
    return Instr(op, f, guard[0], guard[1], ctrl)


def default_fields(op: OpSpec, given: Mapping[str, int]) -> dict[str, int]:
    """Every field `op` uses under the form and flags in `given`, at its default: RZ, PT (or !PT), zero."""
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


@dataclass
class Param:
    """A kernel parameter: byte offset in constant bank 0 and size in bytes."""

    name: str
    offset: int
    size: int


@dataclass
class SharedVar:
    """A static shared variable of a function: byte offset in the block's shared memory, size and alignment."""

    name: str
    offset: int
    size: int
    align: int = 4


SHARED_WINDOW = 0x01000000
LOCAL_WINDOW = 0x02000000
WINDOW_SIZE = 0x01000000
"""Generic addresses of a block's shared and of a thread's local memory: where the windows begin, how long they are."""

GLOBAL_VARIABLES = 0x08000000
"""Where the module's global variables begin in the global and generic address spaces."""

CONSTANTS_COPY = "__binalloc_constants."
"""A global variable called so, and then by the number of a constant bank, holds at launch what that bank does."""


@dataclass
class GlobalVar:
    """A variable of the module in global memory, at GLOBAL_VARIABLES + offset; size and alignment in bytes.

    data: its first bytes at launch, without zeros at the end; the rest is zero.
    """

    name: str
    offset: int
    size: int
    align: int = 4
    data: bytes = b""

    @property
    def address(self) -> int:
        return GLOBAL_VARIABLES + self.offset


@dataclass
class ConstantVar:
    """A name for `size` bytes of a constant bank from byte `offset`, so that a launch can fill them."""

    name: str
    bank: int
    offset: int
    size: int


NO_REGISTER = 255
LANES = 32
"""Threads of a warp."""
WORD = 4
"""Bytes of a register, and so of a slot of one thread."""
SLOT_ROW = LANES * WORD
"""Shared bytes of one slot of all threads of a warp: slots are warp rows."""


@dataclass
class FunctionInfo(SourceFacts):
    """What `.loom.info.<function>` records, with what `SourceFacts` has. Sizes in bytes; register fields hold
    a number or 255 for none.

    registers: registers per thread the hardware must reserve (kernels: the whole call graph's need).
    local_frame: bytes of this function's own local frame. local_bytes: per-thread local memory of a launch, user part
    (kernels). spill_local: bytes of the spill area, which lies directly above local_bytes. slot_bytes: shared bytes per
    warp for slots (128 * S). slot_pointer: register that holds the thread's slot pointer. block: required block size
    (0 = any). max_threads: launch bound (0 = none). machine: name it was scheduled for, "" = not scheduled.
    """

    kind: str = "kernel"  # or "function"
    registers: int = 0
    local_frame: int = 0
    local_bytes: int = 0
    local_stack: int = NO_REGISTER
    spill_local: int = 0
    shared_bytes: int = 0
    slot_bytes: int = 0
    slot_pointer: int = NO_REGISTER
    block: tuple[int, int, int] = (0, 0, 0)
    max_threads: int = 0
    params: list[Param] = field(default_factory=list)
    machine: str = ""

    @property
    def is_kernel(self) -> bool:
        return self.kind == "kernel"

    @property
    def slots(self) -> int:
        """Slots per thread."""
        return self.slot_bytes // SLOT_ROW


@dataclass
class Origin:
    """The instruction map of a rewritten function: which instruction of which original function each word stands for.

    function: name of the original function. index: per new word the original's word index, or -1 where the word was
    inserted. inlined: words whose calls were replaced by their callees' code before that, one after the other, each in
    the numbering that those before it left; `index` counts as the last of them left it. A hint for checker, `diff` and
    profiles, never trusted.
    """

    function: str
    index: list[int]
    inlined: list[int] = field(default_factory=list)


@dataclass
class Function:
    """A function: its code, info, shared variables and labels. `address` is its first word's index in code space.

    labels: word index in this function -> name (only what the binary's symbols say; branch targets need none).
    lines: word index -> (file, line), sparse: holds from there on. origin: where a rewritten function came from.
    """

    name: str
    instrs: list[Instr]
    info: FunctionInfo = field(default_factory=FunctionInfo)
    shared: list[SharedVar] = field(default_factory=list)
    labels: dict[int, str] = field(default_factory=dict)
    lines: dict[int, tuple[str, int]] = field(default_factory=dict)
    address: int = 0
    origin: Origin | None = None

    def __len__(self) -> int:
        return len(self.instrs)

    @property
    def addressable(self) -> bool:
        """Whether an indirect call may enter it: rewritten functions answer to their direct callers alone."""
        return not self.info.is_kernel and self.origin is None

    @property
    def calls_by_address(self) -> bool:
        """Whether an indirect call is among its words."""
        by_address = Flow.CALL_INDIRECT
        return any(instr.control == by_address for instr in self.instrs)

    def source_line(self, index: int) -> tuple[str, int] | None:
        """File and line of the instruction at `index`, None where the line table does not reach it."""
        start = max((word for word in self.lines if word <= index), default=None)
        return None if start is None else self.lines[start]

    def source_lines(self) -> list[tuple[str, int] | None]:
        """As `source_line`, of every instruction."""
        place = None
        out = []
        for index in range(len(self.instrs)):
            place = self.lines.get(index, place)
            out.append(place)
        return out

    def target(self, index: int) -> int:
        """Word index that the branch or direct call at `index` goes to, counted from the function's first word (the
        container refuses a branch outside)."""
        instr = self.instrs[index]
        return index + 1 + instr.op.distance(instr.f)

    def reconvergence(self, index: int) -> int | None:
        """Word index of the reconvergence point named by the BRA at `index`, or None."""
        instr = self.instrs[index]
        distance = instr.op.reconvergence(instr.f)
        return None if distance is None else index + 1 + distance


LAYOUT_WORDS = 8
"""Functions start at multiples of this many words: 128 bytes."""


def code_end(fn: Function) -> int:
    """Where another function may begin behind `fn`."""
    return fn.address + -(-len(fn.instrs) // LAYOUT_WORDS) * LAYOUT_WORDS


@dataclass
class Module:
    """A whole binary. Functions in file order; constant banks by number; `globals` the variables in global memory;
    `constant_vars` those in constant banks;
    `provenance` records of past rewrites.

    Addresses of functions are word indexes in one code space; CALL offsets are relative in it. `path` names the file
    it came from, for messages. isa: name of the instruction set.
    """

    functions: list[Function] = field(default_factory=list)
    constants: dict[int, bytes] = field(default_factory=dict)
    provenance: list[dict[str, object]] = field(default_factory=list)
    isa_version: int = 1
    path: str = ""
    globals: list[GlobalVar] = field(default_factory=list)
    constant_vars: list[ConstantVar] = field(default_factory=list)
    isa: str = "loom"

    def function(self, name: str) -> Function:
        """The function of that name; KeyError if there is none."""
        for fn in self.functions:
            if fn.name == name:
                return fn
        raise KeyError(name)

    @property
    def memory_model(self) -> str:
        """The strictest of the functions': "ptx" where all of them say so, else "loom"."""
        return PTX if self.functions and all(fn.info.memory_model == PTX for fn in self.functions) else LOOM

    def kernels(self) -> list[Function]:
        return [fn for fn in self.functions if fn.info.is_kernel]

    def at(self, address: int) -> Function | None:
        """The function whose code starts at word `address`, or None."""
        for fn in self.functions:
            if fn.address == address:
                return fn
        return None

    def callee(self, fn: Function, index: int) -> Function | None:
        """The function that the CALL at `index` of `fn` enters, or None where the offset hits no function's start."""
        return self.at(fn.address + fn.target(index))

    def callees(self, fn: Function) -> dict[int, Function]:
        """The functions that the direct calls of `fn` enter, by the calls' indexes; one that enters none is no key."""
        return _callees(fn, self._starts())

    def reached(self, root: Function, *, indirect: bool = True) -> list[Function]:
        """`root`, then in file order every other function that calls reach from any of its words.

        indirect: calls by address reach all that are addressable. The call graph of `analysis` is the finer one: it
        leaves out what stands in unreachable code.
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
        """Whether direct calls lead from a function that `root` reaches back to itself."""
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
        for name in ends:  # which grows: without those found to end, others may have no callee left
            for caller in callers[name]:
                callees[caller].discard(name)
                if not callees[caller]:
                    ends.append(caller)
        return len(ends) < len(callees)

    def _starts(self) -> dict[int, Function]:
        return {fn.address: fn for fn in reversed(self.functions)}

    def layout(self, at: Mapping[str, int] | None = None) -> None:
        """Assign addresses: functions one after the other, each start a multiple of `LAYOUT_WORDS`. at: addresses of
        functions (by name) that have a place of their own; whether that is possible, `validate_module` tells."""
        given = at or {}
        address = 0
        for fn in self.functions:
            fn.address = given.get(fn.name, address)
            address = code_end(fn)

    def __iter__(self) -> Iterator[Function]:
        return iter(self.functions)


def _callees(fn: Function, starts: Mapping[int, Function]) -> dict[int, Function]:
    """See `Module.callees`; starts: every function by its address."""
    out = {}
    call = Flow.CALL
    for index, instr in enumerate(fn.instrs):
        if instr.control == call:
            callee = starts.get(fn.address + fn.target(index))
            if callee is not None:
                out[index] = callee
    return out
