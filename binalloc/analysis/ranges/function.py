"""This module computes the values of one function's versions, in one pass over its code.

Needs the function's versions and what earlier passes found of its loops. In a pass, a value that comes around a loop is
a symbol, unless it is known to grow by the same number in each round (`rounds`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.locations import Location
from binalloc.analysis.program import FunctionAnalysis
from binalloc.analysis.ranges import acts
from binalloc.analysis.ranges.acts import Bools
from binalloc.analysis.ranges.symbols import Fact, Home, Joined, Made, Round, Source, Symbols
from binalloc.analysis.ranges.threads import Threads
from binalloc.analysis.ranges.value import UNSIGNED, Base, Interval, Value, constant, of_threads
from binalloc.analysis.ranges.versions import Kind, Version, Versions
from binalloc.analysis.web import CALL, GUARD, MEMORY, WebNumber
from binalloc.isa.interface.formulas import Act, Formula, Order, Truth
from binalloc.isa.interface.sums import Sum
from binalloc.isa.kinds import File, Flow
from binalloc.isa.sets.table import set_of

LEAVING = frozenset((Flow.BRANCH, Flow.EXIT, Flow.RETURN))
"""Control flow that may end a block's way to the next word."""


@dataclass
class Grown:
    """Growth is what passes have found of a function's loops."""

    steps: dict[Version, int] = field(default_factory=dict)  #: by what joins at a loop's head: its growth per round
    #: by loop: in which round each thread leaves it, where that is known
    last: dict[int, Base] = field(default_factory=dict)


@dataclass
class Test:
    """A test is a predicate with a formula: facts follow from its truth."""

    formula: Formula
    words: tuple[Value, ...]
    truths: tuple[tuple[Version | None, bool], ...]  #: (predicate, None for a constant one; whether it is negated)


class FunctionRanges:
    """The ranges of a function are the values of its versions, and which threads come to its blocks.

    args: by location what callers give. coming: which threads may enter the function.
    """

    def __init__(
        self, f: FunctionAnalysis, threads: Threads, symbols: Symbols, versions: Versions, grown: Grown,
        args: Mapping[Location, Value], coming: Bools,
    ) -> None:  # fmt: skip
        self.function, self.threads, self.symbols, self.versions, self.grown = f, threads, symbols, versions, grown
        self.isa = set_of(f.fn.instrs[0])
        self.args = args
        self.values: dict[Version, Value] = {}
        self.truths: dict[Version, Bools] = {}  #: predicates that are known
        self.tests: dict[Version, Test] = {}
        #: for each block the threads that may come to it
        self.coming: list[Bools] = [False] * len(f.cfg.blocks)
        self.edges: dict[tuple[BlockNumber, BlockNumber], Bools] = {}  #: which threads may go from block to block
        self.heads = {
            loop.header: k for k, loop in enumerate(f.loops.loops) if not loop.irreducible
        }  #: loops by their head
        self.joined: dict[Version, Joined] = {}  #: joins at heads of loops, to be completed
        self.facts: dict[BlockNumber, tuple[Fact, ...]] = {}  #: by block, once all values are known (`facts`)
        self._run(coming)

    # -- reading

    def word(self, index: int, web: WebNumber) -> Value:
        """Return the value of a register's web that instruction `index` reads."""
        return self.left(self.value(self.versions.before(index, web)), self.function.cfg.block_of[index])

    def value(self, version: Version) -> Value:
        """Return the value of a version."""
        found = self.values.get(version)
        if found is None:
            found = self.values[version] = self._entered(version)
        return found

    def given(self, version: Version) -> bool:
        """Return whether something may be read in a version: not so where nothing is written before the function."""
        web = self.function.webs[version.web]
        return version.kind is not Kind.ENTRY or web.undefined or web.arg

    def left(self, value: Value, block: BlockNumber) -> Value:
        """Return a value as it is read in a block: rounds of loops around other blocks are over."""
        for symbol, factor in value.terms:
            source = self.symbols.sources[symbol]
            if isinstance(source, Round) and source.function == self.function.name:
                last = self.grown.last.get(source.loop)
                if last is not None and block not in self.function.loops.loops[source.loop].blocks:
                    gone = Value(0, ((symbol, 1),))
                    value = value.plus(gone, -factor).plus(Value(last), factor)
        return value

    def truth(self, index: int, web: WebNumber) -> tuple[Version, Bools | None]:
        """Return the version of a predicate that instruction `index` reads, and its value where it is known."""
        version = self.versions.before(index, web)
        return version, self.truths.get(version)

    def guard(self, index: int) -> tuple[Version | None, bool, Bools | None]:
        """Return an instruction's guard: the predicate, whether it is negated, and where it is known to hold."""
        given = self.function.cfg.views[index].guard
        if given is None:
            return None, False, True
        web = self.function.webs.web_of_use.get((index, GUARD, 0))
        if web is None:  # the predicate that always holds
            return None, given[1], not given[1]
        version, known = self.truth(index, web)
        return version, given[1], None if known is None else acts.flipped(known, given[1])

    def surely(self) -> list[Bools]:
        """Return for each block the threads that surely come to it, once a thread comes to the function and ends.

        Where the way of a thread is not known, it is followed again from the block to which all ways lead.
        """
        cfg, together = self.function.cfg, self.function.post_dominators()
        found: list[Bools] = [False] * len(cfg.blocks)
        found[cfg.rpo[0]] = True
        for block in cfg.rpo:
            last = cfg.blocks[block].end - 1
            known = self.guard(last)[2] if cfg.views[last].control in LEAVING else True
            taken, fall = cfg.taken[block], cfg.fall[block]
            if known is None:
                meet = together.idom[block]
                if meet < len(cfg.blocks):
                    found[meet] = acts.either(found[meet], found[block])
                continue
            for way, goes in ((taken, known), (fall, acts.flipped(known, True))):
                if way >= 0:
                    some = found[block] if taken < 0 and cfg.views[last].control not in LEAVING else goes
                    found[way] = acts.either(found[way], acts.both(found[block], some))
        return found

    # -- the pass

    def _run(self, coming: Bools) -> None:
        cfg = self.function.cfg
        for block in cfg.rpo:
            before, around = self._preds(block)
            if block == cfg.rpo[0]:
                self.coming[block] = coming
            elif not all(self.versions.tree.dominates(block, p) for p in around):  # threads may come to it there first
                self.coming[block] = True
            else:
                self.coming[block] = acts.any_of(self.edges[p, block] for p in before)
            for web in self.function.webs.entry[block].values():
                version = self.versions.entering(block, web)
                if version.kind is Kind.JOIN and version.place == block:
                    self._join(version, block, before, around)
            for index in range(cfg.blocks[block].start, cfg.blocks[block].end):
                self._execute(index)
            self._part(block)

    def _preds(self, block: BlockNumber) -> tuple[list[BlockNumber], list[BlockNumber]]:
        """Return the predecessors of a block that come before it in the pass, and those from which ways go back."""
        cfg, own = self.function.cfg, self.function.cfg.rpo_number[block]
        before = [p for p in cfg.preds[block] if 0 <= cfg.rpo_number[p] < own]
        return before, [p for p in cfg.preds[block] if cfg.rpo_number[p] >= own]

    def _part(self, block: BlockNumber) -> None:
        """Note which threads may take each way out of a block."""
        cfg, last = self.function.cfg, self.function.cfg.blocks[block].end - 1
        taken, fall = cfg.taken[block], cfg.fall[block]
        known = self.guard(last)[2] if cfg.views[last].control != Flow.NONE else True
        for way, goes in ((taken, True), (fall, False)):
            if way < 0:
                continue
            some = self.coming[block]
            if known is not None and cfg.views[last].control in LEAVING:
                some = acts.both(some, known if goes else acts.flipped(known, True))
            self.edges[block, way] = acts.either(self.edges.get((block, way), False), some)

    def _entered(self, version: Version) -> Value:
        """Return the value of a version that no instruction or join has given yet."""
        if version.kind is Kind.ENTRY:
            given = self.args.get(self.function.webs[version.web].loc)
            if given is not None:
                return given
        return self._symbol(version, UNSIGNED)

    def _symbol(self, version: Version, source: Source) -> Value:
        """Return a symbol for a version."""
        return self.symbols.value((self.function.name, version), source, self._home(version))

    def _home(self, version: Version) -> Home | None:
        """Return where a version begins; None for one that is there before the function begins."""
        if version.kind is Kind.ENTRY:
            return None
        joins = version.kind is Kind.JOIN
        block = BlockNumber(version.place) if joins else self.function.cfg.block_of[version.place]
        return Home(self.function.name, block)

    def _join(self, version: Version, block: BlockNumber, before: list[BlockNumber], around: list[BlockNumber]) -> None:
        """Compute what a web is at the begin of a block where versions meet. before, around: its predecessors."""
        register = self.function.webs[version.web].file == File.REGISTER
        if not register:
            if not around:
                self._join_truths(version, block, before)
            return
        ways = [(p, self.versions.leaving(p, version.web)) for p in before]
        if block == self.function.cfg.rpo[0]:
            ways.append((BlockNumber(-1), Version(version.web, Kind.ENTRY, -1)))
        ways = [(p, v) for p, v in ways if self.given(v)]
        values = [self.left(self.value(v), block) for _, v in ways]
        if around:
            self._come_around(version, block, values)
        elif len({value.key for value in values}) == 1:
            self.values[version] = values[0]
        else:
            self.values[version] = self._by_thread([p for p, _ in ways], block, values) or self._unclear(
                version, values
            )

    def _unclear(self, version: Version, values: list[Value]) -> Value:
        """Return a symbol for one of several values. Its ways are completed when facts can be told."""
        self.joined[version] = Joined(unknown=not values)
        return self._symbol(version, self.joined[version])

    def _by_thread(self, preds: list[BlockNumber], block: BlockNumber, values: list[Value]) -> Value | None:
        """Return the value at a join if each thread can only come from one block, with a known number."""
        edges = [self.edges.get((p, block), True) for p in preds]
        if not self.threads.count or not all(value.known for value in values):
            return None
        masks = [np.broadcast_to(np.asarray(edge), self.threads.count) for edge in edges]
        if (np.sum(masks, axis=0) > 1).any():
            return None
        out = np.zeros(self.threads.count, np.int64)
        for mask, value in zip(masks, values, strict=True):
            out[mask] = np.broadcast_to(np.asarray(value.base), self.threads.count)[mask]
        return of_threads(out)

    def _come_around(self, version: Version, block: BlockNumber, values: list[Value]) -> None:
        """Compute what a web is at the head of a loop."""
        step = self.grown.steps.get(version)
        if step is None or block not in self.heads or not values:
            self.values[version] = self._unclear(version, values)
            return
        if len({value.key for value in values}) == 1:
            first = values[0]
        else:
            ways = Joined([(value, ()) for value in values])
            above = self.versions.tree.idom[block]  # around the loop there are the same loops as around this block
            home = Home(self.function.name, BlockNumber(above)) if above >= 0 else None
            first = self.symbols.value((self.function.name, version, "first"), ways, home)
        self.values[version] = first.plus(self.round(self.heads[block]), step)

    def round(self, loop: int) -> Value:
        """Return the round of a loop that a thread is in."""
        name, found = self.function.name, self.function.loops.loops[loop]
        source = Round(name, loop, frozenset(found.blocks))
        return self.symbols.value((name, "round", loop), source, Home(name, found.header))

    def _join_truths(self, version: Version, block: BlockNumber, preds: list[BlockNumber]) -> None:
        known = [(p, self.truths.get(self.versions.leaving(p, version.web))) for p in preds]
        masks = [(self.edges.get((p, block), True), truth) for p, truth in known]
        if any(truth is None for _, truth in masks):
            return
        truths = [np.asarray(truth) for _, truth in masks]
        if all(truth.shape == truths[0].shape and (truth == truths[0]).all() for truth in truths):
            self.truths[version] = acts.plain(truths[0])

    # -- instructions

    def _execute(self, index: int) -> None:
        """Compute what an instruction writes."""
        seen = self.function.cfg.views[index]
        at = 0
        sums = {found.result: found for found in self.isa.sums(seen.instr)} if seen.defs else {}
        formulas = {found.result: found for found in self.isa.formulas(seen.instr)} if seen.defs else {}
        for k, ref in enumerate(seen.defs):
            for unit in range(ref.units):
                web = self.function.webs.web_of_def.get((index, k, unit))
                if web is not None:
                    guarded = seen.guard is not None
                    version = Version(web, Kind.EITHER if guarded else Kind.DEF, index, k, unit)
                    if ref.file == File.REGISTER:
                        self._write(version, sums.get(at), formulas.get(at))
                    elif at in formulas:
                        self._decide(version, formulas[at])
                at += 1
        for web in self.function.webs.defined_at.get(index, ()):
            for point in self.function.webs[web].defs:
                if point.instr == index and point.ref in (CALL, MEMORY):
                    guarded = seen.guard is not None
                    version = Version(web, Kind.EITHER if guarded else Kind.DEF, *point)
                    self.values[version] = self._symbol(version, UNSIGNED)

    def _write(self, version: Version, total: Sum | None, formula: Formula | None) -> None:
        index = version.place
        if total is not None:
            new = self._sum(index, total)
        elif formula is not None:
            new = self._made(index, formula, version)
        else:
            new = self._symbol(version, UNSIGNED)
        if version.kind is Kind.EITHER:
            new = self._either(version, new)
        self.values[version] = new

    def _either(self, version: Version, new: Value) -> Value:
        """Return what a guarded instruction leaves: `new` where its guard holds, else what was there."""
        known = self.guard(version.place)[2]
        before = self.versions.previous(version)
        if known is True or not self.given(before):
            return new
        old = self.left(self.value(before), self.function.cfg.block_of[version.place])
        if new.key == old.key:
            return new
        if known is not None and new.known and old.known:
            return of_threads(np.where(known, new.base, old.base))
        ways = Joined([(new, ()), (old, ())])
        return self.symbols.value((self.function.name, version, "either"), ways, self._home(version))

    def _sum(self, index: int, total: Sum) -> Value:
        """Return the value of a sum that instruction `index` computes."""
        out = constant(total.constant)
        for bank, offset, factor in total.reads:
            out = out.plus(self.symbols.value(("constant", bank, offset), UNSIGNED), factor)
        for name in total.special:
            known = self.threads.special(name)
            bounds = self.threads.bounds(name) or UNSIGNED
            out = out.plus(known or self.symbols.value(("special", name), bounds))
        for place, factor in total.uses:
            out = out.plus(self.word(index, self._web(index, place)), factor)
        return out

    def _web(self, index: int, place: int) -> WebNumber:
        """Return the web of the word at a position among an instruction's operands."""
        for number, ref in enumerate(self.function.cfg.views[index].uses):
            if place < ref.units:
                return self.function.webs.web_of_use[index, number, place]
            place -= ref.units
        raise IndexError(place)

    def _made(self, index: int, formula: Formula, version: Version) -> Value:
        """Return the value of a formula of words."""
        words = tuple(self._sum(index, word) for word in formula.words)
        truths = [self._truth(index, truth)[1] for truth in formula.truths]
        if formula.act == Act.BETWEEN:
            low, high = (word.base for word in words)
            assert isinstance(low, int)
            assert isinstance(high, int)
            bounds = Interval(low, high) if low <= high else Interval(low - UNSIGNED.high - 1, high)
            return self._symbol(version, bounds)
        told = [truth for truth in truths if truth is not None]
        if all(word.known for word in words) and len(told) == len(truths):
            return acts.known_word(formula, [word.base for word in words], told)
        if formula.act == Act.SELECT and words[0].key == words[1].key:
            return words[0]
        if formula.act == Act.TABLE:
            kept = self._kept_bits(formula.table, words)
            if kept is not None:
                return kept
        if formula.act == Act.PRODUCT:
            for one, other in (words[:2], words[1::-1]):
                if one.number is not None:
                    return words[2].plus(other, one.number)
        if formula.truths:  # which are not part of a label
            return self._symbol(version, Made(formula, words))
        return self._labelled(formula, words)

    def _labelled(self, formula: Formula, words: tuple[Value, ...]) -> Value:
        """Return the symbol for what a formula makes of some words, wherever that is."""
        label = (formula.act, formula.table, formula.signed, tuple(word.key for word in words))
        return self.symbols.value(label, Made(formula, words))

    def _kept_bits(self, table: int, words: tuple[Value, ...]) -> Value | None:
        """Return the value of a word's lower or upper bits, where a table keeps those.

        With the quotient by a power of two as the symbol, the upper bits are a multiple of that power, and the lower
        ones what is missing from the word. So the sum of both is the word again.
        """
        found = acts.kept_bits(table, [word.number for word in words])
        if found is None:
            return None
        k, bits, upper = found
        quotient = self._labelled(Formula(0, Act.RIGHT, signed=False), (words[k], constant(bits)))
        if upper:
            return constant(0).plus(quotient, 1 << bits)
        rest = words[k].plus(quotient, -(1 << bits))
        self.symbols.always(quotient.terms[0][0], Fact(rest, Order.LESS, constant(1 << bits), False))
        return rest

    def _truth(self, index: int, truth: Truth) -> tuple[Version | None, Bools | None]:
        """Return a predicate operand's version and its value, where it is known."""
        if truth.use is None:
            return None, not truth.negated
        version, known = self.truth(index, self._web(index, truth.use))
        return version, None if known is None else acts.flipped(known, truth.negated)

    def _decide(self, version: Version, formula: Formula) -> None:
        """Compute a predicate."""
        index = version.place
        words = tuple(self._sum(index, word) for word in formula.words)
        given = [self._truth(index, truth) for truth in formula.truths]
        known: list[Bools | None] = [truth for _, truth in given]
        if formula.act == Act.COMPARE:
            known.insert(0, self._compared(formula, *words))
        found = acts.combined(formula.table, known)
        if version.kind is Kind.EITHER:
            old = self.truths.get(self.versions.previous(version))
            guard = self.guard(index)[2]
            if found is not None and old is not None and guard is not None:
                self.truths[version] = acts.plain(np.where(guard, found, old))
            return
        if found is not None:
            self.truths[version] = found
        truths = tuple((v, t.negated) for (v, _), t in zip(given, formula.truths, strict=True))
        self.tests[version] = Test(formula, words, truths)

    def _compared(self, formula: Formula, a: Value, b: Value) -> Bools | None:
        """Return the result of a comparison, where it is known."""
        if a.known and b.known:
            return acts.known_comparison(formula, a.base, b.base)
        if a.key == b.key:
            return acts.known_comparison(formula, 0, 0)
        return None
