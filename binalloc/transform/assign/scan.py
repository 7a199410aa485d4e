"""This module puts every value into a register, by a scan over the blocks in dominance order. It cannot fail, except
where groups find no place (NoPlace). A group is the values of one operand, which need consecutive registers of some
alignment.

It needs code in which no point needs more registers than there are, and homes for as many values as have one. It leaves
code with one register for every value: a value that changes registers gets a new name, and a copy in between. A value
goes to its home if that is free, else to the register that stays free longest. At the end of a block, parallel copies
bring values to where its successors expect them. Values of a group, and arguments of a call, are moved just before
the item.

This colours along the dominator tree as in Hack, Grund and Goos, "Register allocation for programs in SSA-form" (2006).
Our values may have several definitions, so copies at joins are only made where registers differ.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from binalloc.bitset import bits, lowest
from binalloc.isa.sets.table import view
from binalloc.models.allocation.terms import Value
from binalloc.transform.assign.arrange import NONE, ItemDemand, Wide, WideResult, arrange, without_moves
from binalloc.transform.assign.moves import in_sequence
from binalloc.transform.assign.placed import NoPlace, Placed, ScanPlan
from binalloc.transform.virtual.code import EXCHANGE, KEEP, MOVED, Item, VCode, VOperand, copy_item
from binalloc.transform.virtual.edges import ends_in_jump, place_on_edges
from binalloc.transform.virtual.flat import reverse_postorder
from binalloc.transform.virtual.live_ranges import deaths
from binalloc.transform.virtual.room import CallRoom

_FAR = 1 << 60  # behind all points of any code


def scan(code: VCode, plan: ScanPlan) -> Placed:
    """Return the placed code; see the module. Raises NoPlace."""
    return _Scan(code, plan).run()


class _Scan:
    """A scan keeps track of the register that each value is in. holder: by register, the value in it or NONE. where:
    value -> register, of all live values. free: registers without a value, as bits. expected: by block, value ->
    register at its start, once known. late: by register, the item of the block that writes it for no reader, if slow,
    as loads are."""

    def __init__(self, code: VCode, plan: ScanPlan) -> None:
        self.code, self.plan, self.flat, self.live = code, plan, plan.flat, plan.live
        self.where: dict[int, int] = {}
        self.holder: dict[int, int] = {}
        self.free = plan.available
        self.expected: dict[int, dict[int, int]] = {}
        self.register: list[int] = [NONE] * len(code.names)
        self.named: dict[tuple[int, int], Value] = {}
        self.placed = Placed(code, self.register)
        self.out: list[Item] = []
        self.dying, self.dead = deaths(self.flat, self.live)
        self.wide = self.flat.reads_wide.union(self.flat.wide)
        self.edges: list[tuple[int, int, list[Item]]] = []
        self.late: dict[int, int] = {}
        self.failed: list[int] = []  # items whose groups found no place; the scan goes on to find all

    def run(self) -> Placed:
        order = reverse_postorder(self.flat)
        bodies: list[list[Item]] = [block.items for block in self.code.blocks]
        for b in order:
            bodies[b] = self._block(b)
        if self.failed:
            raise NoPlace(self.failed)
        for block, items in zip(self.code.blocks, bodies, strict=True):
            block.items = items
        place_on_edges(self.code, self.edges)
        for v, register in enumerate(self.register):
            if register == NONE:
                self.register[v] = lowest(self.plan.available)
        return self.placed

    # -- names and registers

    def _name(self, v: int, register: int) -> Value:
        """Return the name of v in a register: v itself in its home, or without one in the first register it gets."""
        if self.register[v] == register:
            return Value(v)
        known = self.named.get((v, register))
        if known is not None:
            return known
        home = self.plan.home[v]
        if register == home or (home == NONE and self.register[v] == NONE):
            name = Value(v)
            self.register[v] = register
        else:
            name = self.code.value(f"{self.code.names[v]}@{register}")
            self.register.append(register)
            if v in self.code.before:
                self.code.before[name] = self.code.before[Value(v)]
        self.named[v, register] = name
        return name

    def _put(self, v: int, register: int) -> None:
        self.where[v] = register
        self.holder[register] = v
        self.free &= ~(1 << register)

    def _drop(self, v: int) -> None:
        register = self.where.pop(v, NONE)
        if register != NONE:
            del self.holder[register]
            self.free |= 1 << register

    def _begin(self, state: dict[int, int]) -> None:
        self.where = dict(state)
        self.holder = {r: v for v, r in state.items()}
        taken = 0
        for r in state.values():
            taken |= 1 << r
        self.free = self.plan.available & ~taken

    def _pick(self, v: int, free: int, point: int) -> int:
        """Return a register of `free` (not empty): the value's home, else the one that nobody's home needs for
        longest."""
        home = self.plan.home[v]
        if home != NONE and free >> home & 1:
            return home
        best, best_until = NONE, -1
        for r in sorted(bits(free), key=self._since) if self.late else bits(free):
            claims = self.plan.claims[r]
            at = bisect_left(claims, point)
            until = claims[at] if at < len(claims) else _FAR
            if until > best_until:
                best, best_until = r, until
        return best

    def _since(self, register: int) -> int:
        """Return the item of the block that may still be about to write the register, -1 for none."""
        return self.late.get(register, -1)

    # -- blocks

    def _block(self, b: int) -> list[Item]:
        flat = self.flat
        self._begin(self.expected.get(b, {}))
        self.out = []
        self.late = {}
        last = flat.starts[b + 1] - 1
        for k in range(flat.starts[b], last + 1):
            if k == last and ends_in_jump(self.code.blocks[b]):
                self._before_successors(b)
                self.out.append(flat.items[k])
                return self.out
            self._item(k)
        if flat.succs[b]:
            self._before_successors(b)
        return self.out

    def _before_successors(self, b: int) -> None:
        """Bring values to where the successors expect them, or fix where successors without expectations find them."""
        flat, live = self.flat, self.live
        for v in set(self.where) - set(live.live_out[b]):
            self._drop(v)
        known = [s for s in dict.fromkeys(flat.succs[b]) if s in self.expected]
        new = [s for s in dict.fromkeys(flat.succs[b]) if s not in self.expected]
        here = next((s for s in known if self._before_branch(b, s, len(known) == 1)), NONE)
        if here != NONE:
            wanted = self.expected[here]
            self._move({v: r for v, r in wanted.items() if v in self.where}, flat.weights[b], self.out)
        for s in new:
            self._expect(s, len(flat.preds[s]) > 1 and flat.has_room(b, s))
        for s in (*known, *new):
            if s != here:
                self._edge(b, s)

    def _before_branch(self, b: int, s: int, alone: bool) -> bool:
        """Say whether moves for successor s are made before the branch. They are if the edge has no room and another
        jump would let lanes wait longer, or if only s (`alone`) wants any and that costs no more."""
        flat = self.flat
        if not flat.has_room(b, s):
            return alone or flat.meeting[b] == s
        return alone and (len(flat.succs[b]) == 1 or flat.weights[s] >= flat.weights[b])

    def _expect(self, s: int, settle: bool) -> None:
        """Set where values are at the start of block s: where they are now or, with `settle`, at home where that is
        free."""
        live_in = self.live.live_in[s]
        state = {v: self.where[v] for v in live_in if v in self.where}
        taken = set(state.values())
        if settle:
            for v, r in sorted(state.items()):
                home = self.plan.home[v]
                if home not in (NONE, r) and home not in taken:
                    state[v] = home
                    taken.add(home)
                    taken.discard(r)
        for v in live_in:
            if v not in state:  # no definition reaches it on this path
                free = self.plan.available
                for r in taken:
                    free &= ~(1 << r)
                state[v] = self._pick(v, free, 2 * self.flat.starts[s])
                taken.add(state[v])
        for v, r in state.items():
            self._name(v, r)
        self.expected[s] = state

    def _edge(self, b: int, s: int) -> None:
        """Make moves on the edge itself, where they are not made before the branch."""
        wanted = self.expected[s]
        moves = [(r, self.where[v]) for v, r in sorted(wanted.items()) if v in self.where and self.where[v] != r]
        if not moves:
            return
        items: list[Item] = []
        taken = 0
        for v, r in wanted.items():
            taken |= 1 << r | (1 << self.where[v] if v in self.where else 0)
        held = {r: v for r, v in self.holder.items() if v in wanted}
        vacated = {r for _, r in moves}.difference(wanted.values())
        weight = min(self.flat.weights[b], self.flat.weights[s])
        self._emit(moves, held, self.plan.available & ~taken, vacated, weight, items)
        self.edges.append((b, s, items))

    # -- moves

    def _move(self, targets: dict[int, int], weight: float, out: list[Item]) -> None:
        """Move values to the given registers; any other value there goes elsewhere."""
        moves = {v: r for v, r in targets.items() if self.where[v] != r}
        if not moves:
            return
        taken = set(targets.values())
        vacated = {self.where[v] for v in moves} - taken
        for r in sorted(taken):
            other = self.holder.get(r, NONE)
            if other != NONE and other not in targets:
                free = self.free | sum(1 << x for x in vacated)
                for x in taken:
                    free &= ~(1 << x)
                place = self._pick(other, free, _FAR)
                moves[other] = place
                vacated.discard(place)
                taken.add(place)
        self._perform(moves, weight, out)

    def _perform(self, moves: dict[int, int], weight: float, out: list[Item]) -> None:
        """Move values at once, to registers that hold nothing or another moving value."""
        targets = 0
        for r in moves.values():
            targets |= 1 << r
        pairs = [(r, self.where[v]) for v, r in sorted(moves.items())]
        vacated = {r for _, r in pairs}.difference(moves.values())
        self._emit(pairs, self.holder, self.free & ~targets, vacated, weight, out)
        for v in moves:
            self._drop(v)
        for v, r in moves.items():
            self._put(v, r)

    def _emit(
        self,
        moves: list[tuple[int, int]],
        holder: dict[int, int],
        free: int,
        vacated: set[int],
        weight: float,
        out: list[Item],
    ) -> None:
        """Emit copies and exchanges for moves (target, source); `holder` has the values in the sources. free: registers
        that hold nothing, as bits. vacated: sources that hold nothing afterwards."""
        content = dict(holder)
        spare = lowest(free) if free else NONE
        for move in in_sequence(moves, spare, vacated):
            v = content[move.source]
            target, source = self._name(v, move.target), self._name(v, move.source)
            if move.exchange:
                w = content[move.target]
                defs = (VOperand(MOVED, (target,)), VOperand(MOVED, (self._name(w, move.source),)))
                uses = (VOperand(MOVED, (self._name(w, move.target),)), VOperand(MOVED, (source,)))
                out.append(Item(EXCHANGE, defs=defs, uses=uses, weight=weight))
                content[move.target], content[move.source] = v, w
            else:
                out.append(copy_item(target, source, weight))
                content[move.target] = v
            self.placed.moves += 1

    # -- items

    def _item(self, k: int) -> None:
        flat = self.flat
        item, uses, defs = flat.items[k], flat.uses[k], flat.defs[k]
        if not uses and not defs and not item.callee:
            self.out.append(item)
            return
        for v in uses:
            if v not in self.where:  # read before anything wrote it: any register will do
                self._put(v, self._pick(v, self.free or self._any(k), 2 * k))
        merging = self.live.kept.get(k, ())
        if item.callee:
            self._call(k, item)
            return
        for operand in item.uses:
            if operand.location >= 0:
                self._results(item)
                break
        through = [v for v in defs if v in merging]
        gone = [*self.dying.get(k, ()), *(v for v in defs if v not in through and v in self.where)]
        bases = self._arrange_wide(k, item, set(gone), merging) if k in self.wide else {}
        renamed_uses = tuple([self._renamed(o) for o in item.uses if o.field != KEEP])
        for v in gone:
            self._drop(v)
        for values, base in bases.items():
            for i, v in enumerate(values):
                if v not in self.where:
                    self._put(v, base + i)
        for v in defs:
            if v not in self.where:
                self._put(v, self._pick(v, self.free or self._any(k), 2 * k + 2))
        renamed_defs = tuple([self._renamed(o) for o in item.defs])
        self.out.append(item.of(renamed_defs, renamed_uses))
        nobody = self.dead.get(k, ())
        if nobody and item.instr is not None and view(item.instr).variable:
            self.late.update(dict.fromkeys([self.where[v] for v in nobody], k))
        for v in nobody:
            self._drop(v)

    def _any(self, k: int) -> int:
        raise NoPlace([*self.failed, k])

    def _renamed(self, operand: VOperand) -> VOperand:
        where, values = self.where, operand.values
        if len(values) == 1:
            name = self._name(values[0], where[values[0]])
            return operand if name == values[0] else operand.of((name,))
        names = tuple([self._name(v, where[v]) for v in values])
        return operand if names == operand.values else operand.of(names)

    def _arrange_wide(
        self, k: int, item: Item, gone: set[int], merging: Sequence[int]
    ) -> dict[Wide, int]:
        """Bring wide operands into consecutive registers, and make room for wide results; return their bases."""
        operands: dict[Wide, int] = {}
        for o in item.uses:
            if o.grouped and o.field != KEEP:
                operands[o.values] = max(o.alignment, operands.get(o.values, 1))
        results: dict[Wide, WideResult] = {
            o.values: WideResult(o.alignment, tuple(v if v in merging and v in self.where else NONE for v in o.values))
            for o in item.defs
            if o.grouped
        }
        if not operands and not results:
            return {}
        wanted = ItemDemand(operands, results, gone, self.plan.home, self.late)
        bases = without_moves(self.where, self.free, self.plan.available, wanted)
        if bases is not None:
            return bases
        found = arrange(self.where, self.plan.available, wanted)
        if found is None:
            self.failed.append(k)
            return {}
        self._perform({v: r for v, r in found.where.items() if self.where[v] != r}, item.weight, self.out)
        return found.bases

    # -- borders of functions

    def _results(self, item: Item) -> None:
        """Bring results to where callers will look for them at a RET, the same at every RET."""
        results = self.placed.results
        wanted: dict[int, int] = {}
        for operand in item.uses:
            if operand.location >= 0 and operand.location in results:
                wanted[operand.values[0]] = results[operand.location]
        self._move(wanted, item.weight, self.out)
        for operand in item.uses:
            if operand.location >= 0:
                results.setdefault(operand.location, self.where[operand.values[0]])

    def _call(self, k: int, item: Item) -> None:
        """Bring arguments into place, survivors out of registers that the callee overwrites, and results to where it
        leaves them."""
        site = self.plan.sites[k]
        arguments: dict[int, int] = {o.fixed: o.values[0] for o in item.uses}
        survivors = set(site.survivors)
        final: dict[int, int] = dict(arguments)  # register -> value it has to hold at the call
        evicted: list[int] = []
        for v in sorted(survivors & set(self.where)):
            here = self.where[v]
            if site.kept.get(v) is not None and arguments.get(site.kept[v]) == v:
                continue  # it stays in its argument register
            if site.blocked >> here & 1 or here in final:
                evicted.append(v)
            else:
                final[here] = v
        open_ = self.plan.available & ~site.blocked
        for r in final:
            open_ &= ~(1 << r)
        for v in evicted:
            place = self._pick(v, open_ or self._any(k), 2 * k + 2)
            final[place] = v
            open_ &= ~(1 << place)
        self._arrange(final, survivors, site, item.weight)
        uses = tuple(o.of((self._name(o.values[0], o.fixed),)) for o in item.uses)
        for v in list(self.where):
            if v not in survivors:
                self._drop(v)
        for operand in item.defs:
            v = operand.values[0]
            self._drop(v)
            if operand.fixed >= 0:
                self._put(v, operand.fixed)
            else:
                self._put(v, self._pick(v, self.free or self._any(k), 2 * k + 2))
        defs = tuple(self._renamed(o) for o in item.defs)
        self.out.append(item.of(defs, uses))
        for v in self.dead.get(k, ()):
            self._drop(v)

    def _arrange(self, final: dict[int, int], survivors: set[int], site: CallRoom, weight: float) -> None:
        """Make registers hold the values of `final`; a value may be needed in several."""
        moves = sorted((r, self.where[v]) for r, v in final.items() if self.where[v] != r)
        if moves:
            used = set(final) | {s for _, s in moves}
            free = self.plan.available
            for r in (*used, *self.holder):
                free &= ~(1 << r)
            vacated = {s for _, s in moves}.difference(final)
            self._emit(moves, self.holder, free, vacated, weight, self.out)
        stays = {}
        for r, v in sorted(final.items()):
            if v in survivors and (not site.blocked >> r & 1 or site.kept.get(v) == r):
                stays[v] = r
        self._begin(stays)
