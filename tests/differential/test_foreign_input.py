"""Files and options of strangers: nothing is written where it was not asked for, nothing is unpickled, nothing reaches
the terminal raw, and every error is one of ours."""

from __future__ import annotations

import io
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binalloc.errors import MalformedInput
from binalloc.isa.container.files import read_module
from binalloc.isa.container.write import write_elf
from binalloc.launch.file import parse_launch
from tests.support.kits.cli import ROOT, call, launch, loom, refused
from tests.support.paths import sample_file

KERNEL = ".kernel k\n.param {name} 8\n.block 32\n    MOV R1, 7\n    EXIT\n.end\n"
LAUNCH = """kernel = "k"
grid = 1
block = 32
[[argument]]
name = "{name}"
kind = "buffer"
dtype = "f32"
shape = [2, 3]
init = {init}
"""
NAMES = ("../escaped", "/escaped", "a/b", "..", "", ".hidden", "a\\u0000b", "a b", "1st", "a\\nb", "\\u202ea", "é")


def binary(tmp_path: Path, name: str = "out") -> str:
    path = str(tmp_path / "k.loom")
    assert call("asm", "-", "--schedule", "gtx680", "-o", path, stdin=KERNEL.format(name=name).encode()).code == 0
    return path


def launched(tmp_path: Path, name: str = "out", init: str = '"zeros"') -> list[str]:
    (tmp_path / "k.toml").write_text(LAUNCH.format(name=name, init=init))
    return ["--launch", str(tmp_path / "k.toml"), "--engine", "python"]


# -- names become files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_names_of_arguments_are_identifiers(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    made = binary(folder)
    before = sorted(tmp_path.rglob("*"))
    line = refused(3, "run", made, *launched(folder, name), "--save", str(folder / "saved"))
    assert f"{folder}/k.toml: argument[0].name: not a name" in line
    assert sorted(tmp_path.rglob("*")) == [*before, folder / "k.toml"]


@pytest.mark.parametrize("key", ["kernel", "function"])
def test_so_are_the_other_names_of_a_launch_file(key: str) -> None:
    table: dict[str, Any] = {"kernel": "k", "grid": 1, "block": 32, "reference": {"file": "r.py", "function": "f"}}
    for name in ("a\nb", "", 10**5000, ["k"], "\x1b[31m", *(["../x"] if key == "function" else [])):
        bad = {**table, "kernel": name} if key == "kernel" else {**table, "reference": {"file": "r", "function": name}}
        with pytest.raises(MalformedInput, match=f"{key}: not a name"):
            parse_launch(bad)


def test_saved_buffers_lie_in_their_folder_and_replace_nothing_half_way(tmp_path: Path) -> None:
    made = binary(tmp_path, "a.b$c")
    saved = tmp_path / "deep" / "saved"
    answer = call("run", made, *launched(tmp_path, "a.b$c"), "--save", str(saved), "--json").json
    assert answer["saved"] == [str(saved / "a.b$c.npy")]
    assert np.load(saved / "a.b$c.npy").shape == (2, 3)
    assert [p.name for p in saved.iterdir()] == ["a.b$c.npy"]
    refused(2, "run", made, *launched(tmp_path, "a.b$c"), "--save", str(tmp_path / "k.toml" / "x"))


def test_a_buffer_named_like_the_file_of_a_variable_is_not_lost(tmp_path: Path) -> None:
    text = ".global x 8 8 0 {\n    .word 1\n}\n" + KERNEL.format(name="global.x")
    made = str(tmp_path / "k.loom")
    assert call("asm", "-", "--schedule", "gtx680", "-o", made, stdin=text.encode()).code == 0
    line = refused(2, "run", made, *launched(tmp_path, "global.x"), "--save", str(tmp_path / "saved"))
    assert "one file name" in line


# -- .npy files --------------------------------------------------------------------------------------------------------


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return open, (self.path, "w")


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


GOOD = npy(np.zeros((2, 3), "<f4"))


def header(text: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(24)


BROKEN = {
    "empty": b"",
    "truncated": GOOD[:-1],
    "too long": GOOD + b"\0",
    "no header": GOOD[:11],
    "zip": b"PK\x03\x04" + bytes(50),
    "pickle": pickle.dumps(np.zeros(3)),
    "version 9": GOOD[:6] + b"\x09\x00" + GOOD[8:],
    "no literal": header(b"{'descr': open('x')}"),
    "deep": header(b"(" * 9000),
    "deeper": header(b"-" * 9000 + b"1"),
    "other keys": header(b"{'descr': '<f4', 'shape': (2, 3)}"),
    "unhashable": header(b"{[]: 1}"),
    "shape of texts": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': ('2', 3)}"),
    "truth as size": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (True, 3)}"),
    "huge shape": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999,)}"),
    "5,000 digits": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"9" * 5000 + b",)}"),
    "escape as dtype": header(b"{'descr': '\x1b[31m', 'fortran_order': False, 'shape': (2, 3)}"),
    "fields": header(b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}"),
    "another shape": npy(np.zeros((3, 2), "<f4")),
    "big-endian": npy(np.zeros((2, 3), ">f4")),
    "header of 4 GB": b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(50),
}


@pytest.mark.parametrize("case", sorted(BROKEN))
def test_a_broken_npy_file_is_malformed_input(case: str, tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(BROKEN[case])
    line = refused(3, "run", binary(tmp_path), *launched(tmp_path, init='{ file = "x.npy" }'))
    assert "argument out: init.file" in line
    assert line.isprintable() or line.rstrip("\n").isprintable()


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    whole = npy(np.array([[Trap(str(trap))] * 3] * 2, object))
    lying = GOOD[: len(GOOD) - 24] + pickle.dumps(Trap(str(trap)))
    for data in (whole, lying, pickle.dumps(Trap(str(trap)))):
        (tmp_path / "x.npy").write_bytes(data)
        refused(3, "run", binary(tmp_path), *launched(tmp_path, init='{ file = "x.npy" }'))
    assert not trap.exists()


def test_good_npy_files_are_read_in_either_order(tmp_path: Path) -> None:
    made = binary(tmp_path)
    values = np.arange(6, dtype="<f4").reshape(2, 3)
    for array in (values, np.asfortranarray(values)):
        np.save(tmp_path / "x.npy", array)
        options = [*launched(tmp_path, init='{ file = "x.npy" }'), "--save", str(tmp_path / "saved")]
        assert call("run", made, *options).code == 0
        assert np.array_equal(np.load(tmp_path / "saved/out.npy"), values)


# -- numbers, nests and bytes in TOML ----------------------------------------------------------------------------------

HUGE = ("9" * 5000, "0x" + "f" * 5000, "0b" + "1" * 20_000, "inf", "nan", "1e999")
OTHER = ("'text'", "true", "[1, [2, [3]]]", "{ a = { b = 1 } }", "2020-01-01", "1979-05-27T07:32:00Z", "''")
GTX680 = (ROOT / "binalloc/models/machines/gtx680.toml").read_text()


@pytest.mark.parametrize("value", [*HUGE, *OTHER], ids=lambda v: v[:12])
def test_machine_files_with_impossible_values(value: str, tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    for key in ("schema", "name", "description"):
        if value not in OTHER[:1] or key == "schema":
            path.write_text(re.sub(rf"^{key} = .*$", f"{key} = {value}", GTX680, count=1, flags=re.MULTILINE))
            assert call("machines", str(path)).code in (0, 3) if value == "''" else refused(3, "machines", str(path))
    for nth in range(0, GTX680.count("value = "), 7):
        parts = GTX680.split("value = ")
        parts[nth + 1] = re.sub(r"^[^,]*", value.replace("\\", ""), parts[nth + 1], count=1)
        path.write_text("value = ".join(parts))
        flag = value == "true" and parts[nth + 1].startswith('true, unit = "flag"')
        assert flag or str(path) in refused(3, "machines", str(path))


@pytest.mark.parametrize("value", [*HUGE, *OTHER], ids=lambda v: v[:12])
def test_launch_files_with_impossible_values(value: str, tmp_path: Path) -> None:
    made, options = binary(tmp_path), launched(tmp_path)
    text = (tmp_path / "k.toml").read_text()
    for key in ("kernel", "grid", "block", "kind", "dtype", "shape", "init"):
        (tmp_path / "k.toml").write_text(re.sub(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE))
        code = call("run", made, *options).code
        assert code in ((2, 3) if key == "kernel" else (3,)), (key, code)


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe", b"x = " + b"[" * 60_000, b"a" + b".a" * 50_000 + b" = 1", b"[a" + b".a" * 50_000 + b"]\n",
     b"x = {" + b" a = {" * 5_000, b"#" * 200_000, b'"a"' + b' . "a"' * 10_000 + b" = 1", b"\0", b""],
    ids=["bytes", "brackets", "dotted key", "dotted table", "inline tables", "too long", "quotes", "zero", "none"],
)  # fmt: skip
def test_toml_that_is_none_or_takes_for_ever(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(data)
    assert str(path) in refused(3, "machines", str(path))
    assert str(path) in refused(3, "run", loom("callchain"), "--launch", str(path))


# -- options -----------------------------------------------------------------------------------------------------------

LONG = "9" * 5000


@pytest.mark.parametrize("number", [LONG, "-" + LONG, "9223372036854775808", "-1", "0", "1e3", "nan", ""])
def test_integers_out_of_range_are_usage_errors(number: str, tmp_path: Path) -> None:
    run = launch("callchain")
    for line in (
        ["run", loom("callchain"), *run, "--max-cycles", number],
        ["run", loom("callchain"), *run, "--sms", number],
        ["rewrite", loom("callchain"), "--registers", number, *run],
        ["rewrite", loom("callchain"), "--blocks", number, *run],
        ["machines", "gtx680", "--occupancy", "--threads", number],
        ["import-ptx", str(sample_file("reduction.ptx")), "-o", str(tmp_path / "x"), "--block-dim", f"1,{number},1"],
    ):
        refused(2, *line)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("output", [".", "..", "", "/", "missing/x", "a" * 300, "x.loom/y"])
def test_outputs_that_are_no_files(output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.loom").write_bytes(Path(loom("callchain")).read_bytes())
    for line in (["asm", str(sample_file("callchain.lasm"))], ["schedule", "x.loom"], ["disasm", "x.loom"],
                 ["import-ptx", str(sample_file("sort.ptx"))]):  # fmt: skip
        refused(2, *line, "-o", output)
    assert [p.name for p in tmp_path.iterdir()] == ["x.loom"]


# -- streams -----------------------------------------------------------------------------------------------------------


def shell(line: str) -> subprocess.CompletedProcess[str]:
    command = line.replace("binalloc", f"{sys.executable} -m binalloc")
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False)
    assert "Traceback" not in run.stderr
    assert "Exception ignored" not in run.stderr
    return run


def test_closed_streams_are_usage_errors(tmp_path: Path) -> None:
    sample, out = loom("callchain"), tmp_path / "x.loom"
    for line in (f"binalloc inspect {sample} >&-", f"binalloc disasm {sample} --json >&-", "binalloc disasm - <&-"):
        assert shell(line).returncode == 2, line
    assert shell("binalloc inspect nope 2>&-").returncode == 2
    assert shell(f"binalloc schedule {sample} -o {out} >&- 2>&- <&-").returncode == 0
    assert read_module(out.read_bytes()).kernels()[0].name == "callchain", "no message found its way into the file"


def test_a_reader_that_left_does_not_change_the_answer() -> None:
    other = loom("callchain").replace("callchain", "nbody")
    run = shell(f"binalloc verify {loom('callchain')} {other} --kernel callchain | true; echo ${{PIPESTATUS[0]}}")
    assert run.stdout == "2\n"
    assert shell("binalloc machines gtx680 --json | true; echo ${PIPESTATUS[0]}").stdout == "0\n"


def test_a_defect_whose_own_text_fails_is_still_exit_code_70(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from binalloc.cli.main import main

    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("\x1b[31m")

    for error in (Mute(), RuntimeError("\x1b[31mred\nline" + "a" * 70_000), ValueError(10**5000)):
        def broken(text: str, path: str, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr("binalloc.isa.text.assembler.assemble", broken)
        for as_json in ([], ["--json"]):
            result = CliRunner().invoke(main, ["asm", str(sample_file("callchain.lasm")), *as_json])
            assert result.exit_code == 70
            assert result.stderr.startswith("binalloc: error: internal error: ")
            assert result.stderr[:-1].isprintable()
            assert len(result.stderr) < 1000


# -- what reaches the terminal -----------------------------------------------------------------------------------------

HOSTILE = "\x1b]0;title\x07\x9b31m\u202eend\u200b\x7f"


def hostile_binary(machine: str = "", file: str = "", record: dict[str, object] | None = None) -> bytes:
    """A container in order whose texts are not; the writer's own rules are passed over."""
    module = read_module(Path(loom("callchain")).read_bytes())
    fn = module.kernels()[0]
    fn.info.machine = machine or fn.info.machine
    fn.lines = {0: (file, 1)} if file else {}
    module.provenance = [record] if record else []
    return write_elf(module)


@pytest.mark.parametrize(
    "data",
    [hostile_binary(machine="\x9b31m\u202emachine"), hostile_binary(file=HOSTILE + "\n"),
     hostile_binary(record={HOSTILE: HOSTILE, "lines": "a\nbinalloc: verified", "long": "a" * 70_000})],
    ids=["machine", "source file", "provenance"],
)  # fmt: skip
def test_texts_of_a_binary_are_shown_escaped_and_disassemble_to_the_same_bytes(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.loom"
    path.write_bytes(data)
    shown = [call("inspect", str(path), "--sections", "--cfg").out, call("disasm", str(path)).out]
    run = call("run", str(path), *launch("callchain"))
    for text in (*shown, run.out, run.err):
        assert text.replace("\n", "").isprintable()
    assert "\nbinalloc: verified" not in shown[0]
    assert max(map(len, shown[0].split("\n"))) < 10_000
    assert call("asm", "-", stdin=shown[1].encode()).raw == data


def test_texts_of_launch_and_machine_files_are_shown_escaped(tmp_path: Path) -> None:
    text = HOSTILE.encode("unicode_escape").decode().replace("\\x", "\\u00")
    (tmp_path / "m.toml").write_text(GTX680.replace('source = "', f'source = "{text}\\n', 3))
    answer = call("machines", str(tmp_path / "m.toml"))
    assert answer.code == 0
    assert answer.out.replace("\n", "").isprintable()
    assert "\\x1b" in answer.out
    (tmp_path / "l.toml").write_text(f'kernel = "k"\n"{text}" = 1\n')
    assert "unknown key" in (line := refused(3, "run", loom("callchain"), "--launch", str(tmp_path / "l.toml")))
    assert line[:-1].isprintable()


def test_paths_and_words_of_the_command_line_are_shown_escaped(tmp_path: Path) -> None:
    name = "\x1b[31m\n\udcff\u202e.loom"
    sample = loom("callchain")
    for args in (["disasm", name], ["disasm", sample, f"--{name}"], [name], ["machines", name],
                 ["inspect", sample, "--webs", "--kernel", name], ["run", name, "--size", name]):  # fmt: skip
        assert refused(2, *args)[:-1].isprintable()
    (tmp_path / os.fsdecode(os.fsencode(name))).write_bytes(b"\x7fELF" + bytes(100))
    assert refused(3, "disasm", str(tmp_path / name))[:-1].isprintable()
    long = refused(2, "disasm", "a" * 70_000)
    assert len(long) < 2_000


NO_JSON = ("NaN", "-Infinity", "1e999", "[" * 100_000, "9" * 5000, "[]", "")


@pytest.mark.parametrize("text", NO_JSON, ids=lambda t: t[:9])
def test_provenance_that_json_could_not_say_again_is_refused(text: str, tmp_path: Path) -> None:
    note = text if text == "[]" else f'{{"x": {text}}}'
    refused(3, "asm", "-", "-o", str(tmp_path / "x"), stdin=f".provenance {note}\n{KERNEL}".encode())
    data = hostile_binary(record={"tool": "x" * len(note)})
    old = f'{{"tool":"{"x" * len(note)}"}}'.encode()
    assert old in data
    refused(3, "inspect", "-", stdin=data.replace(old, note.encode().ljust(len(old))))
