"""Virtual code drawn at random, for passes that work on it: odder than what comes out of binaries.

As in code from binaries, wide operands have their values at consecutive places, the first a multiple of their
alignment, in one file of architectural registers, several values stand for one such register, and a block falls through
to the next one. Guards that never hold, blocks that nothing reaches, flow without structure, calls with arguments in
each other's places, and values read before anything writes them are there, too; `defined` has the entry write those.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from binalloc.analysis.locations import Location
from binalloc.analysis.program import analyse
from binalloc.isa.instruction import Function, FunctionInfo, Instr, Module, make
from binalloc.isa.interface.places import TRUE
from binalloc.models.allocation.terms import Register, Value
from binalloc.transform.virtual.code import ENTRY, INSTR, KEEP, Item, VBlock, VCode, VOperand, copy_item
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.virtualise import virtualise

Contracts = dict[str, Contract]
Guard = tuple[int, bool] | None


PAIRS_AND_QUADS = ((2, 2), (2, 2), (4, 4))
"""Loom's."""
ALL_SORTS = ((2, 1), (3, 1), (3, 4), (2, 2), (8, 8), (5, 2), (1, 2), (1, 4), (6, 4), (4, 1))
"""Wider and narrower than their alignment."""


@dataclass(frozen=True)
class Shape:
    """places: architectural registers. values: how many there are of each. wide: share of operands that are groups.
    guards: share of guarded items. calls: share of items that are calls. groups: (units, alignment) of groups, as often
    as they are there."""

    blocks: int = 6
    items: int = 7
    places: int = 8
    values: int = 2
    wide: float = 0.3
    guards: float = 0.25
    calls: float = 0.06
    groups: tuple[tuple[int, int], ...] = field(default=PAIRS_AND_QUADS, repr=False)


@dataclass
class Drawn:
    """Code and what its calls go by."""

    code: VCode
    contracts: Contracts


def random_virtual(seed: int, shape: Shape, *, defined: bool = True) -> Drawn:
    """defined: the entry gives a value to all that is read anywhere before it is written."""
    groups = "" if shape.groups == PAIRS_AND_QUADS else f" {shape.groups}"
    return _Drawing(random.Random(f"virtual {seed} {shape}{groups}"), shape).run(defined)


_ENDS = ("fall", "fall", "jump", "branch", "branch", "branch", "return")


class _Drawing:
    def __init__(self, rng: random.Random, shape: Shape) -> None:
        self.rng, self.shape = rng, shape
        names = [f"v{p}.{k}" for p in range(shape.places) for k in range(shape.values)]
        self.code = VCode(Function("k", [], FunctionInfo()), [], names)
        for v in range(len(names)):
            self.code.before[Value(v)] = Register(v // shape.values)
        self.contracts: Contracts = {}
        self.origin = 0
        self.results = self._values(rng.randrange(3), {})

    def run(self, defined: bool) -> Drawn:
        rng, count = self.rng, self.shape.blocks + 1
        arguments = self._values(rng.randrange(5), {})
        blocks = [VBlock(-1, [], (1,))]
        for b in range(1, count):
            items = [self._item() for _ in range(rng.randrange(self.shape.items + 1))]
            block = VBlock(b, items, weight=rng.choice((1.0, 1.0, 8.0, 64.0)), loop=rng.choice((-1, -1, 0, 1)))
            self._end(block, b, count)
            blocks.append(block)
        self.code.blocks = blocks
        known = {o.values[0] for o in arguments}
        rest = [Value(v) for v in range(len(self.code.names)) if defined and v not in known and self._read(v)]
        entry = tuple(VOperand("", o.values, location=Location(k)) for k, o in enumerate(arguments))
        blocks[0].items = [Item(ENTRY, defs=entry, origin=self._origin())]
        for v in rest:
            blocks[0].items.append(Item(INSTR, make("LDG"), self._origin(), (VOperand("rd", (v,)),)))
        for block in blocks:
            block.items = [_weighted(item, block.weight) for item in block.items]
        return Drawn(self.code, self.contracts)

    def _read(self, v: int) -> bool:
        return any(v in o.values for item in self.code.items() for o in (*item.uses, *item.defs))

    def _origin(self) -> int:
        self.origin += 1
        return self.origin

    # -- operands

    def _value(self, place: int, chosen: dict[int, Value]) -> Value:
        """One of a place's values, the same throughout what `chosen` is for."""
        if place not in chosen:
            chosen[place] = Value(place * self.shape.values + self.rng.randrange(self.shape.values))
        return chosen[place]

    def _values(self, count: int, chosen: dict[int, Value]) -> list[VOperand]:
        places = self.rng.sample(range(self.shape.places), min(count, self.shape.places))
        return [VOperand("", (self._value(p, chosen),)) for p in places]

    def _operand(
        self, field: str, chosen: dict[int, Value], taken: set[int], may_be_wide: bool = True
    ) -> VOperand | None:
        """taken: places that are none for it. (No instruction has two wide results.)"""
        wide = may_be_wide and self.rng.random() < self.shape.wide
        units, alignment = self.rng.choice(self.shape.groups) if wide else (1, 1)
        if units > self.shape.places:
            units, alignment = 1, 1
        base = self.rng.randrange((self.shape.places - units) // alignment + 1) * alignment
        places = range(base, base + units)
        if taken & set(places):
            return None
        taken.update(places)
        return VOperand(field, tuple(self._value(p, chosen) for p in places), alignment=alignment)

    def _guard(self) -> Guard:
        if self.rng.random() >= self.shape.guards:
            return None
        return self.rng.choice((0, 0, 1, 1, 2, TRUE)), self.rng.random() < 0.5

    # -- items

    def _item(self) -> Item:
        rng = self.rng
        if rng.random() < self.shape.calls:
            return self._call()
        guard = self._guard()
        read: dict[int, Value] = {}
        if rng.random() < 0.15:
            places = rng.sample(range(self.shape.places), 2)
            target, source = self._value(places[0], {}), self._value(places[1], read)
            item = copy_item(target, source, 1.0, guard)
            item.origin = self._origin()
            return item
        uses = [self._operand(f"r{'abc'[k]}", read, set()) for k in range(rng.randrange(4))]
        # what is written in part and read besides is one value by its register: others could not both live there
        written: dict[int, Value] = dict(read) if guard is not None or rng.random() < 0.5 else {}
        taken: set[int] = set()
        defs = [self._operand(f"rd{k}", written, taken, k == 0) for k in range(rng.choice((0, 1, 1, 1, 2)))]
        changes = 1 << rng.randrange(3) if rng.random() < 0.2 else 0
        return Item(
            INSTR,
            make(rng.choice(("FADD", "LDG"))),
            self._origin(),
            tuple(o for o in defs if o is not None),
            tuple(o for o in uses if o is not None),
            guard,
            changes,
        )

    def _call(self) -> Item:
        rng = self.rng
        read: dict[int, Value] = {}
        arguments = self._values(rng.randrange(5), read)
        if arguments and rng.random() < 0.3:
            arguments.append(rng.choice(arguments))
        results = self._values(rng.randrange(3), {})
        several = max(1, len(arguments), len(results))
        registers = rng.sample(range(several + 2), several)
        name = f"f{len(self.contracts)}"
        clobbers = rng.getrandbits(self.shape.places + 2)
        to = registers[:]
        rng.shuffle(to)
        uses = tuple(VOperand("", o.values, Register(r)) for o, r in zip(arguments, registers, strict=False))
        defs = tuple(VOperand("", o.values, Register(r)) for o, r in zip(results, to, strict=False))
        for o in defs:  # an argument may come back as a result where it is
            clobbers |= rng.randrange(2) << o.fixed
        self.contracts[name] = Contract(clobbers=clobbers)
        return Item(INSTR, make("CALL"), self._origin(), defs, uses, callee=name, predicate_defs=rng.getrandbits(2))

    # -- ends of blocks

    def _end(self, block: VBlock, b: int, count: int) -> None:
        rng = self.rng
        target = rng.randrange(1, count)
        last = b + 1 == count
        kind = rng.choice(("leave", "return", "jump") if last else _ENDS)
        if kind == "fall":
            block.succs = (b + 1,)
        elif kind in ("jump", "branch"):
            guard = None if kind == "jump" else (rng.randrange(3), rng.random() < 0.5)
            block.items.append(self._branch(guard))
            block.taken = target
            block.succs = (target,) if guard is None else tuple(dict.fromkeys((target, b + 1)))
        elif kind == "return":
            kept = [VOperand(KEEP, o.values) for o in self._values(rng.randrange(2), {})]
            returned = [VOperand("", o.values, location=Location(k)) for k, o in enumerate(self.results)]
            names = {o.values for o in returned}
            uses = (*returned, *(o for o in kept if o.values not in names))
            block.items.append(Item(INSTR, make("RET"), self._origin(), uses=uses))
        else:
            block.items.append(Item(INSTR, make("EXIT"), self._origin()))

    def _branch(self, guard: Guard) -> Item:
        instr: Instr = make("BRA") if guard is None else make("BRA", guard=guard)
        return Item(INSTR, instr, self._origin(), guard=guard)


def _weighted(item: Item, weight: float) -> Item:
    item.weight = weight
    return item


def virtual_functions(module: Module, kernel: str, rng: random.Random, registers: int = 24) -> list[Drawn]:
    """The functions of a program, each calling its callees by contracts drawn at random over so many registers."""
    program = analyse(module, kernel, lift=True)
    contracts: Contracts = {}
    out: list[Drawn] = []
    for name in program.graph.bottom_up:
        code = virtualise(program, name, contracts)
        for number, item in enumerate(code.items()):
            item.origin = number
        out.append(Drawn(code, dict(contracts)))
        contracts[name] = _contract(code, rng, registers)
    return out


def _contract(code: VCode, rng: random.Random, registers: int) -> Contract:
    arguments = [o.location for item in code.items() if item.kind == ENTRY for o in item.defs if o.location >= 0]
    results = dict.fromkeys(o.location for item in code.items() for o in item.uses if o.location >= 0)
    several = max(registers, len(arguments) + 1, len(results) + 1)
    to = rng.sample(range(several), len(arguments))
    back = rng.sample(range(several), len(results))
    clobbers = rng.getrandbits(several) & rng.getrandbits(several)
    for r in back:
        clobbers |= 1 << r
    return Contract(
        {loc: Register(r) for loc, r in zip(arguments, to, strict=True)},
        {loc: Register(r) for loc, r in zip(results, back, strict=True)},
        clobbers,
    )

