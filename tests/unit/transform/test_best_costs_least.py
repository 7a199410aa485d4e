"""`best` costs no more than any baseline, `cpsat` no more than `best`, and nothing less than the bound."""

from __future__ import annotations

from functools import cache

import pytest

from binalloc.errors import Refused
from binalloc.frontend.importer import import_ptx
from binalloc.isa.sets.files import assemble, disassemble, load
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.transform.allocators.table import ALLOCATORS
from binalloc.transform.rewrite.rewrite import Prepared, Rewrite, prepare, rewrite_to_budget
from tests.support.paths import sample_files

SMALL = ("callchain", "nbody", "matmul", "convolution", "scalarProducts", "hotspot")
BASELINES = tuple(name for name in ALLOCATORS if name not in ("best", "cpsat"))
NAMES = sorted({p.stem for p in (*sample_files(".loom"), *sample_files(".ptx")) if p.parent.name != "micro"})
MACHINE = load_machine("gtx680")


@cache
def prepared(name: str, calls: bool = False) -> Prepared:
    """calls: with a call that does nothing in front."""
    path = next(p for p in (*sample_files(".loom"), *sample_files(".ptx")) if p.stem == name)
    module = load(path) if path.suffix == ".loom" else import_ptx(path.read_text(), str(path)).module
    if calls:
        head, first, tail = disassemble(module).partition("    S2R ")
        module = assemble(f"{head}    CALL nothing\n{first}{tail}\n.func nothing\n    RET\n.end\n")
    return prepare(module, module.kernels()[0].name)


def made(
    name: str, registers: int, slots: int, allocator: str, machine: Machine | None = MACHINE, calls: bool = False
) -> Rewrite | None:
    """None where the budget is infeasible."""
    try:
        return rewrite_to_budget(prepared(name, calls), registers, slots, allocator, machine=machine)
    except Refused:
        return None


def require_least(
    name: str, registers: int, slots: int, machine: Machine | None = MACHINE, calls: bool = False
) -> None:
    best = made(name, registers, slots, "best", machine, calls)
    for allocator in BASELINES:
        other = made(name, registers, slots, allocator, machine, calls)
        if other is not None:
            assert best is not None, f"{allocator} does with what best does not"
            assert best.cost.cost <= other.cost.cost, allocator


@pytest.mark.parametrize(("registers", "slots"), [(24, 8), (32, 0), (40, 4)])
@pytest.mark.parametrize("name", SMALL)
def test_best_costs_no_more_than_any_baseline(name: str, registers: int, slots: int) -> None:
    require_least(name, registers, slots)


@pytest.mark.parametrize("calls", [False, True])
@pytest.mark.parametrize(
    ("name", "registers", "slots"),
    [("stencil3d", 20, 2), ("matrixVector", 24, 2), ("scalarProducts", 20, 4), ("fourierTransform", 40, 2)],
)
def test_best_costs_no_more_where_slots_run_out(name: str, registers: int, slots: int, calls: bool) -> None:
    """Whole values would cost less there, if all had slots; or no slots at all do."""
    require_least(name, registers, slots, machine=None, calls=calls)


@pytest.mark.full
@pytest.mark.parametrize("slots", [0, 4, 8, 16])
@pytest.mark.parametrize("registers", [24, 32, 40])
@pytest.mark.parametrize("name", NAMES)
def test_best_costs_no_more_than_any_baseline_on_every_sample(name: str, registers: int, slots: int) -> None:
    require_least(name, registers, slots)


@pytest.mark.parametrize(("registers", "slots"), [(32, 0), (32, 8)])
@pytest.mark.parametrize("name", ["nbody", "convolution", "scalarProducts"])
def test_exact_costs_no_more_than_best_and_nothing_less_than_the_bound(name: str, registers: int, slots: int) -> None:
    exact = made(name, registers, slots, "cpsat")
    assert exact is not None
    for allocator in (*BASELINES, "best"):
        other = made(name, registers, slots, allocator)
        assert other is not None
        assert exact.bound is None or exact.bound <= other.cost.cost
        assert exact.cost.cost <= other.cost.cost or allocator != "best"
    assert all(report.bound <= report.value for report in exact.solver)
