"""Numbers that tokens share: they change what a set of tokens costs, never a control code."""

from __future__ import annotations

import pytest

from binalloc.transform.schedule import tokens
from binalloc.transform.schedule.graph import build_graph
from binalloc.transform.schedule.schedule import schedule
from binalloc.transform.schedule.timing import timing
from tests.support.generator.programs import generate, random_program
from tests.support.kits.machines import machines, roomy_machine

PROGRAMS = [("structured", seed) for seed in range(12)] + [("wide", seed) for seed in range(24)]


@pytest.mark.parametrize(("preset", "seed"), [*PROGRAMS, *(("unstructured", seed) for seed in range(6))])
def test_codes_are_those_of_tokens_with_numbers_of_their_own(
    preset: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _ = generate(preset, seed)
    machine = [roomy_machine(), machines()[2]][seed % 2]
    shared = schedule(module, machine)
    with monkeypatch.context() as m:
        m.setattr(tokens._Floods, "reach", lambda *_: None)
        assert schedule(module, machine) == shared
    with monkeypatch.context() as m:
        m.setattr(tokens, "SEGMENT", 1 + seed % 4)
        m.setattr(tokens, "MOST_SEGMENTS", 1 + seed % 9)
        assert schedule(module, machine) == shared


def test_sets_do_not_grow_with_the_program() -> None:
    widths = []
    for size in (500, 4000):
        module, _ = random_program(5, size=size, registers=40, callees=0, depth=3)
        graph = build_graph(module)
        machine = roomy_machine()
        widths.append(tokens.Tokens(graph, [timing(v, machine) for v in graph.views]).all.bit_length())
    assert widths[1] < 2 * widths[0]
