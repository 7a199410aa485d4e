"""Runs one thread of a kernel on hashed values: an oracle for rewrites that knows nothing of the checker.

Every operation's result is a hash of its signature and operand values; copies, spill accesses, fixed local words,
additions of immediates and predicate packing are done for real, because rewrites use them. What a run leaves is the
trace of effects (loads, stores, barriers, exits, with operand values). Two programs with the same trace on many seeds
do the same in one thread; reconvergence is not modelled. Registers and memory start as garbage that differs by `salt`.

Where accesses may change places (`same_memory`), loads and stores are done for real, too, on few addresses so that many
of them overlap; what a run leaves is then memory, and the trace of all other effects with the memory that they found.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from binalloc.isa.instruction import Function, Instr, Module
from binalloc.isa.interface.places import PRED
from binalloc.isa.interface.view import Ref, View
from binalloc.isa.loom.recognise import (
    add_immediate,
    exclusive_or,
    predicate_of_truth,
    predicate_pack,
    predicate_unpack,
    register_copy,
    special_register,
    truth_of_predicate,
)
from binalloc.isa.loom.view import view

SLOT_BASE = 0x4000
MASK = 0xFFFFFFFF


def digest(*parts: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=4).digest(), "little")


class Fault(Exception):
    pass


@dataclass
class Thread:
    module: Module
    kernel: str
    seed: int
    salt: str
    limit: int = 600
    real: bool = False
    registers: dict[int, int] = field(default_factory=dict)
    predicates: dict[int, int] = field(default_factory=dict)
    memory: dict[tuple[str, int], int] = field(default_factory=dict)
    trace: list[object] = field(default_factory=list)
    stored: dict[tuple[str, int], int] = field(default_factory=dict)
    exchanges: list[object] = field(default_factory=list)
    walls: int = 0

    def run(self) -> list[object]:
        """The trace; ends with ("fault", ...) where the machine would stop the program, "..." at the step limit."""
        kernel = self.module.function(self.kernel)
        self.info = kernel.info
        if self.info.local_stack != 255:
            self.registers[self.info.local_stack] = 0
        fn, at = kernel, 0
        stack: list[tuple[Function, int]] = []
        try:
            for _ in range(self.limit):
                if not 0 <= at < len(fn.instrs):
                    raise Fault("end of code")
                instr = fn.instrs[at]
                v = view(instr)
                at += 1
                if v.guard is not None and self.predicate(v.guard[0]) == v.guard[1]:
                    continue
                if v.control == "branch":
                    at = fn.target(at - 1)
                elif v.control == "call":
                    callee = self.module.callee(fn, at - 1)
                    if callee is None:
                        raise Fault("call")
                    stack.append((fn, at))
                    fn, at = callee, 0
                elif v.control == "return":
                    fn, at = stack.pop()
                elif v.control == "exit":
                    self.trace.append("exit")
                    return self.trace
                else:
                    self.step(instr, v)
        except Fault as e:
            self.trace.append(("fault", str(e)))
            return self.trace
        self.trace.append("...")
        return self.trace

    # -- state

    def read(self, ref: Ref) -> list[int]:
        if ref.file == PRED:
            return [self.predicate(ref.index)]
        if ref.index + ref.units > self.info.registers:
            raise Fault("register")
        return [self.register(r) for r in ref.registers()]

    def register(self, r: int) -> int:
        return self.registers.setdefault(r, digest("garbage", self.salt, self.seed, r))

    def predicate(self, p: int) -> int:
        return self.predicates.setdefault(p, digest("garbage", self.salt, self.seed, "P", p) & 1)

    def write(self, refs: tuple[Ref, ...], values: list[int]) -> None:
        values = list(values)
        for ref in refs:
            if ref.file == PRED:
                self.predicates[ref.index] = values.pop(0) & 1
                continue
            if ref.index + ref.units > self.info.registers:
                raise Fault("register")
            for r in ref.registers():
                self.registers[r] = values.pop(0)

    # -- steps

    def step(self, instr: Instr, v: View) -> None:
        inputs = [value for r in v.uses for value in self.read(r)]
        copy, add = register_copy(instr), add_immediate(instr)
        pack, unpack = predicate_pack(instr), predicate_unpack(instr)
        memory = v.memory
        if copy is not None:
            self.write(v.defs, inputs)
        elif add is not None:
            self.write(v.defs, [(inputs[0] + add[2]) & MASK])
        elif pack is not None:
            word = self.register(pack[1]) if pack[1] != 255 else 0
            bits = sum(self.predicate(i) << i for i in range(7))
            self.write(v.defs, [word & ~pack[2] | bits & pack[2]])
        elif unpack is not None:
            word = self.register(unpack[0]) if unpack[0] != 255 else 0
            self.write(v.defs, [word >> i & 1 for i in range(7) if unpack[1] >> i & 1])
        elif exclusive_or(instr) is not None:
            self.write(v.defs, [inputs[0] ^ inputs[1] if len(inputs) > 1 else 0])
        elif truth_of_predicate(instr) is not None:
            self.write(v.defs, [instr.f["imm"] if inputs[0] else 0])
        elif predicate_of_truth(instr) is not None:
            self.write(v.defs, [int(inputs[0] != 0)])
        elif special_register(instr) == "SR_SLOTBASE":
            self.write(v.defs, [SLOT_BASE])
        elif memory is not None and (memory.spill or (memory.space == "local" and memory.base is None)):
            self.own_memory(v, inputs)
        elif self.real and memory is not None and not v.pure and memory.access != "atomic" and not memory.ordered:
            self.access(v)
        else:
            self.opaque(v, inputs)

    def opaque(self, v: View, inputs: list[int]) -> None:
        key: object = 0
        if self.real and v.convergent and not v.control:
            key = "exchange", len(self.exchanges)
            self.exchanges.append((v.signature, tuple(inputs), self.walls))
        elif not v.pure:
            self.walls += v.memory is None
            key = len(self.trace)
            self.trace.append((v.signature, tuple(inputs), tuple(sorted(self.stored.items()))))
        units = sum(r.units for r in v.defs)
        self.write(v.defs, [digest(self.seed, v.signature, inputs, key, u) for u in range(units)])

    def access(self, v: View) -> None:
        """A load or store byte by byte; a generic address lies in a space that the seed says."""
        memory = v.memory
        assert memory is not None
        base = 0 if memory.base is None else digest(self.read(memory.base)) % 4 * 16
        space = ("global", "shared", "local")[self.seed % 3] if memory.space == "generic" else memory.space
        space = "global" if space == "texture" else space
        places = [(space, base + memory.offset + n) for n in range(memory.size)]
        if memory.access == "store":
            data = [r for r in memory.data(v.uses) if r.file != PRED]
            words = self.read(data[0]) if data else [0] * memory.size
            for n, place in enumerate(places):
                self.stored[place] = words[n // 4] >> 8 * (n % 4) & 0xFF
            return
        found = [self.stored.get(p, digest(self.seed, "memory", p) & 0xFF) for p in places]
        units = sum(r.units for r in v.defs)
        whole = [digest(v.signature, found[4 * u : 4 * u + 4]) if memory.size < 4 or memory.space == "texture"
                 else int.from_bytes(bytes(found[4 * u : 4 * u + 4]), "little") for u in range(units)]  # fmt: skip
        self.write(v.defs, whole)

    def own_memory(self, v: View, inputs: list[int]) -> None:
        memory = v.memory
        assert memory is not None
        address = memory.offset
        low, high = 0, self.info.local_bytes
        if memory.space == "shared":
            if memory.base is None:
                raise Fault("slot")
            address += inputs[0] - SLOT_BASE
            low, high = 0, self.info.slot_bytes
            if address % 128 or memory.size != 4:
                raise Fault("slot")
        elif memory.spill:
            low, high = high, high + self.info.spill_local
        if not low <= address <= high - memory.size or address % memory.size:
            raise Fault(f"{memory.space} spill={memory.spill}")
        words = [(memory.space, address + 4 * u) for u in range(max(1, memory.size // 4))]
        if memory.access == "store":
            data = next((r for r in v.uses if r.field == "rb"), None)
            self.memory.update(zip(words, self.read(data) if data else [0] * len(words), strict=True))
        elif v.defs:
            self.write(
                v.defs, [self.memory.setdefault(w, digest("garbage", self.salt, self.seed, w)) for w in words]
            )


def same_traces(original: Module, rewritten: Module, kernel: str, seeds: range) -> bool:
    """Do both leave the same trace on every seed? At the step limit the shorter trace must begin the longer."""
    for seed in seeds:
        a = Thread(original, kernel, seed, "a", limit=400).run()
        b = Thread(rewritten, kernel, seed, "b", limit=4000).run()
        if a and b and "..." in (a[-1], b[-1]):
            n = min(len(a), len(b)) - 1
            if a[:n] != b[:n]:
                return False
        elif a != b:
            return False
    return True


def same_memory(original: Module, rewritten: Module, kernel: str, seeds: range, limit: int = 400) -> bool:
    """Do both leave the same in memory, and all other effects in the same order? Runs to the step limit do not tell."""
    for seed in seeds:
        a = Thread(original, kernel, seed, "a", limit=limit, real=True)
        b = Thread(rewritten, kernel, seed, "b", limit=10 * limit, real=True)
        ends = a.run()[-1], b.run()[-1]
        if "..." not in ends and (a.trace, a.exchanges, a.stored) != (b.trace, b.exchanges, b.stored):
            return False
    return True
