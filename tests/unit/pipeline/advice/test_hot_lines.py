"""Hot lines are ranked by what the emulator counted where the kernel was run, by loops and calls elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from binalloc.frontend.importer import import_ptx
from binalloc.launch.file import load_launch
from binalloc.pipeline.advice.recommend import Recommendation, recommend
from binalloc.pipeline.request import Request
from binalloc.report.recommend.facts import recommendation_to_dict
from binalloc.report.recommend.text import render_recommendation

ROUNDS = 3
KERNEL = """.version 8.0
.target sm_75
.address_size 64
.file 1 "k.cu"
.visible .entry k(.param .u64 rounds, .param .u64 out) {
.reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<6>;
.loc 1 3 1
ld.param.u64 %rd1, [rounds]; cvta.to.global.u64 %rd2, %rd1;
ld.global.u32 %r1, [%rd2]; ld.global.u32 %r2, [%rd2+4]; mov.u32 %r3, 0; mov.u32 %r4, %r2; mov.u32 %r5, %r2;
A:
.loc 1 5 1
mad.lo.u32 %r4, %r4, %r5, %r2; mad.lo.u32 %r5, %r5, %r4, %r2; mad.lo.u32 %r4, %r4, %r5, %r2;
add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r1; @%p1 bra A;
mov.u32 %r3, 0;
B:
.loc 1 8 1
mul.lo.u32 %r4, %r4, %r5; xor.b32 %r5, %r5, %r4;
add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r2; @%p2 bra B;
.loc 1 9 1
ld.param.u64 %rd3, [out]; cvta.to.global.u64 %rd4, %rd3; st.global.u32 [%rd4], %r4; ret;
}
"""
LAUNCH = """kernel = "k"
grid = 1
block = 32
[[argument]]
name = "rounds"
kind = "buffer"
dtype = "u32"
shape = 2
init = { kind = "random", distribution = "integers", low = ROUNDS, high = HIGH, seed = 1 }
[[argument]]
name = "out"
kind = "buffer"
dtype = "u32"
shape = 1
"""


def recommended(folder: Path, rounds: int, *, emulate: bool) -> Recommendation:
    """For a kernel whose loops both go round as often as memory says."""
    path = folder / "k.toml"
    path.write_text(LAUNCH.replace("ROUNDS", str(rounds)).replace("HIGH", str(rounds + 1)))
    module = import_ptx(KERNEL, "k.ptx").module
    policy = "measured" if emulate else "model"
    return recommend(module, Request(launch=load_launch(path), policy=policy, emulate=emulate, engine="python"))


@pytest.mark.parametrize("rounds", [1, 3, 200])
def test_after_a_run_lines_are_ranked_by_what_was_executed(rounds: int, tmp_path: Path) -> None:
    found = recommended(tmp_path, rounds, emulate=True)
    counts = found.outcome.original.counts["k"]
    by_line: dict[int, int] = {}
    for index, count in enumerate(counts):
        place = found.outcome.original.module.function("k").source_line(index)
        if place is not None:
            by_line[place[1]] = by_line.get(place[1], 0) + int(count)
    assert {one.line: round(one.percent, 6) for one in found.lines} == {
        line: round(100 * executed / counts.sum(), 6) for line, executed in by_line.items()
    }
    assert [one.percent for one in found.lines] == sorted((one.percent for one in found.lines), reverse=True)
    assert all(one.measured for one in found.lines)
    share = next(one.percent for one in found.lines if one.line == 5)
    assert (share > 50) == (rounds == 200), "rounds are the run's, not ten that stand for what nobody knows"


def test_without_a_run_the_heading_says_estimated(tmp_path: Path) -> None:
    for emulate, how in ((False, "estimated"), (True, "emulated")):
        found = recommended(tmp_path, ROUNDS, emulate=emulate)
        told = recommendation_to_dict(found.outcome.given.module, found, "binalloc rewrite")
        assert {one["measured"] for one in told["hot_lines"]} == {emulate}
        assert f"executed ({how})" in render_recommendation(found.outcome, told)
