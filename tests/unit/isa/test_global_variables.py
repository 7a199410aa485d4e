"""Module-scope variables in global memory: contents at launch and after it, bounds, and every way through the tool."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result, run
from binalloc.errors import KernelFault, UsageError
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import ConstantVar, Module
from binalloc.isa.sets.files import save
from binalloc.isa.text.assembler import assemble
from binalloc.launch.file import check_against, compare, compare_globals, parse_launch
from binalloc.launch.types import Launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.pipeline import Request, rewrite_kernel
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.kits.cli import call

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
    named = replace(new, constant_vars=[ConstantVar("x", 1, 0, 1)])
    assert not check(again, named, "k").ok
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


SYMBOLS = """
.const 3 {
    .word 1, 2, 3, 4
}
.constant low 3 0 4
.constant rest 3 4 12
.global table 8 4 {
    .word 70, 80
}
.kernel k
    .param out 8
    MOV R0, c[3][0]
    LDC R1, c[3][8]
    MOV R2, table
    MOV R3, RZ
    LDG.64 R4, [R2]
    MOV R6, c[0][out]
    MOV R7, c[0][out+4]
    IADD3 R2, R0, R1, RZ
    STG [R6], R2
    STG.64 [R6+8], R4
    MOV R2, table
    STG [R2+4], R0
    EXIT
.end
"""


def symbols(*arguments: dict[str, Any]) -> dict[str, Any]:
    out = {"name": "out", "kind": "buffer", "dtype": "u32", "shape": 4}
    return {"kernel": "k", "grid": 1, "block": 1, "argument": [*arguments, out]}


def symbol(name: str, shape: int, **keys: Any) -> dict[str, Any]:
    nine = {"kind": "constant", "value": 9}
    return {"name": name, "kind": "symbol", "dtype": "u32", "shape": shape, "init": nine} | keys


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_a_launch_fills_variables(engine: str) -> None:
    module = schedule(assemble(SYMBOLS), GTX)
    plain = run(module, "k", parse_launch(symbols()), GTX, engine=engine)
    assert list(plain.buffers["out"]) == [1 + 3, 0, 70, 80]
    filled = parse_launch(symbols(symbol("table", 1), symbol("rest", 2), symbol("low", 1)))
    result = run(module, "k", filled, GTX, engine=engine)
    assert list(result.buffers["out"]) == [9 + 9, 0, 9, 80]
    assert list(result.globals["table"]) == [9, 9]
    assert [list(result.buffers[n]) for n in ("table", "rest", "low")] == [[9], [9, 9], [9]]
    assert list(run(module, "k", parse_launch(symbols()), GTX, engine=engine).buffers["out"]) == [4, 0, 70, 80]


def test_symbols_take_no_parameter_and_must_be_in_the_binary() -> None:
    module = schedule(assemble(SYMBOLS), GTX)
    for bad, message in ((symbol("tabel", 1), "no such variable.*table, low, rest"), (symbol("low", 2), "at most 4")):
        with pytest.raises(UsageError, match=message):
            run(module, "k", parse_launch(symbols(bad)), GTX, engine="python")
    check_against(parse_launch(symbols(symbol("low", 1))), module.functions[0].info)


def test_the_launch_says_how_a_named_variable_is_compared() -> None:
    a, b = {"table": np.array([1, 2], "<u4")}, {"table": np.array([1, 3], "<u4")}
    loose = parse_launch(symbols(symbol("table", 2, compare="ignore")))
    tight = parse_launch(symbols(symbol("table", 2)))
    assert compare_globals(loose, a, b) == compare_globals(tight, a, b) == []
    assert compare(loose, a, b) == []
    assert str(compare(tight, a, b)[0]).startswith("table[1]: 3, expected 2")


def test_results_of_other_variables_are_refused() -> None:
    a = {"x": np.zeros(4, "<u4")}
    assert compare_globals(launch(), a, {"x": np.zeros(4, "<u4")}) == []
    bad: Any
    for bad in ({}, {"x": np.zeros(5, "<u4")}):
        with pytest.raises(UsageError):
            compare_globals(launch(), a, bad)


def test_inspect_shows_them(tmp_path: Path) -> None:
    path = tmp_path / "k.loom"
    save(schedule(assemble(SOURCE), GTX), path)
    assert call("inspect", str(path), "--json").json["sections"]["globals"][1] == {
        "name": "table", "address": 0x08000008, "bytes": 24, "align": 8, "initialised": 13,
    }  # fmt: skip
    assert "global table: 24 bytes at 0x8000008, 13 of them initialised" in call("inspect", str(path)).out


PTX = """
.version 6.0
.target sm_50
.address_size 64
.const .align 4 .f32 factor;
.global .align 4 .u32 count = 5;
.global .align 8 .u64 where = generic(count);
.global .texref image;
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1)
{
    .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .f32 %f<12>;
    ld.param.u64 %rd1, [k_param_0];
    ld.param.u64 %rd2, [k_param_1];
    cvta.to.global.u64 %rd3, %rd1;
    mov.u32 %r1, %tid.x;
    cvt.rn.f32.u32 %f1, %r1;
    tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd2, {%f1, %f1}];
    tex.1d.v4.f32.s32 {%f6, %f7, %f8, %f9}, [image, {%r1}];
    ld.const.f32 %f10, [factor];
    fma.rn.f32 %f11, %f2, %f10, %f6;
    ld.global.u64 %rd4, [where];
    atom.add.u32 %r2, [%rd4], 1;
    mul.wide.u32 %rd5, %r1, 4;
    add.s64 %rd6, %rd3, %rd5;
    st.global.f32 [%rd6], %f11;
    ret;
}
"""


def test_variables_and_textures_of_ptx() -> None:
    """An object texture is the second argument, a texture reference a parameter of its name, a constant a symbol."""
    from binalloc.frontend.importer import import_ptx

    module = import_ptx(PTX, machine=GTX).module
    f32: dict[str, Any] = {"dtype": "f32", "init": "arange"}
    step = parse_launch({"kernel": "k", "grid": 1, "block": 32, "argument": [
        {"name": "out", "kind": "buffer", "dtype": "f32", "shape": 32},
        {"name": "square", "kind": "texture", "shape": [32, 32]} | f32,
        {"name": "image", "kind": "texture", "shape": 32} | f32,
        {"name": "factor", "kind": "symbol", "shape": 1} | f32 | {"init": {"kind": "constant", "value": 0.5}},
    ]})  # fmt: skip
    result = run(module, "k", step, GTX, engine="python")
    assert list(result.buffers["out"]) == [33 * t * 0.5 + t for t in range(32)]
    assert {name: list(v) for name, v in result.globals.items()} == {"count": [37], "where": [0x08000000, 0]}
    assert write_module(read_module(write_module(module))) == write_module(module)
