"""Rules of a well-formed module beyond its single words are checked here: branch targets, calls, resources, names,
layout.

`validate_module` is run on every module that is read, assembled or written, so that the rest of binalloc need not check
again. Needs decoded instructions; changes nothing. `fill_resources` sets what assembly may leave out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NoReturn

from binalloc.errors import MalformedInput
from binalloc.isa.instruction import DYNAMIC, LAYOUT_WORDS, NO_REGISTER, Function, Instr, Module, code_end
from binalloc.isa.interface.names import NAME
from binalloc.isa.interface.places import SLOT_ROW
from binalloc.isa.kinds import ENDS, Flow, Space
from binalloc.isa.source_facts import MEMORY_MODELS, MOST
from binalloc.isa.table.fields import RZ
from binalloc.isa.table.opcodes import ATOMIC_OPS, TEXTURE_DIMENSIONS
from binalloc.isa.table.rules import shape_of

MACHINE = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{0,255}")
"""Names of machines and targets: printable text, of a length that messages can show."""
MAX_FILE_NAME = 4096  # characters of a source file's name: PATH_MAX of Linux
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # characters that UTF-8 cannot encode
PARAM_BYTES = 1 << 16  # bytes of constant bank 0: a constant's offset has 16 bits
SHARED_LIMIT = 1 << 24  # bytes of shared memory: the length of its generic window
_CAS = ATOMIC_OPS.index("CAS")
_3D = TEXTURE_DIMENSIONS.index("3D")
CODE_LIMIT = 1 << 20
"""Words in all: decoded instructions take hundreds of bytes each, so a larger file would fill the memory."""
LOCAL_LIMIT = 1 << 24  # bytes of local memory: the length of its generic window
GLOBAL_LIMIT = 1 << 27
"""Bytes of global variables: from GLOBAL_VARIABLES up to the first buffer of a launch, 0x10000000."""


class _Check:
    """A check raises MalformedInput with the module's file and a function's name."""

    def __init__(self, module: Module, fn: Function | None = None) -> None:
        self.path = module.path or None
        self.fn = fn

    def fail(
        self, place: str, message: str, found: object = None, expected: object = None, remedy: str | None = None
    ) -> NoReturn:
        """Raise MalformedInput for a place in the function, or in the module without one."""
        where = f"function {self.fn.name}" if self.fn else ""
        place = ": ".join(p for p in (where, place) if p)
        raise MalformedInput(
            message, file=self.path, place=place or None, found=found, expected=expected, remedy=remedy
        )


def highest_register(instrs: Iterable[Instr]) -> int:
    """Return the number of the highest register that `instrs` read or write, or -1."""
    top = -1
    for ins in instrs:
        f = ins.f
        wide: dict[str, int] = {}
        for name, width in shape_of(ins.op, f).registers:
            wide[name] = width if isinstance(width, int) else width[1][f[width[0]]]
        for name in ("rd", "ra", "rb", "rc"):
            r = f.get(name, RZ)
            if name == "rc" and (f.get("aop", _CAS) != _CAS or f.get("tdim", _3D) != _3D):
                continue  # the word has the field, but only compare-and-swap and 3-D fetches read it
            if r != RZ:
                top = max(top, r + wide.get(name, 1) - 1)
    return top


def fill_resources(module: Module, registers: list[Function], shared: list[Function]) -> None:
    """Set info.registers of the functions `registers` and info.shared_bytes of the functions `shared` to the need of
    the code. A kernel's need is that of its whole call graph, a function's is its own."""
    own_registers = {fn.name: max(highest_register(fn.instrs) + 1, 0) for fn in module.functions}
    own_shared = {fn.name: max((v.offset + v.size for v in fn.shared), default=0) for fn in module.functions}
    for fn in registers:
        fns = module.reached(fn) if fn.info.is_kernel else [fn]
        extra = [r + 1 for r in (fn.info.local_stack, fn.info.slot_pointer) if r != NO_REGISTER]
        fn.info.registers = max([own_registers[g.name] for g in fns] + extra)
    for fn in shared:
        fns = module.reached(fn) if fn.info.is_kernel else [fn]
        fn.info.shared_bytes = max(own_shared[g.name] for g in fns)


def validate_module(module: Module) -> None:
    """Raise MalformedInput at the first breach of a rule of the container in `module`; see ISA.md, "Rules across
    words"."""
    check = _Check(module)
    if module.isa_version != 1:
        check.fail("header", "unknown ISA version", module.isa_version, "1", "Use a newer binalloc.")
    names: set[str] = set()
    for fn in module.functions:
        at = _Check(module, fn)
        if not NAME.fullmatch(fn.name):
            check.fail("", "not a function name", repr(fn.name[:40]), "letters, digits, _ $ . ; no digit first")
        if fn.name in names:
            at.fail("", "two functions of this name", remedy="Rename one of the two.")
        names.add(fn.name)
        if not fn.instrs:
            at.fail("", "no instruction", remedy="End it with EXIT or RET.")
    validate_layout(module)
    starts = {fn.address: fn for fn in module.functions}
    for fn in module.functions:
        _control_flow(fn, starts, _Check(module, fn))
        _info(fn, _Check(module, fn))
        _names(fn, _Check(module, fn))
        _touches(module, fn, _Check(module, fn))
    highest = {fn.name: highest_register(fn.instrs) for fn in module.functions}
    for fn in module.functions:
        _resources(module, fn, highest, _Check(module, fn))
    _globals(module, check)
    for bank, data in module.constants.items():
        if not 1 <= bank <= 31:
            check.fail(f"constant bank {bank}", "no such bank", bank, "1..31 (bank 0 holds the parameters)")
        if len(data) > 1 << 16:
            check.fail(f"constant bank {bank}", "too large", len(data), "at most 65536 bytes")


def validate_layout(module: Module) -> None:
    """Raise MalformedInput unless the functions lie in code space in their order, each behind the one before."""
    end = 0
    for fn in module.functions:
        at = _Check(module, fn)
        if fn.address < end or fn.address % LAYOUT_WORDS:
            at.fail(
                "address", "wrong place in code space", fn.address, f"a multiple of {LAYOUT_WORDS}, {end} or more",
                "Call Module.layout() and resolve calls again.",
            )  # fmt: skip
        end = code_end(fn)
        if end > CODE_LIMIT:
            at.fail("address", "code space is full", end, f"at most {CODE_LIMIT} words")


def _control_flow(fn: Function, starts: dict[int, Function], check: _Check) -> None:
    """Check that branches stay in the function, calls enter functions, and the last word ends the function. starts:
    functions by address."""
    n = len(fn.instrs)
    branch, call = Flow.BRANCH, Flow.CALL
    for i, ins in enumerate(fn.instrs):
        control = ins.op.control
        if control == branch:
            fields = ("target", "reconv") if ins.f["diverges"] else ("target",)
            for name in fields:
                to = i + 1 + ins.f[name]
                if not 0 <= to < n:
                    check.fail(
                        f"word {i}, field {name}", "branch off the function's instructions", f"word {to}",
                        f"0..{n - 1}", "The file is damaged.",
                    )  # fmt: skip
        elif control == call:
            to = fn.address + i + 1 + ins.f["target"]
            if to not in starts:
                check.fail(
                    f"word {i}, field target", "call of no function's start", f"address {to}",
                    "the address of a function", "The file is damaged.",
                )  # fmt: skip
            if starts[to].info.is_kernel:
                check.fail(
                    f"word {i}, field target", "call of a kernel", starts[to].name, "a function (.func)",
                    "A kernel is entered by a launch alone: put the common code into a function.",
                )  # fmt: skip
    last = fn.instrs[-1]
    if last.guarded or last.op.control not in ENDS:
        check.fail(
            f"word {n - 1}", "control falls off the function's end", last.op.name, "an unguarded EXIT, RET or BRA",
            "End the function with EXIT or RET.",
        )  # fmt: skip


def _info(fn: Function, check: _Check) -> None:
    """Check the ranges of the info record's fields, and the rules that hold between them."""
    info = fn.info

    def bound(name: str, value: int, top: int, step: int = 1) -> None:
        if not 0 <= value <= top or value % step:
            what = f"0..{top}" + (f" in steps of {step}" if step > 1 else "")
            check.fail(f"info, {name}", "out of range", value, what)

    if info.kind not in ("kernel", "function"):
        check.fail("info, kind", "unknown kind", repr(info.kind), "kernel or function")
    bound("registers", info.registers, NO_REGISTER)
    bound("local_frame", info.local_frame, LOCAL_LIMIT, 4)
    bound("local_bytes", info.local_bytes, LOCAL_LIMIT, 4)
    bound("spill_local", info.spill_local, LOCAL_LIMIT, 4)
    bound("shared_bytes", info.shared_bytes, SHARED_LIMIT)
    bound("slot_bytes", info.slot_bytes, SHARED_LIMIT, SLOT_ROW)
    bound("max_threads", info.max_threads, 1024)
    for name, value in zip(("block.x", "block.y", "block.z"), info.block, strict=True):
        bound(name, value, 1024)
    x, y, z = info.block
    if (x, y, z) != (0, 0, 0) and 0 in info.block:
        check.fail("info, block", "a block without threads", info.block, "three positive sizes, or all zero for any")
    if x * y * z > 1024 or (info.max_threads and x * y * z > info.max_threads):
        check.fail("info, block", "too many threads", f"{x}x{y}x{z}", f"at most {info.max_threads or 1024}")
    if info.slot_pointer != NO_REGISTER and not info.slot_bytes and info.is_kernel:
        check.fail("info, slot_pointer", "a slot pointer without slots", f"R{info.slot_pointer}", "slot_bytes > 0")
    for name, r in (("local_stack", info.local_stack), ("slot_pointer", info.slot_pointer)):
        # A function may name the pointer of its kernels without touching it; only a kernel must reserve it.
        top = info.registers if info.is_kernel else NO_REGISTER
        if r != NO_REGISTER and not 0 <= r < top:
            check.fail(f"info, {name}", "register out of range", f"R{r}", f"R0..R{top - 1}, or none")
    for name, text in (("machine", info.machine), ("target", info.target)):
        if not MACHINE.fullmatch(text):
            check.fail(f"info, {name}", f"not a {name}'s name", repr(text[:40]), "printable text, 255 at most")
    if info.memory_model not in MEMORY_MODELS:
        check.fail("info, memory_model", "unknown memory model", repr(info.memory_model), " or ".join(MEMORY_MODELS))
    for name in ("max_registers", "min_blocks"):
        bound(name, getattr(info, name), MOST)


def _names(fn: Function, check: _Check) -> None:
    """Check parameters, shared variables, labels, the line table and the instruction map."""
    n = len(fn.instrs)
    _params(fn, check)
    seen: set[str] = set()
    for v in fn.shared:
        _declared(v.name, seen, "shared variable", check)
        if v.align < 1 or v.align & (v.align - 1) or v.offset % v.align:
            check.fail(f"shared variable {v.name}", "misaligned", v.offset, f"a multiple of {v.align}, a power of two")
        if v.size < 1 or v.offset < 0 or v.offset + v.size > fn.info.shared_bytes:
            check.fail(
                f"shared variable {v.name}", "lies outside the static shared memory",
                f"bytes {v.offset}..{v.offset + v.size - 1}", f"within {fn.info.shared_bytes} bytes",
            )  # fmt: skip
    labels: set[str] = set()
    for index, name in fn.labels.items():
        _declared(name, labels, "label", check)
        if not 0 <= index < n or name == "uniform":
            check.fail(f"label {name}", "labels no instruction", index, f"0..{n - 1}")
    for index, (file, line) in fn.lines.items():
        if not 0 <= index < n or not 0 <= line < 1 << 31 or "\0" in file:
            check.fail("line table", "an instruction or line out of range", (index, line), f"words 0..{n - 1}")
    files = {file for file, _ in fn.lines.values()}
    for file in sorted(files):
        if len(file) > MAX_FILE_NAME or _SURROGATE.search(file):
            expected = f"UTF-8 text, {MAX_FILE_NAME} characters at most"
            check.fail("line table", "not a file name", ascii(file[:40]), expected)
    for what, count in (("source files", len(files)), ("shared variables", len(fn.shared))):
        if count > 0xFFFF:
            check.fail("", f"too many {what}", count, f"at most {0xFFFF}")
    if fn.origin is not None:
        if not NAME.fullmatch(fn.origin.function):
            check.fail("instruction map", "not a function name", repr(fn.origin.function[:40]))
        if len(fn.origin.index) != n or not all(-1 <= v < 1 << 24 for v in fn.origin.index):
            check.fail("instruction map", "does not fit the code", f"{len(fn.origin.index)} entries", f"{n}")
        if not all(0 <= v < 1 << 24 for v in fn.origin.inlined):
            check.fail("instruction map", "an inlined call out of range", "a number out of range", "0..16777215")


def _touches(module: Module, fn: Function, check: _Check) -> None:
    """Check the table of variables that accesses touch. A function may name the variables of its kernels."""
    if not fn.touches:
        return
    among = [fn] if fn.info.is_kernel else module.functions
    known = {v.name for f in among for v in f.shared} | {DYNAMIC}
    for word, names in fn.touches.items():
        place = f"table of touched variables, word {word}"
        if not 0 <= word < len(fn.instrs):
            check.fail(place, "no such word", word, f"0..{len(fn.instrs) - 1}")
        instr = fn.instrs[word]
        if instr.op.space not in (Space.SHARED, Space.GENERIC) or instr.f.get("spill"):
            check.fail(place, "accesses no variable in shared memory", instr.name, "a shared or generic access")
        if not names or any(one >= two for one, two in pairwise(names)):
            check.fail(place, "not a list of variables", repr(names)[:80], "one or more names, in ascending order")
        for name in names:
            if name not in known:
                expected = f"a shared variable of the {'kernel' if fn.info.is_kernel else 'file'}, or {DYNAMIC}"
                check.fail(place, "no such variable", repr(name[:40]), expected)


def _globals(module: Module, check: _Check) -> None:
    """Check the module's global and constant variables: names, alignment, place, initial data, no overlap."""
    seen: set[str] = set()
    for v in module.globals:
        _declared(v.name, seen, "global variable", check)
        where = f"global variable {v.name}"
        if v.align < 1 or v.align & (v.align - 1) or v.align > 1 << 16 or v.offset % v.align:
            expected = f"a multiple of {v.align}, a power of two up to 65536"
            check.fail(where, "misaligned", v.offset, expected)
        if v.size < 1 or v.offset < 0 or v.offset + v.size > GLOBAL_LIMIT:
            found = f"offset {v.offset}, size {v.size}"
            check.fail(where, "lies outside the window of variables", found, f"within {GLOBAL_LIMIT} bytes")
        if len(v.data) > v.size or v.data[-1:] == b"\0":
            check.fail(where, "bad initial data", f"{len(v.data)} bytes", f"at most {v.size}, the last one not 0")
    _disjoint([(v.offset, v.size, v.name) for v in module.globals], "global variable", check)
    for c in module.constant_vars:
        _declared(c.name, seen, "constant variable", check)
        length = len(module.constants.get(c.bank, b""))
        if c.size < 1 or c.offset < 0 or c.offset + c.size > length:
            found = f"bytes {c.offset}..{c.offset + c.size - 1} of bank {c.bank}"
            check.fail(f"constant variable {c.name}", "lies outside its bank", found, f"within {length} bytes")
    for bank in sorted({c.bank for c in module.constant_vars}):
        spans = [(c.offset, c.size, c.name) for c in module.constant_vars if c.bank == bank]
        _disjoint(spans, "constant variable", check)


def _params(fn: Function, check: _Check) -> None:
    """Check that the parameters have names of their own, lie in bank 0 and do not overlap."""
    seen: set[str] = set()
    for p in fn.info.params:
        _declared(p.name, seen, "parameter", check)
        if p.size < 1 or p.offset < 0 or p.offset + p.size > PARAM_BYTES:
            check.fail(f"parameter {p.name}", "lies outside bank 0", f"offset {p.offset}, size {p.size}")
    _disjoint([(p.offset, p.size, p.name) for p in fn.info.params], "parameter", check)


def _declared(name: str, seen: set[str], what: str, check: _Check) -> None:
    """Check that `name` is a name and new in its kind, and add it to `seen`. what: the kind, for messages."""
    if not NAME.fullmatch(name):
        check.fail(what, "not a name", repr(name[:40]), "letters, digits, _ $ . ; no digit first")
    if name in seen:
        check.fail(f"{what} {name}", "declared twice", remedy="Rename one of the two.")
    seen.add(name)


def _disjoint(spans: list[tuple[int, int, str]], what: str, check: _Check) -> None:
    """Check that (offset, size, name) of variables do not overlap."""
    ordered = sorted(spans)
    for (a, size, first), (b, _, second) in pairwise(ordered):
        if a + size > b:
            check.fail(f"{what} {second}", f"overlaps {first}", f"offset {b}", f"{a + size} or more")


def _resources(module: Module, fn: Function, highest: dict[str, int], check: _Check) -> None:
    """Check that registers and shared memory cover the code: of a kernel its whole call graph. highest: by function."""
    info = fn.info
    own = highest[fn.name] + 1
    if info.registers < own:
        check.fail("info, registers", "fewer than the code uses", info.registers, f"at least {own}")
    if not info.is_kernel:
        return
    for callee in module.reached(fn):
        need = highest[callee.name] + 1
        if info.registers < need:
            check.fail(
                "info, registers", f"fewer than {callee.name}, which the kernel calls, uses", info.registers,
                f"at least {need}", "A kernel reserves registers for its whole call graph.",
            )  # fmt: skip
        if info.shared_bytes < callee.info.shared_bytes:
            check.fail(
                "info, shared_bytes", f"less than {callee.name}, which the kernel calls, uses", info.shared_bytes,
                f"at least {callee.info.shared_bytes}", "A kernel reserves shared memory for its whole call graph.",
            )  # fmt: skip
