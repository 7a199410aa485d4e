"""On every machine of the package: the compiled engine counts what the plain one does, and the event-skipping mode what
the per-cycle one does."""

from __future__ import annotations

import pytest

from binalloc.models.machines.files import list_machines
from tests.support.kits.emulator.micro import measure
from tests.support.kits.emulator.runs import same

CHASES = ("chase_global", "chase_local", "chase_shared", "chase_texture")


@pytest.mark.rotates
@pytest.mark.parametrize("name", list_machines())
def test_both_engines_count_the_same_on_walks_and_a_copy(name: str) -> None:
    for sample in CHASES:
        same(measure(sample, name, engine="python"), measure(sample, name, engine="numba"))
    plain, compiled = (measure("stream_copy", name, blocks=2, sms=2, engine=engine) for engine in ("python", "numba"))
    same(plain, compiled)


@pytest.mark.rotates
@pytest.mark.parametrize("name", list_machines())
def test_the_per_cycle_mode_counts_the_same_on_walks_and_streams(name: str) -> None:
    for sample in CHASES:
        same(measure(sample, name, engine="numba"), measure(sample, name, engine="numba", reference=True))
    for sample in ("stream_load", "stream_store", "stream_copy"):
        for sms in (1, 3):
            fast = measure(sample, name, "test", engine="numba", sms=sms)
            same(fast, measure(sample, name, "test", engine="numba", sms=sms, reference=True))
