"""What `pipeline.estimate` expects a kernel to take, beside what the emulator says:
`python -m tests.benchmarks.pipeline.estimates [--machine gtx680] [SAMPLE ...]`.

Each sample as it comes, at full size. Prints expected and emulated cycles, the quotient, and how long the expectation
took; asserts nothing.
"""

from __future__ import annotations

import argparse
import time

from binalloc.emulator.runs.run import run
from binalloc.errors import BinallocError
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.estimate.estimate import Estimates
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.kernels import find_kernel, kernel_use
from binalloc.report.table import table
from tests.benchmarks.emulator.one_sm import module_of, program_launches


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--machine", default="gtx680")
    parser.add_argument("samples", nargs="*")
    options = parser.parse_args()
    machine = load_machine(options.machine)
    rows = []
    for path in program_launches():
        if options.samples and path.stem not in options.samples:
            continue
        module, launch = module_of(path), load_launch(path)
        kernel = find_kernel(module, launch.kernel or None)
        request = Request(kernel=kernel.name, machine=machine, launch=launch, emulate=False)
        try:
            version = baseline(module, request)
        except BinallocError as error:
            print(f"{path.stem}: {error}")
            continue
        before = time.process_time()
        estimates = Estimates(module, request)
        expected = launch.blocks * kernel_use(kernel, launch).warps / estimates.rate(version)
        seconds = time.process_time() - before
        ran = run(version.module, kernel.name, launch, machine).cycles
        hangs = "" if estimates.sure else "depends on data"
        rows.append([path.stem, round(expected), ran, f"{expected / ran:.2f}", f"{seconds:.2f}", hangs])
    print(table(["sample", "expected", "emulated", "quotient", "s", "walk"], rows, left=1))


if __name__ == "__main__":
    main()
