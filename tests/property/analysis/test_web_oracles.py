"""Webs and interference against execution: random colourings put every value somewhere, and every use must find it."""

from __future__ import annotations

import random

import pytest

from binalloc.analysis.flow.backward import literal
from binalloc.analysis.locations import PRED_BASE, bits, location
from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis
from binalloc.analysis.webs import MEMORY
from tests.support.kits.analysis import analysed_program

POISON = object()
Frame = dict[tuple[str, int], object]


class Machine:
    """Runs a program twice at once: in architectural registers, and with each web in the place a colouring of the
    interference graph gives it, each frame in places of its own, arguments and results copied as `CallLink` says."""

    def __init__(self, program: ProgramAnalysis, rng: random.Random, copies: bool) -> None:
        self.program = program
        self.rng = rng
        self.colour = {name: greedy(f, rng, copies) for name, f in program.functions.items()}
        self.arch: dict[int, object] = {}
        self.budget = 400
        self.compared = 0

    def start(self) -> None:
        """Run the kernel with random values in whatever is live at its entry."""
        frame: Frame = {}
        for web in self.program.kernel.webs.entry[0].values():
            is_predicate = self.program.kernel.webs[web].file == "P"
            self.write(self.program.kernel, frame, web, self.rng.getrandbits(1 if is_predicate else 30))
        self.run(self.program.kernel, frame)

    def read(self, f: FunctionAnalysis, frame: Frame, i: int, ref: int, u: int, loc: int) -> object:
        web = f.webs.web_of_use[i, ref, u]
        assert f.webs[web].loc == loc
        value = self.arch.get(loc, POISON)
        if value is not POISON:
            assert frame.get(self.place(f, web)) == value, (f.name, i, ref, u)
            self.compared += 1
        return value

    def place(self, f: FunctionAnalysis, web: int) -> tuple[str, int]:
        return "P" if f.webs[web].file == "P" else "R", self.colour[f.name][web]

    def write(self, f: FunctionAnalysis, frame: Frame, web: int, value: object) -> None:
        self.arch[f.webs[web].loc] = value
        frame[self.place(f, web)] = value

    def run(self, f: FunctionAnalysis, frame: Frame) -> bool:
        """Execute a function; False when the thread ended."""
        i = 0
        while True:
            self.budget -= 1
            if self.budget < 0:
                return False
            view = f.cfg.views[i]
            lit = literal(view.guard)
            if lit >= 0:
                value = self.read(f, frame, i, -1, 0, PRED_BASE + (lit >> 1))
                if value is POISON:
                    return False
                if bool(value) == bool(lit & 1):
                    i += 1
                    continue
            if view.control == "exit":
                return False
            if view.control == "return":
                for loc, web in f.webs.results:
                    if self.arch.get(loc, POISON) is not POISON:
                        assert frame.get(self.place(f, web)) == self.arch[loc]
                return True
            if view.control == "call":
                if not self.call(f, frame, i):
                    return False
            elif view.control != "branch":
                self.plain(f, frame, i)
            i = f.fn.target(i) if view.control == "branch" else i + 1

    def plain(self, f: FunctionAnalysis, frame: Frame, i: int) -> None:
        view = f.cfg.views[i]
        operands = [
            self.read(f, frame, i, k, u, location(r.file, r.index) + u)
            for k, r in enumerate(view.uses)
            for u in range(r.units)
        ]
        store, first, count = f.live.facts.local.get(i, (False, 0, 0))
        if count and not store:
            operands = [self.read(f, frame, i, MEMORY, u, first + u) for u in range(count)]
        known = POISON not in operands
        for k, r in enumerate(view.defs):
            for u in range(r.units):
                value: object = self.rng.getrandbits(1 if r.file == "P" else 30) if known else POISON
                if view.copy or count:
                    value = operands[u]
                self.write(f, frame, f.webs.web_of_def[i, k, u], value)
        for u in range(count if store else 0):
            self.write(f, frame, f.webs.web_of_def[i, MEMORY, u], operands[u])

    def call(self, f: FunctionAnalysis, frame: Frame, i: int) -> bool:
        link = f.webs.calls[i]
        g = self.program[link.callee]
        inner: Frame = {}
        theirs = dict(g.webs.args)
        for loc, web in link.args:
            if self.arch.get(loc, POISON) is not POISON:
                assert frame.get(self.place(f, web)) == self.arch[loc]
                inner[self.place(g, theirs[loc])] = self.arch[loc]
        wanted = {loc for loc, _ in link.args}
        entry = dict(self.arch)
        missing = [loc for loc, _ in g.webs.args if loc not in wanted]
        for loc in missing:
            self.arch.pop(loc, None)
        if not self.run(g, inner):
            return False
        for loc in missing:
            if not g.summary.may_def >> loc & 1:
                self.arch[loc] = entry.get(loc, POISON)
        for loc, web in link.results:
            if self.arch.get(loc, POISON) is not POISON:
                frame[self.place(f, web)] = self.arch[loc]
        for web in link.survivors:
            loc = f.webs[web].loc
            if self.arch.get(loc, POISON) is not POISON:
                assert frame.get(self.place(f, web)) == self.arch[loc], "survivor"
        return True


def greedy(f: FunctionAnalysis, rng: random.Random, copies: bool) -> list[int]:
    """A random-order greedy colouring of the interference graph."""
    graph = f.interference(copies=copies)
    colour = [-1] * len(f.webs)
    order = list(range(len(f.webs)))
    rng.shuffle(order)
    for w in order:
        taken = {colour[n] for n in graph.neighbours(w)}
        colour[w] = next(c for c in range(len(taken) + 1) if c not in taken)
    return colour


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("seed", range(80))
def test_every_use_finds_its_value_where_a_colouring_put_its_web(seed: int, copies: bool) -> None:
    program = analysed_program(seed)
    for attempt in range(8):
        machine = Machine(program, random.Random(seed * 8 + attempt), copies)
        machine.start()


def test_runs_really_compare_values() -> None:
    compared = 0
    for seed in range(40):
        program = analysed_program(seed)
        machine = Machine(program, random.Random(seed), True)
        machine.start()
        compared += machine.compared
    assert compared > 300


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_interference_is_what_overlapping_live_sets_say(seed: int, copies: bool) -> None:
    program = analysed_program(seed)
    for f in program.functions.values():
        graph = f.interference(copies=copies)
        expected: set[tuple[int, int]] = set()
        for block in f.cfg.rpo:
            clique(expected, f, f.webs.entry[block].values()) if block == 0 else None
            for i, _, after in f.webs.walk(block):
                for w in f.webs.defined_at.get(i, []):
                    clique(expected, f, [w, *f.webs.defined_at[i]])
                    same = dict(f.webs.copies.get(i, [])).get(w) if copies else None
                    expected.update(
                        (min(w, o), max(w, o))
                        for o in after.values()
                        if o not in (w, same) and (f.webs[o].file == "P") == (f.webs[w].file == "P")
                    )
        found = {(w, n) for w in range(graph.count) for n in graph.neighbours(w) if w < n}
        assert found == expected
        for w in range(graph.count):
            assert bits(graph.row(w)) == graph.neighbours(w)
            assert all(f.webs[n].loc != f.webs[w].loc for n in graph.neighbours(w))
            assert all(w in graph.neighbours(n) for n in graph.neighbours(w))


def clique(edges: set[tuple[int, int]], f: FunctionAnalysis, members: object) -> None:
    ws = sorted(set(members))  # type: ignore[call-overload]
    edges.update((a, b) for a in ws for b in ws if a < b and (f.webs[a].file == "P") == (f.webs[b].file == "P"))


@pytest.mark.parametrize("seed", range(40))
def test_forward_walk_of_webs_follows_the_liveness_of_locations(seed: int) -> None:
    program = analysed_program(seed)
    for f in program.functions.values():
        for block in f.cfg.rpo:
            last = dict(f.webs.entry[block])
            for i, before, after in f.webs.walk(block):
                assert sorted(before) == bits(f.live.before[i])
                assert sorted(after) == bits(f.live.after[i])
                assert before == last
                last = after
            assert last == f.webs.exit[block]
            for s in f.cfg.succs[block]:
                assert all(last[loc] == w for loc, w in f.webs.entry[s].items())


@pytest.mark.parametrize("seed", range(40))
def test_groups_are_aligned_runs_of_the_input(seed: int) -> None:
    program = analysed_program(seed)
    for f in program.functions.values():
        for group in f.webs.groups:
            bases = {f.webs[w].arch - offset for w, offset in group.members}
            assert len(bases) == 1
            assert bases.pop() % group.alignment == 0
            assert {offset for _, offset in group.members} == set(range(group.units))
