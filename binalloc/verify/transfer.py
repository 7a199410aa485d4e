"""This module has the transfer functions: what a step of the lockstep does to the facts, and what it needs proven.

Needs a state of `lattice.py` and two `FunctionCode`s. The transfer functions, for an unguarded step:

- *Original alone* (`alone`). A copy makes its destination's column equal to the source's. A constant makes it equal to
  the constant's token. A load or store of fixed local words is a copy between columns. Any other operation empties the
  columns of its results.
- *Rewritten alone* (`insert`). A copy, spill store or reload makes its destination's row equal to the source's. A
  constant instruction (rematerialisation) puts its token and all original places equal to it into the row. The addition
  of an immediate to a slot pointer moves the pointer token. Packing and unpacking of predicates copies between a
  predicate's row and a row's part. An exchange by three exclusive ors is one step (`exchanges.py`). Any other operation
  empties the rows of its results, or puts the value computed from its operands there (`remade.py`).
- *Match*. Each operand unit read must be in its row. Then the columns of the original's results and the rows of the
  rewritten results are emptied, and each result's row holds exactly its original value.
- *Move* (both programs only move values). First comes the original's half, then the rewritten half. Columns and rows
  are changed independently, so the order does not matter.

A guarded step splits the state by the guard's original predicate, takes the step on the side where it executes and
meets the two. At the meet, facts of one side become facts under that predicate. So a guarded definition leaves old
holders under the negated condition, and a store or copy with the same guard completes the fact.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from binalloc.isa.instruction import NO_REGISTER
from binalloc.isa.interface.places import PRED_BASE, PREDICATES, SLOT_ROW, WORD
from binalloc.isa.interface.view import Ref
from binalloc.isa.kinds import Access, Flow, Space
from binalloc.verify.effects import Effects, contents, step_finding
from binalloc.verify.original import OriginalFunction
from binalloc.verify.reading.code import FunctionCode, ref_keys, word_keys
from binalloc.verify.reading.names import (
    TRUTH,
    UNWRITTEN,
    ZERO,
    Names,
    pred_key,
    reg_key,
    row_name,
    slot_key,
    slot_of,
)
from binalloc.verify.remade import made_by_rows, made_of_values, note_copies
from binalloc.verify.values.conditions import Cond
from binalloc.verify.values.lattice import State
from binalloc.verify.values.meet import meet_sides
from binalloc.verify.values.unwritten import predicates, settle, stands, undecided


class TransferFunctions:
    """The steps of a pair (old, new) are its transfer functions. kernel: slot pointers are set up here. pointer: the
    slot pointer's register, NO_REGISTER for none. volatile: special registers that differ between the programs.
    slot_base: the special register with the first slot's address. spill: bytes [from, to) of spill memory. remade:
    signatures of pure operations that the rewritten program executes by itself. remade_operands: their operands, and
    the sources of copies to these (both: `remade.py`). exchanges: see `exchanges.py`."""

    def __init__(
        self,
        names: Names,
        old: OriginalFunction,
        new: FunctionCode,
        *,
        kernel: bool,
        pointer: int,
        volatile: frozenset[str],
        slot_base: str,
        spill: tuple[int, int],
        effects: Effects,
        remade: Collection[tuple[object, ...]] = (),
        remade_operands: frozenset[int] = frozenset(),
        exchanges: Mapping[int, tuple[int, int] | None] | None = None,
    ) -> None:
        self.names, self.old, self.new = names, old, new
        self.kernel, self.pointer = kernel, pointer
        self.volatile, self.slot_base, self.spill, self.effects = volatile, slot_base, spill, effects
        self.remade, self.exchanges = remade, exchanges or {}
        self.remade_operands = remade_operands

    # -- guards

    def split(self, state: State, conds: tuple[Cond, ...], step: Callable[[State], State | None]) -> State | None:
        """Take `step` in the threads where every condition holds, and nothing in the others."""
        if any((p, not v) in state.K for p, v in conds):
            return state
        if conds and any(c in state.K for c in conds):
            return step(state)
        other = state.copy()
        state.refine(conds)
        state.touched = {UNWRITTEN}  # what was there may be free now, and written by the step
        done = step(state)
        if done is None:
            other.refine((p, not v) for p, v in conds)
            return other
        return meet_sides(done, other, conds)

    def new_conditions(self, state: State, n: int) -> tuple[Cond, ...] | None:
        """Return the rewritten guard in terms of original predicates: () if it is none of them, None without a guard. A
        guard that was not written on every way is settled by that."""
        guard = self.new.views[n].guard
        if guard is None:
            return None
        names = predicates(state, pred_key(guard[0]))
        known = [x for x in names if state.sure(x)]
        if not known:
            known = names or undecided(state, PRED_BASE + guard[0])
            for x in known:
                self._decide(state, pred_key(guard[0]), x)
        return tuple((x, not guard[1]) for x in known)

    # -- steps

    def alone(self, state: State, m: int) -> State:
        """Let the original execute m without a counterpart."""
        if self.old.jump(m) or self.old.views[m].control == Flow.CALL:  # a call passed here does not execute
            return state
        condition = self.old.condition(m)
        if condition is None:
            return self._alone(state, m)
        done = self.split(state, (condition,), lambda s: self._alone(s, m))
        assert done is not None
        return done

    def insert(self, state: State, n: int) -> State:
        """Let the rewritten program execute n without a counterpart."""
        if self.new.views[n].control == Flow.BRANCH:
            return state
        conds = self.new_conditions(state, n)
        if conds is None:
            return self._insert(state, n)
        done = self.split(state, conds, lambda s: self._insert(s, n))
        assert done is not None
        return done

    def skip(self, state: State, n: int, m: int) -> State:
        """Take an added branch around a guarded call, which must test the call's predicate."""
        guard, condition = self.new.views[n].guard, self.old.condition(m)
        assert guard is not None
        assert condition is not None
        self._settle(state, pred_key(guard[0]), condition[0], n, m)
        return state

    def move(self, state: State, n: int, m: int) -> State:
        """Let both programs execute an instruction that only moves values."""
        condition, guard = self.old.condition(m), self.new.views[n].guard
        if condition is not None and guard is not None and guard[1] != condition[1]:
            key, x = pred_key(guard[0]), condition[0]
            if not state.sure(x) and stands(state, key, x):
                self._decide(state, key, x)
        conds = self.new_conditions(state, n)
        if condition is not None and conds is not None and condition in conds:
            done = self.split(state, (condition,), lambda s: self._insert(self._alone(s, m), n))
            assert done is not None
            return done
        return self.insert(self.alone(state, m), n)

    def guard(self, state: State, n: int, m: int) -> Cond | None:
        """Check that the guards of a matched step agree; return the condition, or None where it always executes."""
        guard, condition = self.new.views[n].guard, self.old.condition(m)
        if condition is None:
            return None
        if guard is not None:
            self._settle(state, pred_key(guard[0]), condition[0], n, m)
            return condition
        if condition not in state.K:
            self._fail(
                "guard",
                "executed without a guard where the original has one",
                n,
                m,
                expected=f"{'' if condition[1] else 'not '}{self.names.name(condition[0])}",
            )
        return None

    def _settle(self, state: State, key: int, x: int, n: int, m: int) -> None:
        """Require that the row holds predicate x, or may stand for it, and from now on holds x: a guard decides
        (`unwritten.py`)."""
        self._need(state, key, x, n, m, "guard")
        if not state.sure(x):
            self._decide(state, key, x)

    def _decide(self, state: State, key: int, x: int) -> None:
        settle(state, x, key)
        self.effects.settled.add(x)

    def match(self, state: State, n: int, m: int) -> State:
        """Let both programs execute the same operation."""
        condition = self.guard(state, n, m)
        if condition is None:
            return self._match(state, n, m)
        done = self.split(state, (condition,), lambda s: self._match(s, n, m))
        assert done is not None
        return done

    # -- the original alone

    def _alone(self, state: State, m: int) -> State:
        old = self.old
        view = old.views[m]
        moves = old.moves(m)
        if moves is not None:
            state.copy_columns(moves)
            note_copies(state, moves, self.remade_operands)
        elif old.constant(m):
            state.copy_columns(list(zip(old.defs[m], self._constants(old, m, "old"), strict=True)))
        elif old.slot_access(m) or (view.memory is not None and view.memory.spill):
            self._fail("spill", "the original's own spill access cannot be followed", -1, m)
            state.kill(old.defs[m])
        else:
            made = self._made(state, m)
            state.kill(old.defs[m])
            for x, token in made:
                state.equate(x, token)
        return state

    def _constants(self, code: FunctionCode, i: int, side: str) -> list[int]:
        """Return tokens of a constant's results by unit. side: for registers that differ between the programs."""
        view = code.views[i]
        if code.zeros[i]:
            return [self.names.token(ZERO)]
        which = side if code.special[i] in self.volatile else ""
        units = sum(r.units for r in view.defs)
        return [self.names.token(("const", view.signature, u, which)) for u in range(units)]

    # -- the rewritten program alone

    def _insert(self, state: State, n: int) -> State:
        new = self.new
        view = new.views[n]
        memory = view.memory
        copy, add, pack, unpack = new.copies[n], new.adds[n], new.packs[n], new.unpacks[n]
        at = None if add is None else self.names.pointer_bytes(state.row(reg_key(add[1])))
        if memory is not None and memory.spill:
            self._spill_access(state, n)
        elif n in self.exchanges:
            exchanged = self.exchanges[n]
            if exchanged is not None:
                state.exchange_rows(reg_key(exchanged[0]), reg_key(exchanged[1]))
        elif copy is not None:
            state.copy_row(reg_key(copy[0]), reg_key(copy[1]))
        elif new.constant(n):
            tokens = self._constants(new, n, "new")
            keys = [k for r in view.defs for k in ref_keys(r)]
            for key, token in zip(keys, tokens, strict=True):
                state.value_row(key, (token,))
            if self.kernel and new.special[n] == self.slot_base:
                state.add(keys[0], frozenset((self.names.token(("ptr", 0)),)))
        elif add is not None and at is not None:
            state.set_row(reg_key(add[0]), frozenset((self.names.token(("ptr", at + add[2])),)))
        elif pack is not None:
            moved = [(i, pred_key(i)) for i in range(PREDICATES) if pack[2] >> i & 1]
            state.pack_row(reg_key(pack[0]), None if pack[1] == NO_REGISTER else reg_key(pack[1]), moved)
        elif unpack is not None:
            for i in range(PREDICATES):
                if unpack[1] >> i & 1:
                    if unpack[0] != NO_REGISTER:
                        state.unpack_row(pred_key(i), reg_key(unpack[0]), i)
                    else:
                        state.clear_row(pred_key(i))
        else:
            self._remake(state, n)
        return state

    def _remake(self, state: State, n: int) -> None:
        """Let the rewritten program execute a pure operation by itself."""
        new = self.new
        view = new.views[n]
        truth, test = new.truths[n], new.tests[n]
        if test is not None and reg_key(test[1]) in state.bits:
            state.unpack_row(pred_key(test[0]), reg_key(test[1]), TRUTH - 1)
            return
        keys = [k for r in view.defs for k in ref_keys(r)]
        results = made_by_rows(state, view.signature, [k for r in view.uses for k in ref_keys(r)], len(keys))
        if new.faulting[n] and not any(state.equals(token) for unit in results for token in unit):
            message = "it may fault, and the original need not have executed it with these operands"
            self._fail("inserted", message, n, -1)
        for key, tokens in zip(keys, results, strict=True):
            state.value_row(key, tokens)
        if truth is not None:
            state.note_truth(reg_key(truth[0]), pred_key(truth[1]))

    def _made(self, state: State, m: int) -> list[tuple[int, int]]:
        """Return (value, token) for the results of the original's word m, if the rewritten program computes such values
        by itself. To be called before the step; `equate` comes after it."""
        view, defs = self.old.views[m], self.old.defs[m]
        if not self.remade or not view.pure or not defs or view.signature not in self.remade:
            return []
        return made_of_values(state, view.signature, self.old.uses[m], defs)

    def _spill_access(self, state: State, n: int) -> None:
        new = self.new
        memory = new.views[n].memory
        assert memory is not None
        if memory.space == Space.SHARED:
            places = self._slot_places(state, n)
        else:
            places = self._local_places(n)
        store = memory.access == Access.STORE
        if store:
            data = memory.data(new.views[n].uses)
        else:
            data = list(new.views[n].defs)
        keys = [k for r in data for k in ref_keys(r)]
        if places is None:
            for key in () if store else keys:
                state.clear_row(key)
            return
        if store:
            self.effects.slots_written.update(s for s in map(slot_of, places) if s is not None)
            for i, place in enumerate(places):
                if keys:
                    state.copy_row(place, keys[i])
                else:
                    state.value_row(place, (self.names.token(ZERO),))
        else:
            for key, place in zip(keys, places, strict=False):
                state.copy_row(key, place)

    def _slot_places(self, state: State, n: int) -> list[int] | None:
        memory = self.new.views[n].memory
        assert memory is not None
        base = memory.base
        at = None if base is None else self.names.pointer_bytes(state.row(reg_key(base.index)))
        if base is None or at is None or memory.size != WORD:
            self._fail(
                "slot",
                "a slot access needs a 32-bit word at the slot pointer",
                n,
                -1,
                operand="address",
                expected="a known slot pointer",
                found="RZ" if base is None else contents(state, reg_key(base.index)),
            )
            return None
        if base.index != self.pointer:
            named = "none is named" if self.pointer == NO_REGISTER else f"R{self.pointer}"
            message = "a slot access goes through another register than the slot pointer"
            self._fail("slot", message, n, -1, expected=named, found=f"R{base.index}")
        row, rest = divmod(at + memory.offset, SLOT_ROW)
        if rest:
            self._fail("slot", "a slot access is not at a whole slot", n, -1, found=f"byte {at + memory.offset}")
            return None
        self.effects.slots_touched.setdefault(row, (self.new.name, n))
        return [slot_key(row)]

    def _local_places(self, n: int) -> list[int] | None:
        access = self.new.locals[n]
        memory = self.new.views[n].memory
        assert memory is not None
        low, high = self.spill
        if access is None or memory.offset < low or memory.offset + memory.size > high:
            self._fail(
                "spill",
                "a spill access lies outside the spill area",
                n,
                -1,
                expected=f"aligned whole words at fixed bytes {low}..{high}",
                found=f"offset {memory.offset}, {memory.size} bytes{'' if memory.base is None else ', base register'}",
            )
            return None
        return word_keys(access)

    # -- both

    def _match(self, state: State, n: int, m: int) -> State:
        old, new = self.old.views[m], self.new.views[n]
        if self.old.special[m] in self.volatile:
            self._fail("special", f"{self.old.special[m]} does not read the same in both programs", n, m)
        keys = [k for r in new.uses for k in ref_keys(r)]
        reads = self.old.uses[m]
        undefined: dict[int, int] = {}
        for at, (x, key) in enumerate(zip(reads, keys, strict=True)):
            held = state.S.get(key)
            if held is None or x not in held or state.doubt:
                field = _field(old.uses, at)
                self._need(state, key, x, n, m, field)
                if not state.defined(x) and not state.equal(undefined.setdefault(x, key), key):
                    self._fail("operand", "one undefined value read as two", n, m, operand=field)
        names, made = self.old.defs[m], self._made(state, m)
        keys = [k for r in new.defs for k in ref_keys(r)]
        for key in keys:
            state.clear_row(key)
        if names:
            state.kill(names)
        # Of results that share a place the last counts: only results that count in both programs correspond.
        stands, kept = dict(zip(names, keys, strict=True)), dict(zip(keys, names, strict=True))
        for x, key in stands.items():
            if kept[key] == x:
                state.add(key, frozenset((x,)))
        for x, token in made:
            state.equate(x, token)
        return state

    def _need(self, state: State, key: int, x: int, n: int, m: int, operand: str) -> None:
        held = stands(state, key, x)
        if held and not state.sure(x):
            what = "before anything wrote it" if x in state.free else "where it was not written on every way"
            self.effects.notes.append(
                step_finding(self.old, self.new, "undefined", f"the original reads {self.names.name(x)} {what}", n, m)
            )
        if held:
            return
        self._fail(
            "guard" if operand == "guard" else "operand",
            "does not hold the value the original reads",
            n,
            m,
            operand=f"{operand} = {row_name(key)}" if operand else row_name(key),
            expected=f"the value of {self.names.name(x)}",
            found=contents(state, key),
        )

    def _fail(self, kind: str, message: str, n: int, m: int, **words: str) -> None:
        self.effects.findings.append(step_finding(self.old, self.new, kind, message, n, m, **words))


def _field(refs: tuple[Ref, ...], unit: int) -> str:
    """Return the field of the operand that has this unit, counted over all of them."""
    for ref in refs:
        if unit < ref.units:
            return ref.field
        unit -= ref.units
    return ""
