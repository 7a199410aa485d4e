"""Every sample at test size: under each scheduler the event-skipping mode counts what the per-cycle one does, and the
plain engine what the compiled one does.

Samples are found, not listed. The plain engine takes a second for some thousand warp instructions: long samples are in
`make test-full`.
"""

from __future__ import annotations

from functools import cache
from itertools import cycle

import pytest

from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.emulator.runs.run import Result, run
from binalloc.frontend.importer import import_ptx
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Module
from binalloc.launch.file import load_launch
from binalloc.launch.types import Launch
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.runs import same
from tests.support.paths import sample_file, sample_files

GTX680 = load_machine("gtx680")
FILES = sorted(path.name for ending in (".ptx", ".loom") for path in sample_files(ending))
LONG = 7_000  # warp instructions


@cache
def loaded(name: str) -> tuple[Module, Launch]:
    path = sample_file(name)
    launch = load_launch(path.with_suffix(".toml"), "test")
    if path.suffix == ".loom":
        return read_module(path.read_bytes()), launch
    return read_module(write_module(import_ptx(path.read_text(), path.name, machine="gtx680").module)), launch


def emulated(name: str, scheduler: str, *, engine: str = "numba", sms: int = 1, reference: bool = False) -> Result:
    module, launch = loaded(name)
    return run(
        module, launch.kernel, launch, GTX680, scheduler=scheduler, engine=engine, sms=sms, reference=reference,
        max_cycles=5_000_000,
    )  # fmt: skip


@cache
def counted(name: str, scheduler: str) -> Result:
    """The compiled, event-skipping run."""
    return emulated(name, scheduler)


@pytest.mark.rotates
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("name", FILES)
def test_the_per_cycle_mode_counts_the_same(name: str, scheduler: str) -> None:
    same(counted(name, scheduler), emulated(name, scheduler, reference=True))


@pytest.mark.rotates
@pytest.mark.parametrize("name", FILES)
def test_on_several_sms_too(name: str) -> None:
    same(emulated(name, "lrr", sms=3), emulated(name, "lrr", sms=3, reference=True))


TURNS = list(zip(FILES, cycle(SCHEDULERS), strict=False))


def plain_counts_the_same(name: str, scheduler: str) -> None:
    same(counted(name, scheduler), emulated(name, scheduler, engine="python"))


@pytest.mark.rotates
@pytest.mark.parametrize(("name", "scheduler"), TURNS)
def test_the_plain_engine_counts_the_same(name: str, scheduler: str) -> None:
    if counted(name, scheduler).stats["warp_instructions"] > LONG:
        pytest.skip("takes the plain engine long: in `make test-full`")
    plain_counts_the_same(name, scheduler)


@pytest.mark.full
@pytest.mark.parametrize(("name", "scheduler"), TURNS)
def test_the_plain_engine_counts_the_same_on_long_samples(name: str, scheduler: str) -> None:
    if counted(name, scheduler).stats["warp_instructions"] <= LONG:
        pytest.skip("short: in `make test`")
    plain_counts_the_same(name, scheduler)
