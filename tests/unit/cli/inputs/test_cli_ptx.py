"""Commands on binaries that are given PTX: some import it in memory, the others say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from binalloc.frontend.ptx.recognise import is_ptx
from tests.support.kits.cli import call, loom, refused
from tests.support.paths import sample_file
from tests.support.ptx.named_kernels import LAUNCH, PTX
from tests.support.ptx.texts import MIXED

BEGINNINGS = ["", "\ufeff", "//\n// made by hand\n//\n\n", " \t\n /* two\n lines * / */ // and\n", "\r\n"]


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_ptx_is_known_by_its_content(beginning: str) -> None:
    assert is_ptx(f"{beginning}.version 8.0\n.target sm_75\n".encode(), "x.loom")


def test_other_files_are_not_ptx() -> None:
    for name in ("cfd", "nbody"):
        path = Path(loom(name)) if name == "nbody" else sample_file("cfd.toml")
        assert not is_ptx(path.read_bytes(), "x")
    for data in (b"", b".kernel k\n", b".versions", b"// .version 8.0\n", b"\x7fELF.version 8.0", b"/* .version 8.0 "):
        assert not is_ptx(data, "x.lasm")
    assert not is_ptx(b"\x7fELF", "x.ptx")
    assert is_ptx(b"", "x.ptx")
    assert not is_ptx(b" /*" * 100_000 + b"*" * 100_000, "x")


@pytest.fixture
def ptx(tmp_path: Path) -> str:
    """A file that is called otherwise: its content decides."""
    (tmp_path / "k.txt").write_text(PTX)
    (tmp_path / "k.toml").write_text(LAUNCH.format(kernel="add"))
    return str(tmp_path / "k.txt")


@pytest.mark.parametrize("command", ["disasm", "schedule", "asm"])
def test_commands_that_need_a_binary_say_what_to_do(ptx: str, tmp_path: Path, command: str) -> None:
    text = refused(3, command, ptx, "-o", str(tmp_path / "out"))
    assert "this is PTX. Import it first: binalloc import-ptx FILE -o FILE.loom." in text
    assert not (tmp_path / "out").exists()


def test_the_import_says_that_a_binary_is_none() -> None:
    assert "this is a binary, not PTX" in refused(3, "import-ptx", loom("nbody"), "-o", "x.loom")


def test_what_is_imported_in_memory_is_what_import_writes(ptx: str, tmp_path: Path) -> None:
    binary, one, other = (str(tmp_path / name) for name in ("k.loom", "1.loom", "2.loom"))
    assert call("import-ptx", ptx, "-o", binary).code == 0
    launch = ["--launch", str(tmp_path / "k.toml"), "--engine", "python"]
    for command in (["run", *launch], ["inspect", "--cfg", "--sections", "--kernel", "add"]):
        mine, theirs = call(*command, ptx, "--json"), call(*command, binary, "--json")
        assert mine.code == theirs.code == 0, mine.err
        apart = {"file": "", "machine_from": ""}
        assert {**mine.json, **apart} == {**theirs.json, **apart}
        assert (mine.json["machine_from"], theirs.json["machine_from"]) == ("asked for", "the binary's own")
        note = f"binalloc: {ptx} is PTX: imported in memory for gtx680, kernels _Z3addPj, _ZN2ns1kIfLi4EEEvPT_, _Z1kPj"
        assert mine.err.startswith(note)
        assert mine.err.count("\n") == 1
        assert theirs.err == ""
    for source, output in ((ptx, one), (binary, other)):
        assert call("rewrite", source, *launch, "--registers", "8", "--slots", "0", "-o", output).code == 0
    assert Path(one).read_bytes() == Path(other).read_bytes()


def test_ptx_is_imported_for_the_machine_asked_for(ptx: str, tmp_path: Path) -> None:
    launch = ["--launch", str(tmp_path / "k.toml"), "--engine", "python", "--json"]
    assert call("run", ptx, *launch, "--machine", "c2075").json["machine"] == "c2075"
    stdin = Path(ptx).read_bytes()
    assert call("run", "-", *launch, stdin=stdin).json["machine"] == "t4"


@pytest.mark.parametrize("command", ["rewrite", "inspect"])
def test_what_needs_options_is_pointed_to_the_import(tmp_path: Path, command: str) -> None:
    source = tmp_path / "m.ptx"
    source.write_text(MIXED)
    text = refused(3, command, str(source))
    assert "`binalloc import-ptx --skip-unsupported` imports the other kernels: good, good2." in text


@pytest.mark.parametrize("command", ["run", "rewrite", "inspect"])
def test_the_kernel_asked_for_is_imported_alone_where_another_cannot_be(tmp_path: Path, command: str) -> None:
    source = tmp_path / "m.ptx"
    source.write_text(MIXED)
    (tmp_path / "k.toml").write_text(LAUNCH.format(kernel="good"))
    named = ["--kernel", "good"] if command == "inspect" else ["--launch", str(tmp_path / "k.toml"), "--json"]
    answer = call(command, str(source), *named)
    assert answer.code in (0, 1), answer.err  # a launch for another kernel may not fit
    assert "kernels good, alone, as not all others can be (import-ptx" in answer.err
    assert "bad" not in answer.out
