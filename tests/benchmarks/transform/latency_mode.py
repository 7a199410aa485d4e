"""What order alone gains: `python -m tests.benchmarks.transform.latency_mode [MACHINE] [--size SIZE]`.

Each sample as it comes, and rewritten to as many registers as keep its occupancy, without slots; both on one SM with
its share of the machine, at full size unless another is named. A table, its geometric mean and what got worse. Takes
minutes.
"""

from __future__ import annotations

import argparse
import math

from binalloc.emulator.runs.run import run
from binalloc.launch.file import load_launch
from binalloc.models.machines.occupancy import registers_for_blocks
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.build import build_version
from binalloc.pipeline.steps.kernels import find_kernel, kernel_use
from tests.benchmarks.emulator.one_sm import module_of, program_launches

WORSE = 1.01


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("machine", nargs="?", default="gtx680")
    parser.add_argument("--size")
    options = parser.parse_args()
    machine = load_machine(options.machine)
    print(f"{'sample':18s} {'registers':>13s} {'blocks':>8s} {'cycles':>12s} {'in order':>12s} {'ratio':>7s}")
    ratios: dict[str, float] = {}
    for path in program_launches():
        module, launch = module_of(path), load_launch(path, size=options.size)
        kernel = find_kernel(module, launch.kernel or None)
        request = Request(kernel=kernel.name, machine=machine, launch=launch)
        before = baseline(module, request)
        most = registers_for_blocks(machine, kernel_use(kernel, launch), before.blocks_per_sm)
        after = build_version(module, request, min(most or before.registers, 255), 0)
        cycles = [run(v.module, kernel.name, launch, machine).cycles for v in (before, after)]
        ratios[path.stem] = cycles[1] / cycles[0]
        registers, blocks = (f"{getattr(before, n)} -> {getattr(after, n)}" for n in ("registers", "blocks_per_sm"))
        figures = f"{cycles[0]:12,d} {cycles[1]:12,d} {ratios[path.stem]:7.3f}"
        print(f"{path.stem:18s} {registers:>13s} {blocks:>8s} {figures}", flush=True)
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    print(f"geometric mean {mean:.3f} over {len(ratios)} samples")
    worse = {name: ratio for name, ratio in ratios.items() if ratio > WORSE}
    print("more than 1 % worse: " + (", ".join(f"{name} {ratio:.3f}" for name, ratio in worse.items()) or "none"))


if __name__ == "__main__":
    main()
