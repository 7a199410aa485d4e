"""Whatever a walk knows of a thread's values is what they are: random programs, walked and run."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from binalloc.emulator.known import values
from binalloc.emulator.runs.run import run
from binalloc.isa.kinds import Access, Space
from binalloc.pipeline.estimate.walk import setting as walking
from binalloc.pipeline.estimate.walk.setting import LaunchSetting
from binalloc.pipeline.estimate.walk.thread import ThreadWalk, WalkStep
from tests.support.generator.programs import generate
from tests.support.kits.machines import roomy_machine

MACHINE = roomy_machine()


class Storing(ThreadWalk):
    """Notes the words that the thread stores to known addresses of global memory, the last of each; None: unknown."""

    stored: ClassVar[dict[int, int | None]] = {}

    def _compute(self, word: int, step: WalkStep, holds: bool | None) -> None:
        memory = step.seen.memory
        if memory is not None and memory.space == Space.GLOBAL and memory.access == Access.STORE and memory.size >= 4:
            assert step.address is not None
            at = step.address(self.values)
            registers = [r for ref in memory.data(step.seen.uses) for r in ref.registers()]
            if at is not None:
                for k, r in enumerate(registers):
                    self.stored[at + 4 * k] = self.values.registers[r] if holds else None
        super()._compute(word, step, holds)


@pytest.mark.parametrize("preset", ["structured", "wide"])
def test_what_is_known_is_so(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "ThreadWalk", Storing)
    monkeypatch.delitem(values._OTHERS, "VOTE")  # taken to be unanimous, which these are not
    known = unknown = 0
    for seed in range(40):
        module, launches = generate(preset, seed)
        launch = launches[0]
        found = run(module, launch.kernel, launch, MACHINE, hazards=False, max_cycles=5_000_000)
        start, words = launch.address("output"), found.buffers["output"].reshape(-1).view(np.uint32)
        for block, thread in ((0, 0), (launch.blocks - 1, launch.threads_per_block - 1)):
            Storing.stored = {}
            if not LaunchSetting(module, launch.kernel, launch, 0, MACHINE).walk(block, thread).complete:
                continue  # what it stored last it might store again
            for at, word in Storing.stored.items():
                if word is None:
                    unknown += 1
                elif 0 <= at - start < words.nbytes:
                    known += 1
                    assert words[(at - start) // 4] == word, (seed, block, thread, hex(at))
    assert known > unknown / 20 > 0
