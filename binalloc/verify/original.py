"""An original function as the lockstep follows it: its words in the order proposed, its values by name.

Needs its `Code` and `Webs`, and an order that `order.py` has found to do the same. Positions are those of the order:
words move inside blocks alone, never branches, calls or ends, so what a branch or a point of reconvergence names lies
where it lay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from binalloc.isa.interface.view import Ref
from binalloc.verify.blocks import Blocks
from binalloc.verify.code import Code, LocalAccess, text
from binalloc.verify.lattice import Cond
from binalloc.verify.names import Names
from binalloc.verify.webs import Webs

_BY_WORD = (
    "instrs", "views", "copies", "adds", "packs", "unpacks", "reads", "special", "zeros", "nops", "locals",
    "truths", "tests",
)  # fmt: skip


class Original(Code):
    """numbers: by position the word that stands there. uses, defs: the operands' names by unit, in order; guards: the
    guard's, -1 without one. webs: names at the entry, at calls, at returns and between blocks."""

    def __init__(
        self, code: Code, blocks: Blocks, webs: Webs, names: Names, order: Sequence[int] | None = None
    ) -> None:
        vars(self).update(vars(code))
        self.blocks, self.webs, self.names = blocks, webs, names
        self.uses, self.defs, self.guards = webs.uses, webs.defs, webs.guards
        self.numbers: Sequence[int] = range(len(code)) if order is None else order
        if order is not None:
            for name in _BY_WORD:
                values = getattr(code, name)
                setattr(self, name, [values[i] for i in order])
            self.uses = [webs.uses[i] for i in order]
            self.defs = [webs.defs[i] for i in order]
            self.guards = [webs.guards[i] for i in order]

    def number(self, m: int) -> int:
        """The word at position m (any other number stays)."""
        return self.numbers[m] if 0 <= m < len(self.numbers) else m

    def text(self, m: int) -> str:
        return text(self.fn, self.number(m))

    def condition(self, i: int) -> Cond | None:
        """The guard as a condition on an original value, or None without a guard."""
        guard = self.views[i].guard
        return None if guard is None else (self.guards[i], not guard[1])

    def copied(self, i: int) -> tuple[int, int] | None:
        """(destination, source) of a copy, by name."""
        return None if self.copies[i] is None else (self.defs[i][0], self.uses[i][0])

    def words(self, access: LocalAccess) -> list[int]:
        """The values of the local words that are accessed."""
        return [self.names.word(w) for w in access.words]

    def data(self, i: int, access: LocalAccess) -> list[int]:
        """Names of what an access of fixed local words moves."""
        refs, names = (self.views[i].uses, self.uses[i]) if access.store else (self.views[i].defs, self.defs[i])
        return _units(refs, names, access.data)

    def live(self, m: int) -> Callable[[int], bool]:
        """Whether a value may still be read by the original once it stands at position m; true of some that are not."""
        if not 0 <= m < len(self):
            return lambda x: True
        block = self.blocks.of(m)
        names = set(self.webs.live[block])
        for i in range(self.blocks.starts[block], m):
            names.update(self.defs[i])
        return lambda x: x in names or self.names.place(x) == x


def _units(refs: tuple[Ref, ...], names: tuple[int, ...], wanted: Ref | None) -> list[int]:
    at = 0
    for ref in refs:
        if ref is wanted:
            return list(names[at : at + ref.units])
        at += ref.units
    return []
