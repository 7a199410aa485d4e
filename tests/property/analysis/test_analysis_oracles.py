"""The analysis against slow oracles on random programs: search over predicate-consistent paths through whole call
stacks for liveness, execution under a colouring for webs and interference, networkx for dominators and loops, explicit
enumeration of call chains for Max-live."""

from __future__ import annotations

import random
from collections.abc import Iterator

import networkx as nx
import pytest

from binalloc.analysis.backward import literal
from binalloc.analysis.cfg import build_cfg
from binalloc.analysis.dominators import dominators, post_dominators
from binalloc.analysis.facts import refs_mask
from binalloc.analysis.liveness import Liveness
from binalloc.analysis.locations import PRED_BASE, PRED_MASK, REG_MASK, bits, location
from binalloc.analysis.loops import find_loops
from binalloc.analysis.max_live import build_max_live
from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis, analyse
from binalloc.analysis.webs import CALL, MEMORY, RETURN
from binalloc.isa.instruction import Function
from tests.support.generator.graphs import random_function
from tests.support.programs.lines import bra, call, const, function, leave, module, mov, ret, setp


def random_program(seed: int, guards: bool = True) -> ProgramAnalysis:
    """A kernel calling two functions, one of which calls the other."""
    rng = random.Random(seed)
    registers = rng.choice([3, 4, 6, 10])
    kernel = random_function(rng, "k", rng.randrange(1, 8), registers, ("f", "g"), guards=guards)
    middle = random_function(rng, "f", rng.randrange(1, 5), registers, ("g",), "func", guards=guards)
    leaf = random_function(rng, "g", rng.randrange(1, 5), registers, (), "func", guards=guards)
    return analyse(module(kernel, middle, leaf), "k", lift=seed % 2 == 1)


def one_function(seed: int, guards: bool = True) -> FunctionAnalysis:
    """A kernel without calls."""
    rng = random.Random(seed)
    kernel = random_function(rng, "k", rng.randrange(1, 10), 6, guards=guards)
    return analyse(module(kernel), "k", lift=seed % 2 == 1).kernel


def reads(f: FunctionAnalysis, i: int) -> int:
    """Locations an instruction reads by itself if its guard holds, from the views."""
    store, first, count = f.live.facts.local.get(i, (True, 0, 0))
    return refs_mask(f.cfg.views[i].uses) | (0 if store else ((1 << count) - 1) << first)


def writes(f: FunctionAnalysis, i: int) -> int:
    """Locations an instruction writes by itself if its guard holds."""
    store, first, count = f.live.facts.local.get(i, (False, 0, 0))
    return refs_mask(f.cfg.views[i].defs) | (((1 << count) - 1) << first if store else 0)


# -- liveness -------------------------------------------------------------------------------------------------------

Stack = tuple[tuple[str, int], ...]
Preds = tuple[int | None, ...]


def steps(program: ProgramAnalysis, stack: Stack, preds: Preds) -> Iterator[tuple[bool, Preds]]:
    """The ways one instruction can go: (its guard holds, predicates as then known)."""
    name, i = stack[-1]
    lit = literal(program[name].cfg.views[i].guard)
    if lit < 0:
        yield lit == -1, preds
        return
    p, negated = lit >> 1, lit & 1
    for value in (0, 1):
        if preds[p] in (None, value):
            yield bool(value) != bool(negated), (*preds[:p], value, *preds[p + 1 :])


def following(program: ProgramAnalysis, stack: Stack, executes: bool) -> Stack | None:
    """Where a thread goes next, None where it ends."""
    name, i = stack[-1]
    control = program[name].cfg.views[i].control if executes else ""
    if control == "exit":
        return None
    if control == "branch":
        return (*stack[:-1], (name, program[name].fn.target(i)))
    if control == "call":
        callee = next(s.callee for s in program.graph.sites[name] if s.index == i)
        return (*stack[:-1], (name, i + 1), (callee, 0))
    if control == "return":
        return stack[:-1] or None
    return (*stack[:-1], (name, i + 1))


def exactly_live(program: ProgramAnalysis, stack: Stack, loc: int) -> bool:
    """Whether some predicate-consistent path from here reads `loc` before it is overwritten."""
    work: list[tuple[Stack, Preds]] = [(stack, (None,) * 7)]
    seen = set(work)
    while work:
        here, preds = work.pop()
        name, i = here[-1]
        view = program[name].cfg.views[i]
        if literal(view.guard) >= 0 and PRED_BASE + (literal(view.guard) >> 1) == loc:
            return True
        for executes, known in steps(program, here, preds):
            if executes and reads(program[name], i) >> loc & 1:
                return True
            if executes and writes(program[name], i) >> loc & 1:
                continue
            written = writes(program[name], i) >> PRED_BASE if executes else 0
            after = tuple(None if written >> p & 1 else v for p, v in enumerate(known))
            then = following(program, here, executes)
            if then and (then, after) not in seen:
                seen.add((then, after))
                work.append((then, after))
    return False


def stacks(program: ProgramAnalysis, name: str) -> list[Stack]:
    """Return addresses under which a function runs."""
    if name == program.graph.kernel:
        return [()]
    return [
        (*outer, (site.caller, site.index + 1))
        for site in program.graph.sites_of(name)
        for outer in stacks(program, site.caller)
    ]


@pytest.mark.parametrize("seed", range(60))
def test_nothing_a_path_reads_is_missing_from_liveness(seed: int) -> None:
    program = random_program(seed)
    for f in program.functions.values():
        outer = stacks(program, f.name)[:6]
        for i in range(len(f.fn)):
            if not f.cfg.reachable(i):
                continue
            for loc in bits(program.kernel.live.facts.everything & ~f.live.before[i]):
                # What a function never changes stays where it is: beyond its RET that is its callers' business.
                contexts = outer if f.summary.may_def >> loc & 1 else [()]
                assert not any(exactly_live(program, (*s, (f.name, i)), loc) for s in contexts), (f.name, i, loc)


def predicate_function(rng: random.Random, callee: str = "") -> Function:
    """A kernel of guarded definitions and uses of few registers between redefinitions of their guards, with `callee`
    in calls of it."""
    lines: list[str] = ["top:"]
    for k in range(rng.randrange(3, 14)):
        g = rng.choice([None, "P0", "!P0", "P0", "!P0", "P1"])
        d = rng.randrange(2)
        kind = rng.randrange(8)
        if kind < 3:
            lines.append(const(d, k, g))
        elif kind < 6:
            lines.append(mov(3, d, g))
        elif kind == 6 and callee:
            lines.append(call(callee, g if rng.random() < 0.3 else None))
        elif kind == 6:
            lines.append(setp(rng.randrange(2), 4, 5, g if rng.random() < 0.3 else None))
        else:
            lines.append(bra("top", rng.choice(["P0", "!P0"])))
    return function("k", *lines, leave())


@pytest.mark.parametrize("seed", range(400))
def test_nothing_a_path_reads_is_missing_where_predicates_change_often(seed: int) -> None:
    program = analyse(module(predicate_function(random.Random(seed))), "k")
    f = program.kernel
    for i in range(len(f.fn)):
        if f.cfg.reachable(i):
            for loc in bits(f.live.facts.everything & ~f.live.before[i]):
                assert not exactly_live(program, (("k", i),), loc), (i, loc)


@pytest.mark.parametrize("seed", range(200))
def test_nothing_a_path_reads_is_missing_where_callees_may_change_predicates(seed: int) -> None:
    rng = random.Random(seed)
    guards = [rng.choice([None, "P0", "!P0", "P1", "!P1"]) for _ in range(2)]
    changes = [setp(rng.randrange(2), 4, 5, g) for g in guards]
    program = analyse(module(predicate_function(rng, "f"), function("f", *changes, ret(), kind="func")), "k")
    f = program.kernel
    for i in range(len(f.fn)):
        if f.cfg.reachable(i):
            for loc in bits(f.live.facts.everything & ~f.live.before[i]):
                assert not exactly_live(program, (("k", i),), loc), (i, loc)


@pytest.mark.parametrize("seed", range(60))
def test_liveness_is_exact_in_one_function_without_guards(seed: int) -> None:
    f = one_function(seed, guards=False)
    for i in range(len(f.fn)):
        if f.cfg.reachable(i):
            naive = [loc for loc in bits(f.live.facts.everything) if naively_live(f, i, loc)]
            assert bits(f.live.before[i]) == naive


@pytest.mark.parametrize("seed", range(60))
def test_guards_only_ever_make_liveness_smaller(seed: int) -> None:
    f = one_function(seed)
    for i in range(len(f.fn)):
        for loc in bits(f.live.before[i]):
            assert naively_live(f, i, loc)


def naively_live(f: FunctionAnalysis, start: int, loc: int) -> bool:
    """Path search in one function that ignores what predicates hold; guarded definitions do not kill."""
    work, seen = [start], {start}
    while work:
        i = work.pop()
        view = f.cfg.views[i]
        lit = literal(view.guard)
        if reads(f, i) >> loc & 1 or (lit >= 0 and PRED_BASE + (lit >> 1) == loc):
            return True
        if lit == -1 and writes(f, i) >> loc & 1:
            continue
        for executes in (True, False) if lit != -1 else (True,):
            then = following_in(f, i, executes)
            if then is not None and then not in seen:
                seen.add(then)
                work.append(then)
    return False


def following_in(f: FunctionAnalysis, i: int, executes: bool) -> int | None:
    control = f.cfg.views[i].control if executes else ""
    if control in ("exit", "return"):
        return None
    return f.fn.target(i) if control == "branch" else i + 1


# -- webs and interference ------------------------------------------------------------------------------------------

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
    program = random_program(seed)
    for attempt in range(8):
        machine = Machine(program, random.Random(seed * 8 + attempt), copies)
        machine.start()


def test_runs_really_compare_values() -> None:
    compared = 0
    for seed in range(40):
        program = random_program(seed)
        machine = Machine(program, random.Random(seed), True)
        machine.start()
        compared += machine.compared
    assert compared > 300


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_interference_is_what_overlapping_live_sets_say(seed: int, copies: bool) -> None:
    program = random_program(seed)
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
    program = random_program(seed)
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
    program = random_program(seed)
    for f in program.functions.values():
        for group in f.webs.groups:
            bases = {f.webs[w].arch - offset for w, offset in group.members}
            assert len(bases) == 1
            assert bases.pop() % group.alignment == 0
            assert {offset for _, offset in group.members} == set(range(group.units))


# -- graphs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(120))
def test_dominators_and_post_dominators_equal_networkx(seed: int) -> None:
    rng = random.Random(seed)
    cfg = build_cfg(module(random_function(rng, "k", rng.randrange(1, 16), 4)).functions[0])
    graph = nx.DiGraph((a, b) for a in cfg.rpo for b in cfg.succs[a])
    graph.add_nodes_from(cfg.rpo)
    expected = dict(nx.immediate_dominators(graph, 0))
    expected.pop(0, None)
    assert {b: d for b, d in enumerate(dominators(cfg).idom) if d >= 0} == expected
    exit_block = len(cfg.blocks)
    tree = post_dominators(cfg)
    leaving = [b for b in cfg.rpo if cfg.views[cfg.blocks[b].end - 1].control == "exit"]
    graph.add_edges_from((b, exit_block) for b in leaving)
    if not all(nx.has_path(graph, b, exit_block) for b in cfg.rpo if leaving) or not leaving:
        assert all(tree.depth[b] > 0 for b in cfg.rpo)
        return
    expected = dict(nx.immediate_dominators(graph.reverse(), exit_block))
    expected.pop(exit_block, None)
    assert {b: d for b, d in enumerate(tree.idom) if d >= 0} == expected


@pytest.mark.parametrize("seed", range(200))
def test_loop_depth_counts_natural_loops_where_the_graph_is_reducible(seed: int) -> None:
    rng = random.Random(seed)
    cfg = build_cfg(module(random_function(rng, "k", rng.randrange(2, 9), 4)).functions[0])
    nest, tree = find_loops(cfg), dominators(cfg)
    graph = nx.DiGraph((a, b) for a in cfg.rpo for b in cfg.succs[a])
    graph.add_nodes_from(cfg.rpo)
    back = [(a, b) for a, b in graph.edges if tree.dominates(b, a)]
    forward = graph.copy()
    forward.remove_edges_from(back)
    reducible = nx.is_directed_acyclic_graph(forward)
    assert reducible == (not any(loop.irreducible for loop in nest.loops))
    if not reducible:
        return
    bodies: dict[int, set[int]] = {}
    for tail, head in back:
        rest = graph.subgraph([n for n in graph if n != head or n == tail])
        body = {head, tail} | (nx.ancestors(rest, tail) if tail != head else set())
        bodies.setdefault(head, set()).update(body)
    assert sorted((h, sorted(b)) for h, b in bodies.items()) == sorted((x.header, x.blocks) for x in nest.loops)
    for b in cfg.rpo:
        assert nest.depth[b] == sum(b in body for body in bodies.values())
        assert nest.weight[b] == 10 ** min(nest.depth[b], 6)


# -- Max-live -------------------------------------------------------------------------------------------------------


def chains(program: ProgramAnalysis, name: str, outer: int, mask: int) -> Iterator[int]:
    """Number of live units at every composition instruction, by enumerating all call chains."""
    live: Liveness = program[name].live
    yield ((live.live_in[0] | outer) & mask).bit_count()
    calls = {s.index: s.callee for s in program.graph.sites[name]}
    for i, after in enumerate(live.after):
        own = 0 if i in calls or not live.cfg.reachable(i) else live.facts.defs[i]
        yield ((after | own | outer) & mask).bit_count()
        if i in calls:
            kept = live.survivors(i, program[calls[i]].summary)
            yield from chains(program, calls[i], kept | outer, mask)


@pytest.mark.parametrize("seed", range(80))
def test_recursive_max_live_equals_enumeration_of_call_chains(seed: int) -> None:
    program = random_program(seed)
    for file, mask in (("R", REG_MASK), ("P", PRED_MASK)):
        result = build_max_live(program, file)
        assert result.kernel.units == max(chains(program, "k", 0, mask))
        assert result.kernel.point[0][0] == "k"
        for name in program.graph.functions:
            assert result.total[name].units == max(chains(program, name, 0, mask))


def test_arguments_and_results_at_calls_are_webs_of_those_locations() -> None:
    for seed in range(60):
        program = random_program(seed)
        for f in program.functions.values():
            for i, link in f.webs.calls.items():
                callee = program[link.callee]
                wanted = set(bits(callee.summary.reads))
                for loc, web in link.args:
                    assert f.webs[web].loc == loc
                    assert (i, CALL, loc) in f.webs[web].uses
                    assert loc in dict(callee.webs.args)
                    if callee.summary.reads >> loc & 1:
                        wanted.discard(loc)
                assert not wanted
                for loc, web in link.results:
                    assert f.webs[web].loc == loc
                    assert (i, CALL, loc) in f.webs[web].defs
                    assert callee.summary.results >> loc & 1


def test_a_result_is_one_web_at_every_return() -> None:
    several = 0
    for seed in range(60):
        for f in random_program(seed).functions.values():
            returns = [i for i in f.cfg.exits if f.cfg.views[i].control == "return"]
            for loc, web in f.webs.results:
                assert sorted(p.instr for p in f.webs[web].uses if p.ref == RETURN) == returns
                assert f.webs[web].loc == loc
                several += len(returns) > 1
    assert several > 20
