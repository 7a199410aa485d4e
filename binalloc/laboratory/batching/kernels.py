"""This module lists the kernels that stand in for the batching paper's, of the suites that section 5.1 names.

Table 1, which lists the paper's own, is lost in our text; Mapper, cenergy, MUM, LBM and NN are in its sentences.
"""

from __future__ import annotations

from dataclasses import dataclass

MACHINES = ("gem5gpu-batching", "gem5gpu-batching-8k")
"""The machine of section 5.2 with a page in a row, and with two, as Fig. 9 has them."""
PROFILED_ON = MACHINES[0]
"""Which block touches which page is the same on both machines, so that one profile does."""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark is a sample with the suite that has such a kernel."""

    kernel: str  #: name of the sample, too
    suite: str


BENCHMARKS = tuple(
    Benchmark(kernel, suite)
    for suite, kernels in {
        "Mars": "mapper",
        "Parboil": "cenergy lbm sgemm spmv histogram_192",
        "ISPASS": "mum dense libor BFS slidingMD5",
        "Rodinia": "backprop cfd kmeans kmeans_rows lud NW1 pgain SRAD1",
        "CUDA SDK": "blackScholes convolution FDTD3d reduction scalarProducts transpose",
        "ours": "splitk",
    }.items()
    for kernel in kernels.split()
)  # fmt: skip
"""Their data are larger than the machine's L2. `splitk` is here for its modulus, which section 3.1 mentions."""
NO_FORMULA = ("mum", "lbm")
"""Stand-ins for the two applications of which some kernels fit no formula (section 3.1)."""
FEW_BLOCKS = "dense"
"""Stand-in for kernels of NN with fewer blocks than banks (section 6.1.1)."""
