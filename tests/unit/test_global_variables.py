"""Module-scope variables in global memory: contents at launch and after it, bounds, and every way through the tool."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.launch import compare_globals
from binalloc.emulator.launch_types import Launch
from binalloc.emulator.run import Result, run
from binalloc.errors import KernelFault, UsageError
from binalloc.isa.assembler import assemble
from binalloc.isa.container import read_module, save, write_module
from binalloc.isa.instruction import Module
from binalloc.models.machine import load_machine
from binalloc.pipeline import Request, rewrite_kernel
from binalloc.transform.schedule import schedule
from binalloc.verify.checker import check
from tests.cli_kit import call

SOURCE = """
.global count 4
.global table 24 8 {
    .word 0, 10, 20, 30
}
.global bytes 3 1 {
    .byte 1, 2
}
.kernel k
    .param out 8
    S2R R0, SR_TID.X
    LOP3 R1, R0, 3, RZ, 0xc0
    MOV R2, table
    MOV R3, RZ
    LEA R2, R1, R2, 2
    LD R4, [R2]
    MOV R12, bytes
    MOV R13, RZ
    LDG.U8 R5, [R12+1]
    IADD3 R4, R4, R5, RZ
    MOV R6, c[0][out]
    MOV R7, c[0][out+4]
    IMAD.WIDE.U32 R6, R0, 4, R6
    ST [R6], R4
    MOV R8, count
    MOV R9, RZ
    ATOM.ADD R10, [R8], R0
    RED.ADD [R8], R0
    STG.U8 [R12+2], R5
    EXIT
.end
"""
GTX = load_machine("gtx680")


def launch(**buffers: int) -> Launch:
    from binalloc.emulator.launch import parse_launch

    arguments = [{"name": n, "kind": "buffer", "dtype": "u32", "shape": size} for n, size in buffers.items()]
    return parse_launch({"kernel": "k", "grid": 1, "block": 32, "argument": arguments})


def go(source: str | Module, engine: str = "python", **buffers: int) -> Result:
    module = assemble(source) if isinstance(source, str) else source
    return run(schedule(module, GTX), "k", launch(**buffers), GTX, engine=engine)


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_contents_at_launch_and_after_it(engine: str) -> None:
    result = go(SOURCE, engine, out=32)
    assert list(result.buffers["out"]) == [10 * (t % 4) + 2 for t in range(32)]
    assert {k: list(v) for k, v in result.globals.items()} == {
        "count": [2 * sum(range(32))], "table": [0, 10, 20, 30, 0, 0], "bytes": [1, 2, 2],
    }  # fmt: skip
    assert [v.dtype.itemsize for v in result.globals.values()] == [4, 4, 1]


def test_every_launch_begins_with_the_initial_data() -> None:
    module = schedule(assemble(SOURCE), GTX)
    for _ in range(2):
        assert run(module, "k", launch(out=32), GTX, engine="python").globals["count"] == [992]


@pytest.mark.parametrize("offset", [-4, 4, 24, 27])
def test_each_variable_has_its_own_bounds(offset: int) -> None:
    access = f"MOV R14, table\nMOV R15, RZ\nLDG{'.U8' if offset == 27 else ''} R10, [R14{offset:+d}]"
    text = SOURCE.replace("ATOM.ADD R10, [R8], R0", access)
    if offset == 4:
        go(text, out=32)
        return
    with pytest.raises(KernelFault, match="inside one buffer or variable"):
        go(text, out=32)


def test_an_access_across_two_neighbours_is_out_of_bounds() -> None:
    text = ".global a 4 8\n.global b 4 4\n.kernel k\nMOV R2, a\nMOV R3, RZ\nLDG.64 R0, [R2]\nEXIT\n.end"
    assert [v.offset for v in assemble(text).globals] == [0, 4]
    with pytest.raises(KernelFault, match="0x8000000"):
        go(text)


def test_variables_at_both_ends_of_the_window() -> None:
    text = ".global a 4\n.global b 4 4 0x7fffffc {\n.word 5\n}\n.kernel k\nMOV R2, b\nMOV R3, RZ\nLDG R0, [R2]\n"
    text += "MOV R4, a\nMOV R5, RZ\nSTG [R4], R0\nEXIT\n.end"
    assert go(text).globals["a"] == [5]


def test_every_pass_keeps_the_variables(tmp_path: Path) -> None:
    module = schedule(assemble(SOURCE), GTX)
    again = read_module(write_module(module))
    assert again.globals == module.globals
    request = Request("k", GTX, launch(out=32), registers=16, slots=0, engine="python")
    new = rewrite_kernel(again, request).rewritten.module
    assert new.globals == module.globals
    assert new.functions[0].origin is not None
    assert check(again, new, "k").ok
    lost = replace(new, globals=module.globals[:1])
    assert not check(again, lost, "k").ok
    moved = [replace(module.globals[0], offset=64), *module.globals[1:]]
    assert not check(again, replace(new, globals=moved), "k").ok


def test_verify_compares_variables_and_names_the_store(tmp_path: Path) -> None:
    """Two binaries that differ only in what they leave in a variable."""
    old = schedule(assemble(SOURCE), GTX)
    new = schedule(assemble(SOURCE.replace("STG.U8 [R12+2], R5", "STG.U8 [R12+2], R4")), GTX)
    paths = [tmp_path / "old.loom", tmp_path / "new.loom"]
    for module, path in zip((old, new), paths, strict=True):
        save(module, path)
    file = tmp_path / "k.toml"
    file.write_text(
        'kernel = "k"\ngrid = 1\nblock = 32\n[[argument]]\nname = "out"\nkind = "buffer"\ndtype = "u32"\nshape = 32\n'
    )
    command = ["verify", *map(str, paths), "--launch", str(file), "--machine", "gtx680", "--engine", "python"]
    answer = call(*command, "--json")
    assert answer.code == 1
    found = answer.json
    assert found["same_results"] is False
    assert found["differences"] == [".global bytes[2]: 32, expected 2 (exact; 1 of 3 elements differ)"]
    assert "STG" in found["first_store"]["original"]["store"]


def test_results_of_other_variables_are_refused() -> None:
    a = {"x": np.zeros(4, "<u4")}
    assert compare_globals(a, {"x": np.zeros(4, "<u4")}) == []
    bad: Any
    for bad in ({}, {"x": np.zeros(5, "<u4")}):
        with pytest.raises(UsageError):
            compare_globals(a, bad)


def test_inspect_shows_them(tmp_path: Path) -> None:
    path = tmp_path / "k.loom"
    save(schedule(assemble(SOURCE), GTX), path)
    assert call("inspect", str(path), "--json").json["sections"]["globals"][1] == {
        "name": "table", "address": 0x08000008, "bytes": 24, "align": 8, "initialised": 13,
    }  # fmt: skip
    assert "global table: 24 bytes at 0x8000008, 13 of them initialised" in call("inspect", str(path)).out
