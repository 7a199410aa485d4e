"""Results are kept for the modules that were asked about last."""

from __future__ import annotations

from dataclasses import replace

from binalloc.analysis.kept import kept
from binalloc.isa.instruction import Module
from tests.support.programs.builder import program


def test_the_last_results_are_kept_by_module_and_arguments() -> None:
    calls: list[tuple[int, int]] = []

    @kept
    def found(module: Module, number: int, *, more: int = 0) -> list[int]:
        calls.append((number, more))
        return [number]

    module = program(".kernel k\nEXIT\n.end\n")
    first = found(module, 1)
    assert found(module, 1) is first
    assert found(module, 1, more=2) is not first
    assert found(replace(module), 1) is not first, "an equal module is another one"
    assert calls == [(1, 0), (1, 2), (1, 0)]
    for number in range(2, 5):
        found(module, number)
    assert found(module, 1) is not first, "four are kept"
    found(module, 4)
    assert calls[3:] == [(2, 0), (3, 0), (4, 0), (1, 0)]
