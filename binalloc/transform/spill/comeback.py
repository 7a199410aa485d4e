"""What it costs to bring a value back that is not in a register, and the code that does: reload, or recomputation.

Needs flat code, its live ranges and what accesses to memory cost. A value is either recomputed wherever it comes
back, and then never stored, or kept in memory; which is decided when it is known what else is away (`settle`), since a
recomputation may read what is away itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from math import inf
from typing import NamedTuple

from binalloc.bitset import bits, mask_from
from binalloc.isa.instruction import Instr
from binalloc.isa.interface.places import PRED
from binalloc.isa.sets.table import set_of, view
from binalloc.models.allocation.terms import Value
from binalloc.transform.spill.expressions import Expression, Expressions
from binalloc.transform.spill.prices import Prices
from binalloc.transform.virtual.code import AGAIN, COPY, MOVED, RELOAD, Item, VCode, VOperand, copy_item
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.live_ranges import LiveRanges

RECOMPUTED = 0.5
"""Cost of an instruction that recomputes a value, in accesses to a slot."""



class Price(NamedTuple):
    """Of a comeback. reads: whether it reads memory. leaves: values that have to be in registers for it."""

    cost: float
    reads: bool
    leaves: Sequence[int] = ()


_DEEPEST = 3
"""Expressions whose leaves are expressions, and so on."""
_CONSTANT = Price(RECOMPUTED, False)


class Return(NamedTuple):
    """A value that comes back just before an item. edge: on the way between these blocks, the second of which the item
    begins."""

    value: int
    item: int
    weight: float
    edge: tuple[int, int] | None = None


UNKNOWN = Value(-1)
Where = Callable[[int, Return], Value | None]
"""(value, where something else comes back) -> its name in a register there, None where it is away, UNKNOWN where it may
be either."""


class Comebacks:
    """Of the values of one function. prices: of reloads and stores. recompute: whether expressions may be repeated
    (single constants always are). expressions: of the code, if at hand. chosen: values to be kept in memory, None where
    `settle` is to decide; some more are kept, where they cannot be recomputed."""

    def __init__(
        self,
        code: VCode,
        flat: Flat,
        live: LiveRanges,
        prices: Prices,
        *,
        recompute: bool = True,
        expressions: Expressions | None = None,
    ) -> None:
        self.code, self.flat, self.prices = code, flat, prices
        self.expressions = (expressions or Expressions(code, flat, live)) if recompute else None
        self._found: dict[tuple[int, int], Expression | None] = {}
        self._kept: set[int] = set()
        self._reloads: dict[float, Price] = {}
        self.chosen: Collection[int] | None = None

    def at(self, prices: Prices) -> Comebacks:
        """The same at other prices, nothing settled; what was found of expressions is shared."""
        other = copy(self)
        other.prices, other._kept = prices, set()
        return other

    def _expression(self, v: int, item: int) -> Expression | None:
        if self.expressions is None or not self.expressions.pure(v) or item < 0 or v in self._kept:
            return None
        key = v, item
        if key not in self._found:
            self._found[key] = self.expressions.find(v, item)
        return self._found[key]

    def price(self, v: int, item: int) -> Price:
        """What it costs to have value v back in a register just before `item`."""
        if v in self.code.constants:
            return _CONSTANT
        memory = self.prices.of(v)
        found = self._expression(v, item)
        if found is not None and RECOMPUTED * found.length <= memory:
            return Price(RECOMPUTED * found.length, False, found.leaves)
        reload = self._reloads.get(memory)
        if reload is None:
            reload = self._reloads[memory] = Price(memory, True)
        return reload

    def again(self, v: int, item: int) -> tuple[float, Sequence[int]]:
        """(what the code that recomputes value v before `item` costs, unweighted, what has to be in registers for it);
        infinite where that cannot be. Copies cost nothing."""
        if v in self.code.constants:
            return RECOMPUTED, ()
        found = self._expression(v, item)
        if found is None:
            return inf, ()
        copies = sum(self.flat.items[k].kind == COPY for k in found.items)
        return RECOMPUTED * (found.length - copies), found.leaves

    def pure(self, v: int) -> bool:
        """Does one pure instruction alone give v?"""
        return v in self.code.constants or (self.expressions is not None and self.expressions.pure(v))

    def settle(self, returns: Sequence[Return], stores: dict[int, float], where: Where) -> None:
        """Decide which values are recomputed. stores: by value, the weighted cost of its stores. where: where values
        are, for those that expressions read."""
        cost: dict[int, list[float]] = {}
        for back in returns:
            v = back.value
            if v in self.code.constants:
                continue
            total = cost.setdefault(v, [0.0, stores.get(v, 0.0)])
            total[1] += back.weight * self.prices.of(v)
            found = self._expression(v, back.item)
            if found is None:
                total[0] = float("inf")
                continue
            total[0] += back.weight * self._again_cost(found, back, where)
        wanted = self.chosen
        self._kept = {v for v, (again, kept) in cost.items() if (again >= kept if wanted is None else v in wanted)}
        changed = True
        while changed:  # what one value's expression reads may have gone to memory since
            changed = False
            for back in returns:
                if not self._sound(back.value, back, where, _DEEPEST):
                    self._kept.add(back.value)
                    changed = True

    def _again_cost(self, found: Expression, back: Return, where: Where) -> float:
        total = RECOMPUTED * found.length
        for leaf in found.leaves:
            name = where(leaf, back)
            if name is None:
                total += self.price(leaf, back.item).cost
            elif name == UNKNOWN:
                return float("inf")
        return total

    def _sound(self, v: int, back: Return, where: Where, depth: int) -> bool:
        """Can v be brought back there: from memory, or from what is in registers or can be brought back itself?"""
        if v in self._kept or v in self.code.constants:
            return True
        found = self._expression(v, back.item)
        if found is None or not depth:
            return False
        names = {leaf: where(leaf, back) for leaf in found.leaves}
        return all(
            name != UNKNOWN and (name is not None or self._sound(leaf, back, where, depth - 1))
            for leaf, name in names.items()
        )

    def held(self, v: int) -> bool:
        """Does memory hold v wherever it lives, so that nothing stores it?"""
        return v in self.code.held

    def store(self, v: int) -> float:
        """What a store of v costs, unweighted."""
        return 0.0 if v in self.code.held else self.prices.of(v)

    def saved(self, item: Item) -> float:
        """What is saved where an item only brings back what is not wanted yet, unweighted."""
        if item.kind != RELOAD or item.serves >= 0:
            return 0.0
        v = item.defs[0].values[0]
        return self.prices.of(v) if self.held(v) else 0.0

    def read(self) -> set[int]:
        """Values that some expression found so far reads."""
        return {leaf for found in self._found.values() if found is not None for leaf in found.leaves}

    def stored(self, v: int) -> bool:
        """Whether v is kept in memory where it is away; ask after `settle`."""
        return v in self._kept

    def leaves(self, back: Return, where: Where) -> Iterator[int]:
        """Values that the code which brings a value back reads, those included that it has to bring back itself; ask
        after `settle`."""
        if back.value in self.code.constants or back.value in self._kept:
            return
        found = self._expression(back.value, back.item)
        for leaf in found.leaves if found is not None else ():
            yield leaf
            if where(leaf, back) is None:
                yield from self.leaves(back._replace(value=leaf), where)

    def why_kept(self, v: int) -> str:
        """Why v is kept in memory and not recomputed, in words."""
        if self.expressions is None or not self.expressions.pure(v):
            return "not one pure, unguarded instruction alone gives it"
        if any(found is not None for found in self._of(v)):
            return "to recompute it costs more"
        return "what it is made of is not there any more, cannot be made again, or takes too many instructions"

    def recipe(self, v: int) -> list[Instr]:
        """The instructions that recompute v, as they are at the first place where it comes back; [] if it is kept."""
        constant = self.code.constants.get(Value(v))
        if constant is not None:
            return [constant]
        found = next((found for found in self._of(v) if found is not None), None)
        if v in self._kept or found is None:
            return []
        constants = [self.code.constants[Value(c)] for c in found.constants]
        again = [self.flat.items[k].instr for k in found.items]
        return [*constants, *(instr for instr in again if instr is not None)]

    def _of(self, v: int) -> list[Expression | None]:
        """What was found for v, by the place where it comes back."""
        return [self._found[v, item] for item in sorted(item for value, item in self._found if value == v)]

    # -- code

    def items(self, back: Return, into: Value, where: Where) -> list[Item]:
        """Code that puts the value that comes back into `into`."""
        v, weight = Value(back.value), back.weight
        constant = self.code.constants.get(v)
        if constant is not None:
            return [Item(AGAIN, constant, defs=(VOperand(view(constant).defs[0].field, (into,)),), weight=weight)]
        if v in self._kept:
            memory = self.code.held.get(v, v)
            return [Item(RELOAD, defs=(VOperand(MOVED, (into,)),), memory=memory, weight=weight)]
        found = self._expression(v, back.item)
        assert found is not None, "a value that is neither in memory nor to be recomputed"
        return self._repeated(found, back, into, where)

    def _repeated(self, found: Expression, back: Return, into: Value, where: Where) -> list[Item]:
        out: list[Item] = []
        names: dict[int, Value] = {}
        for v in (*found.constants, *found.leaves):
            name = where(v, back) if v in found.leaves else None
            if name is None:
                name = self.code.value(f"{self.code.names[v]}*")
                out += self.items(back._replace(value=v), name, where)
            names[v] = name
        assert self.expressions is not None
        free = bits(self.expressions.free_predicates(back.item)) if found.predicates else []
        named = dict(zip(sorted(found.predicates), free, strict=False))
        for k in found.items:
            out.append(self._again(k, back, into, names, named, found.leaves))
        return out

    def _again(
        self,
        k: int,
        back: Return,
        into: Value,
        names: dict[int, Value],
        named: dict[int, int],
        leaves: Sequence[int],
    ) -> Item:
        """Item k once more, with other names. A leaf keeps its own: as half of a result it may be what it was before a
        guard changed it."""
        item = self.flat.items[k]
        uses = tuple(VOperand(o.field, tuple(names[x] for x in o.values)) for o in item.uses)
        mine: dict[int, Value] = {}
        for operand in item.defs:
            for v in operand.values:
                mine[v] = into if v == back.value else self.code.value(f"{self.code.names[v]}*")
        names.update((v, name) for v, name in mine.items() if v not in leaves)
        defs = tuple(VOperand(o.field, tuple(mine[x] for x in o.values)) for o in item.defs)
        if item.kind == COPY:
            return copy_item(defs[0].values[0], uses[0].values[0], back.weight)
        assert item.instr is not None
        seen = view(item.instr)
        written = {r.field: named[r.index] for r in seen.defs if r.file == PRED}
        read = {r.field: named[r.index] for r in seen.uses if r.file == PRED}
        return Item(
            AGAIN,
            set_of(item.instr).rename(item.instr, written | read),
            -1,
            defs,
            uses,
            predicate_defs=mask_from(written.values()),
            weight=back.weight,
            predicate_uses=mask_from(read.values()),
        )
