"""The store that wrote an element, also of buffers that are read before they are written."""

from __future__ import annotations

import pytest

from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.watch import first_store
from binalloc.isa.instruction import Module
from binalloc.isa.text.assembler import assemble
from binalloc.launch.file import Launch, parse_launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule

GTX = load_machine("gtx680")
IN_PLACE = """
.kernel k
    .param x 8
    MOV R2, c[0][x]
    MOV R3, c[0][x+4]
    S2R R0, SR_TID.X
    S2R R1, SR_CTAID.X
    IMAD R0, R1, 64, R0
    IMAD.WIDE.U32 R2, R0, 4, R2
    LDG.32 R4, [R2]
    IADD3 R5, R4, 0, RZ
    STG.32 [R2], R5
    IADD3 R5, R4, 1, RZ
    STG.32 [R2], R5
    IADD3 R5, R4, 2, RZ
    STG.32 [R2], R5
    EXIT
.end
"""


def program(text: str) -> tuple[Module, Launch]:
    launch = parse_launch({
        "kernel": "k", "grid": 2, "block": 64,
        "argument": [{"name": "x", "kind": "buffer", "dtype": "u32", "shape": 128, "init": "arange"}],
    })  # fmt: skip
    return schedule(assemble(text), GTX), launch


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize(("element", "place"), [(0, (0, 0, 0)), (37, (0, 1, 5)), (101, (1, 1, 5))])
def test_of_a_buffer_updated_in_place_the_first_store_that_changes_it(
    engine: str, element: int, place: tuple[int, int, int]
) -> None:
    module, launch = program(IN_PLACE)
    store = first_store(module, "k", launch, "x", 4 * element, 4, RunOptions(GTX, engine))
    assert store is not None
    assert (store.index, store.block, store.warp, store.lane) == (10, *place)
    assert store.instruction == "STG.32 [R2], R5"


def test_without_a_load_before_it_the_first_store_counts_even_if_it_changes_nothing() -> None:
    lines = [line for line in IN_PLACE.splitlines() if "LDG" not in line]
    module, launch = program("\n".join(lines).replace("IADD3 R5, R4, 0, RZ", "MOV R4, R0\n IADD3 R5, R4, 0, RZ"))
    store = first_store(module, "k", launch, "x", 20, 4, RunOptions(GTX, "python"))
    assert store is not None
    assert (store.index, store.lane) == (8, 5)


def test_an_element_that_is_only_read_has_none() -> None:
    module, launch = program("\n".join(line for line in IN_PLACE.splitlines() if "STG" not in line))
    assert first_store(module, "k", launch, "x", 20, 4, RunOptions(GTX, "python")) is None
