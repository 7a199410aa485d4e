"""How many warps an SM gets through, were its resources queues: mean value analysis of a closed network.

Needs what one run of the kernel by one warp asks of each resource, in cycles that the resource serves nobody else, and
how long the warp waits for latencies besides. Leaves runs per cycle for a number of resident warps. Exact for a closed
product-form network of one class (Reiser and Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks",
1980); that an SM is one is the model. With one warp it is the warp's own time, with many the busiest resource's.
"""

from __future__ import annotations

from collections.abc import Collection


def throughput(demands: Collection[float], waiting: float, warps: int) -> float:
    """Runs of warps per cycle. demands: by resource, cycles a run; waiting: cycles a run; both >= 0, not all 0.

    Raises ValueError for fewer than one warp.
    """
    if warps < 1:
        raise ValueError(f"{warps} warps")
    asked = [d for d in demands if d > 0]
    queued = [0.0] * len(asked)
    rate = 0.0
    for there in range(1, warps + 1):
        stays = [d * (1.0 + q) for d, q in zip(asked, queued, strict=True)]
        rate = there / (waiting + sum(stays))
        queued = [rate * stay for stay in stays]
    return rate
