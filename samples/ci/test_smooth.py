"""Tests of a kernel on binalloc's emulator: what it computes, what it may take, and that it does not get slower.

Run `pytest` here, where binalloc is installed; `pytest --binalloc-update` after a change that is meant to be.
"""

import numpy as np
import pytest

THREADS = 256


def reference(x):
    padded = np.pad(x, 1, mode="edge")
    return np.float32(0.25) * padded[:-2] + np.float32(0.5) * x + np.float32(0.25) * padded[2:]


def smooth(emulator, x, **options):
    """The result of a launch, and what the kernel made of x."""
    out = np.zeros_like(x)
    result = emulator.launch("smooth.ptx", -(-x.size // THREADS), THREADS, [out, x, x.size], **options)
    emulator.same(result, out, reference(x), rtol=1e-6)
    return result, out


@pytest.mark.parametrize("n", [1, 257, 4096])
def test_it_is_right(binalloc_emulator, n):
    x = np.random.default_rng(n).standard_normal(n, dtype=np.float32)
    smooth(binalloc_emulator, x, check=True, race=True)


def test_it_can_be_applied_again(binalloc_emulator):
    x = np.arange(1000, dtype=np.float32) % 7
    _, once = smooth(binalloc_emulator, x)
    _, twice = smooth(binalloc_emulator, once)
    assert twice.std() < once.std() < x.std()


@pytest.mark.parametrize("machine", ["gtx680", "v100"])
def test_it_is_as_fast_as_it_was(binalloc_emulator, machine):
    x = np.linspace(0, 1, 4096, dtype=np.float32)
    result, _ = smooth(binalloc_emulator, x, machine=machine)
    binalloc_emulator.expect(
        result, min_occupancy=0.9, max_local_bytes=0, max_counters={"bank_conflict_cycles": 0, "spill_accesses": 0}
    )
    binalloc_emulator.check(result, max_slowdown="2%")
