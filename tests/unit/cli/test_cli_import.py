"""`binalloc import-ptx`: what it prints, refuses and leaves behind."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.support.kits.cli import call as call_binalloc
from tests.support.paths import sample_file
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
