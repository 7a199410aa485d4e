"""Mutants of whole programs beyond `mutants`: other kernels, clones, code addresses, constants, declarations.

    for mutant in program_mutants(rewritten, "kernel"): mutant.kind, mutant.place, mutant.module

Functions outside the kernel's call graph are changed as well: a rewrite of one kernel must leave them as they were.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from binalloc.isa.instruction import Function, FunctionInfo, Instr, Module, Origin, Param, SharedVar, make
from binalloc.isa.loom.view import view
from binalloc.isa.source_facts import MEMORY_MODELS
from tests.support.pairs.mutants import Mutant, inserted, rebuild, replaced
from tests.support.programs.calls import calls_of, link


def program_mutants(rewritten: Module, kernel: str) -> Iterator[Mutant]:
    """All of them, in a fixed order."""
    for mutation in _MUTATIONS:
        yield from mutation(rewritten, kernel)


def _copy(module: Module) -> Module:
    out = copy.copy(module)
    out.functions = [copy.copy(fn) for fn in module.functions]
    out.constants = dict(module.constants)
    for fn in out.functions:
        fn.info = copy.copy(fn.info)
        fn.instrs = list(fn.instrs)
    return out


def _outside(module: Module, kernel: str) -> list[Function]:
    inside = {fn.name for fn in module.reached(module.function(kernel))}
    return [fn for fn in module.functions if fn.name not in inside]


def _relinked(module: Module, functions: list[Function], renamed: dict[str, str] | None = None) -> Module:
    """A copy with these functions, laid out anew; calls enter the functions of the same names, or of `renamed`."""
    calls = {
        name: {at: (renamed or {}).get(callee, callee) for at, callee in own.items()}
        for name, own in calls_of(module).items()
    }
    out = copy.copy(module)
    out.functions = [copy.copy(fn) for fn in functions]
    link(out, calls)
    return out


def _constant_changed(instr: Instr) -> Instr | None:
    """The instruction with another immediate."""
    return instr.replace(imm=instr.f["imm"] ^ 1) if "imm" in instr.f else None


# -- functions that the rewrite is not about


def _others(module: Module, kernel: str) -> Iterator[Mutant]:
    entered = {callee for own in calls_of(module).values() for callee in own.values()}
    indirect = any(x.op.control == "call_indirect" for f in module.functions for x in f.instrs)
    for fn in _outside(module, kernel):
        if fn.info.is_kernel:
            what = "other kernel"
        elif fn.name in entered:
            what = "shared callee"
        else:
            what = "function reached by address" if indirect else "function nobody calls"
        for i, instr in enumerate(fn.instrs):
            other = _constant_changed(instr)
            if other is not None:
                out = replaced(module, fn, i, other)
                yield Mutant(f"{what} changed", (fn.name, i), out)
                mapped = _copy(out)
                mapped.function(fn.name).origin = Origin(fn.name, list(range(len(fn.instrs))))
                yield Mutant(f"{what} changed under a map", (fn.name, i), mapped)
                foreign = _copy(out)
                foreign.function(fn.name).origin = Origin(kernel, [k % 3 for k in range(len(fn.instrs))])
                yield Mutant(f"{what} changed under another function's map", (fn.name, i), foreign)
                nonsense = _copy(out)
                nonsense.function(fn.name).origin = Origin("nowhere", [-1] * len(fn.instrs))
                yield Mutant(f"{what} changed under a map of nothing", (fn.name, i), nonsense)
        for i, instr in enumerate(fn.instrs):
            if instr.guarded and not instr.op.control:
                sense = instr.replace(guard=(instr.guard, not instr.guard_neg))
                yield Mutant(f"{what}'s guard inverted", (fn.name, i), replaced(module, fn, i, sense))
        for field, value in (("registers", fn.info.registers + 1), ("local_bytes", fn.info.local_bytes + 16),
                             ("spill_local", 16), ("max_threads", 32), ("block", (96, 1, 1)),
                             ("shared_bytes", fn.info.shared_bytes + 128), ("local_stack", 2)):  # fmt: skip
            out = _copy(module)
            setattr(out.function(fn.name).info, field, value)
            yield Mutant(f"{what}'s {field} changed", (fn.name, -1), out)
        rest = [f for f in module.functions if f is not fn]
        if fn.name not in entered:
            yield Mutant(f"{what} dropped", (fn.name, -1), _relinked(module, rest))
        if not fn.info.is_kernel or fn.name not in entered:
            out = _relinked(module, module.functions)
            out.function(fn.name).name = fn.name + "_"
            yield Mutant(f"{what} renamed", (fn.name, -1), out)
    yield from _moved(module, kernel, indirect)


def _moved(module: Module, kernel: str, indirect: bool) -> Iterator[Mutant]:
    """Functions at other code addresses: nobody minds unless an address is taken."""
    kind = "addresses moved under indirect calls" if indirect else "addresses moved where none is taken"
    yield Mutant(kind, ("", 0), _relinked(module, module.functions[::-1]))
    first = module.functions[0]
    padding = Function("padding", [make("RET")], FunctionInfo(kind="function"), address=0)
    padding.origin = Origin(first.name, [-1])
    yield Mutant(kind, ("", 1), _relinked(module, [padding, *module.functions]))
    if not indirect:
        return
    for fn in module.functions:
        for i, instr in enumerate(fn.instrs):
            # what a CALL.IND reads was put there by a MOV of an immediate just before
            if instr.op.control == "call_indirect" and i and "imm" in fn.instrs[i - 1].f:
                other = fn.instrs[i - 1].replace(imm=fn.instrs[i - 1].f["imm"] + 8 & 0xFFFFFFFF)
                yield Mutant("code address changed", (fn.name, i - 1), replaced(module, fn, i - 1, other))


# -- clones


def _clones(module: Module, kernel: str) -> Iterator[Mutant]:
    """A second copy of a callee: harmless if it is one, wrong if it differs or if the wrong one is called."""
    inside = module.reached(module.function(kernel))
    for caller in inside:
        for i, instr in enumerate(caller.instrs):
            callee = module.callee(caller, i) if instr.op.control == "call" else None
            if callee is None:
                continue
            for f in module.functions:
                if f is not callee and not f.info.is_kernel and f.name.split("$")[0] == callee.name.split("$")[0]:
                    target = f.address - caller.address - i - 1
                    other = replaced(module, caller, i, instr.replace(target=target))
                    yield Mutant("original called in place of its clone", (caller.name, i), other)
            yield Mutant("equal clone called", (caller.name, i), _second(module, caller, i, callee, callee.instrs))
            for k, word in enumerate(callee.instrs):
                changed = _constant_changed(word)
                if changed is not None and not word.op.control:
                    code = [*callee.instrs[:k], changed, *callee.instrs[k + 1 :]]
                    yield Mutant("clone with another constant", (caller.name, i),
                                 _second(module, caller, i, callee, code))  # fmt: skip
            clobber = inserted(module, callee, 0, make("MOV", rd=_live(caller, i), form=1, imm=0xBAD))
            code = clobber.function(callee.name).instrs
            yield Mutant("clone that clobbers", (caller.name, i), _second(module, caller, i, callee, code, extra=1))
    for outer in _outside(module, kernel):
        for i, instr in enumerate(outer.instrs):
            callee = module.callee(outer, i) if instr.op.control == "call" else None
            for f in module.functions if callee is not None else ():
                if callee is not None and f.name.startswith(callee.name + "$"):
                    other = replaced(module, outer, i, instr.replace(target=f.address - outer.address - i - 1))
                    yield Mutant("other kernel calls the clone", (outer.name, i), other)


def _live(fn: Function, call: int) -> int:
    """A register that is read behind the call."""
    for instr in fn.instrs[call + 1 :]:
        for ref in view(instr).uses:
            if ref.file == "R":
                return ref.index
    return 0


def _second(
    module: Module, caller: Function, at: int, callee: Function, code: list[Instr], *, extra: int = 0
) -> Module:
    """The call at word `at` of `caller` enters a second copy of `callee` with `code` (`extra` words in front)."""
    assert callee.origin is not None
    clone = replace(callee, name=callee.name + "_2", instrs=list(code), info=copy.copy(callee.info))
    clone.origin = Origin(callee.origin.function, [-1] * extra + list(callee.origin.index))
    calls = {k + extra: c.name for k, x in enumerate(callee.instrs)
             if x.op.control == "call" and (c := module.callee(callee, k)) is not None}  # fmt: skip
    out = _relinked(module, [*module.functions, clone])
    new = out.function(clone.name)
    for k, name in calls.items():
        new.instrs[k] = new.instrs[k].replace(target=out.function(name).address - new.address - k - 1)
    here = out.function(caller.name)
    here.instrs[at] = here.instrs[at].replace(target=new.address - here.address - at - 1)
    return out


# -- constants


def _constants(module: Module, kernel: str) -> Iterator[Mutant]:
    for bank, data in sorted(module.constants.items()):
        variants = [
            ("constant bank shortened", data[:-1]), ("constant bank shortened", data[:4]),
            ("constant bank lengthened", data + b"\7" * 16), ("last constant changed", data[:-1] + b"\1" * 1),
            ("constants moved", data[4:] + data[:4]),
        ]  # fmt: skip
        for kind, changed in variants:
            if changed != data:
                out = _copy(module)
                out.constants[bank] = changed
                yield Mutant(kind, ("", bank), out)
        out = _copy(module)
        del out.constants[bank]
        yield Mutant("constant bank dropped", ("", bank), out)
    out = _copy(module)
    out.constants[30] = b"added"
    yield Mutant("constant bank added", ("", 30), out)
    for fn in module.reached(module.function(kernel)):
        free = _free_register(module)
        for bank, offset in ((30, 0), (3, 65532), (0, 4096), (3, len(module.constants.get(3, b"")))):
            reads = [make("MOV", rd=255, form=2, cbank=bank, coff=offset & -4)]
            reads.append(make("LDC", rd=free, cbank=bank, coff=offset & -4, width=4))
            reads.append(make("LDC", rd=free, ra=free, cbank=bank, coff=offset & -4, width=4))
            for read in reads:
                yield Mutant("constant read beyond its bank", (fn.name, 0), inserted(module, fn, 0, read))


def _free_register(module: Module) -> int:
    """The highest register that any kernel reserves."""
    return max((fn.info.registers for fn in module.functions), default=1) - 1


# -- declarations of the rewritten functions


def _declarations(module: Module, kernel: str) -> Iterator[Mutant]:
    info = module.function(kernel).info
    changes: list[tuple[str, dict[str, Any]]] = [
        ("launch bound changed", {"max_threads": 32 if info.max_threads != 32 else 64}),
        ("author's bounds changed", {"max_registers": info.max_registers + 1}),
        ("another memory model", {"memory_model": next(m for m in MEMORY_MODELS if m != info.memory_model)}),
        ("block size no longer required", {"block": (0, 0, 0)}),
        ("local stack register dropped", {"local_stack": 255}),
        ("registers grown until no block fits", {"registers": 255}),
        ("slots grown until no block fits", {"slot_bytes": info.slot_bytes + (1 << 20)}),
        ("spill area grown until no block fits", {"spill_local": info.spill_local + (1 << 23)}),
        ("frame area shrunk under the spill area", {"local_bytes": max(0, info.local_bytes - 16)}),
        ("slot pointer not declared", {"slot_pointer": 255}),
        ("slot bytes of half a row", {"slot_bytes": info.slot_bytes + 64}),
        ("shared memory shrunk", {"shared_bytes": max(0, info.shared_bytes - 4)}),
        ("kernel's own frame changed", {"local_frame": info.local_frame + 4}),
        ("kernel became a function", {"kind": "function"}),
    ]
    other = {"local_stack": (info.local_stack + 1) % info.registers}
    changes.append(("local stack register " + ("added" if info.local_stack == 255 else "changed"), other))
    if info.slot_pointer != 255:
        changes.append(("slot pointer declared elsewhere", {"slot_pointer": (info.slot_pointer + 1) % info.registers}))
    for k, p in enumerate(info.params[:2]):
        for changed in (Param(p.name, p.offset + 128, p.size), Param(p.name, p.offset, p.size // 2),
                        Param(p.name + "_", p.offset, p.size)):  # fmt: skip
            params = [*info.params[:k], changed, *info.params[k + 1 :]]
            changes.append(("parameter moved, resized or renamed", {"params": params}))
    if len(info.params) > 1:
        changes.append(("parameters in another order", {"params": info.params[::-1]}))
    for kind, change in changes:
        out = _copy(module)
        for key, value in change.items():
            setattr(out.function(kernel).info, key, value)
        if out.function(kernel).info != info:
            yield Mutant(kind, (kernel, -1), out)
    shared = module.function(kernel).shared
    for k, v in enumerate(shared):
        out = _copy(module)
        moved = SharedVar(v.name, v.offset + v.align, v.size, v.align)
        out.function(kernel).shared = [*shared[:k], moved, *shared[k + 1 :]]
        yield Mutant("shared variable moved", (kernel, -1), out)
    yield from _callee_declarations(module, kernel)


def _callee_declarations(module: Module, kernel: str) -> Iterator[Mutant]:
    for fn in module.reached(module.function(kernel))[1:]:
        info = fn.info
        changes: list[tuple[str, dict[str, object]]] = [
            ("callee's registers too few", {"registers": 0}),
            ("callee's registers too many", {"registers": 255}),
            ("callee's frame changed", {"local_frame": info.local_frame + 4}),
            ("callee became a kernel", {"kind": "kernel"}),
            ("callee's launch bound", {"max_threads": 32}),
            ("callee's memory model", {"memory_model": next(m for m in MEMORY_MODELS if m != info.memory_model)}),
            ("callee's block size", {"block": (32, 1, 1)}),
            ("callee's parameters", {"params": [Param("extra", 0, 4)]}),
            ("callee's shared memory", {"shared_bytes": info.shared_bytes + 4}),
            ("callee's slots", {"slot_bytes": info.slot_bytes + 128}),
            ("callee's local stack register", {"local_stack": 1}),
        ]
        for kind, change in changes:
            out = _copy(module)
            for key, value in change.items():
                setattr(out.function(fn.name).info, key, value)
            yield Mutant(kind, (fn.name, -1), out)
        out = _copy(module)
        out.function(fn.name).shared = [SharedVar("extra", 0, 4, 4)]
        yield Mutant("callee's shared variables", (fn.name, -1), out)


# -- what says nothing about what the program does


def _harmless(module: Module, kernel: str) -> Iterator[Mutant]:
    fn = module.function(kernel)
    out = _copy(module)
    out.function(kernel).lines = {0: ("nonsense.cu", 4711), len(fn.instrs) - 1: ("", 0)}
    yield Mutant("line table nonsense", (kernel, -1), out)
    out = _copy(module)
    out.function(kernel).labels = {0: "somewhere"}
    yield Mutant("labels changed", (kernel, -1), out)
    out = _copy(module)
    out.provenance = []
    yield Mutant("provenance lost", (kernel, -1), out)
    out = _copy(module)
    out.provenance = [{"tool": "nonsense"}]
    yield Mutant("provenance nonsense", (kernel, -1), out)
    for at in range(0, len(fn.instrs), 9):
        yield Mutant("word without effect added", (kernel, at), inserted(module, fn, at, make("NOP")))
    for at, instr in enumerate(fn.instrs):
        if instr.name == "NOP":
            rest = [k for k in range(len(fn.instrs)) if k != at]
            yield Mutant("word without effect deleted", (kernel, at), rebuild(module, fn, list(rest)))


Mutation = Callable[[Module, str], Iterator[Mutant]]
_MUTATIONS: tuple[Mutation, ...] = (_others, _clones, _constants, _declarations, _harmless)
