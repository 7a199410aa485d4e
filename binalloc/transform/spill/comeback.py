"""This module prices and writes comebacks. A comeback brings a spilled value back into a register, by a reload or by
recomputation.

It needs flat code, its live ranges and the costs of accesses to memory. A value is recomputed at each of its comebacks,
and then never stored, or it is kept in memory. This is decided when all spilled regions are known (`settle`), since a
recomputation may read a value that is spilled itself.
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
from binalloc.transform.spill.expressions import Expressions, RecomputedExpression
from binalloc.transform.spill.prices import Prices
from binalloc.transform.virtual.code import AGAIN, COPY, MOVED, RELOAD, Item, VCode, VOperand, copy_item
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.live_ranges import LiveRanges

RECOMPUTED = 0.5
"""Cost of an instruction that recomputes a value, in accesses to a slot. It is less than one, since it reads no memory;
chosen by hand."""



class Price(NamedTuple):
    """The price of a comeback is its cost, and what it reads."""

    cost: float
    reads: bool  #: it reads memory
    leaves: Sequence[int] = ()  #: values that have to be in registers for it


_DEEPEST = 3
"""Upper limit of the nesting of expressions whose leaves are expressions. It bounds the search; chosen by hand."""
_CONSTANT = Price(RECOMPUTED, False)  # a constant takes one instruction


class Return(NamedTuple):
    """A return is a place where a value comes back, just before an item."""

    value: int
    item: int
    weight: float
    edge: tuple[int, int] | None = None  #: the comeback is on the edge between these blocks; the item begins the second


UNKNOWN = Value(-1)  # in a register or not, by the path
Where = Callable[[int, Return], Value | None]
"""(value, comeback of another value) -> its name in a register there, None where it is spilled, UNKNOWN where it may be
either"""


class Comebacks:
    """`Comebacks` prices and writes the comebacks of all values of one function. prices: of reloads and stores.
    recompute: whether expressions may be repeated (single constants always are). expressions: of the code, if at hand.
    chosen: values to keep in memory, None where `settle` decides; values that cannot be recomputed are kept, too."""

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
        self._found: dict[tuple[int, int], RecomputedExpression | None] = {}
        self._kept: set[int] = set()
        self._reloads: dict[float, Price] = {}
        self.chosen: Collection[int] | None = None

    def at(self, prices: Prices) -> Comebacks:
        """Return a copy at other prices, with nothing settled. The expressions found are shared."""
        other = copy(self)
        other.prices, other._kept = prices, set()
        return other

    def _expression(self, v: int, item: int) -> RecomputedExpression | None:
        if self.expressions is None or not self.expressions.pure(v) or item < 0 or v in self._kept:
            return None
        key = v, item
        if key not in self._found:
            self._found[key] = self.expressions.find(v, item)
        return self._found[key]

    def price(self, v: int, item: int) -> Price:
        """Return the price of having value v back in a register just before `item`."""
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
        """Return (unweighted cost of the code that recomputes value v before `item`, values it needs in registers). The
        cost is infinite where that is impossible. Copies cost nothing."""
        if v in self.code.constants:
            return RECOMPUTED, ()
        found = self._expression(v, item)
        if found is None:
            return inf, ()
        copies = sum(self.flat.items[k].kind == COPY for k in found.items)
        return RECOMPUTED * (found.length - copies), found.leaves

    def pure(self, v: int) -> bool:
        """Say whether one pure instruction alone computes v."""
        return v in self.code.constants or (self.expressions is not None and self.expressions.pure(v))

    def settle(self, returns: Sequence[Return], stores: dict[int, float], where: Where) -> None:
        """Decide which values are recomputed. stores: by value, the weighted cost of its stores. where: finds the
        operands of expressions."""
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
        while changed:  # an operand of an expression may have been put into memory since
            changed = False
            for back in returns:
                if not self._sound(back.value, back, where, _DEEPEST):
                    self._kept.add(back.value)
                    changed = True

    def _again_cost(self, found: RecomputedExpression, back: Return, where: Where) -> float:
        total = RECOMPUTED * found.length
        for leaf in found.leaves:
            name = where(leaf, back)
            if name is None:
                total += self.price(leaf, back.item).cost
            elif name == UNKNOWN:
                return float("inf")
        return total

    def _sound(self, v: int, back: Return, where: Where, depth: int) -> bool:
        """Say whether v can be brought back there: from memory, or from operands in registers or brought back
        themselves."""
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
        """Say whether memory holds v for all its life, so that nothing stores it."""
        return v in self.code.held

    def store(self, v: int) -> float:
        """Return the unweighted cost of a store of v."""
        return 0.0 if v in self.code.held else self.prices.of(v)

    def saved(self, item: Item) -> float:
        """Return the unweighted saving if an item only brings back a value that is not needed yet."""
        if item.kind != RELOAD or item.serves >= 0:
            return 0.0
        v = item.defs[0].values[0]
        return self.prices.of(v) if self.held(v) else 0.0

    def read(self) -> set[int]:
        """Return the values read by any expression found so far."""
        return {leaf for found in self._found.values() if found is not None for leaf in found.leaves}

    def stored(self, v: int) -> bool:
        """Say whether v is kept in memory where it is spilled; valid after `settle`."""
        return v in self._kept

    def leaves(self, back: Return, where: Where) -> Iterator[int]:
        """Yield the values read by the code of a comeback, and by the comebacks within it; valid after `settle`."""
        if back.value in self.code.constants or back.value in self._kept:
            return
        found = self._expression(back.value, back.item)
        for leaf in found.leaves if found is not None else ():
            yield leaf
            if where(leaf, back) is None:
                yield from self.leaves(back._replace(value=leaf), where)

    def why_kept(self, v: int) -> str:
        """Say in words why v is kept in memory and not recomputed."""
        if self.expressions is None or not self.expressions.pure(v):
            return "not one pure, unguarded instruction alone gives it"
        if any(found is not None for found in self._of(v)):
            return "to recompute it costs more"
        return "what it is made of is not there any more, cannot be made again, or takes too many instructions"

    def recipe(self, v: int) -> list[Instr]:
        """Return the instructions that recompute v, as they are at its first comeback; [] if it is kept."""
        constant = self.code.constants.get(Value(v))
        if constant is not None:
            return [constant]
        found = next((found for found in self._of(v) if found is not None), None)
        if v in self._kept or found is None:
            return []
        constants = [self.code.constants[Value(c)] for c in found.constants]
        again = [self.flat.items[k].instr for k in found.items]
        return [*constants, *(instr for instr in again if instr is not None)]

    def _of(self, v: int) -> list[RecomputedExpression | None]:
        """List the expressions found for v, by the place of the comeback."""
        return [self._found[v, item] for item in sorted(item for value, item in self._found if value == v)]

    # -- code

    def items(self, back: Return, into: Value, where: Where) -> list[Item]:
        """Return code that puts the value of a comeback into `into`."""
        v, weight = Value(back.value), back.weight
        constant = self.code.constants.get(v)
        if constant is not None:
            result = view(constant).defs[0]
            defs = (VOperand(result.field, (into,), alignment=result.alignment),)
            return [Item(AGAIN, constant, defs=defs, weight=weight)]
        if v in self._kept:
            memory = self.code.held.get(v, v)
            return [Item(RELOAD, defs=(VOperand(MOVED, (into,)),), memory=memory, weight=weight)]
        found = self._expression(v, back.item)
        assert found is not None, "a value that is neither in memory nor to be recomputed"
        return self._repeated(found, back, into, where)

    def _repeated(self, found: RecomputedExpression, back: Return, into: Value, where: Where) -> list[Item]:
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
        """Return item k once more, with other names. A leaf keeps its own: in part of a result it may have the content
        from before a guarded change."""
        item = self.flat.items[k]
        uses = tuple(VOperand(o.field, tuple(names[x] for x in o.values), alignment=o.alignment) for o in item.uses)
        mine: dict[int, Value] = {}
        for operand in item.defs:
            for v in operand.values:
                mine[v] = into if v == back.value else self.code.value(f"{self.code.names[v]}*")
        names.update((v, name) for v, name in mine.items() if v not in leaves)
        defs = tuple(VOperand(o.field, tuple(mine[x] for x in o.values), alignment=o.alignment) for o in item.defs)
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
