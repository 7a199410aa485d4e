"""Prints time and cycles beside Accel-Sim's: `python -m tests.benchmarks.emulator.beside_accelsim FOLDER [SAMPLE ...]`.

FOLDER is `gpu-simulator` of a built Accel-Sim, branch `dev` (docs/measured/accelsim.md says how). Each sample of
samples/loom is scheduled for the V100 and run at full size on five SMs in both simulators. Accel-Sim gets the trace of
our run. A row has warp instructions, cycles, CPU seconds, and quotients of the latter, Accel-Sim's by ours. Our CPU
seconds are all of `binalloc run`, whose machine code is compiled before; Accel-Sim's are all of its process. Our V100
has register banks, and Accel-Sim's has others. Asserts only that both count the same warp instructions; some minutes.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

from tests.support.kits.cli import call
from tests.support.paths import SAMPLES, sample_file

SMS = 5
USUAL = ("nbody", "matmul", "stencil2d", "stencil3d")
SAME_MACHINE = (
    "-gpgpu_n_clusters", str(SMS), "-gpgpu_n_mem", "2", "-gpgpu_memory_partition_indexing", "0",
    "-gpgpu_kernel_launch_latency", "0", "-gpgpu_adaptive_cache_config", "0",
)  # fmt: skip
"""Options that make Accel-Sim's V100 the machine of `--machine v100 --sms 5`."""


@dataclass
class Ran:
    """One run of one simulator."""

    instructions: int
    cycles: int
    seconds: float


def ours(sample: str, folder: Path) -> Ran:
    """A run of the emulator; leaves its trace in `folder`."""
    scheduled = folder / "scheduled.loom"
    assert call("schedule", str(sample_file(f"{sample}.loom")), "--machine", "v100", "-o", str(scheduled)).code == 0
    command = ["run", str(scheduled), "--machine", "v100", "--launch", str(SAMPLES / "loom" / f"{sample}.toml")]
    command += ["--sms", str(SMS), "--json"]
    assert call(*command, "--accelsim-trace", str(folder / "trace")).code == 0
    start = time.process_time()
    answer = call(*command)
    seconds = time.process_time() - start
    return Ran(answer.json["stats"]["warp_instructions"], answer.json["cycles"], seconds)


def theirs(simulator: Path, folder: Path) -> Ran:
    """A run of Accel-Sim by the trace in `folder`."""
    configs = [simulator / "gpgpu-sim/configs/tested-cfgs/SM7_QV100/gpgpusim.config"]
    configs += [simulator / "configs/tested-cfgs/SM7_QV100/trace.config"]
    command = [str(simulator / "bin/release/accel-sim.out"), "-trace", str(folder / "trace/kernelslist.g")]
    command += [word for config in configs for word in ("-config", str(config))]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*command, *SAME_MACHINE], cwd=folder, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    counted, cycles = (
        int(re.findall(rf"^{name} = *(\d+)", done.stdout, re.MULTILINE)[-1])
        for name in ("gpgpu_n_tot_w_icount", "gpu_sim_cycle")
    )
    return Ran(counted, cycles, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main(simulator: Path, samples: tuple[str, ...]) -> None:
    quotients = []
    print("| sample | warp instructions | cycles | Accel-Sim | quotient | CPU s | Accel-Sim | quotient |")
    print("|---|---|---|---|---|---|---|---|")
    for sample in samples:
        with tempfile.TemporaryDirectory() as name:
            here, there = ours(sample, Path(name)), theirs(simulator, Path(name))
        assert here.instructions == there.instructions
        quotients.append(there.seconds / here.seconds)
        cycles = f"{here.cycles:,} | {there.cycles:,} | {there.cycles / here.cycles:.3f}"
        seconds = f"{here.seconds:.2f} | {there.seconds:.2f} | {quotients[-1]:.1f}"
        print(f"| {sample} | {here.instructions:,} | {cycles} | {seconds} |", flush=True)
    print(f"CPU time, geometric mean of quotients: {geometric_mean(quotients):.1f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), tuple(sys.argv[2:]) or USUAL)
