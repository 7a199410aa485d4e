"""Runs one thread of a kernel on symbols, in one case of what its predicates are: an oracle that shares nothing with
the checker.

A pure operation makes a term of its signature and operands, an effect leaves its operands in `effects`. Copies, words
of local memory, spill accesses, packed predicates and exchanges by exclusive ors are done as they are. Two roles differ
in what a place holds that nobody wrote:

- rewritten: garbage, one unknown ground value for each place;
- original: anything, each time anew, also where it was copied. A predicate that it goes by is chosen, and stays so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from binalloc.isa.instruction import NO_REGISTER, Function, Instr, Module
from binalloc.isa.interface.places import PRED
from binalloc.isa.interface.places import TRUE as TRUE_PREDICATE
from binalloc.isa.interface.view import Memory, Ref, View
from binalloc.isa.loom.recognise import (
    exclusive_or,
    predicate_of_truth,
    predicate_pack,
    predicate_unpack,
    register_copy,
    register_zero,
    special_register,
    truth_of_predicate,
)
from binalloc.isa.loom.view import view
from tests.support.oracles.verify.terms import FALSE, Head, Terms, Unknown, Value

STEPS = 500
ROUNDS = 2
"""Times that a branch back is followed."""
WORD = 4
SLOT = 128
SLOTS = ("slots",)
Place = tuple[object, ...]
Effect = tuple[object, ...]
Effects = dict[Effect, list[tuple[Value, ...]]]


class Endless(Exception):
    """The run is longer than it is followed."""


class Fault(Exception):
    """The machine would stop here."""


@dataclass
class Program:
    """A kernel whose functions are looked through once for all its runs."""

    module: Module
    kernel: str
    codes: dict[str, list[tuple[Instr, View]]] = field(init=False)

    def __post_init__(self) -> None:
        self.codes = {fn.name: [(i, view(i)) for i in fn.instrs] for fn in self.module.functions}


class Choices:
    """What the original's run chooses where it may: all ways one after another, by `next`."""

    def __init__(self) -> None:
        self.made: list[bool] = []
        self.at = 0

    def take(self) -> bool:
        if self.at == len(self.made):
            self.made.append(False)
        self.at += 1
        return self.made[self.at - 1]

    def next(self) -> bool:
        """Is there another way?"""
        del self.made[self.at :]
        self.at = 0
        while self.made and self.made[-1]:
            self.made.pop()
        if self.made:
            self.made[-1] = True
        return bool(self.made)


class Thread:
    """One run. truths: of ground predicates; a run that needs another raises Undecided. choices: of an original, None
    for a rewritten program. A place that is not in `places`, or has None there, was not written."""

    def __init__(self, program: Program, terms: Terms, truths: Mapping[int, bool], choices: Choices | None) -> None:
        self.program, self.terms, self.truths, self.choices = program, terms, truths, choices
        self.info = program.module.function(program.kernel).info
        self.places: dict[Place, Value | None] = {}
        self.effects: Effects = {}

    def run(self) -> Effects:
        """By kind and place of the effects, the operands of each in their order."""
        module = self.program.module
        fn, at = module.function(self.program.kernel), 0
        stack: list[tuple[Function, int]] = []
        back: dict[tuple[str, int], int] = {}
        for _ in range(STEPS):
            if at >= len(fn.instrs):
                raise Fault("end of code")
            instr, v = self.program.codes[fn.name][at]
            at += 1
            if v.guard is not None and self.holds(v.guard[0]) == v.guard[1]:
                continue
            if v.control == "branch":
                if fn.target(at - 1) < at:
                    back[fn.name, at] = back.get((fn.name, at), 0) + 1
                    if back[fn.name, at] > ROUNDS:
                        raise Endless
                at = fn.target(at - 1)
            elif v.control == "call":
                callee = module.callee(fn, at - 1)
                if callee is None:
                    raise Fault("call")
                stack.append((fn, at))
                fn, at = callee, 0
            elif v.control == "return":
                fn, at = stack.pop()
            elif v.control == "exit":
                return self.effects
            else:
                self.step(instr, v)
        raise Endless

    # -- places

    def content(self, place: Place) -> Value | None:
        """What the place holds; of an original None where nobody wrote it."""
        found = self.places.get(place)
        return self.terms.ground(("garbage", place)) if found is None and self.choices is None else found

    def holds(self, p: int) -> bool:
        """The truth of predicate p, from now on that one."""
        if p == TRUE_PREDICATE:
            return True
        value = self.content((PRED, p))
        if isinstance(value, int):
            return self.terms.truth(value, self.truths)
        assert self.choices is not None
        chosen = self.choices.take()
        self.places[PRED, p] = int(chosen)
        return chosen

    def operands(self, refs: tuple[Ref, ...]) -> tuple[Value, ...]:
        """What an operation reads, unit by unit: one value of a place that it reads twice."""
        read: dict[Place, Value] = {}
        places = [p for ref in refs for p in _places(ref)]
        for place in places:
            if place not in read:
                value = self.content(place)
                read[place] = Unknown() if value is None else value
                if place[0] == PRED and isinstance(value, int):
                    read[place] = int(self.terms.truth(value, self.truths))
        return tuple(read[place] for place in places)

    # -- steps

    def step(self, instr: Instr, v: View) -> None:
        memory, terms = v.memory, self.terms
        copy, pack, unpack = register_copy(instr), predicate_pack(instr), predicate_unpack(instr)
        targets = [p for ref in v.defs for p in _places(ref)]
        if memory is not None and (memory.spill or (memory.space == "local" and memory.base is None)):
            self.own_memory(memory, v)
        elif copy is not None:
            self.places[targets[0]] = self.content(_places(v.uses[0])[0])
        elif register_zero(instr):
            self.places[targets[0]] = FALSE
        elif special_register(instr) == "SR_SLOTBASE":
            self.places[targets[0]] = self.terms.ground(SLOTS)
        elif pack is not None:
            self.places[targets[0]] = self.packed(pack[1], pack[2])
        elif unpack is not None:
            word = self.content(("R", unpack[0])) if unpack[0] != NO_REGISTER else FALSE
            bits = [i for i in range(7) if unpack[1] >> i & 1]
            self.places.update({(PRED, i): None if word is None else self.bit(word, i) for i in bits})
        elif truth_of_predicate(instr) is not None:
            self.places[targets[0]] = terms.make(("truth", v.signature), self.operands(v.uses))
        else:
            inputs = self.operands(v.uses)
            if exclusive_or(instr) is not None:
                self.places[targets[0]] = self.exclusive(*inputs)
                return
            if predicate_of_truth(instr) is not None and terms.parts(inputs[0])[0][0] == "truth":
                self.places[targets[0]] = terms.parts(inputs[0])[1][0]
                return
            head: Head = ("made", v.signature)
            if not v.pure:
                effect = v.signature, 0 if memory is None else memory.offset
                seen = self.effects.setdefault(effect, [])
                head = "found", effect, len(seen)
                seen.append(inputs)
                inputs = ()
            self.places.update({p: terms.make((*head, u), inputs) for u, p in enumerate(targets)})

    def packed(self, register: int, mask: int) -> Value:
        """A word with predicates in the bits of the mask. They are taken as they are: no case is told apart yet."""
        values = [FALSE if register == NO_REGISTER else self.content(("R", register))]
        values += [self.content((PRED, i)) for i in range(7) if mask >> i & 1]
        return self.terms.make(("packed", mask), tuple(Unknown() if x is None else x for x in values))

    def bit(self, word: Value, i: int) -> Value:
        head, inputs = self.terms.parts(word)
        while head[0] == "packed":
            mask = head[1]
            assert isinstance(mask, int)
            if mask >> i & 1:
                return inputs[1 + (mask & (1 << i) - 1).bit_count()]
            word = inputs[0]
            head, inputs = self.terms.parts(word)
        return FALSE if word == FALSE else self.terms.make(("bit", i), (word,))

    def exclusive(self, a: Value, b: Value | None = None) -> Value:
        """Of two words; one of them again gives the other back."""
        if b is None or a == b:
            return FALSE
        if FALSE in (a, b):
            return b if a == FALSE else a
        for x, y in ((a, b), (b, a)):
            head, inputs = self.terms.parts(x)
            if head[0] == "exclusive" and y in inputs:
                return inputs[1 - inputs.index(y)]
        return self.terms.make(("exclusive",), (a, b))

    def own_memory(self, memory: Memory, v: View) -> None:
        """Words of this thread's own, at places that are known."""
        low, high = 0, self.info.local_bytes
        if memory.space == "shared":
            high = self.info.slot_bytes
            pointer = None if memory.base is None else self.content(*_places(memory.base))
            if pointer != self.terms.ground(SLOTS) or memory.offset % SLOT:
                raise Fault("slot")
        elif memory.spill:
            low, high = high, high + self.info.spill_local
        if not low <= memory.offset <= high - memory.size:
            raise Fault(f"{memory.space} spill={memory.spill}")
        words: list[Place] = [(memory.space, memory.offset + WORD * u) for u in range(memory.size // WORD)]
        data = [p for ref in memory.data(v.uses if memory.access == "store" else v.defs) for p in _places(ref)]
        if memory.access == "store":
            values = [self.content(p) for p in data] or [FALSE] * len(words)
            self.places.update(zip(words, values, strict=True))
        else:
            self.places.update(zip(data, [self.content(w) for w in words], strict=False))


def _places(ref: Ref) -> list[Place]:
    return [(PRED, ref.index)] if ref.file == PRED else [("R", r) for r in ref.registers()]
