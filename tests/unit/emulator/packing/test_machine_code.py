"""Machine code that stands on its own: called with words, linked to the C library alone, with its label inside."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.carried import core
from binalloc.emulator.carried.core import NEEDS, Core, CoreLabel, find_core, kind_of
from binalloc.emulator.host.engines.compiling import device_function
from binalloc.emulator.packing import machine_code
from binalloc.emulator.packing.machine_code import CPU, linked, object_file
from binalloc.errors import Refused, UsageError

pytestmark = [
    pytest.mark.skipif(shutil.which(machine_code.LINKER) is None, reason="no linker"),
    pytest.mark.skipif(not core.cpu_flags() >= set(NEEDS[CPU]), reason="not such a CPU"),
]

TEXT = """
def add(cube, i, j, k, by):
    cube[i, j, k] += by

def run_quantum(gpus, sms, arrays, steps, limit):
    grid, cube = arrays
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            grid[i, j] = 100 * i + j + gpus[0].cycle
    add(cube, 1, 2, 3, sms[1].id)
    for i in range(0, 0, limit):  # which is no range where the limit is 0
        steps += 1
    return 1000 * steps + limit + len(sms) + 10 * grid.size + 100 * cube.itemsize
"""


def arguments() -> tuple[Any, Any, tuple[Any, Any]]:
    gpus = np.zeros(1, np.dtype([("cycle", np.int64), ("more", np.int64, (3,))], align=True))
    sms = np.zeros(2, np.dtype([("id", np.int64)], align=True))
    gpus["cycle"], sms["id"] = 7, (5, 6)
    return gpus, sms, (np.zeros((2, 3), np.int64), np.zeros((2, 3, 4), np.uint32))


@pytest.fixture(scope="module")
def made() -> tuple[CoreLabel, bytes]:
    """The functions of TEXT as a library, and its label."""
    space: dict[str, Any] = {}
    exec(TEXT, space)
    chosen = {"inline": False, "apart": False, "boundscheck": False, "cache": False}
    for name, value in list(space.items()):
        if isinstance(value, FunctionType):
            space[name] = device_function(value, entry=name == "run_quantum", **chosen)
    gpus, sms, arrays = arguments()
    label = CoreLabel.here("plain", CPU, [kind_of(each) for each in (gpus, sms, *arrays)])
    return label, linked(object_file(space["run_quantum"], gpus, sms, arrays, label))


def carry(folder: Path, label: CoreLabel, library: bytes) -> None:
    (folder / "plain.so").write_bytes(library)
    (folder / "plain.json").write_text(label.file(library))


@pytest.fixture
def loaded(made: tuple[CoreLabel, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Core:
    monkeypatch.setattr(core, "FOLDER", tmp_path)
    carry(tmp_path, *made)
    found = find_core("plain")
    assert isinstance(found, Core), found
    return found


def test_it_takes_its_arguments_as_they_are_and_changes_them_in_place(loaded: Core) -> None:
    gpus, sms, (grid, cube) = arguments()
    assert loaded.run_quantum(gpus, sms, (grid, cube), 3, 1 << 40) == 3000 + (1 << 40) + 2 + 60 + 400
    assert grid.tolist() == [[7, 8, 9], [107, 108, 109]]
    assert cube[1, 2, 3] == 6
    assert cube.sum() == 6


def test_arrays_of_another_kind_are_not_taken(loaded: Core) -> None:
    gpus, sms, (grid, cube) = arguments()
    read_only = grid.copy()
    read_only.flags.writeable = False
    for odd in (grid.astype(np.int32), grid[:, ::2], np.asfortranarray(grid), read_only, grid[0]):
        with pytest.raises(TypeError, match="the compiled core takes an array <i8:2, not"):
            loaded.run_quantum(gpus, sms, (odd, cube), 1, 1)
    with pytest.raises(TypeError, match="V32:1, not"):
        loaded.run_quantum(np.zeros(1, np.dtype([("cycle", np.int64)])), sms, (grid, cube), 1, 1)
    with pytest.raises(ValueError, match="zip"):
        loaded.run_quantum(gpus, sms, (grid,), 1, 1)


def test_an_exception_within_is_not_taken_for_a_result(loaded: Core) -> None:
    gpus, sms, arrays = arguments()
    with pytest.raises(RuntimeError, match="ended with an exception"):
        loaded.run_quantum(gpus, sms, arrays, 1, 0)


def test_the_label_inside_must_be_the_label_beside_it(
    made: tuple[CoreLabel, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "FOLDER", tmp_path)
    label, library = made
    carry(tmp_path, replace(label, arrays=label.arrays[:-1]), library)
    assert find_core("plain") == "the library bears another label"


def test_code_that_calls_python_is_refused() -> None:
    binding = pytest.importorskip("llvmlite.binding")
    text = "declare void @PyErr_Clear()\ndefine void @f() {\n call void @PyErr_Clear()\n ret void\n}"
    target = binding.Target.from_triple(binding.get_process_triple())
    code = target.create_target_machine(reloc="pic").emit_object(binding.parse_assembly(text))
    with pytest.raises(Refused, match="the compiled core cannot be linked"):
        linked(code)


def test_without_a_linker_the_remedy_is_told(made: tuple[CoreLabel, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "LINKER", "nosuch-linker")
    with pytest.raises(UsageError, match=r"no program nosuch-linker.*Install gcc or clang"):
        linked(b"")
