"""Releases stand where the paper has them, and each way through a program comes to one, behind its last access."""

from __future__ import annotations

import random

import pytest

from binalloc.analysis.flow.callgraph import CallGraph, build_callgraph
from binalloc.analysis.sharing.access_ranges import around
from binalloc.analysis.sharing.releases import Release, releases
from binalloc.isa.kinds import Flow
from tests.support.programs.builder import program
from tests.unit.analysis.sharing.test_access_ranges import BY, FIGURE_7, A, B, C

FIGURE_7_TEXT = """.kernel k
.block 32
.auto_reconv
    NOP
one:
    LDS R1, [RZ]
two:
    LDS R2, [RZ]
    @P0 BRA three
    BRA four
three:
    NOP
    BRA two
four:
    LDS R3, [RZ]
five:
    LDS R4, [RZ]
six:
    LDS R5, [RZ]
    EXIT
.end
"""
WORDS = {1: A, 2: B, 7: A, 8: C, 9: C}


def places(text: str, words: set[int]) -> list[Release]:
    return releases(build_callgraph(program(text), "k"), {"k": dict.fromkeys(words, True)})


@pytest.mark.parametrize(
    ("units", "into", "out_of"),
    [(A | B, set(), {4}), (B, {4}, set()), (A, set(), {4}), (C, set(), {6}), (A | C, set(), {6}), (B | C, set(), {6})],
)
def test_figure_7(units: int, into: set[int], out_of: set[int]) -> None:
    found, nodes = around(FIGURE_7, [by & units for by in BY]), range(len(BY))
    before, after = [not found.at(n)[1] for n in nodes], [not found.after[n] for n in nodes]
    preds = {n: [p for p in nodes if n in FIGURE_7[p]] for n in nodes}
    assert {n for n in nodes if after[n] and not before[n]} == out_of
    assert {n for n in nodes if before[n] and not all(after[p] for p in preds[n])} == into


@pytest.mark.parametrize(("units", "word"), [(A | B, 8), (B, 4), (A, 8), (C, 10), (B | C, 10)])
def test_figure_7_as_code(units: int, word: int) -> None:
    assert places(FIGURE_7_TEXT, {w for w, by in WORDS.items() if by & units}) == [Release("k", word)]


def test_no_access_no_release() -> None:
    assert places(FIGURE_7_TEXT, set()) == []


BESIDE = """.kernel k
.block 32
.auto_reconv
    @P0 BRA other
    LDS R1, [RZ]
    BRA last
other:
    NOP
last:
    NOP
    EXIT
.end
"""


def test_figure_11() -> None:
    # behind the access of the one way, and at the begin of the other; not where they meet
    assert places(BESIDE, {1}) == [Release("k", 2), Release("k", 3)]


CRITICAL = """.kernel k
.block 32
.auto_reconv
    @P1 BRA last
head:
    LDS R1, [RZ]
    @!P0 BRA head
last:
    EXIT
.end
"""


def test_critical_edges_are_under_the_condition_of_their_branch() -> None:
    # P1 leads past the loop, and P0 out of it: neither edge has a block of its own
    assert places(CRITICAL, {1}) == [Release("k", 0, None, (1, False)), Release("k", 2, None, (0, False))]


CALLS = """.kernel k
.block 32
.auto_reconv
    {guard}CALL touch
    NOP
    {again}
    EXIT
.end
.func touch
    LDS R1, [RZ]
    NOP
    RET
.end
"""


@pytest.mark.parametrize(
    ("guard", "again", "expected"),
    [
        ("", "NOP", [Release("touch", 1)]),  # within the function, whose only call is the last access
        ("", "CALL touch", [Release("k", 3)]),  # the first call has the second behind it
        ("@P0 ", "NOP", [Release("k", 1)]),  # who does not call, has to release, too
    ],
)
def test_calls(guard: str, again: str, expected: list[Release]) -> None:
    graph = build_callgraph(program(CALLS.format(guard=guard, again=again)), "k")
    assert releases(graph, {"touch": {0: True}}) == expected


def _random_code(rng: random.Random, calls: list[str]) -> list[str]:
    """Some words with branches and accesses; a third of the words are branches, most of them forwards."""
    count = rng.randrange(3, 14)
    lines = []
    for k in range(count):
        kind = rng.random()
        if kind < 0.3:
            to = rng.randrange(k + 1, count + 1) if rng.random() < 0.75 else rng.randrange(count + 1)
            guard = "" if rng.random() < 0.15 and to > k else f"@{rng.choice(('', '!'))}P{rng.randrange(4)} "
            lines.append(f"L{k}: {guard}BRA L{to}")
        elif kind < 0.36:
            lines.append(f"L{k}: @P{rng.randrange(4)} EXIT")
        elif kind < 0.5 and calls:
            lines.append(f"L{k}: {rng.choice(('', '', '@P2 '))}CALL {rng.choice(calls)}")
        else:
            lines.append(f"L{k}: {'LDS R1, [RZ]' if kind < 0.7 else 'NOP'}")
    return lines


def _random_program(rng: random.Random, functions: int) -> str:
    text, names = "", [f"f{n}" for n in range(functions)]
    for n in reversed(range(functions)):
        code = _random_code(rng, names[n + 1 :])
        text = f".func f{n}\n.auto_reconv\n" + "\n".join(code) + f"\nL{len(code)}: RET\n.end\n" + text
    code = _random_code(rng, names)
    return ".kernel k\n.block 32\n.auto_reconv\n" + "\n".join(code) + f"\nL{len(code)}: EXIT\n.end\n" + text


class _Walk:
    """A way of one thread through a program, chosen at random; predicates hold what they held at the last branch."""

    def __init__(self, graph: CallGraph, placed: list[Release], rng: random.Random) -> None:
        self.graph, self.rng, self.released, self.late = graph, rng, 0, False
        self.at: dict[tuple[str, int], list[Release]] = {}
        for place in placed:
            self.at.setdefault((place.function, place.word), []).append(place)
        self.ended_early = False

    def run(self) -> bool:
        """Goes to an end, and returns whether it came there within some steps."""
        stack, name, word, came = [], "k", 0, -1
        for _ in range(400):
            cfg = self.graph.cfgs[name]
            view = cfg.views[word]
            predicates = [self.rng.random() < 0.5 for _ in range(4)]
            holds = view.guard is None or predicates[view.guard[0]] != view.guard[1]
            self._release(name, word, came, predicates)
            if cfg.fn.instrs[word].name == "LDS":
                self.late |= self.released > 0
            came, following = word, word + 1
            if view.control == Flow.BRANCH and holds:
                following = cfg.fn.target(word)
            elif view.control == Flow.CALL and holds:
                (callee,) = (s.callee for s in self.graph.sites[name] if s.index == word)
                stack.append((name, word + 1))
                name, following, came = callee, 0, -1
            elif view.control == Flow.RETURN and holds:
                name, following = stack.pop()
                came = following - 1
            elif view.control == Flow.EXIT and holds:
                self.ended_early = view.guard is not None or name != "k"
                return True
            word = following
        return False

    def _release(self, name: str, word: int, came: int, predicates: list[bool]) -> None:
        cfg = self.graph.cfgs[name]
        for place in self.at.get((name, word), ()):
            if place.source is not None and came != cfg.blocks[place.source].end - 1:
                continue
            if place.guard is None or predicates[place.guard[0]] != place.guard[1]:
                self.released += 1


@pytest.mark.parametrize("functions", [0, 2])
@pytest.mark.parametrize("seed", range(80))
def test_each_way_releases_once_behind_its_last_access(seed: int, functions: int) -> None:
    rng = random.Random(f"{seed} {functions}")
    graph = build_callgraph(program(_random_program(rng, functions)), "k")
    accesses = {
        name: {w: i.name == "LDS" for w, i in enumerate(cfg.fn.instrs)} for name, cfg in graph.cfgs.items()
    }  # fmt: skip
    some = any(hit and graph.cfgs[n].reachable(w) for n, words in accesses.items() for w, hit in words.items())
    placed = releases(graph, accesses)
    assert some or not placed
    for _ in range(60):
        walk = _Walk(graph, placed, rng)
        ended = walk.run()
        assert not walk.late
        assert walk.released <= 1
        if ended and some and not walk.ended_early:
            assert walk.released == 1
