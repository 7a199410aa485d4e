"""`binalloc launch-skeleton`: files that are launch files, what is refused, and what the comments say."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from binalloc.launch.file import load_launch
from binalloc.launch.program.file import load_program
from tests.support.kits.cli import call, loom, refused
from tests.support.paths import DATA, sample_file

SEVERAL = str(sample_file("lu.ptx"))


def test_the_file_runs_at_once(tmp_path: Path) -> None:
    out = str(tmp_path / "k.toml")
    answer = call("launch-skeleton", loom("callchain"), "-o", out)
    assert (answer.code, answer.out) == (0, "")
    launch = load_launch(out)
    assert [a.kind for a in launch.arguments] == ["buffer", "buffer", "scalar"]
    assert launch.values["items"] == launch.blocks * launch.threads_per_block
    assert call("run", loom("callchain"), "--launch", out, "--engine", "python").code == 0


def test_without_an_output_it_goes_to_stdout() -> None:
    text = call("launch-skeleton", loom("matmul")).out
    assert text == call("launch-skeleton", loom("matmul"), "-o", "-").out
    table = tomllib.loads(text)
    assert (table["kernel"], table["block"]) == ("matmul", [16, 16])
    assert "# read as f32, up to 2 at once at instructions 25, 56\n# only read\n[[argument]]\nname = \"a\"" in text


def test_lines_of_the_source_are_reasons() -> None:
    text = call("launch-skeleton", str(sample_file("cfd.ptx"))).out
    assert "# read as i16 at line 76 of cfd.cu\n" in text
    assert "# __constant__ variable of 20 bytes" in text
    assert '# name = "far_field"\n' in text


def test_json_says_the_same(tmp_path: Path) -> None:
    text = call("launch-skeleton", loom("nbody")).out
    found = call("launch-skeleton", loom("nbody"), "--json").json
    assert found["launch"] == tomllib.loads(text) == tomllib.loads(found["text"])
    (kernel,) = found["kernels"]
    assert [a["access"] for a in kernel["arguments"]][:4] == ["read", "read", "read", "read and written"]
    assert all(reason in text.replace("\n# ", " ") for a in kernel["arguments"] for reason in a["reasons"])
    out = str(tmp_path / "n.toml")
    again = call("launch-skeleton", loom("nbody"), "--json", "-o", out).json
    assert (again["output"], Path(out).read_text()) == (out, text)


def test_a_file_that_is_there_stays_unless_forced(tmp_path: Path) -> None:
    out = tmp_path / "k.toml"
    out.write_text("mine")
    assert "--force" in refused(2, "launch-skeleton", loom("callchain"), "-o", str(out))
    assert out.read_text() == "mine"
    assert call("launch-skeleton", loom("callchain"), "-o", str(out), "--force").code == 0
    assert load_launch(out).kernel == "callchain"


def test_several_kernels_become_a_sequence(tmp_path: Path) -> None:
    out = str(tmp_path / "lu.toml")
    assert call("launch-skeleton", SEVERAL, "-o", out).code == 0
    program = load_program(out)
    assert program.kernels == ("diagonal", "perimeter", "internal")
    assert len(program.held.arguments) == 9
    one = tomllib.loads(call("launch-skeleton", SEVERAL, "--kernel", "internal").out)
    assert one["kernel"] == "internal"
    assert "step" not in one
    step = tomllib.loads(call("launch-skeleton", SEVERAL, "--kernel", "internal", "--program").out)
    assert [s["launch"] for s in step["step"]] == ["internal"]


def test_block_dim_is_the_launchs() -> None:
    for option in ("--block", "--block-dim"):
        table = tomllib.loads(call("launch-skeleton", str(sample_file("cfd.ptx")), option, "64").out)
        assert table["block"] == 64
    assert "--block is no block size" in refused(2, "launch-skeleton", loom("matmul"), "--block", "0")


def test_what_nvcc_compiles_has_skeletons_too() -> None:
    found = call("launch-skeleton", str(DATA / "fatbin" / "program"), "--json").json
    assert found["sequence"] is (len(found["kernels"]) > 1)
    assert all(kernel["kernel"] for kernel in found["kernels"])


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (2, ["nope.loom"]),
        (2, [loom("matmul"), "--kernel", "nope"]),
        (2, [loom("matmul"), "-o", loom("matmul")]),
        (3, [str(sample_file("matmul.toml"))]),
    ],
)
def test_what_is_refused(code: int, arguments: list[str]) -> None:
    refused(code, "launch-skeleton", *arguments)


def test_a_module_without_a_kernel_is_refused(tmp_path: Path) -> None:
    data = call("asm", "-", stdin=b".func f\n    RET\n.end\n").raw
    (tmp_path / "f.loom").write_bytes(data)
    assert "no kernel" in refused(2, "launch-skeleton", str(tmp_path / "f.loom"))


SURFACES = """.version 8.0
.target sm_75
.address_size 64
.entry k(.param .u64 wide, .param .u64 layered) {
    .reg .b32 %r<9>; .reg .b16 %h<2>; .reg .b64 %d<3>;
    ld.param.u64 %d1, [wide]; ld.param.u64 %d2, [layered]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4;
    suld.b.2d.v4.b32.zero {%r3, %r4, %r5, %r6}, [%d1, {%r2, %r1}]; cvt.u16.u32 %h1, %r3;
    sust.b.a1d.b16.zero [%d2, {0, %r2}], {%h1}; ret; }
"""


def test_surfaces_have_elements_as_large_as_what_is_accessed(tmp_path: Path) -> None:
    source, out = tmp_path / "k.ptx", str(tmp_path / "k.toml")
    source.write_text(SURFACES)
    assert call("launch-skeleton", str(source), "-o", out).code == 0
    wide, layered = load_launch(out).arguments
    assert (wide.kind, wide.dtype, wide.shape) == ("surface", "u32", (128, 128, 4))
    assert (layered.kind, layered.dtype, layered.shape) == ("surface", "u16", (64, 128))
    assert layered.texture is not None
    assert layered.texture.layers == "array"
    assert call("run", str(source), "--launch", out, "--engine", "python").code == 0
