"""Growth of the analysis with program size: seconds per stage and peak memory at 1,000, 10,000 and 100,000
instructions.

Run: python -m tests.benchmarks.speed.bench_analysis [sizes...]
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from binalloc.analysis.flow.callgraph import build_callgraph
from binalloc.analysis.flow.dominators import dominators, post_dominators
from binalloc.analysis.flow.loops import find_loops
from binalloc.analysis.interference import build_interference
from binalloc.analysis.liveness import build_liveness
from binalloc.analysis.program import analyse
from binalloc.analysis.views.max_live import build_max_live
from binalloc.analysis.webs import build_webs
from binalloc.isa.instruction import Function
from tests.support.programs.lines import add, bra, const, dadd, function, leave, load, module, mov, setp, store

T = TypeVar("T")


def large_kernel(size: int, live: int = 48, seed: int = 1) -> Function:
    """A kernel of about `size` instructions: loops one after the other, each with four guarded regions, over `live`
    registers that stay live throughout."""
    rng = random.Random(seed)
    lines: list[str] = [const(r, r) for r in range(live + 8)]
    loop = 0
    while len(lines) < size:
        lines.append(f"loop{loop}:")
        for part in range(4):
            lines.extend(_random(rng, live) for _ in range(10))
            lines.append(setp(0, rng.randrange(live), rng.randrange(live)))
            lines.append(bra(f"else{loop}.{part}", "P0"))
            lines.extend(_random(rng, live, rng.choice([None, "P1", "!P1"])) for _ in range(5))
            lines.append(f"else{loop}.{part}:")
            lines.extend(_random(rng, live) for _ in range(5))
        lines.append(setp(1, rng.randrange(live), rng.randrange(live)))
        lines.append(bra(f"loop{loop}", "P1"))
        loop += 1
    lines.extend(store(0, r) for r in range(live))
    return function("k", *lines, leave())


def _random(rng: random.Random, live: int, g: str | None = None) -> str:
    d, a, b = (rng.randrange(live) for _ in range(3))
    kind = rng.randrange(6)
    if kind == 0:
        return mov(d, a, g)
    if kind == 1:
        return load(d & ~1, a & ~1, 5, g)
    if kind == 2:
        return dadd(d & ~1, a & ~1, b & ~1, g)
    return add(d, a, b, g)


def timed(name: str, action: Callable[[], T]) -> T:
    """Run, print seconds, return the result."""
    start = time.perf_counter()
    result = action()
    print(f"  {name:<14}{time.perf_counter() - start:8.3f} s")
    return result


def measure(size: int) -> None:
    """Print the time of each stage for one size."""
    m = module(large_kernel(size))
    print(f"{len(m.functions[0].instrs)} instructions")
    start = time.perf_counter()
    graph = timed("cfg, calls", lambda: build_callgraph(m, "k"))
    cfg = graph.cfgs["k"]
    timed("dominators", lambda: (dominators(cfg), post_dominators(cfg)))
    nest = timed("loops", lambda: find_loops(cfg))
    found = timed("liveness", lambda: build_liveness(graph))
    webs = timed("webs", lambda: build_webs(graph, found, "k", nest))
    edges = timed("interference", lambda: build_interference(webs))
    print(f"  {'sum':<14}{time.perf_counter() - start:8.3f} s")
    program = analyse(m, "k")
    timed("max-live", lambda: build_max_live(program))
    timed("bitset rows", edges.adjacency)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  {len(cfg.blocks)} blocks, {len(webs)} webs, {edges.edges} edges, peak {peak:.0f} MB")


if __name__ == "__main__":
    for wanted in [int(a) for a in sys.argv[1:]] or [1_000, 10_000, 100_000]:
        measure(wanted)
