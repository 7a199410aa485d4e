"""Pairs by seed: small random programs, and a plain rewriter that moves their values about at random.

`random_original` makes a kernel with loops, divergence, guards, calls, pairs, quads, predicates and fixed local words.
`random_rewrite` gives every aligned quad of registers and every predicate a new home: another register, slot rows, or
local spill words, with reloads before uses and stores after definitions; calls shift the slot pointer. It shares
nothing with the real rewriter.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from binalloc.isa.instruction import Function, FunctionInfo, Instr, Module, Origin, make
from binalloc.isa.interface.places import PRED, REG
from binalloc.isa.interface.view import Ref
from binalloc.isa.loom.view import links, relink, view
from binalloc.isa.validate import highest_register
from tests.support.programs.builder import ALWAYS, Code, Guard, module_of
from tests.support.programs.calls import Calls, calls_of, link

KERNEL = "k"
QUADS = 5
CONSTANTS = 4 * QUADS  # the quad above the others: each of its registers is defined once, by a constant
REGISTERS = CONSTANTS + 4
PREDICATES = 4


class _Maker:
    """Draws the code of one function. callees: functions that it may call."""

    def __init__(self, rng: random.Random, name: str, callees: list[str]) -> None:
        self.rng, self.callees = rng, callees
        self.code = Code(name, kernel=name == KERNEL)

    def reg(self, units: int = 1) -> int:
        return self.rng.randrange(0, 4 * QUADS, units)

    def use(self) -> int:
        return self.rng.randrange(REGISTERS) if self.rng.random() < 0.3 else self.reg()

    def guard(self) -> Guard:
        return (self.rng.randrange(PREDICATES), self.rng.random() < 0.5) if self.rng.random() < 0.25 else ALWAYS

    def emit(self, name: str, guard: Guard = ALWAYS, **fields: int) -> None:
        self.code.emit(name, guard, **fields)

    def operation(self) -> None:
        r, g = self.rng, self.guard()
        p = [r.randrange(PREDICATES) for _ in range(4)]
        word = 4 * r.randrange(4)
        choices = (
            lambda: self.emit("IADD3", g, rd=self.reg(), ra=self.use(), rb=self.use(), rc=self.use()),
            lambda: self.emit("FFMA", g, rd=self.reg(), ra=self.use(), rb=self.use(), rc=self.use(), negc=1),
            lambda: self.emit("IADD3", g, rd=self.reg(), ra=self.use(), form=1, imm=r.randrange(99)),
            lambda: self.emit("MOV", g, rd=self.reg(), rb=self.use()),
            lambda: self.emit("MOV", g, rd=self.reg(), form=1, imm=r.randrange(4)),
            lambda: self.emit("DFMA", g, rd=self.reg(2), ra=self.reg(2), rb=self.reg(2), rc=self.reg(2)),
            lambda: self.emit("LDG", g, rd=self.reg(4), ra=self.reg(2), width=6),
            lambda: self.emit("STG", g, ra=self.reg(2), rb=self.reg(4), width=6),
            lambda: self.emit("STG", g, ra=self.reg(2), rb=self.use(), width=4),
            lambda: self.emit("LDS", g, rd=self.reg(), ra=self.use(), width=4),
            lambda: self.emit("ATOMG", g, rd=self.reg(), ra=self.reg(2), rb=self.use(), aop=0),
            lambda: self.emit("ISETP", g, pd0=p[0], ra=self.use(), rb=self.use(), ps0=p[1], icmp=2),
            lambda: self.emit("PLOP3", g, pd0=p[0], ps0=p[1], ps1=p[2], ps2=p[3], lut_b=0x96),
            lambda: self.emit("SEL", g, rd=self.reg(), ra=self.use(), rb=self.use(), ps0=p[0]),
            lambda: self.emit("IADD3", g, rd=self.reg(), pd0=p[0], ra=self.use(), rb=self.use(), ps0=p[1], x=1),
            lambda: self.emit("STL", g, rb=self.use(), moff=word, width=4),
            lambda: self.emit("LDL", g, rd=self.reg(), moff=word, width=4),
            lambda: self.emit("BAR", barid=0, form=1, imm=0),
        )
        r.choice(choices)()

    def statements(self, depth: int, count: int) -> None:
        for _ in range(count):
            kind = self.rng.random()
            if depth and kind < 0.12:
                self.loop(depth - 1)
            elif depth and kind < 0.26:
                self.diamond(depth - 1)
            elif self.callees and kind < 0.34:
                guard = self.guard()
                self.code.call(self.rng.choice(self.callees), guard)
            else:
                self.operation()

    def loop(self, depth: int) -> None:
        code, (top, out) = self.code, (self.code.new_label(), self.code.new_label())
        code.label(top)
        self.statements(depth, self.rng.randrange(1, 5))
        code.bra(top, out, (self.rng.randrange(PREDICATES), False))
        code.label(out)

    def diamond(self, depth: int) -> None:
        code, (middle, end) = self.code, (self.code.new_label(), self.code.new_label())
        code.bra(middle, end, (self.rng.randrange(PREDICATES), self.rng.random() < 0.5))
        self.statements(depth, self.rng.randrange(0, 4))
        code.bra(end)
        code.label(middle)
        self.statements(depth, self.rng.randrange(0, 4))
        code.label(end)


def random_original(seed: int, size: int = 12) -> Module:
    """A kernel `k` and up to three functions, each calling only later ones; everything is initialised first."""
    rng = random.Random(seed)
    names = [KERNEL, *(f"f{i}" for i in range(rng.randrange(4)))]
    codes = []
    for i, name in enumerate(names):
        maker = _Maker(rng, name, names[i + 1 :])
        if name == KERNEL:
            for r in range(REGISTERS):
                maker.emit("MOV", rd=r, form=2, cbank=0, coff=4 * r)
            for p in range(PREDICATES):
                maker.emit("ISETP", pd0=p, ra=p, form=1, imm=p, icmp=1)
            for word in range(4):
                maker.emit("STL", rb=word, moff=4 * word, width=4)
        maker.statements(2, size)
        if name == KERNEL:
            for quad in range(QUADS):
                maker.emit("STG", ra=0, rb=4 * quad, width=6)
        maker.emit("EXIT" if name == KERNEL else "RET")
        maker.code.head = [f".registers {REGISTERS}", ".local_bytes 16"]
        maker.code.head += [f".param p {4 * REGISTERS} 0"] * maker.code.kernel
        codes.append(maker.code)
    return module_of(*codes)


@dataclass
class _Homes:
    """Where things live. quads: register of a kept quad. slots, words: first row or byte of a spilled one. predicates:
    new numbers; packed: those kept in bits of register `bits`. temporaries: quads free at every instruction."""

    rng: random.Random
    quads: dict[int, int] = field(default_factory=dict)
    slots: dict[int, int] = field(default_factory=dict)
    words: dict[int, int] = field(default_factory=dict)
    predicates: dict[int, int] = field(default_factory=dict)
    packed: set[int] = field(default_factory=set)
    temporaries: list[int] = field(default_factory=list)
    bits: int = 0
    pointer: int = 0
    remat: bool = False
    lift: bool = False
    registers: int = 0


def _homes(rng: random.Random) -> _Homes:
    h = _Homes(rng, remat=rng.random() < 0.5)
    h.lift = rng.random() < 0.5
    quads = list(range(QUADS + 1 + (1 if h.lift else 0)))
    places = [4 * q for q in range(len(quads) + 5)]
    rng.shuffle(places)
    h.temporaries = [places.pop() for _ in range(4)]
    h.bits = places.pop()
    h.pointer = h.bits + 1
    h.registers = 4 * (len(quads) + 5)
    for q in quads:
        kind = rng.random()
        if q == QUADS and h.remat:
            continue
        if kind < 0.45:
            h.quads[q] = places.pop()
        elif kind < 0.75:
            h.slots[q] = 4 * len(h.slots)
        else:
            h.words[q] = 16 + 16 * len(h.words)
    numbers = rng.sample(range(7), PREDICATES)
    h.predicates = dict(enumerate(numbers))
    h.packed = {p for p in h.predicates if rng.random() < 0.3}
    return h


class _Rewriter:
    """One function's new code: `pieces[i]` is what stands for old word i, as (instruction, map entry) lists."""

    def __init__(self, fn: Function, homes: _Homes, shift: int) -> None:
        self.fn, self.h, self.shift = fn, homes, shift
        self.pieces: list[list[tuple[Instr, int]]] = []

    def access(self, store: bool, quad: int, unit: int, register: int, guard: tuple[int, bool]) -> Instr:
        h = self.h
        data = {"rb": register} if store else {"rd": register}
        if quad in h.slots:
            moff = 128 * (h.slots[quad] + unit - self.shift)
            return make("STS" if store else "LDS", guard=guard, ra=h.pointer, moff=moff, width=4, spill=1, **data)
        return make("STL" if store else "LDL", guard=guard, moff=h.words[quad] + 4 * unit, width=4, spill=1, **data)

    def word(self, i: int, constants: dict[int, Instr], shifts: dict[int, int]) -> None:
        h, instr = self.h, self.fn.instrs[i]
        v = view(instr)
        out: list[tuple[Instr, int]] = []
        self.pieces.append(out)
        if h.remat and v.constant and v.defs and v.defs[0].index >= CONSTANTS and v.defs[0].file == REG:
            return
        memory = v.memory
        lifted = h.lift and memory is not None and memory.space == "local"
        if lifted:
            assert memory is not None
            place = 4 * (QUADS + 1) + memory.offset // 4
            if memory.access == "store":
                instr = make("MOV", guard=(instr.guard, instr.guard_neg), rd=place, rb=instr.f["rb"])
            else:
                instr = make("MOV", guard=(instr.guard, instr.guard_neg), rd=instr.f["rd"], rb=place)
            v = view(instr)
        self.predicates_in(instr, out)
        guard = (7, False) if v.guard is None else (h.predicates[v.guard[0]], v.guard[1])
        renames: dict[str, int] = {}
        after: list[tuple[Instr, int]] = []
        temporaries = list(h.temporaries)
        overwritten = v.guard is not None and any(d.file == PRED and d.index == v.guard[0] for d in v.defs)
        for ref in v.uses:
            renames[ref.field] = self.place(ref, temporaries, out, constants, True)
        for ref in v.defs:
            fill = v.guard is not None and ref.file == REG
            renames[ref.field] = self.place(ref, temporaries, out, constants, fill)
            if ref.file == REG and self.spilled(ref.index // 4):
                on = guard if not overwritten and h.rng.random() < 0.5 else (7, False)
                for u in range(ref.units):
                    unit = (ref.index + u) % 4
                    after.append((self.access(True, ref.index // 4, unit, renames[ref.field] + u, on), -1))
        new = Instr(instr.op, {**instr.f, **renames}, guard[0], guard[1])
        if v.control == "call" and shifts[i]:
            out.append((make("IADD3", rd=h.pointer, ra=h.pointer, form=1, imm=128 * shifts[i] & 0xFFFFFFFF), -1))
            after.append((make("IADD3", rd=h.pointer, ra=h.pointer, form=1, imm=-128 * shifts[i] & 0xFFFFFFFF), -1))
        self.call_or_plain(new, -1 if lifted else i, out, after)
        for d in v.defs:
            if d.file == PRED and d.index in h.packed:
                out.append((make("P2R", rd=h.bits, ra=h.bits, pmask=1 << h.predicates[d.index]), -1))

    def call_or_plain(
        self, new: Instr, origin: int, out: list[tuple[Instr, int]], after: list[tuple[Instr, int]]
    ) -> None:
        if new.op.control == "call" and new.guarded and self.h.rng.random() < 0.6:
            jump = 1 + len(after)
            out.append((make("BRA", guard=(new.guard, not new.guard_neg), target=jump, diverges=1, reconv=jump), -1))
            # the shift before the call stays outside the detour, so its undoing must too
            out[-1] = (out[-1][0].replace(target=1, reconv=1), -1)
            new = new.replace(guard=(7, False))
        out.append((new, origin))
        out.extend(after)

    def spilled(self, quad: int) -> bool:
        return quad not in self.h.quads and not (quad == QUADS and self.h.remat)

    def place(
        self, ref: Ref, temporaries: list[int], out: list[tuple[Instr, int]], constants: dict[int, Instr], load: bool
    ) -> int:
        """The new number of an operand; loads it where it lives in memory and `load` says so."""
        h = self.h
        if ref.file == PRED:
            return h.predicates[ref.index]
        quad = ref.index // 4
        if quad in h.quads:
            return h.quads[quad] + ref.index % 4
        base = temporaries.pop() + ref.index % 4
        for u in range(ref.units if load else 0):
            if quad == QUADS and h.remat:
                out.append((constants[ref.index + u].replace(rd=base + u), -1))
            else:
                out.append((self.access(False, quad, (ref.index + u) % 4, base + u, (7, False)), -1))
        return base

    def predicates_in(self, instr: Instr, out: list[tuple[Instr, int]]) -> None:
        """Unpack the packed predicates an instruction touches; a guarded definition must not lose the old value."""
        v = view(instr)
        touched = {r.index for r in (*v.uses, *v.defs) if r.file == PRED}
        touched |= {v.guard[0]} if v.guard is not None else set()
        mask = sum(1 << self.h.predicates[p] for p in touched & self.h.packed)
        if mask:
            out.append((make("R2P", ra=self.h.bits, pmask=mask), -1))

    def finish(self, name: str, info: FunctionInfo, prologue: list[Instr]) -> Function:
        """The function, its branches pointing at the code of the words that they pointed at."""
        starts = []
        total = len(prologue)
        for piece in self.pieces:
            starts.append(total)
            total += len(piece)
        starts.append(total)
        instrs, origin = list(prologue), [-1] * len(prologue)
        for i, piece in enumerate(self.pieces):
            for instr, k in piece:
                if k >= 0:
                    here = len(instrs)
                    instr = relink(instr, {f: starts[i + 1 + v] - here - 1 for f, v in links(instr).items()})
                instrs.append(instr)
                origin.append(k)
        return Function(name, instrs, info, origin=Origin(name, origin))


def _spill_end(instr: Instr) -> int:
    memory = view(instr).memory
    return memory.offset + memory.size if memory is not None and memory.spill and memory.space == "local" else 16


def random_rewrite(original: Module, seed: int) -> Module:
    """A right rewrite of a `random_original` program."""
    rng = random.Random(seed)
    h = _homes(rng)
    shifts = {fn.name: rng.randrange(6) if not fn.info.is_kernel else 0 for fn in original.functions}
    kernel = original.function("k")
    constants = {i.f["rd"]: i for i in kernel.instrs[:REGISTERS]}
    out = Module()
    calls: Calls = {}
    for fn in original.functions:
        callees = calls_of(original)[fn.name]
        steps = {at: shifts[callee] - shifts[fn.name] for at, callee in callees.items()}
        rewriter = _Rewriter(fn, h, shifts[fn.name])
        for i in range(len(fn.instrs)):
            rewriter.word(i, constants, steps)
        prologue = [make("S2R", rd=h.pointer, sreg=26)] if fn.info.is_kernel else []
        if fn.info.is_kernel and h.packed:
            prologue.append(make("MOV", rd=h.bits, form=1, imm=0))
        info = FunctionInfo(fn.info.kind, h.registers, local_bytes=16, params=fn.info.params)
        info.slot_bytes, info.slot_pointer = 128 * 4 * len(h.slots) if fn.info.is_kernel else 0, h.pointer
        new = rewriter.finish(fn.name, info, prologue)
        info.registers = highest_register(new.instrs) + 1
        assert new.origin is not None
        out.functions.append(new)
        calls[fn.name] = {at: callees[old] for at, old in enumerate(new.origin.index) if old in callees}
    link(out, calls)
    top = out.function("k").info
    top.registers = max(fn.info.registers for fn in out.functions)
    top.spill_local = max((_spill_end(i) for fn in out.functions for i in fn.instrs), default=16) - 16
    return out
