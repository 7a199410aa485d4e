"""The marks of live ranges say what the instructions' views and liveness say; the peak's values are as many as it has
units, each in another place."""

from __future__ import annotations

from collections import Counter

import pytest

from binalloc.analysis.locations import PRED_MASK
from binalloc.analysis.program import FunctionAnalysis, analyse
from binalloc.analysis.views.live_rows import Mark, live_rows
from binalloc.analysis.views.max_live import build_max_live
from binalloc.analysis.views.peak import peak_values
from binalloc.analysis.web import WebNumber
from binalloc.bitset import mask_from
from tests.support.generator.programs import generate
from tests.support.kits.analysis import analysed_program, reads, writes

SEEDS = range(40)
USES = (Mark.USED, Mark.BOTH, Mark.USED_AND_MERGED)
DEFINES = (Mark.DEFINED, Mark.BOTH, Mark.MERGED, Mark.USED_AND_MERGED)


def locations(f: FunctionAnalysis, marks: dict[WebNumber, Mark], wanted: tuple[Mark, ...]) -> int:
    return mask_from(f.webs[w].loc for w, mark in marks.items() if mark in wanted)


@pytest.mark.parametrize("seed", SEEDS)
def test_marks_are_what_the_instruction_does(seed: int) -> None:
    for f in analysed_program(seed).functions.values():
        calls = set(f.webs.calls)
        rows = live_rows(f)
        assert [row.index for row in rows if row.index >= 0] == [
            i for b in sorted(f.cfg.rpo) for i in range(f.cfg.blocks[b].start, f.cfg.blocks[b].end)
        ]
        for row in rows:
            i = row.index
            if i < 0:
                assert locations(f, row.marks, DEFINES) == f.live.live_in[0]
                continue
            every = locations(f, row.marks, tuple(Mark))
            assert every & (f.live.before[i] | f.live.after[i]) == f.live.before[i] | f.live.after[i]
            if i in calls or f.cfg.views[i].control:
                continue
            guard = f.cfg.views[i].guard
            used = locations(f, row.marks, USES)
            assert used & ~PRED_MASK == reads(f, i) & ~PRED_MASK
            assert used & PRED_MASK & ~reads(f, i) == 0 or guard is not None
            assert locations(f, row.marks, DEFINES) == writes(f, i)
            merged = locations(f, row.marks, (Mark.MERGED, Mark.USED_AND_MERGED))
            assert merged == f.live.kept.get(i, 0) & writes(f, i)
            assert not merged or guard is not None


@pytest.mark.rotates
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("file", ["R", "P", "L", "RL"])
def test_the_peak_has_as_many_values_as_units(seed: int, file: str) -> None:
    program = analysed_program(seed)
    found = build_max_live(program, file)
    values = peak_values(program, found)
    assert len(values) == found.kernel.units
    assert [(v.function, v.index) for v in values] == sorted(
        ((v.function, v.index) for v in values), key=[*found.kernel.point].index
    )
    assert max(Counter((v.function, v.web) for v in values).values(), default=1) == 1


def test_the_peak_of_whole_programs() -> None:
    """Many of them have it in a callee."""
    deep = 0
    for seed in range(24):
        module, _ = generate("structured", seed)
        program = analyse(module, module.kernels()[0].name, lift=True)
        for file in ("R", "P", "L"):
            found = build_max_live(program, file)
            values = peak_values(program, found)
            assert len(values) == found.kernel.units
            assert {v.across for v in values} <= {len(found.kernel.point) > 1, False}
            deep += any(v.across for v in values)
    assert deep > 10
