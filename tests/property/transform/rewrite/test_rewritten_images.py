"""Random kernels on textures and surfaces, rewritten to few registers: proven, and left by both runs alike."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from binalloc.frontend.importer import import_ptx
from binalloc.transform.rewrite.rewrite import fewest_registers, prepare, rewrite_to_budget
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.ptx.generator.images import THREADS, draw
from tests.support.ptx.harness import MACHINE, launched
from tests.support.ptx.texts import kernel

SEEDS = range(300, 316)
NAMES = ("SUADDR", "TXQ", "TEX")


@pytest.mark.rotates("long")
def test_rewritten_kernels_leave_the_same() -> None:
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        drawn = draw(seed, 12)
        module = import_ptx(kernel(drawn.body, params=drawn.params), machine=MACHINE).module
        values = [np.zeros(THREADS, np.uint32), *drawn.arguments]
        names = [p.name for p in module.function("k").info.params]
        before = launched(module, "k", names, values, block=THREADS)
        prepared = prepare(module, "k")
        fewest = fewest_registers(prepared)
        assert fewest is not None
        slots = seed % 3
        rewritten = schedule(rewrite_to_budget(prepared, fewest + seed % 2, slots).module, MACHINE)
        report = check(module, rewritten, "k", ["k"])
        assert report.ok, (seed, report)
        after = launched(rewritten, "k", names, values, block=THREADS)
        for name, data in before.items():
            np.testing.assert_array_equal(data, after[name], err_msg=f"{seed} {name}")
        info = rewritten.function("k").info
        seen["spilling"] += bool(info.slot_bytes or info.spill_local)
        for name in NAMES:
            seen[name] += sum(instr.name == name for instr in module.function("k").instrs)
    assert seen["spilling"] >= 4
    assert all(seen[name] >= 20 for name in NAMES), seen
