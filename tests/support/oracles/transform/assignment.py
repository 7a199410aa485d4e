"""A judge of register assignment: does every operand find, in its register, what the code before had there?

Control flow is walked forwards with, per value of the code before, the registers that hold its present content (none
of that comes from the assignment's own tables). Copies and exchanges that were put in move contents; any other write of
a register, and what callees overwrite, ends what it held. Where ways meet, a register holds a value if it does on each
of them; on a way on which nothing has written the value yet, any register does.

Every item of the code before must have an `origin` of its own, and every block a `leader` of its own; what the code
after has beyond that was put in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from binalloc.bitset import bits
from binalloc.transform.assign.placed import Placed
from binalloc.transform.virtual.code import COPY, ENTRY, EXCHANGE, KEEP, Item, VBlock, VCode, VOperand
from binalloc.transform.virtual.contract import Contract
from tests.support.oracles.transform.virtual_liveness import dense_liveness

ANY = -1
"""Held by every register: nothing was written yet."""


def numbered(code: VCode) -> VCode:
    """The code with origins and leaders as the judge wants them."""
    blocks = [replace(block, leader=b, items=list(block.items)) for b, block in enumerate(code.blocks)]
    number = 0
    for block in blocks:
        for k, item in enumerate(block.items):
            block.items[k] = replace(item, origin=number)
            number += 1
    return VCode(code.function, blocks, list(code.names), code.constants, dict(code.before))


def assignment_mistakes(
    before: VCode, placed: Placed, available: int, contracts: Mapping[str, Contract]
) -> list[str]:
    """What is wrong with the assignment."""
    return _Judge(before, placed, available, contracts).run()


class _Judge:
    def __init__(self, before: VCode, placed: Placed, available: int, contracts: Mapping[str, Contract]) -> None:
        self.before, self.after, self.register = before, placed.code, placed.register
        self.placed, self.available, self.contracts = placed, available, contracts
        self.old = {item.origin: item for item in before.items()}
        self.kept = dense_liveness(before).kept
        self.wrong: list[str] = []

    def run(self) -> list[str]:
        self._shape()
        if self.wrong:
            return self.wrong
        self._registers()
        self._solve()
        return self.wrong

    # -- what has to be the same

    def _shape(self) -> None:
        blocks = self.after.blocks
        leaders = [block.leader for block in blocks if block.leader >= 0]
        if leaders != list(range(len(self.before.blocks))):
            self.wrong.append(f"blocks {leaders}")
            return
        number = {block.leader: b for b, block in enumerate(blocks) if block.leader >= 0}
        for old, b in zip(self.before.blocks, number.values(), strict=True):
            new = blocks[b]
            if [i.origin for i in new.items if i.origin >= 0] != [i.origin for i in old.items]:
                self.wrong.append(f"items of block {new.leader}")
            if [self._leads(s) for s in new.succs] != list(old.succs):
                self.wrong.append(f"successors of block {new.leader}: {new.succs} for {old.succs}")
            if (new.taken >= 0) != (old.taken >= 0) or (old.taken >= 0 and self._leads(new.taken) != old.taken):
                self.wrong.append(f"jump of block {new.leader}: {new.taken} for {old.taken}")
        for b, block in enumerate(blocks):
            falls = [s for s in block.succs if s != block.taken]
            if falls not in ([], [b + 1]) and block.taken != b + 1:
                self.wrong.append(f"block {b} falls through to {falls}")
            if block.leader < 0:
                self._put_in(b, block)

    def _put_in(self, b: int, block: VBlock) -> None:
        """A block of an edge: moves, then a jump if another than the next block comes behind it."""
        jumps = [item for item in block.items if item.kind not in (COPY, EXCHANGE)]
        last = block.items[len(block.items) - len(jumps) :]
        if len(block.succs) != 1 or len(jumps) != (block.taken >= 0) or jumps != last:
            self.wrong.append(f"block {b} on an edge")

    def _leads(self, s: int) -> int:
        """The block of the code before that a successor is, or leads to."""
        block = self.after.blocks[s]
        return block.leader if block.leader >= 0 else self._leads(block.succs[0])

    # -- registers

    def _registers(self) -> None:
        for item in self.after.items():
            for operand in (*item.defs, *item.uses):
                where = [self.register[v] for v in operand.values]
                if not all(self.available >> r & 1 for r in where):
                    self.wrong.append(f"{item.origin}: {where} not available")
                if where != list(range(where[0], where[0] + len(where))) or where[0] % operand.alignment:
                    self.wrong.append(f"{item.origin}: {where} not side by side, a multiple of {operand.alignment}")
                if operand.fixed >= 0 and where != [operand.fixed]:
                    self.wrong.append(f"{item.origin}: {where} is not {operand.fixed}")
                if operand.location >= 0 and item.kind != ENTRY and where != [self.placed.results[operand.location]]:
                    self.wrong.append(f"{item.origin}: result {operand.location} in {where}")
            written = [self.register[v] for o in item.defs for v in o.values]
            if len(set(written)) < len(written):
                self.wrong.append(f"{item.origin}: two results in {written}")
        for item in self.after.items():
            if item.origin >= 0:
                self._same(self.old[item.origin], item)

    def _same(self, old: Item, new: Item) -> None:
        plain = replace(new, defs=old.defs, uses=old.uses)
        operands = zip(_asked(old), (*new.defs, *new.uses), strict=False)
        alike = all(
            (a.field, a.fixed, a.location, a.alignment) == (b.field, b.fixed, b.location, b.alignment)
            and len(a.values) == len(b.values)
            for a, b in operands
        )
        if plain != old or not alike or len(_asked(old)) != len(new.defs) + len(new.uses):
            self.wrong.append(f"{old.origin} became {new}")

    # -- contents

    def _solve(self) -> None:
        blocks = self.after.blocks
        start = [ANY] * len(self.before.names)
        state: list[list[int] | None] = [None] * len(blocks)
        state[0] = start
        work = [0]
        while work:
            b = work.pop(0)
            now = list(state[b] or start)
            for item in blocks[b].items:
                self._through(item, now, None)
            for s in blocks[b].succs:
                known = state[s]
                met = now if known is None else [a & c for a, c in zip(known, now, strict=True)]
                if met != known:
                    state[s] = list(met)
                    work.append(s)
        for block, now in zip(blocks, state, strict=True):
            if now is not None:
                here = list(now)
                for item in block.items:
                    self._through(item, here, self.wrong)

    def _through(self, item: Item, now: list[int], wrong: list[str] | None) -> None:
        if item.origin < 0:
            self._moved(item, now, wrong)
            return
        old = self.old[item.origin]
        if wrong is not None:
            self._look(old, item, now, wrong)
        if old.callee:
            self._clear(self.contracts[old.callee].clobbers, now)
        written: dict[int, int] = {}
        for a, b in zip(old.defs, item.defs, strict=True):
            written.update(zip(a.values, (self.register[v] for v in b.values), strict=True))
        self._clear(sum(1 << r for r in written.values()), now)
        for v, r in written.items():
            now[v] = 1 << r

    def _look(self, old: Item, item: Item, now: list[int], wrong: list[str]) -> None:
        for a, b in zip([o for o in old.uses if o.field != KEEP], item.uses, strict=True):
            for v, name in zip(a.values, b.values, strict=True):
                if not now[v] >> self.register[name] & 1:
                    names = self.before.names
                    wrong.append(f"{item.origin} reads R{self.register[name]}, {names[v]} is in {_shown(now[v])}")
        for a, b in zip(old.defs, item.defs, strict=True):
            for v, name in zip(a.values, b.values, strict=True):
                if v in self.kept.get(item.origin, ()) and not now[v] >> self.register[name] & 1:
                    wrong.append(f"{item.origin} joins R{self.register[name]}, {v} is in {_shown(now[v])}")

    def _moved(self, item: Item, now: list[int], wrong: list[str] | None) -> None:
        to = [self.register[v] for o in item.defs for v in o.values]
        source = [self.register[v] for o in item.uses for v in o.values]
        if item.kind not in (COPY, EXCHANGE):
            return
        if wrong is not None:
            exchanges = item.kind == EXCHANGE
            right = to == source and len(set(to)) == len(to) == 2 if exchanges else len(to) == len(source) == 1
            if item.guard is not None or not right:
                wrong.append(f"move {to} of {source}")
        if item.kind == EXCHANGE:
            source = source[::-1]
        held = [[v for v, where in enumerate(now) if where != ANY and where >> s & 1] for s in source]
        self._clear(sum(1 << r for r in to), now)
        for r, values in zip(to, held, strict=True):
            for v in values:
                now[v] |= 1 << r

    def _clear(self, registers: int, now: list[int]) -> None:
        for v, where in enumerate(now):
            if where != ANY:
                now[v] = where & ~registers


def _asked(item: Item) -> list[VOperand]:
    """Operands that need registers."""
    return [*item.defs, *(o for o in item.uses if o.field != KEEP)]


def _shown(where: int) -> str:
    return "any" if where == ANY else str([f"R{r}" for r in bits(where)])

