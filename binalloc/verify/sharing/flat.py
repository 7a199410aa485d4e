"""The paired kernel becomes one flat piece of code here, in which each call leads into a copy of the callee's words.

Needs both modules, their kernels, and direct calls without recursion. Leaves a `Flat`: nodes, each of which is a word
of the new program in one chain of calls. A callee that has nothing to do with shared memory or barriers is left out:
its call is a node like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.banks import bank_bytes
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import CALLS, Flow
from binalloc.isa.sets.table import set_of
from binalloc.verify.depth import Depth, depth
from binalloc.verify.multiplex.kernels.pairing import HELD, shares
from binalloc.verify.multiplex.living import mask_of
from binalloc.verify.multiplex.walk import TooLong
from binalloc.verify.reading.code import FunctionCode, FunctionCodes
from binalloc.verify.sharing.pairing import Pairing

MOST_NODES = 100_000
"""Most nodes of a kernel. Chosen by hand, above any kernel's: it bounds the time on hostile code."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node is a word of the new program, in one chain of calls."""

    pair: Pairing  #: of its function
    n: int  #: the word in it
    kind: Flow  #: what it does to control flow, a call or return being a branch into or out of the callee

    @property
    def view(self) -> View:
        """Return the view of the new word."""
        return self.pair.new.views[self.n]

    @property
    def label(self) -> int:
        """Return the original's word, negative where there is none."""
        return self.pair.label[self.n]

    def __str__(self) -> str:
        return f"{self.pair.new.name}+{self.n}"


@dataclass
class Flat:
    """A flat kernel begins at node 0. after: the nodes behind each one, the falling way first. clobbered: places that
    callees which were left out may write, as a mask."""

    nodes: list[Node] = field(default_factory=list)
    after: list[tuple[int, ...]] = field(default_factory=list)
    clobbered: int = 0


class Pairings:
    """All pairs of functions that the two kernels call side by side are made here, each once."""

    def __init__(self, original: Module, made: Module, old: Function, new: Function) -> None:
        self.original, self.made = original, made
        self._codes = [FunctionCodes(bank_bytes(module.constants, fn.info.params), follow=False)
                       for module, fn in ((original, old), (made, new))]  # fmt: skip
        self.of: dict[tuple[str, str], Pairing] = {}
        #: the pair that a call enters, by the caller's pair and its word
        self.called: dict[Pairing, dict[int, Pairing]] = {}
        self.kernel = self._pair(old, new)
        self._depths: dict[Pairing, Depth] = {}
        self._written: dict[Pairing, int] = {}

    def _pair(self, old: Function, new: Function) -> Pairing:
        """Return the pair of two functions, with those that they call. Raises Malformed."""
        first = self._made(old, new)
        work = [first]
        while work:
            pair = work.pop()
            if pair in self.called:
                continue
            pair.run()
            entered = self.called[pair] = {}
            for n, m in pair.calls.items():
                one, two = self.original.callee(pair.old.fn, m), self.made.callee(pair.new.fn, n)
                if one is None or two is None:
                    pair.fail("call", "a call enters no function", n, m)
                else:
                    entered[n] = self._made(one, two)
            work += entered.values()
        return first

    def _made(self, old: Function, new: Function) -> Pairing:
        key = old.name, new.name
        if key not in self.of:
            self.of[key] = Pairing(self._codes[0].of(old), self._codes[1].of(new))
        return self.of[key]

    @property
    def codes(self) -> list[FunctionCode]:
        """Return the code of the new program's functions."""
        return [pair.new for pair in self.of.values()]

    def depth(self, pair: Pairing) -> Depth:
        """Return the depth of the stack that a function and its callees need. There is no recursion."""
        if pair not in self._depths:
            self._depths[pair] = depth(pair.new, {n: self.depth(to) for n, to in self.called[pair].items()})
        return self._depths[pair]

    # -- flat code

    def flat(self) -> Flat:
        """Return the kernel's flat code. Raises TooLong."""
        plain: dict[Pairing, bool] = {}
        self._plain(self.kernel, plain)
        found = Flat()
        work: list[tuple[Pairing, int, int | None]] = [(self.kernel, self._room(found, self.kernel), None)]
        while work:
            pair, base, back = work.pop()
            for n, view in enumerate(pair.new.views):
                after, kind = tuple(base + to for to in pair.after[n]), view.control
                if n in self.called[pair] and plain[self.called[pair][n]]:
                    found.clobbered |= self._writes(self.called[pair][n])
                elif n in self.called[pair] and pair.label[n] >= 0:
                    entry = self._room(found, self.called[pair][n])
                    work.append((self.called[pair][n], entry, base + n + 1))
                    after, kind = _two(view, base + n + 1, entry), Flow.BRANCH
                elif kind == Flow.RETURN and pair.label[n] >= 0:
                    kind = Flow.EXIT if back is None else Flow.BRANCH
                    after = after if back is None else _two(view, base + n + 1, back)
                found.nodes[base + n], found.after[base + n] = Node(pair, n, kind), after
        return found

    def _room(self, flat: Flat, pair: Pairing) -> int:
        """Make room for a function's words, and return the number of the first."""
        base = len(flat.nodes)
        if base + len(pair.new) > MOST_NODES:
            raise TooLong
        flat.nodes += [Node(pair, n, Flow.NONE) for n in range(len(pair.new))]
        flat.after += [()] * len(pair.new)
        return base

    def _plain(self, pair: Pairing, known: dict[Pairing, bool]) -> bool:
        """Note of a function and its callees whether they know neither shared memory nor barriers, and end no
        thread."""
        if pair not in known:
            inner = [self._plain(to, known) for to in self.called[pair].values()]
            own = any(shares(view) or view.control in (Flow.RELSSP, Flow.EXIT)
                      or set_of(view.instr).barrier(view.instr) is not None for view in pair.new.views)  # fmt: skip
            known[pair] = all(inner) and not own
        return known[pair]

    def _writes(self, pair: Pairing) -> int:
        """Return the places that a function and its callees may write."""
        if pair not in self._written:
            mask = mask_of(ref for view in pair.new.views for ref in view.defs)
            for to in set(self.called[pair].values()):
                mask |= self._writes(to)
            self._written[pair] = mask
        return self._written[pair]


def _two(view: View, falls: int, jumps: int) -> tuple[int, ...]:
    return (jumps,) if view.guard is None else (falls, jumps)


def unknown(module: Module, functions: list[Function]) -> list[tuple[Function, int, str]]:
    """Return the words that no proof of this package knows. functions: of the original."""
    found = []
    for fn in functions:
        for n, instr in enumerate(fn.instrs):
            control = set_of(instr).view(instr).control
            if control == Flow.CALL_INDIRECT:
                found.append((fn, n, "a call by address"))
            elif control == Flow.RELSSP or control in HELD:
                found.append((fn, n, "such an instruction in the original"))
            elif control in CALLS and module.callee(fn, n) is None:
                found.append((fn, n, "a call that enters no function"))
    return found
