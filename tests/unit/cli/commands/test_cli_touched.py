"""Commands that show which variables accesses touch, by what is known, and the run that finds out a wrong access."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kits.cli import call
from tests.support.paths import sample_file

LAUNCH = """
kernel = "k"
grid = [1]
block = [32]
[[argument]]
name = "out"
kind = "buffer"
dtype = "u32"
shape = [32]
[[argument]]
name = "n"
kind = "scalar"
dtype = "u32"
value = {value}
"""
KERNEL = """
.version 8.0
.target sm_75
.address_size 64
.file 1 "neighbour.cu"
.visible .entry k(.param .u64 out, .param .u32 n)
{
.shared .align 4 .b8 one[128];
.shared .align 4 .b8 two[128];
.reg .b32 %r<9>;
.reg .b64 %d<5>;
ld.param.u64 %d1, [out];
ld.param.u32 %r7, [n];
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, one;
add.u32 %r4, %r3, %r2;
st.shared.u32 [%r4], %r1;
mov.u32 %r5, two;
add.u32 %r5, %r5, %r2;
st.shared.u32 [%r5], %r1;
bar.sync 0;
.loc 1 17 0
add.u32 %r6, %r4, %r7;
ld.shared.u32 %r8, [%r6];
mul.wide.u32 %d2, %r1, 4;
add.u64 %d3, %d1, %d2;
st.global.u32 [%d3], %r8;
ret;
}
"""


def test_inspect_says_how_variables_are_known() -> None:
    file = str(sample_file("NQU.ptx"))
    found = call("inspect", file, "--shared", "--block", "64", "--json").json
    view = found["shared"]
    counts = {what: sum(a["evidence"] == what for a in view["accesses"]) for what in ("proved", "symbol", "unknown")}
    assert counts == {"proved": 24, "symbol": 9, "unknown": 0}
    assert all(len(a["variables"]) == 1 and not a["contradicted"] for a in view["accesses"])
    text = call("inspect", file, "--shared", "--block", "64").out
    assert "33 accesses, 24 of them proven to stay in variables, 9 more by C's rule" in text
    assert "C's rule" in text
    assert "ranges" in text


def test_disassembly_and_sections_have_the_table(tmp_path: Path) -> None:
    binary, text = str(tmp_path / "k.loom"), tmp_path / "k.lasm"
    assert call("import-ptx", str(sample_file("NQU.ptx")), "-o", binary).code == 0
    assert ".loom.touches.NQU" in call("inspect", binary).out
    assert ".loom.touches.NQU" in str(call("inspect", binary, "--json").json["sections"])
    text.write_text(call("disasm", binary).out)
    assert "    .touches _ZZ3NQUE5taken\n" in text.read_text()
    again = str(tmp_path / "again.loom")
    assert call("asm", str(text), "-o", again).code == 0
    assert Path(again).read_bytes() == Path(binary).read_bytes()


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_a_wrong_index_is_a_fault_with_its_line(tmp_path: Path, engine: str) -> None:
    kernel, launch = tmp_path / "k.ptx", tmp_path / "k.toml"
    kernel.write_text(KERNEL)
    launch.write_text(LAUNCH.format(value=4))
    line = ["run", str(kernel), "--launch", str(launch), "--engine", engine]
    assert call(*line).code == 0
    answer = call(*line, "--check")
    assert answer.code == 5
    assert "lane 31, thread 31" in answer.err
    assert "(neighbour.cu:17)" in answer.err
    assert "address 0x80, 4 bytes, in two; expected one, 0x0 to 0x7f" in answer.err
    launch.write_text(LAUNCH.format(value=0))
    assert call(*line, "--check").code == 0
