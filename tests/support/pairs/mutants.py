"""Mutants of rewritten modules: each is one small defect such as an allocator or rewriter could make.

    for mutant in mutants(rewritten, "kernel"): mutant.kind, mutant.place, mutant.module

Works on any rewritten module whose functions carry an instruction map. `ALWAYS_WRONG` are the kinds that no correct
checker may accept anywhere; a mutant of another kind may happen to be equivalent (a reload moved over an unrelated
instruction), which a run can tell: one that looks at memory where accesses change places (`MOVED_ACCESSES`), else one
that looks at every effect.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from binalloc.isa.instruction import Function, Instr, Module, Origin, make
from binalloc.isa.interface.places import PRED, REG
from binalloc.isa.interface.view import View
from binalloc.isa.loom.recognise import add_immediate, register_copy, special_register
from binalloc.isa.loom.view import links, relink, view
from tests.support.programs.calls import calls_of, link

ALWAYS_WRONG = frozenset(
    (
        "wrong callee",
        "wrong reconvergence point",
        "divergence flag lost",
        "slot_bytes too small",
        "registers too few",
        "spill_local too small",
        "local_bytes grown",
        "spill mark lost",
        "deleted operation",
        "deleted effect",
        "duplicated effect",
        "lost guard on an effect",
        "inverted guard on an effect",
        "guard added to an effect",
        "reordered effects",
        "changed modifier",
        "changed immediate",
        "changed memory offset",
        "parameters changed",
        "shared bytes changed",
        "block size changed",
        "constants changed",
        "variables changed",
        "effect inserted",
        "no map",
    )
)

MOVED_ACCESSES = "accesses in another order"


@dataclass
class Mutant:
    """place: function name and word index (-1: the function's info or the module)."""

    kind: str
    place: tuple[str, int]
    module: Module


Piece = int | tuple[Instr, int]
Mutation = Callable[[Module, Function], Iterator[tuple[str, int, Module]]]


def mutants(rewritten: Module, kernel: str) -> Iterator[Mutant]:
    """Every mutant of every function reachable from `kernel`, in a fixed order."""
    for fn in rewritten.reached(rewritten.function(kernel)):
        for mutation in _MUTATIONS:
            for kind, index, module in mutation(rewritten, fn):
                yield Mutant(kind, (fn.name, index), module)
    yield from _kernel_mutants(rewritten, kernel)


def rebuild(module: Module, fn: Function, pieces: list[Piece]) -> Module:
    """A copy of `module` in which `fn`'s code is `pieces`: kept words by index, or new (instruction, map entry).

    Branches keep pointing at what they pointed at (at the next kept word if that one is gone), calls at their callee.
    """
    assert fn.origin is not None
    place: dict[int, int] = {len(fn.instrs): len(pieces)}
    for at in range(len(pieces) - 1, -1, -1):
        piece = pieces[at]
        if isinstance(piece, int):
            place[piece] = at
    for i in range(len(fn.instrs) - 1, -1, -1):
        place.setdefault(i, place[i + 1])
    instrs, origin = [], []
    for at, piece in enumerate(pieces):
        if isinstance(piece, int):
            instr = fn.instrs[piece]
            moved = {k: place[piece + 1 + v] - at - 1 for k, v in links(instr).items()}
            instrs.append(relink(instr, moved))
            origin.append(fn.origin.index[piece])
        else:
            instrs.append(piece[0])
            origin.append(piece[1])
    calls = calls_of(module)
    own = calls[fn.name]
    calls[fn.name] = {at: own[piece] for at, piece in enumerate(pieces) if isinstance(piece, int) and piece in own}
    out = copy.copy(module)
    out.functions = [copy.copy(f) for f in module.functions]
    new = out.function(fn.name)
    new.instrs, new.origin = instrs, Origin(fn.origin.function, origin)
    link(out, calls)
    return out


def replaced(module: Module, fn: Function, index: int, instr: Instr) -> Module:
    """A copy with one word exchanged, its map entry kept."""
    out = copy.copy(module)
    out.functions = [copy.copy(f) for f in module.functions]
    new = out.function(fn.name)
    new.instrs = list(fn.instrs)
    new.instrs[index] = instr
    return out


def inserted(module: Module, fn: Function, at: int, instr: Instr) -> Module:
    """A copy with a word that stands for nothing in front of word `at`; branches to `at` pass it by."""
    pieces: list[Piece] = list(range(len(fn.instrs)))
    pieces.insert(at, (instr, -1))
    return rebuild(module, fn, pieces)


def _views(fn: Function) -> list[View]:
    return [view(i) for i in fn.instrs]


def _is_spill(v: View) -> bool:
    return v.memory is not None and v.memory.spill


def _effect(v: View) -> bool:
    """Does more than give its results."""
    return not v.pure and not _is_spill(v) and v.control not in ("branch", "call", "return", "exit")


def _plain_access(v: View) -> bool:
    """A load or store that only its own thread can tell from one a little later."""
    return v.memory is not None and v.memory.access != "atomic" and not v.memory.ordered


def _registers(fn: Function) -> list[int]:
    views = _views(fn)
    return sorted({n for v in views for r in (*v.defs, *v.uses) if r.file == REG for n in r.registers()})


# -- operands


def _operands(module: Module, fn: Function) -> Iterator[tuple[str, int, Module]]:
    registers = _registers(fn)
    for i, (instr, v) in enumerate(zip(fn.instrs, _views(fn), strict=True)):
        for role, refs in (("use", v.uses), ("definition", v.defs)):
            for ref in refs:
                if not ref.field:
                    continue
                if ref.file == PRED:
                    choices = [p for p in range(7) if p != ref.index]
                else:
                    fits = [r for r in registers if r % ref.units == 0 and r != ref.index]
                    choices = [r for r in fits if r + ref.units - 1 in registers]
                what = "predicate" if ref.file == PRED else "register"
                for choice in choices:
                    yield f"wrong {what} {role}", i, replaced(module, fn, i, instr.replace(**{ref.field: choice}))
        fields = [r for r in v.uses if r.field]
        for a, b in itertools.pairwise(fields):
            if a.file == b.file and a.units == b.units and a.index != b.index:
                mutated = instr.replace(**{a.field: b.index, b.field: a.index})
                yield "swapped operands", i, replaced(module, fn, i, mutated)


# -- what the rewriter adds


def _added(module: Module, fn: Function) -> Iterator[tuple[str, int, Module]]:
    assert fn.origin is not None
    whole: list[Piece] = list(range(len(fn.instrs)))
    for i, (instr, v) in enumerate(zip(fn.instrs, _views(fn), strict=True)):
        if v.control or (fn.origin.index[i] != -1 and not _is_spill(v)):
            continue
        kind = _added_kind(instr, v)
        yield f"dropped {kind}", i, rebuild(module, fn, whole[:i] + whole[i + 1 :])
        yield f"duplicated {kind}", i, rebuild(module, fn, [*whole[: i + 1], (instr, -1), *whole[i + 1 :]])
        if i + 1 < len(whole):
            yield f"moved {kind}", i, rebuild(module, fn, [*whole[:i], i + 1, i, *whole[i + 2 :]])
        if i:
            yield f"moved {kind}", i, rebuild(module, fn, [*whole[: i - 1], i, i - 1, *whole[i + 1 :]])
        memory = v.memory
        if memory is not None and memory.spill:
            step, what = (128, "slot") if memory.space == "shared" else (memory.size, "local offset")
            for delta in (-step, step):
                yield f"wrong {what}", i, replaced(module, fn, i, instr.replace(moff=memory.offset + delta))
            yield "spill mark lost", i, replaced(module, fn, i, instr.replace(spill=0))
        add = add_immediate(instr)
        if add is not None:
            for delta in (-128, 128):
                amount = (add[2] + delta) & 0xFFFFFFFF
                yield "wrong shift amount", i, replaced(module, fn, i, instr.replace(imm=amount))
        if v.constant and special_register(instr) is None:
            field = "imm" if "imm" in instr.f else "coff" if "coff" in instr.f else None
            if field:
                yield "wrong constant", i, replaced(module, fn, i, instr.replace(**{field: instr.f[field] ^ 4}))
        if "pmask" in instr.f:
            for bit in range(7):
                yield "wrong mask", i, replaced(module, fn, i, instr.replace(pmask=instr.f["pmask"] ^ 1 << bit))


def _added_kind(instr: Instr, v: View) -> str:
    if v.memory is not None and v.memory.spill:
        return "store" if v.memory.access == "store" else "reload"
    if register_copy(instr) is not None:
        return "copy"
    add = add_immediate(instr)
    if add is not None and add[0] == add[1]:
        return "pointer shift"
    if special_register(instr) == "SR_SLOTBASE":
        return "pointer setup"
    return "predicate move" if "pmask" in instr.f else "rematerialisation"


# -- what stands for the original


def _matched(module: Module, fn: Function) -> Iterator[tuple[str, int, Module]]:
    assert fn.origin is not None
    whole: list[Piece] = list(range(len(fn.instrs)))
    for i, (instr, v) in enumerate(zip(fn.instrs, _views(fn), strict=True)):
        k = fn.origin.index[i]
        if k == -1:
            continue
        moves = v.constant or register_copy(instr) is not None or _is_spill(v)
        kind = "effect" if _effect(v) else "operation"
        jump = v.control == "branch" and v.guard is None
        if jump:
            yield "deleted jump", i, rebuild(module, fn, whole[:i] + whole[i + 1 :])
        elif v.control not in ("return", "exit") and not moves and not (v.pure and v.defs):
            yield f"deleted {kind}", i, rebuild(module, fn, whole[:i] + whole[i + 1 :])
        elif v.pure:
            yield "deleted value", i, rebuild(module, fn, whole[:i] + whole[i + 1 :])
        if not v.control and not moves:
            yield f"duplicated {kind}", i, rebuild(module, fn, [*whole[: i + 1], (instr, k), *whole[i + 1 :]])
        if not v.control and _effect(v):
            yield "effect inserted", i, rebuild(module, fn, [*whole[: i + 1], (instr, -1), *whole[i + 1 :]])
        yield "map entry lost", i, _remapped(module, fn, i, -1)
        yield "wrong map entry", i, _remapped(module, fn, i, k + 1)
        if i + 1 < len(whole) and fn.origin.index[i + 1] != -1:
            both = _effect(v) and _effect(view(fn.instrs[i + 1]))
            swapped: list[Piece] = [*whole[:i], i + 1, i, *whole[i + 2 :]]
            kind = "reordered effects" if both else "reordered operations"
            if both and _plain_access(v) and _plain_access(view(fn.instrs[i + 1])):
                kind = MOVED_ACCESSES
            yield kind, i, rebuild(module, fn, swapped)
            out = rebuild(module, fn, swapped)
            origin = out.function(fn.name).origin
            assert origin is not None
            origin.index[i], origin.index[i + 1] = origin.index[i + 1], origin.index[i]
            yield "reordered with a false map", i, out
        yield from ((kind_, i, m) for kind_, m in _fields(module, fn, i, instr, v, moves))


def _remapped(module: Module, fn: Function, index: int, entry: int) -> Module:
    assert fn.origin is not None
    out = replaced(module, fn, index, fn.instrs[index])
    entries = list(fn.origin.index)
    entries[index] = entry
    out.function(fn.name).origin = Origin(fn.origin.function, entries)
    return out


def _fields(
    module: Module, fn: Function, i: int, instr: Instr, v: View, moves: bool
) -> Iterator[tuple[str, Module]]:
    """Another immediate, offset or modifier in an instruction of the original."""
    operands = {r.field for r in (*v.defs, *v.uses)}
    skip = {"form", "width", "spill", "target", "reconv", "diverges", "rd", "ra", "rb", "rc", "limm", "cimm", "pmask"}
    for name in instr.f:
        if name in operands or name in skip or name[:2] in ("pd", "ps"):
            continue
        kind = {"moff": "changed memory offset", "imm": "changed immediate"}.get(name, "changed modifier")
        if moves:
            kind = "changed constant"
        delta = 4 if name in ("moff", "coff") else 1
        yield kind, replaced(module, fn, i, instr.replace(**{name: instr.f[name] ^ delta}))
    if "width" in instr.f and instr.f["width"] == 5:
        yield "changed modifier", replaced(module, fn, i, instr.replace(width=4))


# -- guards and control


def _guards(module: Module, fn: Function) -> Iterator[tuple[str, int, Module]]:
    for i, (instr, v) in enumerate(zip(fn.instrs, _views(fn), strict=True)):
        on = " on an effect" if _effect(v) else ""
        if v.guard is None:
            if not v.control:
                kind = "guard added to an effect" if on else "guard added"
                yield kind, i, replaced(module, fn, i, instr.replace(guard=(0, False)))
            continue
        p, neg = v.guard
        yield "lost guard" + on, i, replaced(module, fn, i, instr.replace(guard=(7, False)))
        yield "inverted guard" + on, i, replaced(module, fn, i, instr.replace(guard=(p, not neg)))
        for other in range(7):
            if other != p:
                yield "wrong guard predicate", i, replaced(module, fn, i, instr.replace(guard=(other, neg)))


def _control(module: Module, fn: Function) -> Iterator[tuple[str, int, Module]]:
    for i, (instr, v) in enumerate(zip(fn.instrs, _views(fn), strict=True)):
        if v.control == "branch":
            for delta in (-2, -1, 1, 2):
                yield "wrong branch target", i, replaced(module, fn, i, instr.replace(target=instr.f["target"] + delta))
                if instr.f["diverges"]:
                    mutated = instr.replace(reconv=instr.f["reconv"] + delta)
                    yield "reconvergence point moved", i, replaced(module, fn, i, mutated)
            if instr.f["diverges"]:
                yield "divergence flag lost", i, replaced(module, fn, i, instr.replace(diverges=0, reconv=0))
                yield "wrong reconvergence point", i, replaced(module, fn, i, instr.replace(reconv=-i - 1))
        if v.control == "call":
            right = module.callee(fn, i)
            for f in module.functions:
                if f is not right and f is not fn and not f.info.is_kernel:
                    target = f.address - fn.address - i - 1
                    stands_for = [g.origin.function if g is not None and g.origin else "" for g in (f, right)]
                    same = stands_for[0] == stands_for[1]
                    kind = "other clone called" if same else "wrong callee"
                    yield kind, i, replaced(module, fn, i, instr.replace(target=target))
            yield "wrong callee", i, replaced(module, fn, i, instr.replace(target=instr.f["target"] + 1))


# -- clobbers


def _clobbers(module: Module, fn: Function) -> Iterator[tuple[str, int, Module]]:
    """Values destroyed where somebody may still need them; in a callee that is a clobber across a call."""
    registers = _registers(fn)
    everywhere = sorted({r for f in module.functions for r in _registers(f)})
    pointer = next((f.info.slot_pointer for f in module.functions if f.info.is_kernel), 255)
    for i in range(len(fn.instrs)):
        for r in registers if fn.info.is_kernel else everywhere:
            yield "clobbered register", i, inserted(module, fn, i, make("MOV", rd=r, form=1, imm=0xBAD))
        for p in range(7):
            yield "killed predicate", i, inserted(module, fn, i, make("PLOP3", pd0=p, lut_b=0x55))
        if pointer != 255 and i > 0:
            for row in (-1, 0, 1):
                instr = make("STS", ra=pointer, rb=pointer, moff=128 * row, spill=1, width=4)
                yield "clobbered slot", i, inserted(module, fn, i, instr)


def _kernel_mutants(module: Module, kernel: str) -> Iterator[Mutant]:
    """Wrong declarations."""
    fn = module.function(kernel)
    info = fn.info
    views = [v for f in module.reached(module.function(kernel)) for v in _views(f)]
    changes: list[tuple[str, dict[str, object]]] = [
        ("shared bytes changed", {"shared_bytes": info.shared_bytes + 4}),
        ("block size changed", {"block": (64, 1, 1) if info.block != (64, 1, 1) else (32, 1, 1)}),
        ("parameters changed", {"params": [*info.params, *info.params[:1]] if info.params else [object()]}),
        ("local_bytes grown", {"local_bytes": info.local_bytes + 16}),
    ]
    top = max((r.index + r.units for v in views for r in (*v.defs, *v.uses) if r.file == REG), default=0)
    if top:
        changes.append(("registers too few", {"registers": top - 1}))
    slots = [v.memory for v in views if v.memory is not None and v.memory.spill and v.memory.space == "shared"]
    if slots:
        changes.append(("slot_bytes too small", {"slot_bytes": 0}))
        if info.slot_bytes > 128:
            changes.append(("slot_bytes one less", {"slot_bytes": info.slot_bytes - 128}))
    words = [v.memory for v in views if v.memory is not None and v.memory.spill and v.memory.space == "local"]
    if words:
        end = max(m.offset + m.size for m in words) - info.local_bytes
        changes.append(("spill_local too small", {"spill_local": end - 4}))
    for kind, change in changes:
        out = replaced(module, fn, 0, fn.instrs[0])
        new = out.function(kernel)
        new.info = copy.copy(info)
        for key, value in change.items():
            setattr(new.info, key, value)
        yield Mutant(kind, (kernel, -1), out)
    out = replaced(module, fn, 0, fn.instrs[0])
    out.function(kernel).origin = None
    yield Mutant("no map", (kernel, -1), out)
    for bank, data in sorted(module.constants.items()):
        if data:
            out = copy.copy(module)
            out.constants = {**module.constants, bank: bytes([data[0] ^ 1]) + data[1:]}
            yield Mutant("constants changed", ("", bank), out)
    if module.globals:
        out = copy.copy(module)
        first = module.globals[0]
        out.globals = [replace(first, data=b"\x02" if first.data == b"\x01" else b"\x01"), *module.globals[1:]]
        yield Mutant("variables changed", ("", 0), out)


_MUTATIONS: tuple[Mutation, ...] = (_operands, _added, _matched, _guards, _control, _clobbers)
