"""What a device keeps between launches: its record's memory comes back as if it were new, and staged code is that of
the constants."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.host.engines.engine import engine
from binalloc.emulator.host.kept import STAGED, KeptDevice, Spare
from binalloc.emulator.host.staging import Constants, StagedProgram
from binalloc.emulator.memory.replacement import BUSY
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.records import Gpu
from binalloc.frontend.importer import import_ptx
from binalloc.launch.file import load_launch
from binalloc.launch.program.file import load_program
from binalloc.launch.program.schema import parse_program
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.running.program import run_program
from tests.support.kits.emulator.small import module as small
from tests.support.kits.emulator.small import op
from tests.support.paths import sample_file


@pytest.fixture
def wiped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes other than 0 each record had that was used again."""
    found: list[int] = []
    usual = Spare.wiped

    def looked_at(spare: Spare) -> Any:
        record = usual(spare)
        found.append(int(np.count_nonzero(record.view(np.uint8))))
        return record

    monkeypatch.setattr(Spare, "wiped", looked_at)
    return found


def module(name: str, machine: str) -> Any:
    source = sample_file(f"{name}.ptx")
    return import_ptx(source.read_text(), source.name, machine=load_machine(machine)).module


@pytest.mark.rotates
@pytest.mark.parametrize("machine", ["gtx680", "c2075", "gtx285", "v100", "rtx2060"])
def test_a_records_memory_comes_back_empty(machine: str, wiped: list[int]) -> None:
    for name in ("levels", "diffusion", "sort"):
        program = load_program(sample_file(f"{name}.toml"), "test")
        run_program(module(name, machine), program, machine)
    assert len(wiped) > 30
    assert set(wiped) == {0}


@pytest.mark.parametrize(("name", "size"), [("reduction", "test"), ("histogram", "test"), ("imageDenoising", "test")])
def test_so_it_does_after_atomics_textures_and_full_queues(name: str, size: str, wiped: list[int]) -> None:
    """A sample of one launch, three times over the same memory."""
    file = sample_file(f"{name}.toml")
    table = tomllib.loads(file.read_text())
    launch = load_launch(file, size)
    arguments = [e | table["sizes"][size].get("argument", {}).get(e["name"], {}) for e in table["argument"]]
    step = {"launch": launch.kernel, "grid": list(launch.grid), "block": list(launch.block),
            "dynamic_shared": launch.dynamic_shared}  # fmt: skip
    program = parse_program({"argument": arguments, "step": [{"repeat": 3, "step": [step]}]}, path=str(file))
    ran = run_program(module(name, "gtx680"), program, "gtx680")
    assert wiped == [0, 0]
    assert ran.launches[1].cycles == ran.launches[2].cycles <= ran.launches[0].cycles


def test_words_on_their_way_have_come() -> None:
    """A grid may end before the answer of a load that nobody waited for."""
    python = engine("python")
    g = python.records(Gpu, 1)
    for name, value in {"all_channels": 1, "slices_per_channel": 1, "l2_sets": 1, "l2_ways": 3, "stamp": 9}.items():
        python.put(g, 0, name, value)
    held = {"l2_line": [5, 6, 0], "l2_valid": [1, 2, 0], "l2_coming": [12, 0, 0], "l2_dirty": [1, 0, 0],
            "l2_age": [7 | BUSY, 8, 0]}  # fmt: skip
    for name, values in held.items():
        for i, value in enumerate(values):
            getattr(g[0], name)[i] = value
    kept = KeptDevice()
    kept.take(python, g)
    fresh = python.records(Gpu, 1)
    kept.hand_over(python, fresh)
    found = {name: python.view(fresh, 0, name)[:3].tolist() for name in held}
    assert found == held | {"l2_valid": [13, 2, 0], "l2_coming": [0, 0, 0], "l2_age": [7, 8, 0]}
    assert python.get(fresh, 0, "stamp") == 9


def test_functions_that_begin_with_a_constant_stay_functions() -> None:
    begins = [op("MOV", rd=2, form=2, cbank=0, coff=0), op("RET")]
    found, machine = small([op("EXIT")], params={"x": 8}, functions={"f": begins}), load_machine("gtx680")
    kept = KeptDevice()
    for n in (1, 2):
        constants = Constants.build({0: n.to_bytes(8, "little")})
        staged, fresh = kept.staged(found, machine, constants), StagedProgram(found, machine, constants)
        assert np.array_equal(staged.table[:, L.Column.VALID], fresh.table[:, L.Column.VALID])


def test_code_is_staged_for_its_constants() -> None:
    found, machine = module("sort", "gtx680"), load_machine("gtx680")
    kept = KeptDevice()

    def constants(n: int) -> Constants:
        return Constants.build({0: n.to_bytes(8, "little") + bytes(12)})

    for n in [*range(2 * STAGED), 3, 3, 0]:
        staged, fresh = kept.staged(found, machine, constants(n)), StagedProgram(found, machine, constants(n))
        values, others = staged.values.array(), fresh.values.array()
        differ = {c for c in range(staged.table.shape[1]) if (staged.table[:, c] != fresh.table[:, c]).any()}
        # operands are found by rows of values, which are numbered in the order in which they came up
        assert differ <= {int(at) for at, _ in L.ROW_COLUMNS.values()}
        for at, counts in L.ROW_COLUMNS.values():
            for one, other in zip(staged.table, fresh.table, strict=True):
                if other[counts] == 0:
                    assert np.array_equal(values[one[at]], others[other[at]])
    assert len(kept._staged) == STAGED
