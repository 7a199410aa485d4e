"""Liveness against a slow oracle on random programs: search over predicate-consistent paths through call stacks."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from binalloc.analysis.flow.backward import literal
from binalloc.analysis.locations import PRED_BASE, bits
from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis, analyse
from binalloc.isa.instruction import Function
from tests.support.kits.analysis import analysed_program, one_function, reads, writes
from tests.support.programs.lines import bra, call, const, function, leave, module, mov, ret, setp

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
    program = analysed_program(seed)
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
