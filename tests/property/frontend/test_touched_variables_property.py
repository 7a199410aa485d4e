"""Random kernels with pointers into several shared variables: what the importer says of them is true, lasts through the
rewriter, lets variables move, and is found out where it is wrong."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from binalloc.analysis.program import analyse
from binalloc.analysis.shared.memory import shared_memory_of
from binalloc.analysis.sharing.attribution import Evidence, attributed
from binalloc.errors import KernelFault
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Function, Module
from binalloc.isa.kinds import Space
from binalloc.models.sharing.layout import places
from binalloc.transform.rewrite.rewrite import prepare, rewrite_to_budget
from binalloc.transform.schedule.schedule import schedule
from binalloc.transform.sharing.share import share_memory
from binalloc.verify.sharing.check import check_shared
from tests.support.kits.transform.pairs_of_blocks import GPGPUSIM, narrow, planned, ran, same
from tests.support.ptx.generator.pointers import kernel, launch

SEEDS = range(40)
ALONE = {"race": False, "engine": "numba"}


@cache
def imported(seed: int) -> Module:
    return import_ptx(kernel(seed), machine=GPGPUSIM).module


def accesses(fn: Function) -> list[int]:
    return [
        word for word, instr in enumerate(fn.instrs)
        if instr.op.space in (Space.SHARED, Space.GENERIC) and not instr.f.get("spill")
    ]  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_every_access_is_attributed_and_stays_where_it_is_said_to(seed: int) -> None:
    module = imported(seed)
    for fn in module:
        assert sorted(fn.touches) == accesses(fn)
    ran(module, launch(seed), GPGPUSIM, **ALONE)
    found = attributed(shared_memory_of(module, "k", (32, 1, 1)))
    assert all(each.evidence != Evidence.UNKNOWN and not each.contradicted for each in found)


@pytest.mark.parametrize("seed", SEEDS[:12])
def test_the_rewriter_keeps_what_is_said(seed: int) -> None:
    module = imported(seed)
    expected = ran(module, launch(seed), GPGPUSIM, **ALONE)
    made = rewrite_to_budget(prepare(module, "k"), 16, 2, machine=GPGPUSIM).module
    said = [sorted(fn.touches) for fn in made]
    assert said == [accesses(fn) for fn in made]
    for fn in made:
        assert fn.origin is not None
        old = module.function(fn.origin.function)
        assert fn.touches == {word: old.touches[fn.origin.index[word]] for word in fn.touches}
    assert same(expected, ran(schedule(made, GPGPUSIM), launch(seed), GPGPUSIM, **ALONE))


def shuffled(seed: int) -> tuple[Module, tuple[int, ...]]:
    """The kernel with its movable variables in another order, and how far each unit has moved."""
    module, given = imported(seed), launch(seed)
    memory, size = shared_memory_of(module, "k", given.block), module.function("k").info.shared_bytes
    planner = planned(module, given, narrow(size, 1, size // 2 // 16 * 16)).planner
    order = list(range(len(planner.sizes)))
    random.Random(seed).shuffle(order)
    at = places(planner.sizes, order, size)
    if at is None:
        return module, ()
    distances = tuple(at[k] - extent.first for k, extent in enumerate(planner.units.extents))
    return share_memory(module, memory, planner.units, distances, []), distances


@pytest.mark.parametrize("seed", SEEDS[:20])
def test_variables_move_by_what_is_said(seed: int) -> None:
    module, given = imported(seed), launch(seed)
    size = module.function("k").info.shared_bytes
    made, _ = shuffled(seed)
    report = check_shared(module, made, "k", given.block, size, 0)
    assert report.ok, str(report)
    expected = ran(module, given, GPGPUSIM, **ALONE)
    assert same(expected, ran(schedule(made, GPGPUSIM), given, GPGPUSIM, **ALONE))
    _wrong_in_the_copy_is_refused(module, made, size, random.Random(seed))


def test_some_variables_do_move_and_their_proofs_rest_on_the_rule() -> None:
    moved = resting = 0
    for seed in SEEDS[:20]:
        made, distances = shuffled(seed)
        size = made.function("k").info.shared_bytes
        moved += any(distances)
        resting += bool(check_shared(imported(seed), made, "k", (32, 1, 1), size, 0).by_symbol)
    assert moved > 4
    assert resting > 4


def _wrong_in_the_copy_is_refused(module: Module, made: Module, private: int, rng: random.Random) -> None:
    fn = made.function("k")
    word = rng.choice(sorted(fn.touches))
    wrong = _other(fn, word, rng)
    if wrong is not None:
        functions = [replace(f, touches={**f.touches, word: wrong}) if f is fn else f for f in made.functions]
        report = check_shared(module, replace(made, functions=functions), "k", (32, 1, 1), private, 0)
        assert {error.kind for error in report.errors} == {"symbols"}


def _other(fn: Function, word: int, rng: random.Random) -> tuple[str, ...] | None:
    """Another variable than those that a word touches, if there is one."""
    others = sorted({v.name for v in fn.shared} - set(fn.touches[word]))
    return (rng.choice(others),) if others else None


@pytest.mark.parametrize("seed", SEEDS[:12])
def test_a_wrong_statement_is_a_fault_of_a_checked_run(seed: int) -> None:
    module, rng = imported(seed), random.Random(seed)
    fn = module.function("k")
    reached = {word for word in fn.touches if analyse(module, "k")["k"].cfg.reachable(word)}
    for word in rng.sample(sorted(reached), 4):
        wrong = _other(fn, word, rng)
        if wrong is None:
            continue
        functions = [replace(f, touches={**f.touches, word: wrong}) if f is fn else f for f in module.functions]
        mutant = replace(module, functions=functions)
        with pytest.raises(KernelFault, match=rf"k\+{word} .*outside of the variable"):
            ran(mutant, launch(seed), GPGPUSIM, **ALONE)
        ran(mutant, launch(seed), GPGPUSIM, **{**ALONE, "check": False})
