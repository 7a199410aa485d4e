"""One lane that executes virtual code on hashes: each result is a hash of what its instruction is and of what it read.

So two results are the same where the same pure instructions made them of the same operands, whichever items those are.
What is not pure, and predicates that nothing but an item's number says how they come about, depend on the item and on
how often it ran. Predicates are hashes, too, and decide guards and branches: a seed is a path.

What each item of the code before (known by its `origin`) read is written down; a rewritten form must have read the
same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from binalloc.bitset import bits
from binalloc.isa.interface.places import PRED, TRUE
from binalloc.isa.sets.table import view
from binalloc.transform.virtual.code import AGAIN, COPY, ENTRY, EXCHANGE, KEEP, RELOAD, STORE, Item, VCode
from binalloc.transform.virtual.contract import Contract

STEPS = 400
NOTHING = "nothing"
"""What a place holds that nothing was written to."""
Read = tuple[int, tuple[Any, ...]]


@dataclass
class Trace:
    """read: by item executed, its origin and its operands. ended: whether the code came to an end in STEPS items of
    the code before. memory: reloads and stores that were executed."""

    read: list[Read] = field(default_factory=list)
    ended: bool = False
    memory: int = 0


def execute(
    code: VCode,
    seed: int,
    register: Sequence[int] | None = None,
    contracts: Mapping[str, Contract] | None = None,
    steps: int = STEPS,
) -> Trace:
    """register: by value, where it lies, if it lies anywhere; calls then overwrite what their contracts say."""
    return _Lane(code, seed, register, contracts or {}).run(steps)


class _Lane:
    def __init__(
        self, code: VCode, seed: int, register: Sequence[int] | None, contracts: Mapping[str, Contract]
    ) -> None:
        self.code, self.seed, self.contracts = code, seed, contracts
        self.place: Sequence[int] = range(len(code.names)) if register is None else register
        self.held: dict[int, Any] = {}
        self.memory: dict[int, Any] = {}
        self.predicates: dict[int, Any] = {p: _mixed((seed, "predicate", p)) for p in range(TRUE)}
        self.times: Counter[int] = Counter()
        self.trace = Trace()

    def run(self, steps: int) -> Trace:
        b = 0
        while True:
            block = self.code.blocks[b]
            jumped = False
            for item in block.items:
                if item.origin >= 0:
                    if len(self.trace.read) >= steps:
                        return self.trace
                    jumped = self._item(item)
                else:
                    self._inserted(item)
            if not block.succs:
                self.trace.ended = True
                return self.trace
            last = block.items[-1] if block.items else None
            branches = block.taken >= 0 and last is not None
            if len(block.succs) == 1:
                b = block.succs[0]
            else:
                b = block.taken if branches and jumped else next(s for s in block.succs if s != block.taken)

    # -- values

    def _get(self, v: int) -> Any:
        return self.held.get(self.place[v], NOTHING)

    def _set(self, v: int, content: Any) -> None:
        self.held[self.place[v]] = content

    def _holds(self, item: Item) -> bool:
        if item.guard is None:
            return True
        p, negated = item.guard
        truth = True if p == TRUE else bool(self.predicates[p] & 1)
        return truth != negated

    # -- items

    def _item(self, item: Item) -> bool:
        """An item of the code before; whether its guard held."""
        holds = self._holds(item)
        self.times[item.origin] += 1
        read: tuple[Any, ...] = ()
        if holds and item.kind != ENTRY:
            read = tuple(self._get(v) for o in item.uses if o.field != KEEP for v in o.values)
        self.trace.read.append((item.origin, read if holds else ("not",)))
        if holds:
            once = (item.origin, self.times[item.origin])
            self._execute(item, read, once)
        return holds

    def _execute(self, item: Item, read: tuple[Any, ...], once: tuple[int, int]) -> None:
        if item.kind == COPY:
            self._set(item.defs[0].values[0], read[0])
            return
        if item.callee:
            for r in bits(self.contracts[item.callee].clobbers) if item.callee in self.contracts else ():
                if not isinstance(self.place, range):
                    self.held[r] = ("overwritten", once)
        self._results(item, read, once)

    def _results(self, item: Item, read: tuple[Any, ...], once: tuple[int, int]) -> None:
        """once: what tells this execution from others, for all that its operands do not decide."""
        what, predicates = _said(item, self.predicates)
        seen = None if item.instr is None else view(item.instr)
        pure = seen is not None and seen.pure and not item.callee
        made = _mixed((self.seed, what, read, predicates) if pure else (self.seed, once, read))
        for place, operand in enumerate(item.defs):
            key = operand.field if pure else place
            for unit, v in enumerate(operand.values):
                self._set(v, _mixed((made, key, unit)))
        named = {r.index: r.field for r in seen.defs if r.file == PRED and r.field} if seen is not None else {}
        for p in bits(item.predicate_defs):
            if p < TRUE:
                by_instruction = pure and p in named
                self.predicates[p] = _mixed((made, named[p]) if by_instruction else (made, once, "flag", p))

    def _inserted(self, item: Item) -> None:
        if item.instr is not None and item.kind != AGAIN:
            return  # a jump
        if item.kind == STORE:
            self.trace.memory += 1
            if self._holds(item):
                self.memory[item.memory] = self._get(item.uses[0].values[0])
            return
        assert item.guard is None, "only stores stand under guards"
        if item.kind == RELOAD:
            self.trace.memory += 1
            self._set(item.defs[0].values[0], self.memory.get(item.memory, ("no store", self.seed)))
            return
        read = tuple(self._get(v) for o in item.uses for v in o.values)
        if item.kind == COPY:
            self._set(item.defs[0].values[0], read[0])
        elif item.kind == EXCHANGE:
            for operand, content in zip(item.defs, reversed(read), strict=True):
                self._set(operand.values[0], content)
        else:
            assert item.kind == AGAIN
            assert item.instr is not None
            assert view(item.instr).pure
            self._results(item, read, (-1, -1))


def _mixed(what: object) -> int:
    return int.from_bytes(blake2b(repr(what).encode(), digest_size=8).digest(), "little")


def _said(item: Item, predicates: Mapping[int, Any]) -> tuple[Any, Any]:
    """(what the instruction is, but for the places of its operands; the contents of the predicates it reads)."""
    if item.instr is None:
        return item.kind, ()
    seen = view(item.instr)
    places = {r.field for r in (*seen.defs, *seen.uses) if r.field}
    predicate = {r.field for r in seen.defs if r.file == PRED}
    written = {name for name in item.instr.f if name in ("pd0", "pd1")} | predicate
    f = tuple(sorted((k, v) for k, v in item.instr.f.items() if k not in places and k not in written))
    operands = tuple(o.field for o in item.uses)
    read = tuple((r.field, predicates.get(r.index)) for r in seen.uses if r.file == PRED)
    return (item.instr.name, f, operands), read
