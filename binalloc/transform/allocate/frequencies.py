"""How often each function of an analysed program runs."""

from __future__ import annotations

from binalloc.analysis.frequencies import runs
from binalloc.analysis.program import ProgramAnalysis


def frequencies(program: ProgramAnalysis) -> dict[str, float]:
    """Estimated runs of each function per run of the kernel, callers first."""
    return runs(program.graph, {name: analysis.loops for name, analysis in program.functions.items()})
