"""Mutants of single functions beyond `mutants`: barriers, lanes that are active together, predicates, slot
pointer, frames.

    for mutant in flow_mutants(rewritten, "kernel"): mutant.kind, mutant.place, mutant.module
"""

from __future__ import annotations

from collections.abc import Iterator

from binalloc.isa.instruction import Function, Instr, Module, make
from binalloc.isa.loom.recognise import add_immediate, register_copy, special_register
from binalloc.isa.loom.view import view
from binalloc.isa.table.opcodes import SPECIAL_REGISTERS
from tests.support.pairs.mutants import Mutant, Mutation, Piece, inserted, rebuild, replaced

SR = {name: k for k, name in enumerate(SPECIAL_REGISTERS)}
Found = Iterator[tuple[str, int, Module]]


def flow_mutants(rewritten: Module, kernel: str) -> Iterator[Mutant]:
    """Every mutant of every function reachable from `kernel`, in a fixed order."""
    for fn in rewritten.reached(rewritten.function(kernel)):
        for mutation in _MUTATIONS:
            for kind, index, module in mutation(rewritten, fn):
                if module.function(fn.name).instrs != fn.instrs:
                    yield Mutant(kind, (fn.name, index), module)


def _without(module: Module, fn: Function, index: int) -> Module:
    pieces: list[Piece] = [k for k in range(len(fn.instrs)) if k != index]
    return rebuild(module, fn, pieces)


def _words(fn: Function, *names: str) -> Iterator[tuple[int, Instr]]:
    return ((i, instr) for i, instr in enumerate(fn.instrs) if not names or instr.name in names)


# -- barriers and fences


def _barriers(module: Module, fn: Function) -> Found:
    for i, bar in _words(fn, "BAR"):
        yield "barrier id changed", i, replaced(module, fn, i, bar.replace(barid=bar.f["barid"] ^ 1))
        for kind in range(5):
            if kind != bar.f["bar"]:
                yield "barrier kind changed", i, replaced(module, fn, i, bar.replace(bar=kind))
        if "imm" in bar.f:
            for count in (0, 32, 64, 96):
                if count != bar.f["imm"]:
                    yield "barrier count changed", i, replaced(module, fn, i, bar.replace(imm=count))
        yield "barrier removed", i, _without(module, fn, i)
        if bar.guarded:
            yield "barrier's guard lost", i, replaced(module, fn, i, bar.replace(guard=(7, False)))
        else:
            yield "barrier guarded", i, replaced(module, fn, i, bar.replace(guard=(0, True)))
        yield "barrier never reached", i, replaced(module, fn, i, bar.replace(guard=(7, True)))
    for i in range(0, len(fn.instrs), 7):
        yield "barrier added", i, inserted(module, fn, i, make("BAR", form=1, imm=0))
        yield "lanes named", i, inserted(module, fn, i, make("WARPSYNC", form=1, imm=0xFFFFFFFF))
    for i, fence in _words(fn, "MEMBAR"):
        yield "fence removed", i, _without(module, fn, i)
        yield "fence scope changed", i, replaced(module, fn, i, fence.replace(scope=(fence.f["scope"] + 1) % 3))


# -- which lanes are together


def _lanes(module: Module, fn: Function) -> Found:
    count = len(fn.instrs)
    for i, bra in _words(fn, "BRA"):
        f = bra.f
        if f["diverges"]:
            for delta in (-1, 1):
                if 0 <= i + 1 + f["reconv"] + delta < count:
                    moved = bra.replace(reconv=f["reconv"] + delta)
                    yield "reconvergence point one word off", i, replaced(module, fn, i, moved)
            yield "reconvergence at the target", i, replaced(module, fn, i, bra.replace(reconv=f["target"]))
            yield "reconvergence at the end", i, replaced(module, fn, i, bra.replace(reconv=count - i - 2))
            yield "reconvergence behind the branch", i, replaced(module, fn, i, bra.replace(reconv=0))
            yield "branch said to be uniform", i, replaced(module, fn, i, bra.replace(diverges=0, reconv=0))
        elif bra.guarded:
            split = bra.replace(diverges=1, reconv=f["target"])
            yield "uniform branch may diverge", i, replaced(module, fn, i, split)
        if bra.guarded:
            sense = bra.replace(guard=(bra.guard, not bra.guard_neg))
            yield "sense of a branch inverted", i, replaced(module, fn, i, sense)
            yield "branch to the next word", i, replaced(module, fn, i, bra.replace(target=0))
            yield "word added behind a branch", i, inserted(module, fn, i + 1, make("NOP"))
            never = bra.replace(guard=(7, True))
            yield "branch never taken", i, replaced(module, fn, i, never)
            between = range(i + 1, min(i + 1 + max(f["target"], 0), i + 4))
            for k in between:
                if view(fn.instrs[k]).pure:
                    yield "word between branch and target deleted", k, _without(module, fn, k)
    for i in range(0, count - 1, 5):
        for point in (0, 1):
            split = make("BRA", guard=(i % 7, False), target=0, diverges=1, reconv=point)
            kind = "lanes split and joined at once" if point == 0 else "lanes split by an added branch"
            yield kind, i, inserted(module, fn, i, split)
        uniform = make("BRA", guard=(i % 7, False), target=0)
        yield "added branch said to be uniform", i, inserted(module, fn, i, uniform)
        end = "EXIT" if fn.info.is_kernel else "RET"
        yield "early end added", i, inserted(module, fn, i, make(end, guard=(i % 7, True)))
    for i, leave in _words(fn, "RET", "EXIT"):
        other = make("RET" if leave.name == "EXIT" else "EXIT", guard=(leave.guard, leave.guard_neg))
        yield "return and exit exchanged", i, replaced(module, fn, i, other)
    for i, call in _words(fn, "CALL"):
        yield "call under another guard", i, replaced(module, fn, i, call.replace(guard=(i % 7, bool(i & 1))))
        yield "call said twice", i, rebuild(module, fn, _twice(fn, i))


def _twice(fn: Function, index: int) -> list[Piece]:
    assert fn.origin is not None
    pieces: list[Piece] = list(range(len(fn.instrs)))
    pieces.insert(index + 1, index)
    return pieces


# -- predicates and results


def _predicates(module: Module, fn: Function) -> Found:
    for i, instr in _words(fn):
        f = instr.f
        if "pd1" in f:
            if f["pd0"] != f["pd1"]:
                swapped = instr.replace(pd0=f["pd1"], pd1=f["pd0"])
                yield "predicate results swapped", i, replaced(module, fn, i, swapped)
                yield "both results in one predicate", i, replaced(module, fn, i, instr.replace(pd1=f["pd0"]))
            elif f["pd0"] != 7:
                yield "first of two equal results dropped", i, replaced(module, fn, i, instr.replace(pd0=7))
                yield "second of two equal results dropped", i, replaced(module, fn, i, instr.replace(pd1=7))
        for name in ("ps0n", "ps1n", "ps2n"):
            if name in f and f[name[:-1]] != 7:
                yield "sense of a predicate inverted", i, replaced(module, fn, i, instr.replace(**{name: f[name] ^ 1}))
        if instr.name == "PLOP3":
            for name in ("lut_b", "lut2"):
                changed = instr.replace(**{name: f[name] ^ (1 << i % 8)})
                yield "table of PLOP3 changed", i, replaced(module, fn, i, changed)
            if f["lut_b"] != f["lut2"]:
                swapped = instr.replace(lut_b=f["lut2"], lut2=f["lut_b"])
                yield "tables of PLOP3 swapped", i, replaced(module, fn, i, swapped)
        if instr.name == "ISETP":
            yield "comparison inverted", i, replaced(module, fn, i, instr.replace(icmp=7 - f["icmp"]))
        if instr.name == "R2P" and f["pmask"]:
            fewer = instr.replace(pmask=f["pmask"] & f["pmask"] - 1)
            yield "predicate left out of R2P", i, replaced(module, fn, i, fewer)
        if instr.name in ("ATOMS", "ATOMG", "RED"):
            yield "atomic operation changed", i, replaced(module, fn, i, instr.replace(aop=f["aop"] ^ 1))
        if instr.name in ("STG", "STS", "STL", "ST") and not f.get("spill") and f["width"] > 4:
            yield "store narrowed", i, replaced(module, fn, i, instr.replace(width=4))
        if instr.name in ("S2R", "CS2R"):
            name = special_register(instr)
            others = [n for n in ("SR_LANEID", "SR_DYNAMIC_SMEM", "SR_TOTAL_SMEM", "SR_SLOTBASE") if n != name]
            for other in others:
                kind = "slot pointer from another register" if name == "SR_SLOTBASE" else "other special register"
                yield kind, i, replaced(module, fn, i, instr.replace(sreg=SR[other]))


# -- the slot pointer


def _pointer(module: Module, fn: Function) -> Found:
    pointer = next((f.info.slot_pointer for f in module.functions if f.info.slot_pointer != 255), 255)
    if pointer == 255:
        return
    assert fn.origin is not None
    for i in range(1, len(fn.instrs), 3):
        step = make("IADD3", rd=pointer, ra=pointer, form=1, imm=128, rc=255)
        yield "slot pointer raised", i, inserted(module, fn, i, step)
        yield "slot pointer raised in some lanes", i, inserted(module, fn, i, step.replace(guard=(i % 7, False)))
        yield "slot pointer overwritten", i, inserted(module, fn, i, make("S2R", rd=pointer, sreg=SR["SR_TID.X"]))
        again = make("S2R", rd=pointer, sreg=SR["SR_SLOTBASE"])
        kind = "slot pointer set again" if fn.info.is_kernel else "slot pointer set again in a callee"
        yield kind, i, inserted(module, fn, i, again)
    for i, instr in _words(fn):
        shift = add_immediate(instr) if fn.origin.index[i] == -1 else None
        if shift is not None and shift[0] == pointer:
            amount = instr.f["imm"]
            lowered = bool(amount >> 31)
            yield f"slot pointer not {'lowered' if lowered else 'raised'}", i, _without(module, fn, i)
            for wrong in (amount ^ 4, -amount & 0xFFFFFFFF, amount + 256 & 0xFFFFFFFF):
                yield "slot pointer shifted wrongly", i, replaced(module, fn, i, instr.replace(imm=wrong))
            yield "slot pointer shifted in some lanes", i, replaced(module, fn, i, instr.replace(guard=(i % 7, False)))


# -- frames


def _frames(module: Module, fn: Function) -> Found:
    whole = list(range(len(fn.instrs)))
    own = [i for i, x in _words(fn, "LDL", "STL") if not x.f["spill"]]
    if own:
        pieces: list[Piece] = list(whole)
        assert fn.origin is not None
        for i in own:
            instr = fn.instrs[i]
            pieces[i] = (instr.replace(moff=instr.f["moff"] + 16), fn.origin.index[i])
        yield "frame moved", own[0], rebuild(module, fn, pieces)
    low = next((f.info.local_bytes for f in module.functions if f.info.is_kernel), 0)
    for i, instr in _words(fn, "LDL", "STL"):
        moff = instr.f["moff"]
        if instr.f["spill"]:
            yield "spill word in the frame", i, replaced(module, fn, i, instr.replace(moff=moff - low, spill=0))
            yield "spill access off its word", i, replaced(module, fn, i, instr.replace(moff=moff ^ 2))
        else:
            yield "frame access said to be a spill", i, replaced(module, fn, i, instr.replace(spill=1))
            other = make("ST" if instr.name == "STL" else "LD", width=4, moff=moff)
            if instr.f["ra"] == 255:
                yield "frame access made generic", i, replaced(module, fn, i, other)
    for i, instr in _words(fn):
        copy = register_copy(instr)
        if copy is not None and not instr.guarded and copy[0] != copy[1]:
            # the copy goes the other way: the value that should be kept is lost
            yield "copy turned round", i, replaced(module, fn, i, instr.replace(rd=copy[1], rb=copy[0]))


_MUTATIONS: tuple[Mutation, ...] = (_barriers, _lanes, _predicates, _pointer, _frames)
