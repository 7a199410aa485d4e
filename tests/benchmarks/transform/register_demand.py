"""Register demand of the sample suite beside what ptxas allocates for the same PTX without a cap.

    python -m tests.benchmarks.transform.register_demand [FILE.ptx ...]

Prints one row per kernel, the sum and the largest ratio. Where ptxas is not installed it says so and stops.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from binalloc.frontend.importer import import_ptx
from tests.support.paths import sample_files

SUM_LIMIT, EACH_LIMIT = 1.15, 1.40


def ptxas_registers(path: Path) -> dict[str, int]:
    """Registers per kernel as `ptxas -v` says."""
    target = re.search(r"^\.target\s+(\w+)", path.read_text(), re.MULTILINE)
    arch = target.group(1) if target else "sm_75"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as out:
        command = ["ptxas", "-v", f"-arch={arch}", str(path), "-o", out.name]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    found: dict[str, int] = {}
    kernel = ""
    for line in text.splitlines():
        if match := re.search(r"Compiling entry function '([^']+)'", line):
            kernel = match.group(1)
        elif (match := re.search(r"Used (\d+) registers", line)) and kernel:
            found[kernel] = int(match.group(1))
            kernel = ""
    return found


def main(names: list[str]) -> None:
    if shutil.which("ptxas") is None:
        print("ptxas is not installed: no comparison")
        return
    ours_sum = theirs_sum = 0
    worst = (0.0, "")
    print(f"{'kernel':28s} {'ours':>6s} {'max live':>9s} {'ptxas':>6s} {'ratio':>7s}")
    for path in [Path(n) for n in names] or sample_files(".ptx"):
        theirs = ptxas_registers(path)
        for kernel in import_ptx(path.read_text(), path.name, machine="gtx680").kernels:
            other = theirs[kernel.name]
            ratio = kernel.register_demand / other
            worst = max(worst, (ratio, kernel.name))
            ours_sum += kernel.register_demand
            theirs_sum += other
            print(f"{kernel.name:28.28s} {kernel.register_demand:6d} {kernel.max_live:9d} {other:6d} {ratio:7.3f}")
    if theirs_sum:
        print(f"sum {ours_sum} against {theirs_sum}: {ours_sum / theirs_sum:.3f} (limit {SUM_LIMIT})")
        print(f"largest ratio: {worst[0]:.3f}, {worst[1]} (limit {EACH_LIMIT})")


if __name__ == "__main__":
    main(sys.argv[1:])
