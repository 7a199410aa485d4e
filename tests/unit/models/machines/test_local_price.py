"""What local memory costs on each machine, worked by hand, and that allocation goes by it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.frontend.importer import import_ptx
from binalloc.models.machines.local_price import local_price
from binalloc.models.machines.reader import load_machine
from binalloc.transform.rewrite.rewrite import prepare, rewrite_to_budget
from tests.support.paths import sample_file


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("gtx680", 6.0),  # 2,048 threads x 8 words x 4 bytes, 16 KB hold a quarter: (42 + 3 x 190) / 4 / 24 = 6.4
        ("c2075", 4.0),  # 1,536 threads, a third: (35 + 2 x 120) / 3 / 26 = 3.53
        ("rtx2060", 1.0),  # 1,024 threads, all of it: 32 / 30 = 1.07
    ],
)
def test_worked_by_hand(name: str, price: float) -> None:
    assert local_price(load_machine(name)) == price


def test_what_no_cache_holds_comes_from_dram() -> None:
    machine = load_machine("gtx285")
    assert not machine.l1.caches_local
    assert not machine.l2.caches_data
    assert local_price(machine) == round(machine.dram.latency / machine.shared.latency)


def test_it_is_never_cheaper_than_a_slot_and_falls_with_the_cache() -> None:
    machine = load_machine("gtx680")
    sizes = [replace(machine, l1=replace(machine.l1, bytes=kib << 10)) for kib in (1, 4, 16, 32, 64, 128)]
    prices = [local_price(one) for one in sizes]
    assert prices == sorted(prices, reverse=True)
    assert prices[-1] == prices[-2] == 2.0
    assert local_price(replace(sizes[-1], shared=replace(machine.shared, latency=90))) == 1.0


@pytest.mark.rotates("long")
def test_where_local_memory_costs_no_more_no_register_goes_to_a_slot_pointer() -> None:
    path = sample_file("FDTD3d.ptx")
    module = import_ptx(path.read_text(), str(path), machine="gtx680").module
    prepared = prepare(module, module.kernels()[0].name)
    dear, cheap = (rewrite_to_budget(prepared, 24, 8, machine=load_machine(name)) for name in ("gtx680", "rtx2060"))
    assert dear.plan.memory.need > 0
    assert cheap.plan.memory.need == 0
    assert cheap.cost.cost < dear.cost.cost
