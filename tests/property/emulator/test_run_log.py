"""The log of a run is the same row by row in both engines, in the event-skipping and the per-cycle mode, and wherever a
quantum ends, for random kernels, machines, schedulers and numbers of SMs; and has a row for every counted issue."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from tests.support.generator.emulator.waits import WORDS, waiting_program
from tests.support.kits.emulator.run_log import Row, logged

MACHINES = ("gtx680", "c2075", "gpgpusim-sharing")


def rows(seed: int, machine: str, **options: Any) -> list[Row]:
    """The log of the program of that seed, launched as the seed says."""
    rng = random.Random(f"log {seed}")
    shape: dict[str, Any] = {
        "grid": rng.randrange(1, 5), "block": rng.choice((32, 96, 200)), "sms": 1 + seed % 3,
        "scheduler": rng.choice(list(SCHEDULERS)),
    }  # fmt: skip
    words = {"x": np.arange(WORDS, dtype=np.uint32)}
    program = waiting_program(seed, machine)
    result, found = logged(program, buffers=words, machine=machine, hazards=False, **shape, **options)
    assert sum(row.kind == "issue" for row in found) == result.stats["warp_instructions"]
    return found


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("seed", range(4))
def test_the_modes_agree(machine: str, seed: int) -> None:
    fast = rows(seed, machine, engine="python")
    assert fast == rows(seed, machine, engine="python", reference=True)
    assert {row.kind for row in fast} >= {"issue", "block", "block_end", "warp_end", "scoreboard", "resume"}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_engines_agree(machine: str) -> None:
    for seed in range(4, 12):
        plain = rows(seed, machine, engine="python")
        assert plain == rows(seed, machine, engine="numba"), seed
        assert plain == rows(seed, machine, engine="numba", reference=True), seed
        assert plain == rows(seed, machine, engine="numba", drain_at=1 + 5 * seed), seed
