"""Policy `model`: what it takes, what it says, and what the demands behind it are."""

from __future__ import annotations

import pytest

from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import load
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.demand import demand
from binalloc.pipeline.original import baseline
from binalloc.pipeline.pipeline import Outcome, rewrite_kernel
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps import build_version
from tests.support.paths import sample_file

MACHINE = load_machine("gtx680")


def module_of(name: str) -> Module:
    path = sample_file(name)
    return load(path) if path.suffix == ".loom" else import_ptx(path.read_text(), path.stem).module


def request_for(name: str) -> Request:
    launch = load_launch(sample_file(name.split(".")[0] + ".toml"))
    return Request(kernel=launch.kernel, machine=MACHINE, launch=launch, policy="model", emulate=False)


def chosen(name: str) -> Outcome:
    return rewrite_kernel(module_of(name), request_for(name))


@pytest.mark.parametrize(
    ("name", "blocks"),
    [("FDTD3d.ptx", 4), ("stencil3d.loom", 4), ("nbody.loom", 6), ("callchain.loom", 8)],
)
def test_it_takes_what_the_emulator_finds_fastest(name: str, blocks: int) -> None:
    """As `exhaustive` does at full size (README)."""
    found = chosen(name)
    assert not found.kept_original
    assert found.rewritten.blocks_per_sm == blocks
    assert found.rewritten.cycles is None
    assert "by the model" in found.reason


def test_loops_that_it_thinks_long_hide_a_gain() -> None:
    """particles gains 1.046 at 5 blocks in the emulator."""
    assert chosen("particles.ptx").kept_original


def test_barriers_that_it_does_not_know_hide_a_gain() -> None:
    """stencil2d gains 1.12 at 2 blocks in the emulator: one block alone waits at its barriers."""
    found = chosen("stencil2d.loom")
    assert found.by_order_alone
    assert found.original.cycles is None
    assert found.ordering is None
    assert found.rewritten.blocks_per_sm == 1


def test_no_gain_leaves_the_original() -> None:
    """matmul at 6 to 8 blocks is slower in the emulator."""
    found = chosen("matmul.loom")
    assert found.kept_original
    assert [t.reason.endswith("by the model") or t.reason.startswith("as ") for t in found.tried] == [True] * 3


def test_spilled_words_cost_more_where_more_threads_spill() -> None:
    """nbody at 32 registers spills: with words in L1's way its memory is asked for more than the original's."""
    module, request = module_of("nbody.loom"), request_for("nbody.loom")
    before, after = (demand(v, request) for v in (baseline(module, request), build_version(module, request, 32, 0)))
    assert after.resources["link"] > before.resources["link"]
    assert after.resources["dram"] == pytest.approx(before.resources["dram"])
    assert after.alone > before.alone
    for found in (before, after):
        assert found.waiting == pytest.approx(found.alone - sum(found.resources.values()))
