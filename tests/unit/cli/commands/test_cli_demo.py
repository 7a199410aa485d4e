"""`binalloc demo` of programs: a second table, the figures of `rewrite`, and what is left out or wrong told."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.kits.cli import SAMPLES, call
from tests.support.paths import sample_file

QUICK = ("--size", "test", "--engine", "numba")


def demo(*names: str, samples: Path = SAMPLES) -> Any:
    return call("demo", *names, *QUICK, "--samples", str(samples))


@pytest.mark.rotates("long commands")
def test_kernels_and_programs_have_a_table_each() -> None:
    answer = demo("callchain", "lu", "cluster")
    assert answer.code == 0
    first, second = answer.out.split("Programs: all launches of each.")
    assert "callchain" in first
    (row,) = (line.split() for line in second.splitlines() if line.startswith("lu "))
    assert row[1:5] == ["3", "0", "3", "7"], "kernels, rewritten, reordered, launches"
    assert row[-1] == "yes"
    assert "lu: diagonal " in second
    assert "1 of 1 program faster, 0 slower." in second
    assert "cluster: left out, its host steps execute Python code: give --host-steps" in second
    assert "Programs:" not in demo("callchain").out
    assert "version" not in demo("lu").out, "no empty table"


@pytest.mark.rotates("long commands")
def test_a_program_has_the_figures_of_its_rewrite() -> None:
    (row,) = call("demo", "lu", *QUICK, "--samples", str(SAMPLES), "--json").json["programs"]
    launched = ("--launch", str(sample_file("lu.toml")), *QUICK)
    rewritten = call("rewrite", str(sample_file("lu.ptx")), *launched, "--json").json
    for name in ("cycles", "speedup", "launches", "differences", "same_results"):
        assert row[name] == rewritten[name]
    for kernel, there in zip(row["kernels"], rewritten["kernels"], strict=True):
        assert {key: value for key, value in kernel.items() if key != "by_order_alone"} == there


def test_host_steps_run_with_leave() -> None:
    found = call("demo", "cluster", *QUICK, "--host-steps", "--samples", str(SAMPLES), "--json").json
    assert [row["sample"] for row in found["programs"]] == ["cluster"]
    assert found["programs"][0]["verified"] is True
    assert found["left_out"] == []


def test_a_program_that_leaves_another_result_than_its_reference_is_told(tmp_path: Path) -> None:
    for ending in (".ptx", ".toml", "_ref.py"):
        shutil.copy(sample_file(f"sort{ending}"), tmp_path)
    reference = tmp_path / "sort_ref.py"
    reference.write_text(reference.read_text().replace("np.sort(", "-np.sort("))
    answer = demo("sort", samples=tmp_path)
    assert answer.code == 1
    assert "not as its reference" in answer.out
    (row,) = (line.split() for line in answer.out.splitlines() if line.startswith("sort "))
    assert row[-1] == "no"


HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n"
CALLEE = """.visible .func (.param .b32 r) doubled (.param .b32 a)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [a];
    add.s32 %r2, %r1, %r1;
    st.param.b32 [r], %r2;
    ret;
}
"""
CALLER = """.extern .func (.param .b32 r) doubled (.param .b32 a);
.visible .entry twice(.param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, %tid.x;
    {
    .param .b32 p;
    .param .b32 q;
    st.param.b32 [p], %r1;
    call.uni (q), doubled, (p);
    ld.param.b32 %r2, [q];
    }
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
    ret;
}
"""
LAUNCH = """kernel = "twice"
grid = 1
block = 32
[[argument]]
name = "out"
kind = "buffer"
dtype = "u32"
shape = 32
[reference]
file = "pair_ref.py"
function = "reference"
[sizes.test]
"""
REFERENCE = """import numpy as np


def reference(inputs, launch):
    return {"out": np.arange(0, 64, 2, dtype=np.uint32)}
"""


def test_a_kernel_in_several_files_is_among_the_kernels(tmp_path: Path) -> None:
    """Linked, as `import-ptx` does; under its name, or its kernel's."""
    texts = {"caller.ptx": HEAD + CALLER, "callee.ptx": HEAD + CALLEE, "pair.toml": LAUNCH, "pair_ref.py": REFERENCE}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for name in ("pair", "twice"):
        found = call("demo", name, *QUICK, "--samples", str(tmp_path), "--json").json
        assert [(row["sample"], row["kernel"], row["verified"]) for row in found["rows"]] == [("pair", "twice", True)]
