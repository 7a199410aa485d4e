"""What nvcc made of `tests/data/fatbin/`, in every form: the same kernels with the same results as from its PTX."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from binalloc.device.launching import launch_kernel
from binalloc.errors import MalformedInput
from binalloc.files import read_bytes
from binalloc.frontend.fatbin.choose import choose
from binalloc.frontend.fatbin.entries import entries
from binalloc.frontend.importer import Imported, import_ptx, import_units
from tests.support.paths import ROOT
from tests.support.ptx.harness import launched

FOLDER = ROOT / "tests/data/fatbin"
GATHER, SCALE = "_Z6gatherPii", "_Z5scaleIiEvPT_S0_"
WEIGHTS = (2, 3, 5, 7)
FILES = {
    "whole_none.o": ["none", "none", "none"], "whole_speed.o": ["lz4", "none", "lz4"],
    "whole_size.o": ["zstd", "zstd", "zstd"], "whole.fatbin": ["zstd", "none", "zstd"], "libwhole.so": ["zstd"],
    "libparts.a": ["zstd"] * 4, "program": ["none", *["zstd"] * 4],
}  # fmt: skip
"""File -> how the entries in it are compressed."""


@cache
def imported(*names: str) -> Imported:
    units = [unit for n in names for unit in choose(entries(read_bytes(FOLDER / n), n), n, None).units]
    return import_units(units, machine="gtx680")


@cache
def of_ptx() -> Imported:
    """The program from what `nvcc -ptx` writes."""
    names = ("main.ptx", "part.ptx")
    return import_ptx([(FOLDER / name).read_text() for name in names], names, machine="gtx680")


def check_results(found: Imported) -> None:
    out = np.zeros(64, np.int32)
    names = [p.name for p in found.module.function(GATHER).info.params]
    result = launched(found.module, GATHER, names, [out, np.int32(61)], grid=2, engine="python")[names[0]]
    assert list(result) == [11000 + i * WEIGHTS[i % 4] if i < 61 else 0 for i in range(64)]
    names = [p.name for p in found.module.function(SCALE).info.params]
    result = launched(found.module, SCALE, names, [out[:32], np.int32(-3)], engine="python")[names[0]]
    assert list(result) == [-3 * WEIGHTS[i % 4] for i in range(32)]


@pytest.mark.rotates
@pytest.mark.parametrize("name", FILES)
def test_results_of_what_nvcc_made(name: str) -> None:
    found = entries(read_bytes(FOLDER / name), name)
    assert [e.compression for e in found] == FILES[name]
    check_results(imported(name))
    assert {k.name for k in imported(name).kernels} == {GATHER, SCALE}


def test_parts_of_a_program_in_files_of_their_own() -> None:
    check_results(imported("main.o", "part.o"))
    check_results(imported("part.fatbin", "main.fatbin"))
    check_results(of_ptx())


@pytest.mark.parametrize("names", [("program",), ("libparts.a",), ("main.o", "part.o"), ("main.fatbin", "part.fatbin")])
def test_the_code_is_that_of_the_ptx(names: tuple[str, ...]) -> None:
    """Word for word, whichever way the PTX came."""
    for found in (imported(*names), of_ptx()):
        found.module.provenance = []
    one, other = imported(*names).module, of_ptx().module
    assert [f.name for f in one] == [f.name for f in other]
    for function in one:
        assert list(map(str, function.instrs)) == list(map(str, other.function(function.name).instrs))
    assert one.constants == other.constants
    assert [(g.offset, g.data) for g in one.globals] == [(g.offset, g.data) for g in other.globals]


def test_machine_code_alone() -> None:
    with pytest.raises(MalformedInput, match=r"found machine code \(cubin\) of sm_80"):
        imported("machine.o")


def test_the_library_launches_kernels_of_programs() -> None:
    out = np.zeros(32, np.int32)
    launch_kernel(FOLDER / "program", 1, 32, [out, np.int32(32)], name="gather", engine="python")
    assert list(out) == [11000 + i * WEIGHTS[i % 4] for i in range(32)]
