"""Releases stand where the paper has them, and each way through a program comes to one, behind its last access."""

from __future__ import annotations

import random

import pytest

from binalloc.analysis.flow.callgraph import CallGraph, build_callgraph
from binalloc.analysis.sharing.access_ranges import around
from binalloc.analysis.sharing.releases import Release, at_postdominator, releases
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


def places(text: str, words: set[int], *, guards: bool = True) -> list[Release]:
    return releases(build_callgraph(program(text), "k"), {"k": dict.fromkeys(words, 1)}, guards=guards)


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
    touching = {w for w, by in WORDS.items() if by & units}
    assert places(FIGURE_7_TEXT, touching, guards=False) == [Release("k", word)]
    assert places(FIGURE_7_TEXT, touching) == ([] if word == 10 else [Release("k", word)])  # word 10 is the end


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
    NOP
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
        self.end = ("", -1)

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
                self.end = name, word
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
    placed, all_of_them = releases(graph, accesses), releases(graph, accesses, guards=False)
    assert some or not all_of_them
    ends = {(place.function, place.word) for place in all_of_them}
    for k in range(60):
        walk = _Walk(graph, placed if k % 2 else all_of_them, rng)
        ended = walk.run()
        assert not walk.late
        assert walk.released <= 1
        if ended and some and k % 2 == 0 and walk.end[0] == "k":
            assert walk.released == 1, "with jumps all threads release"
        elif ended and some and not walk.ended_early:
            assert walk.released == 1 or walk.end in ends


def test_with_jumps_critical_edges_have_the_place_and_all_threads_come_to_one() -> None:
    graph = build_callgraph(program(CRITICAL), "k")
    assert releases(graph, {"k": {1: True}}, guards=False) == [Release("k", 3, 0), Release("k", 3, 1)]


def test_nothing_is_released_directly_in_front_of_an_end() -> None:
    text = BESIDE.replace("    NOP\n    EXIT", "    LDS R1, [RZ]\n    EXIT")
    assert places(text, {1, 4}) == []
    assert releases(build_callgraph(program(text), "k"), {"k": {1: 1, 4: 1}}, guards=False) == [Release("k", 5)]


FIGURE_10 = """.kernel k
.block 32
.auto_reconv
    @P0 BRA four
    NOP
    LDS R1, [RZ]
    @P1 BRA six
    NOP
    BRA nine
six:
    NOP
nine:
    LDS R2, [RZ]
    BRA twelve
four:
    NOP
twelve:
    NOP
    EXIT
.end
"""
"""Our reading of the figure: L1 is at word 2, L2 at word 7; BB4 is word 9, BB12 word 10."""


def test_figure_10() -> None:
    assert places(FIGURE_10, {2, 7}) == [Release("k", 8), Release("k", 9)]


def test_figure_10_at_the_postdominator() -> None:
    graph = build_callgraph(program(FIGURE_10), "k")
    assert at_postdominator(graph, {"k": {2: 1, 7: 1}}) == [Release("k", 10)]


def test_the_postdominator_is_behind_all_accesses_and_in_no_loop() -> None:
    loop = """.kernel k
.block 32
.auto_reconv
    LDS R1, [RZ]
head:
    NOP
    @P0 BRA head
    NOP
    EXIT
.end
"""
    graph = build_callgraph(program(loop), "k")
    assert at_postdominator(graph, {"k": {0: 1}}) == [Release("k", 1, 0)]
    assert at_postdominator(graph, {"k": {1: 1}}) == [Release("k", 3)]
    assert at_postdominator(graph, {"k": {}}) == []
    assert at_postdominator(build_callgraph(program(FIGURE_7_TEXT), "k"), {"k": {1: 1, 2: 1, 7: 1}}) == [
        Release("k", 8)
    ]
