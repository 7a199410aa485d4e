"""This oracle of `analysis.ranges` gives every symbol its word in every thread, as a run of the `python` engine shows
it, and compares what the analysis says of values, facts, rounds and threads with what happens.

A symbol of a version gets its word where the version begins: behind its instruction, at the begin of its block, at the
function's entry. The word of a made symbol is computed of its words. Others, such as words of constant memory, are
learned from the first read that depends on them, and are to stay so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.locations import index_of
from binalloc.analysis.ranges import acts, facts
from binalloc.analysis.ranges.ranges import Ranges
from binalloc.analysis.ranges.symbols import Fact, Made, Round
from binalloc.analysis.ranges.value import WORDS, Interval, Symbol, Value
from binalloc.analysis.ranges.versions import Kind, Version
from binalloc.analysis.web import CALL, GUARD
from binalloc.isa.interface.formulas import Formula
from binalloc.isa.interface.places import LANES, PRED, REG, TRUE
from binalloc.isa.kinds import Flow
from tests.support.oracles.analysis.watched import Issue, issues, place_of, spread

Words = NDArray[np.int64]
Lanes = NDArray[np.bool_]
FEW = 5  # failures that are kept


class Place(NamedTuple):
    """A place is where a symbol gets its word."""

    what: str  #: "word", "block", "first" of a block or "entry"
    name: str  #: of the function
    at: int  #: word or block
    register: int
    all: bool = False  #: of a word: lanes whose guard fails get it too


@dataclass
class Warp:
    """A warp's state has an entry for each lane."""

    known: dict[Symbol, Lanes] = field(default_factory=lambda: defaultdict(lambda: np.zeros(LANES, bool)))
    words: dict[Symbol, Words] = field(default_factory=lambda: defaultdict(lambda: np.zeros(LANES, np.int64)))
    block: dict[str, Words] = field(default_factory=lambda: defaultdict(lambda: np.full(LANES, -1)))
    rounds: dict[tuple[str, int], Words] = field(default_factory=lambda: defaultdict(lambda: np.zeros(LANES, np.int64)))
    #: the last instruction, its active lanes and those of its guard
    before: tuple[str, int, Lanes, Lanes] | None = None
    #: by block of the kernel, the lanes that came there; by -1 those that have ended in the kernel
    came: dict[int, Lanes] = field(default_factory=lambda: defaultdict(lambda: np.zeros(LANES, bool)))


@dataclass
class Read:
    """A read is an operand of an instruction, and what the analysis says of it."""

    file: str
    number: int  #: of the register or predicate
    value: Value | None = None
    within: tuple[Interval, Interval] = (Interval(0, 0), Interval(0, 0))  #: unsigned and signed
    truth: acts.Bools | None = None
    guard: bool = False


@dataclass
class Counts:
    """Counts say what was compared, so that nobody takes a test for one that compares nothing."""

    reads: int = 0
    known: int = 0
    evaluated: int = 0
    narrowed: int = 0
    truths: int = 0
    facts: int = 0
    rounds: int = 0
    lasts: int = 0


class Evaluated:
    """The comparison of one analysis with a run."""

    def __init__(self, found: Ranges) -> None:
        self.found, self.symbols, self.program = found, found.symbols, found.program
        self.failures: list[str] = []
        self.counts = Counts()
        self.warps: dict[tuple[int, int], Warp] = defaultdict(Warp)
        self.labels: dict[Symbol, Hashable] = {number: label for label, number in found.symbols._numbers.items()}
        self.places: dict[tuple[str, str, int], list[tuple[Symbol, Place]]] = defaultdict(list)
        self.placed: set[Symbol] = set()
        for symbol, label in self.labels.items():
            place = self._place(label)
            if place is not None:
                self.places[place[:3]].append((symbol, place))
                self.placed.add(symbol)
        #: by function and block the loops that begin there, with the symbols of their rounds
        self.heads: dict[tuple[str, int], list[tuple[int, list[Symbol]]]] = defaultdict(list)
        for name, f in self.program.functions.items():
            for k, loop in enumerate(f.loops.loops):
                sources = enumerate(self.symbols.sources)
                mine = [n for n, s in sources if isinstance(s, Round) and (s.function, s.loop) == (name, k)]
                self.heads[name, loop.header].append((k, mine))
        self.reads: dict[tuple[str, int], list[Read]] = {}
        self.at: dict[Hashable, Any] = {}
        self.text = ""

    # -- one instruction

    def see(self, issue: Issue) -> None:
        """Compare what the analysis says of an instruction with what its warp finds."""
        name, word = place_of(self.program, issue.pc)
        f, warp = self.program[name], self.warps[issue.block, issue.warp]
        active, mine = spread(issue.active), spread(issue.mine)
        if self.found.threads.first:
            first = (np.arange(LANES) == 0) & (issue.warp == 0)
            active, mine = active & first, mine & first
        self.text = f"{name} word {word} of warp {issue.block}, {issue.warp}"
        if warp.before is not None:
            self._leave(issue, warp)
        block = f.cfg.block_of[word]
        if f.cfg.blocks[block].start == word:
            self._enter(issue, warp, name, block, active)
        offset = LANES * issue.warp
        coming = self._kept(("coming", name, word), lambda: self.found.coming(name, word))
        self._say(mine & ~self._lanes(coming, offset, False), "executed by a thread that should not come")
        for read in self._operands(name, word):
            self._read(issue, warp, read, active if read.guard else mine)
        held = self._kept(("facts", name, word), lambda: facts.facts_at(self.found.functions[name], word))
        self._hold(held, warp, offset, mine, "fact")
        if f.cfg.views[word].control == Flow.EXIT and name == self.program.graph.kernel:
            warp.came[-1] = warp.came[-1] | mine
        if f.cfg.views[word].control == Flow.CALL:
            warp.block[f.webs.calls[word].callee][mine] = -1
        warp.before = name, word, active, mine

    def finish(self) -> None:
        """Compare, when all has run, what is said of threads that surely come to blocks of the kernel."""
        self.text = "the kernel"
        for block, surely in enumerate(self.found.functions[self.program.graph.kernel].surely()):
            for (_, w), warp in self.warps.items():
                come = self._lanes(surely, LANES * w, False)
                self._say(warp.came[-1] & come & ~warp.came[block], f"warp {w} does not come to block {block}")

    def _kept(self, key: Hashable, make: Any) -> Any:
        if key not in self.at:
            self.at[key] = make()
        return self.at[key]

    def _operands(self, name: str, word: int) -> list[Read]:
        """Return the reads of an instruction with what is said of each."""
        if (name, word) in self.reads:
            return self.reads[name, word]
        f, made = self.program[name], self.found.functions[name]
        seen, out = f.cfg.views[word], []
        if seen.guard is not None and seen.guard[0] != TRUE:
            truth = made.truth(word, f.webs.web_of_use[word, GUARD, 0])[1]
            out.append(Read(PRED, seen.guard[0], truth=truth, guard=True))
        for k, ref in enumerate(seen.uses):
            for unit, n in enumerate(ref.registers()):
                web = f.webs.web_of_use[word, k, unit]
                if ref.file == PRED:
                    out.append(Read(PRED, n, truth=made.truth(word, web)[1]))
                elif ref.file == REG:
                    value = made.word(word, web)
                    bounds = [self.found.within(name, word, value, signed=signed) for signed in (False, True)]
                    out.append(Read(REG, n, value, (bounds[0], bounds[1])))
        if seen.memory is not None and seen.memory.base is not None:
            base = next(read for read in out if read.file == REG and read.number == seen.memory.base.index)
            assert base.value is not None
            moved = self.found.address(name, word).plus(base.value, -1)
            assert np.all(np.asarray(moved.base) == seen.memory.offset % WORDS)
            assert not moved.terms
        self.reads[name, word] = out
        return out

    def _read(self, issue: Issue, warp: Warp, read: Read, lanes: Lanes) -> None:
        """Compare what lanes read with what is said of it."""
        offset = LANES * issue.warp
        if read.file == PRED:
            if read.truth is not None:
                self.counts.truths += 1
                wrong = issue.predicate(read.number) != self._lanes(read.truth, offset, False)
                self._say(lanes & wrong, f"P{read.number} is not as known")
            return
        assert read.value is not None
        self.counts.reads += 1
        words = issue.register(read.number)
        self._learn(read.value, warp, offset, lanes, words)
        value, told = self._value(read.value, warp, offset)
        self.counts.known += read.value.known
        self.counts.evaluated += bool((lanes & told).any())
        self._say(lanes & told & (value != words), f"R{read.number} is not {read.value}", value, words)
        for interval in read.within:
            self.counts.narrowed += interval.high - interval.low < WORDS - 1
            self._inside(interval, words, lanes, f"R{read.number}")

    # -- control flow

    def _enter(self, issue: Issue, warp: Warp, name: str, block: BlockNumber, active: Lanes) -> None:
        """Let lanes come to a block, and give their words to the symbols that begin there."""
        f, made, offset = self.program[name], self.found.functions[name], LANES * issue.warp
        last = warp.block[name]
        outside = active & (last < 0)
        self._left(warp, name, block, active, offset)
        for p in {int(b) for b in last[active]} - {-1}:
            here = active & (last == p)
            held = self._kept(("edge", name, p, block), lambda p=p: facts.facts_of_edge(made, BlockNumber(p), block))
            self._hold(held, warp, offset, here, f"fact of the edge from block {p}")
            if f.cfg.rpo_number[p] < f.cfg.rpo_number[block]:
                outside = outside | here
        for k, symbols in self.heads.get((name, block), ()):
            inside = np.isin(last, f.loops.loops[k].blocks)
            rounds = warp.rounds[name, k]
            rounds[active] = np.where(inside, rounds + 1, 0)[active]
            for symbol in symbols:
                self.counts.rounds += 1
                self._set(symbol, warp, active, rounds)
        if block == 0:
            self._begin(issue, warp, ("entry", name, 0), active & (last < 0))
        self._begin(issue, warp, ("first", name, block), outside)
        self._begin(issue, warp, ("block", name, block), active)
        last[active] = block
        if name == self.program.graph.kernel:
            warp.came[block] = warp.came[block] | active
        held = self._kept(("block", name, block), lambda: facts.facts_of_block(made, block))
        self._hold(held, warp, offset, active, "fact of the block")

    def _left(self, warp: Warp, name: str, block: BlockNumber, active: Lanes, offset: int) -> None:
        """Compare the rounds in which lanes leave loops for a block."""
        for k, last in self.found.functions[name].grown.last.items():
            loop = self.program[name].loops.loops[k]
            if block not in loop.blocks:
                inside = active & np.isin(warp.block[name], loop.blocks)
                left, rounds = self._lanes(last, offset, 0), warp.rounds[name, k]
                self.counts.lasts += bool(inside.any())
                self._say(inside & (rounds != left), f"loop {k} is left in another round", left, rounds)

    def _leave(self, issue: Issue, warp: Warp) -> None:
        """Give their words to the symbols that the warp's last instruction has written."""
        assert warp.before is not None
        name, word, active, mine = warp.before
        for symbol, place in self.places.get(("word", name, word), ()):
            lanes = active if place.all else mine
            if self.program[name].cfg.views[word].control == Flow.CALL:
                warp.known[symbol][lanes] = False  # learned when it has returned
            else:
                self._set(symbol, warp, lanes, issue.register(place.register))

    def _begin(self, issue: Issue, warp: Warp, key: tuple[str, str, int], lanes: Lanes) -> None:
        for symbol, place in self.places.get(key, ()):
            self._set(symbol, warp, lanes, issue.register(place.register))

    # -- symbols

    def _place(self, label: Hashable) -> Place | None:
        """Return where a symbol of that label gets its word; None where that is to be learned."""
        match label:
            case (str(name), "argument", location):
                return Place("entry", name, 0, index_of(location))  # type: ignore[arg-type]
            case (str(name), Version() as version):
                how = ""
            case (str(name), Version() as version, str(how)):
                pass
            case _:
                return None
        web = self.program[name].webs[version.web]
        if web.file != REG:
            return None
        if version.kind is Kind.ENTRY:
            return Place("entry", name, 0, web.arch)
        if version.kind is Kind.JOIN:
            return Place("first" if how == "first" else "block", name, version.place, web.arch)
        every = how == "either" or (version.kind is Kind.EITHER and version.ref == CALL)
        return Place("word", name, version.place, web.arch, every)

    def _set(self, symbol: Symbol, warp: Warp, lanes: Lanes, words: Words) -> None:
        """Give a symbol its word in some lanes."""
        warp.words[symbol][lanes] = words[lanes] % WORDS
        warp.known[symbol][lanes] = True
        bounds = self._kept(("bounds", symbol), lambda: self.symbols.bounds(symbol))
        self._inside(bounds, words, lanes, f"symbol {self.labels[symbol]}")

    def _symbol(self, symbol: Symbol, warp: Warp, offset: int) -> tuple[Words, Lanes]:
        """Return a symbol's word in each lane, and in which lanes that is known."""
        source = self.symbols.sources[symbol]
        if symbol in self.placed or not isinstance(source, Made):
            return warp.words[symbol], warp.known[symbol]
        parts = [self._value(word, warp, offset) for word in source.words]
        told = np.logical_and.reduce([lanes for _, lanes in parts])
        found = acts.known_word(source.formula, [words for words, _ in parts], ())
        return np.broadcast_to(np.asarray(found.base), LANES), told

    def _value(self, value: Value, warp: Warp, offset: int) -> tuple[Words, Lanes]:
        """Return a value in each lane, and in which lanes all its symbols are known."""
        words, told = self._lanes(value.base, offset, 0), np.ones(LANES, bool)
        for symbol, factor in value.terms:
            word, lanes = self._symbol(symbol, warp, offset)
            words = (words + factor * word) % WORDS
            told = told & lanes
        return words, told

    def _learn(self, value: Value, warp: Warp, offset: int, lanes: Lanes, words: Words) -> None:
        """Learn the word of a symbol from a read of a value, if it is the only one that is not known there."""
        free = []
        for symbol, factor in value.terms:
            made = isinstance(self.symbols.sources[symbol], Made) and symbol not in self.placed
            missing = lanes & ~self._symbol(symbol, warp, offset)[1]
            if missing.any():
                free.append((symbol, factor, missing, made))
        if len(free) != 1 or free[0][1] % 2 == 0 or free[0][3]:
            return
        symbol, factor, missing, _ = free[0]
        rest, _ = self._value(value.plus(Value(0, ((symbol, 1),)), -factor), warp, offset)
        found = (words - rest) % WORDS
        inverse = pow(factor, -1, WORDS)
        # halves, since a product of two words may have 64 bits
        self._set(symbol, warp, missing, (((found >> 16) * inverse % WORDS << 16) + (found & 0xFFFF) * inverse) % WORDS)

    # -- comparing

    def _hold(self, held: Iterable[Fact], warp: Warp, offset: int, lanes: Lanes, what: str) -> None:
        """Compare facts with the words of their values."""
        for fact in held:
            (a, known), (b, other) = (self._value(x, warp, offset) for x in (fact.value, fact.other))
            formula = Formula(0, acts.Act.COMPARE, signed=fact.signed, order=fact.order)
            truth = np.broadcast_to(np.asarray(acts.known_comparison(formula, a, b)), LANES)
            self.counts.facts += 1
            self._say(lanes & known & other & ~truth, f"{what} does not hold: {fact}", a, b)

    def _inside(self, interval: Interval, words: Words, lanes: Lanes, what: str) -> None:
        """Compare words with the interval of integers that contains them modulo 2^32."""
        if interval.high - interval.low < WORDS - 1:
            wrong = lanes & ((words - interval.low) % WORDS > interval.high - interval.low)
            self._say(wrong, f"{what} is not within {interval}", words)

    def _lanes(self, base: Any, offset: int, rest: Any) -> NDArray[Any]:
        """Return a warp's part of what is known of all threads of the block."""
        if isinstance(base, np.ndarray):
            part = base[offset : offset + LANES]
            return np.concatenate([part, np.full(LANES - len(part), rest, base.dtype)])
        return np.full(LANES, base)

    def _say(self, wrong: Lanes, what: str, *words: NDArray[Any]) -> None:
        """Note a failure in some lanes."""
        if wrong.any() and len(self.failures) < FEW:
            lane = int(np.flatnonzero(wrong)[0])
            self.failures.append(f"{self.text}, lane {lane}: {what} {[int(x[lane]) for x in words]}")


@contextmanager
def evaluated(found: Ranges, patch: Any) -> Iterator[Evaluated]:
    """Compare an analysis with the runs in the `python` engine while this lasts. patch: pytest's monkeypatch."""
    judge = Evaluated(found)
    with issues(patch, judge.see):
        yield judge
    judge.finish()
