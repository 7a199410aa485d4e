"""Commands on launch files with structs and pointers: run, rewrite, verify, what is saved, told and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.kits.cli import call
from tests.support.ptx.walked import TWICE, WALK

NODE = """
[types.Node]
fields = [
    { name = "kind", dtype = "u8" }, { name = "value", dtype = "f32" }, { name = "tag", dtype = "i16", shape = 3 },
    { name = "next", dtype = "ptr" },
]
"""
LISTS = NODE + """
[[argument]]
name = "nodes"
kind = "buffer"
dtype = "Node"
shape = 5
init = { fields = { value = "arange", next = { kind = "arange", start = -1, argument = "nodes" } } }
[[argument]]
name = "heads"
kind = "buffer"
dtype = "ptr"
shape = 3
init = { values = [{ argument = "nodes", element = 4 }, 0, { argument = "nodes", at = LAST }] }
[[argument]]
name = "sums"
kind = "buffer"
dtype = "f32"
shape = 3
compare = { rtol = 1e-6 }
[[argument]]
name = "ends"
kind = "buffer"
dtype = "ptr"
shape = 3
[[argument]]
name = "n"
kind = "scalar"
dtype = "u32"
value = 3
[reference]
file = "ref.py"
function = "reference"
"""
ONE = 'kernel = "walk"\ngrid = 1\nblock = 32\n' + LISTS.replace("LAST", "24")
MANY = LISTS.replace("LAST", "24") + """
[[step]]
launch = "walk"
grid = 1
block = 32
arguments = ["heads", "sums", "ends", "n"]
"""
REFERENCE = """
import numpy as np
def reference(inputs, launch):
    sums, ends = [], []
    for at in inputs["heads"].tolist():
        total, end = 0, 0
        while at:
            name, byte = launch.pointee(at)
            assert name == "nodes" and byte % 24 == 0
            node, end = inputs[name][byte // 24], at
            total, at = total + node["value"], int(node["next"])
        sums.append(total)
        ends.append(end)
    assert ends[0] == launch.address("nodes", element=0)
    return {"sums": np.array(sums, "f4"), "ends": np.array(ends, "u8"), "nodes": inputs["nodes"]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("walk.ptx", WALK), ("twice.ptx", TWICE), ("one.toml", ONE), ("many.toml", MANY),
                       ("ref.py", REFERENCE)):  # fmt: skip
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("launch", ["one.toml", "many.toml"])
def test_run_rewrite_and_verify(folder: Path, launch: str) -> None:
    options = ("--launch", str(folder / launch), "--engine", "python", "--json")
    binary, small = str(folder / "walk.loom"), str(folder / "small.loom")
    assert call("import-ptx", str(folder / "walk.ptx"), "-o", binary).code == 0
    found = call("run", binary, *options, "--reference", "--save", str(folder / "saved")).json
    assert found["reference"] == "same"
    nodes, sums = (np.load(folder / f"saved/{name}.npy") for name in ("nodes", "sums"))
    assert nodes["value"].tolist() == [0, 1, 2, 3, 4]
    assert (nodes["next"][1:] - nodes["next"][1]).tolist() == [0, 24, 48, 72]
    assert sums.tolist() == [10, 0, 1]
    rewritten = call("rewrite", binary, *options, "--registers", "14", "-o", small)
    assert rewritten.code == 0, rewritten.err
    verified = call("verify", binary, small, *options).json
    assert (verified["verified"], verified["same_results"], verified["differences"]) == (True, True, [])


def test_a_fault_names_the_buffer_that_a_pointer_is_to(folder: Path) -> None:
    (folder / "one.toml").write_text(ONE.replace("at = 24", "at = 120"))
    result = call("run", str(folder / "walk.ptx"), "--launch", str(folder / "one.toml"), "--engine", "python")
    assert result.code == 5
    assert "nodes" in result.err


def twice(folder: Path, compare: str = '"exact"') -> str:
    file = folder / "twice.toml"
    file.write_text(
        'kernel = "twice"\ngrid = 1\nblock = 32\n' + NODE + '[[argument]]\nname = "nodes"\nkind = "buffer"\n'
        f'dtype = "Node"\nshape = 4\ninit = {{ fields = {{ value = "ones" }} }}\ncompare = {compare}\n'
        '[[argument]]\nname = "n"\nkind = "scalar"\ndtype = "u32"\nvalue = 4\n'
    )
    return str(file)


def compared(folder: Path, one: str, other: str, launch: str) -> Any:
    for name, text in (("a", one), ("b", other)):
        (folder / f"{name}.ptx").write_text(text)
        assert call("import-ptx", str(folder / f"{name}.ptx"), "-o", str(folder / f"{name}.loom")).code == 0
    files = str(folder / "a.loom"), str(folder / "b.loom")
    return call("verify", *files, "--launch", launch, "--engine", "python", "--json").json


@pytest.mark.rotates("long commands")
def test_differences_name_the_field_and_the_store(folder: Path) -> None:
    less = TWICE.replace("add.f32 %f2, %f1, %f1", "mul.f32 %f2, %f1, 0f3FC00000")
    found = compared(folder, TWICE, less, twice(folder))
    assert found["differences"] == ["nodes[0].value: 1.5, expected 2.0 (exact; 4 of 4 elements differ)"]
    assert found["first_store"]["element"] == "nodes[0].value"
    assert "STG" in found["first_store"]["original"]["store"]
    assert found["first_store"]["rewritten"]["value"] == 1.5
    close = compared(folder, TWICE, less, twice(folder, "{ rtol = 0.3 }"))
    assert (close["same_results"], close["first_store"]) == (True, None)


def test_pointers_are_compared_and_padding_is_not(folder: Path) -> None:
    padding = compared(folder, TWICE, TWICE.replace("[%rd2+1], %r1", "[%rd2+2], %r2"), twice(folder))
    assert padding["same_results"] is True
    other = TWICE.replace("[%rd2+16], %rd2", "[%rd2+16], %rd1")
    (turned,) = compared(folder, TWICE, other, twice(folder, "{ atol = 1e9 }"))["differences"]
    assert turned.startswith("nodes[1].next: 0x10000000 (nodes + 0), expected 0x10000018 (nodes + 24)")


def test_watches_tell_numbers_in_structs(folder: Path) -> None:
    (folder / "x.ptx").write_text(TWICE)
    options = ("--launch", twice(folder), "--engine", "python", "--watch", "nodes+28:4", "--json")
    accesses = call("run", str(folder / "x.ptx"), *options).json["watch"]["accesses"]
    assert [(a["kind"], a["before"], a["after"]) for a in accesses] == [("load", "1.0", None), ("store", "1.0", "2.0")]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('{ argument = "nodes", at = 24 }', '"node"', "init.values[2].argument: no such buffer; found node"),
        ("at = 24", "at = 121", "init.values[2].at: out of range; found 121; expected an integer from 0 to 120"),
        ('"Node"', '"Nod"', "argument[0].dtype: not a known value; found 'Nod'"),
        ('dtype = "f32" }', 'dtype = "f32", offset = 0 }', "overlaps the field kind"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_3(folder: Path, old: str, new: str, message: str) -> None:
    assert old in ONE
    (folder / "one.toml").write_text(ONE.replace(old, new))
    result = call("run", str(folder / "walk.ptx"), "--launch", str(folder / "one.toml"), "--engine", "python")
    assert result.code == 3
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1
