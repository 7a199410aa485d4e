"""This module shows an original function to the lockstep: its words in the proposed order, its values by name.

Needs its `FunctionCode` and `NamedWebs`, and an order that `order.py` has found to do the same. Positions count in that
order. Words move inside blocks alone, and branches, calls and ends never move, so the positions that a branch or a
reconvergence point names stay right. """

from __future__ import annotations

from collections.abc import Callable, Sequence

from binalloc.isa.interface.view import Ref
from binalloc.isa.kinds import Flow
from binalloc.verify.reading.blocks import Blocks
from binalloc.verify.reading.code import FunctionCode, LocalAccess, text
from binalloc.verify.reading.names import ZERO, Names, is_place
from binalloc.verify.reading.order import Order
from binalloc.verify.reading.webs import NamedWebs
from binalloc.verify.values.conditions import Cond

# attributes of `FunctionCode` with one entry per word
_BY_WORD = (
    "instrs", "views", "copies", "adds", "packs", "unpacks", "faulting", "special", "zeros", "nops", "locals",
    "truths", "tests",
)  # fmt: skip


class OriginalFunction(FunctionCode):
    """An original is a function of the original binary, in the proposed order and with names for its values.

    numbers: for each position the word there. uses, defs: names of the operands' units, in order. guards: the guard's
    name, -1 without one. webs: names at the entry, at calls, at returns and between blocks.
    """

    def __init__(
        self, code: FunctionCode, blocks: Blocks, webs: NamedWebs, names: Names, order: Order | None = None
    ) -> None:
        vars(self).update(vars(code))
        self.blocks, self.webs, self.names = blocks, webs, names
        self.uses, self.defs, self.guards = webs.uses, webs.defs, webs.guards
        self._read_in: dict[int, tuple[frozenset[int], dict[int, int]]] = {}
        self.numbers: Sequence[int] = range(len(code)) if order is None else order.words
        self._alone = frozenset[int]() if order is None else order.alone
        if order is not None:
            for name in _BY_WORD:
                values = getattr(code, name)
                setattr(self, name, [values[i] for i in order.words])
            self.uses = [webs.uses[i] for i in order.words]
            self.defs = [webs.defs[i] for i in order.words]
            self.guards = [webs.guards[i] for i in order.words]

    def positions(self, origin: Sequence[int]) -> list[int]:
        """Return the instruction map with positions in place of words; -1 for words that each program executes by
        itself."""
        at = {i: -1 if i in self._alone else m for m, i in enumerate(self.numbers)}
        return [at.get(k, k) for k in origin]

    def number(self, m: int) -> int:
        """Return the word at position m (any other number stays)."""
        return self.numbers[m] if 0 <= m < len(self.numbers) else m

    def text(self, m: int) -> str:
        return text(self.fn, self.number(m))

    def condition(self, i: int) -> Cond | None:
        """Return the guard as a condition on an original value, or None without a guard."""
        guard = self.views[i].guard
        return None if guard is None else (self.guards[i], not guard[1])

    def copied(self, i: int) -> tuple[int, int] | None:
        """Return (destination, source) of a copy, by name."""
        return None if self.copies[i] is None else (self.defs[i][0], self.uses[i][0])

    def moves(self, i: int) -> list[tuple[int, int]] | None:
        """Return (destination, source) by name for all that the word copies at once; None if it does not copy.

        The source of zeros, as of a zero register, is the token of zero.
        """
        access, copy = self.locals[i], self.copied(i)
        if access is None:
            return None if copy is None else [copy]
        places, data = self.words(access), self.data(i, access)
        if not access.store:
            return list(zip(data, places, strict=True)) if data else []
        return list(zip(places, data or [self.names.token(ZERO)] * len(places), strict=True))

    def words(self, access: LocalAccess) -> list[int]:
        """Return the values of the local words that are accessed."""
        return [self.names.word(w) for w in access.words]

    def data(self, i: int, access: LocalAccess) -> list[int]:
        """Return the names of the data that an access of fixed local words moves."""
        refs, names = (self.views[i].uses, self.uses[i]) if access.store else (self.views[i].defs, self.defs[i])
        return _units(refs, names, access.data)

    def live(self, m: int) -> Callable[[int], bool]:
        """Return a function: may the original still read a value once it is at position m? Local words always may be
        read."""
        if not 0 <= m < len(self):
            return lambda x: True
        block = self.blocks.of(m)
        beyond, last = self._reads(block)
        return lambda x: x in beyond or last.get(x, -1) >= m or is_place(x)

    def _reads(self, block: int) -> tuple[frozenset[int], dict[int, int]]:
        """Return the values live behind a block, and the last position that reads each value read in it."""
        found = self._read_in.get(block)
        if found is None:
            webs, last = self.webs, dict[int, int]()
            start, end = self.blocks.starts[block], self.blocks.starts[block + 1]
            for i in range(start, end):
                last.update(dict.fromkeys(self.uses[i], i))
                last[self.guards[i]] = i
                if i in webs.before:
                    last.update(dict.fromkeys(webs.before[i].values(), i))
            beyond = frozenset().union(*(webs.live[b] for b in self.blocks.after[block]))
            if self.views[end - 1].control == Flow.RETURN:
                beyond |= frozenset(webs.exit.values())
            found = self._read_in[block] = beyond, last
        return found


def _units(refs: tuple[Ref, ...], names: tuple[int, ...], wanted: Ref | None) -> list[int]:
    """Return the names of the operand `wanted`."""
    at = 0
    for ref in refs:
        if ref is wanted:
            return list(names[at : at + ref.units])
        at += ref.units
    return []
