"""Pages in a sequence of launches keep their places, and what has gone to L2 is found again by the next launch."""

from __future__ import annotations

import numpy as np
import pytest

import binalloc
from binalloc.emulator.host.kept import KeptDevice, KeptPages
from tests.support.kits.cli import launch, loom


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("pages", ["interleaved", "coloured", "coloured:channels=one"])
def test_a_second_launch_finds_pages_and_lines(engine: str, pages: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = binalloc.load_machine("gem5gpu-batching")
    asked = binalloc.load_launch(launch("matmul")[1], "test")
    module = binalloc.schedule(binalloc.load(loom("matmul")), machine)
    taken: list[KeptPages] = []
    take = KeptDevice.take

    def taking(kept: KeptDevice, *arguments: object) -> None:
        take(kept, *arguments)  # type: ignore[arg-type]
        taken.append(kept.pages)

    monkeypatch.setattr(KeptDevice, "take", taking)
    device = binalloc.Device(module, machine=machine, engine=engine, sms=8, pages=pages)
    arrays = {name: device.array(values) for name, values in asked.make_buffers().items()}
    values = [arrays[a.name] if a.name in arrays else asked.values[a.name] for a in asked.arguments]
    results = [device.launch(asked.kernel, asked.grid, asked.block, values) for _ in range(2)]
    one, other = taken
    assert len(one.places) > 0
    assert np.array_equal(one.places, other.places)
    for name, entries in one.entries.items():
        assert np.array_equal(entries, other.entries[name])
    first, second = (result.stats for result in results)
    assert second["l2_misses"] < first["l2_misses"]
