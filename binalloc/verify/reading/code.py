"""This module has what the checker needs to know of single instructions, computed once per function: `FunctionCode`.

Needs a Function; leaves it unchanged. Classifies each instruction twice. May the original's execution pass it silently
(`silent`: it was deleted, and its effect on values is followed symbolically)? May a rewrite have inserted it
(`insertable`: it changes nothing but registers, predicates and the thread's own spill memory)?
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from binalloc.isa.instruction import NO_REGISTER, Function, Instr
from binalloc.isa.interface.places import PRED, PRED_BASE, REG, WORD
from binalloc.isa.interface.view import NEVER, Memory, Ref, View
from binalloc.isa.kinds import Access, Flow, Space
from binalloc.isa.sets.table import may_fault, set_of
from binalloc.verify.reading.names import local_key, pred_key, reg_keys


def ref_bits(ref: Ref) -> list[int]:
    """Return the original places of an operand, unit by unit."""
    if ref.file == PRED:
        return [PRED_BASE + ref.index]
    return list(ref.registers())


def ref_keys(ref: Ref) -> list[int]:
    """Return the rewritten places of an operand, unit by unit."""
    if ref.file == PRED:
        return [pred_key(ref.index)]
    return reg_keys(ref.index, ref.units)


def text(fn: Function, i: int) -> str:
    """Return the instruction as the assembler would write it, for messages; "" outside the code."""
    if not 0 <= i < len(fn.instrs):
        return ""
    try:
        return set_of(fn.instrs[i]).text(fn.instrs[i])
    except Exception:  # fields that no assembly text has; a message must still be made
        return repr(fn.instrs[i])


@dataclass(frozen=True)
class LocalAccess:
    """A local access is a load or store of whole words of local memory at a fixed address."""

    words: tuple[int, ...]  #: numbers of the words
    store: bool  #: it is a store
    data: Ref | None  #: the operand moved; None: zeros are stored, or the result is discarded
    spill: bool  #: it is marked as spill code


class Malformed(Exception):
    """`Malformed` is raised for an instruction whose fields do not fit its opcode."""


class FunctionCode:
    """The code of one function has the views and classifications of its instructions. Raises Malformed.

    banks: bytes of constant memory in each bank. follow: spill accesses only move values; else (the original has some
    of its own) they are accesses like any other. stack: register known to hold 0 wherever the function runs, or
    NO_REGISTER.
    """

    def __init__(
        self, fn: Function, banks: Mapping[int, int], follow: bool = True, stack: int = NO_REGISTER
    ) -> None:
        self.fn = fn
        self.banks, self.follow, self.stack = banks, follow, stack
        self.instrs: list[Instr] = fn.instrs
        self.views: list[View] = []
        self.copies: list[tuple[int, int] | None] = []
        self.adds: list[tuple[int, int, int] | None] = []
        self.packs: list[tuple[int, int, int] | None] = []
        self.unpacks: list[tuple[int, int] | None] = []
        self.faulting: list[bool] = []
        self.truths: list[tuple[int, int] | None] = []
        self.tests: list[tuple[int, int] | None] = []
        known = [(set_of(instr), instr) for instr in fn.instrs]
        for i, (isa, instr) in enumerate(known):
            try:
                self.views.append(isa.view(instr))
                self.copies.append(isa.register_copy(instr))
                self.adds.append(isa.add_immediate(instr))
                self.packs.append(isa.predicate_pack(instr))
                self.unpacks.append(isa.predicate_unpack(instr))
                self.faulting.append(may_fault(instr, banks))
                self.truths.append(isa.truth_of_predicate(instr))
                self.tests.append(isa.predicate_of_truth(instr))
                isa.sums(instr)
            except (KeyError, IndexError) as e:
                raise Malformed(f"{fn.name}+{i} {instr.name} has reserved or missing fields: {e}") from e
        self.special = [isa.special_register(instr) for isa, instr in known]
        self.zeros = [isa.register_zero(instr) for isa, instr in known]
        self.nops = [isa.is_nop(instr) for isa, instr in known]
        self.locals = [
            None if v.memory is None or self.opaque(i) else _local_access(v, stack) for i, v in enumerate(self.views)
        ]

    def __len__(self) -> int:
        return len(self.instrs)

    @property
    def name(self) -> str:
        return self.fn.name

    def constant(self, i: int) -> bool:
        """Return whether the word has a result that depends on nothing, under whatever guard, and cannot fault."""
        v = self.views[i]
        return v.pure and not v.uses and bool(v.defs) and not self.faulting[i]

    def opaque(self, i: int) -> bool:
        """Return whether the word is a spill access that is not followed."""
        memory = self.views[i].memory
        return not self.follow and memory is not None and memory.spill

    def slot_access(self, i: int) -> bool:
        """Return whether the word accesses a slot."""
        m = self.views[i].memory
        return m is not None and m.spill and m.space == Space.SHARED

    def jump(self, i: int) -> bool:
        """Return whether the word is an unguarded branch that cannot diverge."""
        v = self.views[i]
        return v.control == Flow.BRANCH and v.guard is None and self.fn.reconvergence(i) is None

    def silent(self, i: int) -> bool:
        """Return whether the original may pass this word without a counterpart in the rewrite. (Jumps are separate.)"""
        v = self.views[i]
        if self.nops[i]:
            return True
        return v.pure or self.locals[i] is not None or v.guard == NEVER

    def insertable(self, i: int) -> bool:
        """Return whether the word changes nothing but registers, predicates and spill memory.

        Whether it faults is a question of values: of a slot's address, or of operands with which the original has
        executed the same operation (`Steps`).
        """
        v = self.views[i]
        if self.nops[i]:
            return True
        if v.memory is not None and v.memory.spill:
            return self.follow and v.memory.access != Access.ATOMIC
        return v.pure

    def stays(self, i: int) -> bool:
        """Return whether the word is proven only in step with the original.

        It has an effect, or moves predicates, for whose words there are no names, or may fault.
        """
        moves = self.packs[i] is not None or self.unpacks[i] is not None
        return not self.views[i].pure or moves or self.faulting[i]

    def transparent(self, i: int) -> bool:
        """Return whether the word only moves values or makes constants, so that it can be followed without a
        counterpart."""
        v = self.views[i]
        if self.nops[i] or self.copies[i] is not None:
            return True
        if self.constant(i):
            return True
        return v.memory is not None and v.memory.spill and self.insertable(i)


class FunctionCodes:
    """The codes of many functions are made once each. banks, follow: as in `FunctionCode`."""

    def __init__(self, banks: Mapping[int, int], follow: bool) -> None:
        self.banks, self.follow = banks, follow
        self._known: dict[tuple[int, int], FunctionCode] = {}

    def of(self, fn: Function, stack: int = NO_REGISTER) -> FunctionCode:
        """Return the code of a function. stack: as in `FunctionCode`. Raises Malformed."""
        code = self._known.get((id(fn), stack))
        if code is None:
            code = self._known[id(fn), stack] = FunctionCode(fn, self.banks, self.follow, stack)
        return code


def _local_access(v: View, stack: int) -> LocalAccess | None:
    """Return the access of a word to fixed whole local words; None for other words."""
    m = v.memory
    if m is None or m.space != Space.LOCAL or m.access == Access.ATOMIC or not at_fixed_place(m, stack):
        return None
    if m.size % WORD or m.offset % m.size or m.offset < 0:
        return None
    refs = v.uses if m.access == Access.STORE else v.defs
    data = next((r for r in m.data(refs) if r.file == REG), None)
    words = tuple(range(m.offset // WORD, (m.offset + m.size) // WORD))
    return LocalAccess(words, m.access == Access.STORE, data, m.spill)


def at_fixed_place(m: Memory, stack: int) -> bool:
    """Return whether the access has one address in every run of the instruction."""
    return m.base is None or (m.base.index == stack and m.base.units == 1)


def word_keys(access: LocalAccess) -> list[int]:
    """Return the rewritten places of the words."""
    return [local_key(w) for w in access.words]
