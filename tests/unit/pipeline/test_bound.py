"""What binds a kernel: kernels that are each made for one bound, by their runs and by the model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.emulator.runs.run import run
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.bound import Bound, by_run
from binalloc.pipeline.estimate.demand import bound_of
from binalloc.pipeline.estimate.estimate import estimates_of
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from tests.support.kits.bounds import bounds, launched

KERNELS = {
    "fma_bound": (("unit", "issue"), "FFMA issue"),
    "mufu_bound": (("unit",), "MUFU issue"),
    "f64_bound": (("unit",), "DFMA issue"),
    "dram_bound": (("dram",), "DRAM bandwidth"),
    "bank_bound": (("banks",), "bank conflicts"),
    "chase_bound": (("latency",), "the latency of global memory"),
    "barrier_bound": (("barrier", "arrivals"), "barriers"),
}
GRIDS = {"dram_bound": (128, 256), "chase_bound": (2, 32)}
"""Blocks and threads; all others fill an SM several times."""


def by_a_run(kernel: str, machine: str) -> Bound:
    launch = launched(kernel, *GRIDS.get(kernel, (32, 256)))
    model = load_machine(machine)
    result = run(bounds(machine), kernel, launch, model)
    resident = min(result.blocks_per_sm, launch.blocks)
    found = by_run(result.stats, model, resident * launch.threads_per_block // 32)
    assert found is not None
    return found


def by_the_model(kernel: str, machine: str) -> Bound:
    launch, model = launched(kernel, *GRIDS.get(kernel, (32, 256))), load_machine(machine)
    request = Request(kernel=kernel, machine=model, launch=launch, emulate=False)
    version = baseline(bounds(machine), request)
    resident = min(version.blocks_per_sm, launch.blocks)
    found = bound_of(estimates_of(bounds(machine), request), replace(version, blocks_per_sm=resident), model)
    assert found is not None
    return found


@pytest.mark.rotates
@pytest.mark.parametrize("machine", ["gtx680", "a100"])
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_a_run_tells(kernel: str, machine: str) -> None:
    found = by_a_run(kernel, machine)
    kinds, words = KERNELS[kernel]
    assert found.kind in kinds, (found.text(), found.busy)
    assert words in found.what
    assert found.measured
    assert found.share is not None
    assert 0.35 < found.share <= 1


@pytest.mark.rotates
@pytest.mark.parametrize("machine", ["gtx680", "a100"])
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_the_model_tells_the_same(kernel: str, machine: str) -> None:
    found = by_the_model(kernel, machine)
    kinds, words = KERNELS[kernel]
    assert found.kind in kinds, (found.text(), found.busy)
    assert words in found.what
    assert not found.measured
    assert (found.share is None) == (not found.by_throughput)


def test_one_warp_on_a_machine_of_partitions_has_one_of_them() -> None:
    """What the other schedulers could issue is not its to use."""
    model = load_machine("a100")
    stats = {"cycles": 100, "issue_slots": 100, "dual_issues": 0, "bank_conflict_cycles": 0, "dram_utilisation": 0.0,
             "request_utilisation": 0.0, "response_utilisation": 0.0, "stalls": {"no_warp": 300}, "shared_accesses": 0,
             "shared_passes": 0, "l1_global_hits": 0, "l1_global_misses": 0, "l2_hits": 0, "l2_misses": 0,
             "user_global_loads": 0, "user_global_atomics": 0, "user_local_loads": 0, "spill_local_loads": 0,
             "user_shared_loads": 0, "user_shared_atomics": 0, "spill_shared_loads": 0, "texture_fetches": 0,
             "units": {"alu": 100, "sfu": 0, "conv": 0, "dp": 0}}  # fmt: skip
    found, every = by_run(stats, model, 1), by_run(stats, model, 64)
    assert found is not None
    assert every is not None
    assert found.busy["issue"] == 1
    assert every.busy["issue"] == 0.25
