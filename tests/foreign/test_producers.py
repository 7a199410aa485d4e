"""What makes PTX of other compilers, and runs it, without any of these compilers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.foreign.producers import compile as producers
from tests.foreign.producers.made import Made
from tests.foreign.producers.runs import CASES, arguments, difference, like, run
from tests.foreign.producers.runs import Case as RunCase

OWN = """.version 7.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 x, .param .u64 y, .param .u32 n, .param .u64 scratch, .param .u64 profile)
.reqntid 32
{
    .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<2>;
    ld.param.u64 %d0, [x]; ld.param.u64 %d1, [y]; ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 32, %r1; setp.ge.u32 %p0, %r3, %r0; @%p0 ret;
    mul.wide.u32 %d2, %r3, 4; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;
    ld.global.b32 { %r4 }, [ %d3 + 0 ]; add.u32 %r5, %r4, %r4; st.global.b32 [ %d4 + 0 ], { %r5 }; ret;
}
"""


def test_a_file_is_made_once_and_what_does_not_compile_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[str] = []

    def good() -> tuple[str, str]:
        made.append("good")
        return "text", "{}"

    def bad() -> tuple[str, str]:
        raise ValueError("first line\nsome.kernel does not compile\n")

    assert [producers.write(Made("p", "a.sm_80", good), tmp_path) for _ in range(2)] == [1, 1]
    assert made == ["good"]
    assert (tmp_path / "p" / "a.sm_80.ptx").read_text() == "text"
    assert (tmp_path / "p" / "a.sm_80.json").read_text() == "{}"
    assert producers.write(Made("p", "b", bad), tmp_path) == 0
    assert "p b: some.kernel does not compile" in capsys.readouterr().err


def test_a_producer_that_is_not_there_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = ModuleType("tests.foreign.producers.of_clang")
    module.own = lambda only: iter([Made("clang", "one", lambda: ("text", ""))])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.setattr(sys, "argv", ["compile", str(tmp_path), "--only", "triton", "clang"])
    assert producers.main() == 0
    assert "triton: not installed" in capsys.readouterr().err
    assert [p.name for p in tmp_path.rglob("*.*")] == ["one.ptx"]
    given = argparse.Namespace(kernel=[], tutorials=None)
    assert list(producers.made_by("tutorials", given, tmp_path)) == []


def test_arguments_are_what_each_producer_declares() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    triton = arguments(RunCase("triton", "k", (1,), [], {}), [x, np.int32(3)])
    assert triton[0] is x
    assert triton[1:] == [3, 0, 0]
    numba = arguments(RunCase("numba", "k", (1,), [], {}), [x, np.int32(3)])
    assert [v for v in numba if v is not x] == [0, 0, 6, 4, 2, 3, 12, 4, 3]
    assert numba[4] is x


def test_a_difference_is_told_and_one_that_is_not_allowed_is_infinite() -> None:
    case = RunCase("triton", "k", (1,), [], {0: np.array([1.0, 200.0])}, rtol=0.01)
    assert difference(case, [np.array([1.0, 201.0])]) == pytest.approx(0.005)
    assert difference(case, [np.array([1.0, 203.0])]) == float("inf")
    assert difference(case, [np.array([1.0, np.nan])]) == float("inf")


@pytest.mark.rotates("long")
def test_a_kernel_goes_through_import_and_two_budgets(tmp_path: Path) -> None:
    place = tmp_path / "triton" / "twice.sm_80.ptx"
    place.parent.mkdir()
    place.write_text(OWN)
    place.with_suffix(".json").write_text('{"warps": 1, "shared": 0}')
    x = np.arange(50, dtype=np.int32)
    good = RunCase("triton", "twice", (2,), [x, like(50, dtype=np.int32), np.int32(50)], {1: 2 * x})
    row = run(good, tmp_path, "a100")
    assert row["result"] == "equal"
    assert len(row["budgets"].split("; ")) == 2
    bad = RunCase("triton", "twice", (2,), [x, like(50, dtype=np.int32), np.int32(50)], {1: 3 * x})
    assert run(bad, tmp_path, "a100")["result"] == "differs"


def test_ten_kernels_of_each_are_run() -> None:
    for producer, cases in CASES.items():
        found = list(cases(np.random.default_rng(1)))
        assert len({case.kernel for case in found}) == len(found) >= 10
        assert all(case.producer == producer for case in found)
