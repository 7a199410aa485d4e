"""A rewrite's searches leave nothing behind that only the garbage collector would find: thousands of objects each."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from binalloc.errors import Refused
from binalloc.models.machines.reader import load_machine
from binalloc.transform.order.clock import LatencyClock
from binalloc.transform.rewrite.rewrite import prepare, rewrite_to_budget
from binalloc.transform.spill.spill import Round
from binalloc.transform.virtual.analysed import Analysed
from tests.unit.pipeline.policies.test_model_policy import module_of

KINDS = (Analysed, Round, LatencyClock, Refused)


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive() -> int:
    return sum(isinstance(thing, KINDS) for thing in gc.get_objects())


@pytest.mark.rotates("long")
@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(
    ("name", "registers", "slots"), [("cfd.ptx", 20, 8), ("FDTD3d.ptx", 24, 8), ("hotspot.ptx", 12, 0)]
)
def test_all_is_gone_with_the_rewrite(name: str, registers: int, slots: int) -> None:
    module, machine = module_of(name), load_machine("c2075")
    prepared = prepare(module, module.kernels()[0].name)
    before = alive()
    result = rewrite_to_budget(prepared, registers, slots, machine=machine)
    assert alive() > before
    del result
    assert alive() == before
