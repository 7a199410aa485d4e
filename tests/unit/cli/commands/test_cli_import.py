"""`binalloc import-ptx`: what it prints, refuses and leaves behind."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from tests.support.kits.cli import call as call_binalloc
from tests.support.paths import ROOT, sample_file
from tests.support.ptx.linked import call, declared, function, kernel

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{\n"
KEYS = {"name", "register_demand", "max_live", "instructions", "shared_bytes", "local_bytes", "calls"}


def test_json_tells_each_kernel(tmp_path: Path) -> None:
    result = call_binalloc("import-ptx", str(sample_file("FDTD3d.ptx")), "-o", str(tmp_path / "x.loom"), "--json")
    assert result.code == 0, result.err
    (kernel,) = result.json["kernels"]
    assert set(kernel) >= KEYS
    assert (kernel["name"], kernel["shared_bytes"]) == ("FDTD3d", 3840)
    assert kernel["register_demand"] >= kernel["max_live"] > 0


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (".reg .b32 %r<2>; .reg .f32 %f<2>;\nadd.s32 %r1, %f1, 3;\nret;\n}\n", "line 7, column 1"),
        ("wmma.load.a.sync;\nret;\n}\n", "line 6, column 1"),
        ("ret;\n", "line"),
        ("bra NOWHERE;\nret;\n}\n", "line 6"),
    ],
)
def test_bad_input_names_the_place_and_writes_nothing(tmp_path: Path, body: str, place: str) -> None:
    source, target = tmp_path / "bad.ptx", tmp_path / "bad.loom"
    source.write_text(HEAD + body)
    result = call_binalloc("import-ptx", str(source), "-o", str(target))
    assert result.code == 3
    assert place in result.err
    assert result.err.count("\n") == 1
    assert not target.exists()


def test_the_output_never_overwrites_its_input(tmp_path: Path) -> None:
    source = tmp_path / "k.loom"
    source.write_text(HEAD + "ret;\n}\n")
    for arguments in ([str(source)], [str(source), "-o", str(source)]):
        assert call_binalloc("import-ptx", *arguments).code == 2
    assert source.read_text().startswith(".version")


def test_more_registers_than_the_machine_has_is_said(tmp_path: Path) -> None:
    source = tmp_path / "k.ptx"
    loads = "".join(f"ld.global.f32 %f{i}, [%rd1+{4 * i}];\n" for i in range(80))
    stores = "".join(f"st.global.f32 [%rd1+{4 * i + 400}], %f{i};\n" for i in range(80))
    declared = ".reg .f32 %f<80>; .reg .b64 %rd<2>;\nld.param.u64 %rd1, [k_param_0];\n"
    source.write_text(HEAD + declared + loads + stores + "ret;\n}\n")
    result = call_binalloc("import-ptx", str(source), "-o", str(tmp_path / "k.loom"))
    assert result.code == 0
    assert "rewrite it before it runs" in result.err


def parts(folder: Path) -> tuple[str, str]:
    """Two files of one program."""
    one, two = folder / "one.ptx", folder / "two.ptx"
    one.write_text(HEAD[: HEAD.index(".visible")] + declared("f") + kernel(call("f")))
    two.write_text(HEAD[: HEAD.index(".visible")] + function("f", 10))
    return str(one), str(two)


def test_several_files_are_linked(tmp_path: Path) -> None:
    one, two = parts(tmp_path)
    out = str(tmp_path / "out.loom")
    result = call_binalloc("import-ptx", one, two, "-o", out, "--json")
    assert result.code == 0, result.err
    assert [entry["file"] for entry in result.json["inputs"]] == [one, two]
    text = Path(two).read_text().encode()
    assert result.json["inputs"][1]["sha256"] == hashlib.sha256(text).hexdigest()
    assert [k["calls"] for k in result.json["kernels"]] == [["f"]]
    again = str(tmp_path / "again.loom")
    assert call_binalloc("import-ptx", one, two, "-o", again).code == 0
    assert Path(out).read_bytes() == Path(again).read_bytes()


def test_what_several_files_must_be(tmp_path: Path) -> None:
    one, two = parts(tmp_path)
    out = str(tmp_path / "out.loom")
    for arguments, said in (
        ([one, two], "several files give the output no name"),
        ([one, two, "-o", two], "would overwrite"),
        ([one, one, "-o", out], "the same file twice"),
        ([one, str(tmp_path / "." / "one.ptx"), "-o", out], "the same file twice"),
        (["-", two, "-", "-o", out], "the same file twice"),
        (["-o", out], "Missing argument"),
    ):
        result = call_binalloc("import-ptx", *arguments)
        assert (result.code, said in result.err) == (2, True), result.err
    copy = tmp_path / "copy.ptx"
    copy.write_text(Path(two).read_text())
    result = call_binalloc("import-ptx", one, two, str(copy), "-o", out)
    assert (result.code, "the same file twice" in result.err) == (2, True)
    alone = call_binalloc("import-ptx", one, "-o", out)
    assert alone.code == 3
    assert f"{one}: line 6, column" in alone.err
    assert "Give the file that defines it" in alone.err
    assert alone.err.count("\n") == 1
    assert not Path(out).exists()


FATBINS = ROOT / "tests/data/fatbin"


def test_a_program_is_imported_and_listed(tmp_path: Path) -> None:
    program, out = str(FATBINS / "program"), str(tmp_path / "p.loom")
    result = call_binalloc("import-ptx", program, "-o", out, "--json")
    assert result.code == 0, result.err
    assert [entry["file"] for entry in result.json["inputs"]] == [f"{program}#2", f"{program}#4"]
    assert len(result.json["kernels"]) == 2
    text = call_binalloc("import-ptx", "--list", program, str(FATBINS / "whole.fatbin")).out
    assert re.search(r"^2 +2 +ptx +sm_75 +64 +zstd +\S+ +1,746 +__nv_relfatbin +- +--compile-only$", text, re.MULTILINE)
    assert re.search(r"^3 +1 +ptx +sm_90 +64 +zstd", text, re.MULTILINE)
    entries = call_binalloc("import-ptx", "--list", program, "--json").json["entries"]
    assert [(e["entry"], e["unit"], e["kind"], e["relocatable"]) for e in entries] == [
        (1, 1, "cubin", False), (2, 2, "ptx", True), (3, 2, "cubin", True), (4, 3, "ptx", True),
        (5, 3, "cubin", True)]  # fmt: skip


def test_the_architecture_is_chosen_and_told(tmp_path: Path) -> None:
    file, out = str(FATBINS / "whole_speed.o"), str(tmp_path / "w.loom")
    oldest = call_binalloc("import-ptx", file, "-o", out)
    assert (oldest.code, "PTX for sm_75, sm_90: importing that for sm_75" in oldest.err) == (0, True)
    newest = call_binalloc("import-ptx", file, "-o", out, "--arch", "90", "--json")
    assert [entry["file"] for entry in newest.json["inputs"]] == [f"{file}#3"]
    none = call_binalloc("import-ptx", file, "-o", out, "--arch", "sm_80")
    assert (none.code, "no PTX for sm_80; found sm_75, sm_90" in none.err) == (2, True)
    wrong = call_binalloc("import-ptx", file, "-o", out, "--arch", "new")
    assert (wrong.code, "--arch: not an architecture; found new" in wrong.err) == (2, True)
    text = call_binalloc("import-ptx", str(sample_file("reduction.ptx")), "-o", out, "--arch", "sm_75")
    assert (text.code, "--arch chooses among" in text.err) == (2, True)


def test_what_cannot_be_listed_or_imported(tmp_path: Path) -> None:
    out = str(tmp_path / "x.loom")
    listed = call_binalloc("import-ptx", "--list", str(sample_file("reduction.ptx")))
    assert (listed.code, "found text" in listed.err) == (3, True)
    both = call_binalloc("import-ptx", "--list", str(FATBINS / "program"), "-o", out)
    assert (both.code, "--list writes no file" in both.err) == (2, True)
    machine = call_binalloc("import-ptx", str(FATBINS / "machine.o"), "-o", out)
    assert (machine.code, "-gencode arch=compute_75,code=compute_75" in machine.err) == (3, True)
    cut = tmp_path / "cut.o"
    cut.write_bytes((FATBINS / "whole_none.o").read_bytes()[:9000])
    for arguments in (["--list", str(cut)], [str(cut), "-o", out]):
        answer = call_binalloc("import-ptx", *arguments)
        assert (answer.code, answer.err.count("\n"), "truncated or damaged" in answer.err) == (3, 1, True)
    assert not Path(out).exists()


def test_commands_that_take_ptx_take_it_out_of_programs(tmp_path: Path) -> None:
    launch = tmp_path / "g.toml"
    launch.write_text(
        'kernel = "_Z6gatherPii"\ngrid = 1\nblock = 32\n[[argument]]\nname = "_Z6gatherPii_param_0"\nkind = "buffer"\n'
        'dtype = "i32"\nshape = [32]\n[[argument]]\nname = "_Z6gatherPii_param_1"\nkind = "scalar"\ndtype = "i32"\n'
        "value = 32\n"
    )
    for name in ("program", "libparts.a", "whole.fatbin"):
        file = str(FATBINS / name)
        run = call_binalloc("run", file, "--launch", str(launch), "--engine", "python", "--json")
        assert run.code == 0, run.err
        assert f"{file} holds PTX: imported in memory" in run.err
    seen = call_binalloc("inspect", str(FATBINS / "program"), "--kernel", "gather", "--sections", "--json")
    assert seen.code == 0, seen.err
    binary = call_binalloc("disasm", str(FATBINS / "program"))
    assert (binary.code, "this is no Loom binary. Import it first" in binary.err) == (3, True)
