"""The core that a wheel carries computes what Numba's code does here: all samples at test size, every counter and word.

Made as `make wheel` makes it, for any CPU of its kind, which takes minutes: in `make test-full`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_equal

from binalloc.emulator.carried import core
from binalloc.emulator.carried.core import NEEDS, Core, find_core
from binalloc.emulator.host.engines import engine
from binalloc.emulator.host.engines.engine import name_of_build
from binalloc.emulator.packing.machine_code import BUILDS, CPU, LINKER, make_core
from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.emulator.runs.run import Result, run
from tests.differential.test_emulator_engines import random_program
from tests.differential.test_samples_in_every_mode import FILES, GTX680, loaded
from tests.support.kits.emulator.every_unit import counters, one_of_each
from tests.support.kits.emulator.runs import same

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(shutil.which(LINKER) is None, reason="no linker"),
    pytest.mark.skipif(not core.cpu_flags() >= set(NEEDS[CPU]), reason="not such a CPU"),
]

MODES: tuple[dict[str, bool | int], ...] = (
    {}, {"sms": 3}, {"reference": True}, {"profile": True}, {"check": True, "race": True},
)  # fmt: skip
"""The last two need the checking build."""


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """What `_compiled` gives where a package carries both builds."""
    folder: Path = tmp_path_factory.mktemp("cores")
    usual, core.FOLDER = core.FOLDER, folder
    try:
        for name in BUILDS:
            make_core(name, folder)
        cores = {name: find_core(name) for name in BUILDS}
    finally:
        core.FOLDER = usual
    assert all(isinstance(one, Core) for one in cores.values()), cores

    def compiled(checking: bool, bounds: bool) -> Any:
        found = cores[name_of_build(checking, bounds)]
        assert isinstance(found, Core)
        return found.run_quantum

    return compiled


@pytest.mark.parametrize(("name", "scheduler"), list(zip(FILES, cycle(SCHEDULERS), strict=False)))
def test_samples(name: str, scheduler: str, carried: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    module, launch = loaded(name)

    def result(mode: dict[str, Any]) -> Result:
        return run(module, launch.kernel, launch, GTX680, scheduler=scheduler, **mode)

    monkeypatch.setenv("BINALLOC_COMPILE", "1")
    ours = [result(mode) for mode in MODES]
    monkeypatch.setattr(engine, "_compiled", carried)
    for mode, one in zip(MODES, ours, strict=True):
        found = result(mode)
        same(found, one)
        assert found.profile.keys() == one.profile.keys()
        for function, profile in one.profile.items():
            assert_equal(asdict(found.profile[function]), asdict(profile))


def test_random_programs(carried: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINALLOC_COMPILE", "1")
    programs = [one_of_each(), *(random_program(seed) for seed in range(40))]
    ours = [counters(program, engine="numba") for program in programs]
    monkeypatch.setattr(engine, "_compiled", carried)
    assert [counters(program, engine="numba") for program in programs] == ours
