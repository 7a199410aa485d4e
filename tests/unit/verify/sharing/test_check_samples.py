"""The sharing paper's kernels under every plan: each is proven, and none is once it is changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest

from binalloc.analysis.shared.memory import shared_memory_of
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module, make
from binalloc.isa.kinds import Flow, Space
from binalloc.isa.sets.table import set_of, view
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.sharing.plans import plans
from binalloc.pipeline.steps.kernels import kernel_use
from binalloc.transform.sharing.share import share_memory
from binalloc.verify.sharing.check import check_shared
from tests.support.pairs.multiplex.public_mutants import Item, Items, changed, items, moved, put
from tests.support.pairs.sharing.lines import kinds
from tests.support.paths import SAMPLES, sample_file, sample_files

MACHINE = load_machine("gpgpusim-sharing")
UNSHARED = {"BFS", "bplustree", "DCT5", "gaussian", "NN"}  # shared memory does not limit their blocks: Table IV
NAMES = [
    path.stem for path in sample_files(".ptx") if SAMPLES / "sharing" in path.parents and path.stem not in UNSHARED
]
ALONE = [name for name in NAMES if name not in {"SRAD1", "heartwall_128"}]
"""Those that call no function: `put` changes the words of the only one."""


@dataclass(frozen=True, eq=False)
class Case:
    """A case is a kernel with one plan."""

    original: Module
    made: Module
    kernel: str
    block: tuple[int, int, int]
    private: int
    moves: bool  #: variables are moved

    def kinds(self, words: Items | None = None) -> set[str]:
        """What the checker says of the new kernel, or of other words in its place."""
        made = self.made if words is None else put(self.made, self.kernel, words)
        return kinds(check_shared(self.original, made, self.kernel, self.block, self.private, 0))

    @property
    def words(self) -> Items:
        return items(self.made.function(self.kernel))


@cache
def cases(name: str) -> list[Case]:
    path = sample_file(f"{name}.ptx")
    launch = load_launch(path.with_suffix(".toml"))
    module = import_ptx(path.read_text(), path.name, machine=MACHINE).module
    memory = shared_memory_of(module, launch.kernel, launch.block)
    found = plans(memory, MACHINE, kernel_use(module.function(launch.kernel), launch))
    return [
        Case(module, share_memory(module, memory, found.units, plan.distances, plan.releases), launch.kernel,
             launch.block, plan.private, any(plan.distances))
        for plan in found.all
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_plan_is_proven(name: str) -> None:
    assert cases(name)
    for case in cases(name):
        assert case.kinds() == set()


def releases(words: Items) -> Iterator[int]:
    return (n for n, item in enumerate(words) if item.instr.control == Flow.RELSSP)


@pytest.mark.parametrize("name", ALONE)
def test_a_release_in_front_of_all_accesses_is_found(name: str) -> None:
    case = cases(name)[0]
    for n in list(releases(case.words)):
        assert "behind" in case.kinds(moved(case.words, n, 0))
    found = case.kinds([Item(make("RELSSP"), -1, {}), *case.words])
    assert found == ({"behind", "repeated"} if any(True for _ in releases(case.words)) else {"behind"})


@pytest.mark.parametrize("name", ALONE)
def test_a_second_release_is_found(name: str) -> None:
    case = cases(name)[0]
    for n in list(releases(case.words)):
        words = case.words
        words.insert(n, Item(words[n].instr, -1, {}))
        assert case.kinds(words) == {"repeated"}


@pytest.mark.parametrize("name", ALONE)
def test_an_access_left_unmoved_is_found(name: str) -> None:
    for case in cases(name):
        words = case.words
        old = case.original.function(case.kernel).instrs
        for n, item in enumerate(words if case.moves else []):
            memory = view(item.instr).memory
            if memory is None or memory.space != Space.SHARED or item.instr == old[item.origin]:
                continue
            found = case.kinds(changed(words, n, old[item.origin]))
            assert found & {"distance", "overlap", "variables"}
            base = None if memory.base is None else memory.base.index
            for offset in (memory.offset + 1, memory.offset + 4):
                wrong = set_of(item.instr).readdress(item.instr, base, offset)
                assert case.kinds(changed(words, n, wrong)) & {"alignment", "distance", "overlap", "bounds"}


def test_some_plan_moves_and_some_release_is_there() -> None:
    every = [case for name in NAMES for case in cases(name)]
    assert sum(case.moves for case in every) >= 1
    assert sum(any(True for _ in releases(case.words)) for case in every) >= 10
