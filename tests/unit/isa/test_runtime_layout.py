"""The device runtime's two sides, Python and CUDA, agree on every place and number, and ISA.md tells them."""

from __future__ import annotations

import re

from binalloc.frontend.runtime.runtime import PREFIX, PROVIDED
from binalloc.isa.runtime import (
    BLOCK,
    GRANULE,
    GRID_BYTES,
    LAYOUT,
    RECORD,
    VARIABLE,
    WORKSPACE,
    Fields,
    GranuleState,
    RuntimeStop,
)
from tests.support.paths import ROOT

FOLDER = ROOT / "binalloc/frontend/runtime"
SOURCE = (FOLDER / "runtime.cu").read_text()
PTX = (FOLDER / "runtime.ptx").read_text()
SIZES = {"u8 *": 8, "u64": 8, "u32": 4, "u32 *": 8, "Block *": 8}


def fields(name: str) -> list[tuple[str, int, int]]:
    """(name, size of an element, elements) of a struct of the source."""
    (body,) = re.findall(rf"struct {name} \{{.*?\n(.*?)\}};", SOURCE, re.DOTALL)
    out = []
    for line in body.splitlines():
        match = re.match(r"\s*(?:u8 \*output;|(\w+(?: \*)?)\s*(.*?);)", line)
        if match is None:
            continue
        if match[1] is None:
            out.append(("output", 8, 1))
            continue
        for one in match[2].split(", "):
            star, bare, _, number = re.fullmatch(r"(\*?)(\w+)(\[(\w+)\])?", one).groups()  # type: ignore[union-attr]
            count = 1 if number is None else {"LISTS": 896}.get(number) or int(number)
            out.append((bare, 8 if star or match[1].endswith("*") else SIZES[match[1]], count))
    return out


def places(layout: Fields) -> dict[str, int]:
    """The byte at which each field begins, and `end`."""
    out, at = {}, 0
    for name, size, count in layout:
        assert at % size == 0
        out[name] = at
        at += size * count
    return out | {"end": at}


def test_the_structs_of_cuda_are_those_of_python() -> None:
    text = "u8 *output;"
    assert text in SOURCE
    mine = {name: (size, count) for name, size, count in LAYOUT}
    theirs = {name: (size, count) for name, size, count in fields("Runtime")}
    assert list(mine) == ["output", *[name for name in theirs if name != "output"]]
    assert theirs | {"output": (8, 1)} == mine
    assert [(n, s) for n, s, _ in fields("Block")] == [(n, s) for n, s, _ in BLOCK]
    assert places(RECORD)["end"] == int(re.findall(r"HEADER = (\d+)", SOURCE)[0])


def test_the_variable_is_as_long_as_the_compiler_makes_it() -> None:
    (size,) = re.findall(rf"\.b8 {VARIABLE}\[(\d+)\]", PTX)
    assert int(size) == places(LAYOUT)["end"] == 7280
    used = {int(at) for at in re.findall(rf"\[{VARIABLE}\+(\d+)\]", PTX)}
    assert used <= {at + 8 * k for at in places(LAYOUT).values() for k in range(3)}


def test_the_workspace_of_a_grid_lies_where_it_is_said_to() -> None:
    assert WORKSPACE + 16 * 4 == GRID_BYTES


def test_numbers_are_the_same() -> None:
    for name, value in (*GranuleState.__members__.items(), *((n, v) for n, v in RuntimeStop.__members__.items() if v)):
        assert re.search(rf"\b{name} = {value.value}\b", SOURCE), name
    assert f"GRANULE = {GRANULE}" in SOURCE


def test_every_function_provided_is_there() -> None:
    for name in PROVIDED:
        assert re.search(rf"\.func\s+(\(.*?\)\s*)?{PREFIX}{name.lstrip('_')}\b", PTX), name


def test_the_page_has_every_field_at_its_place() -> None:
    page = (ROOT / "binalloc/isa/ISA.md").read_text().split("## Device runtime")[1].split("\n## ")[0]
    rows = dict(re.findall(r"(?m)^\| (\d+) \| ([\dx ]+) \|", page))
    told = {int(at): eval(bits.replace("x", "*")) for at, bits in rows.items()}
    mine = {places(LAYOUT)[name]: 8 * size * count for name, size, count in LAYOUT}
    mine[104] = 64  # block and thread, in one row
    del mine[108]
    assert told == mine
