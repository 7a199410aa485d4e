"""What the unified paper states of its benchmarks (section 5, Table 1 and the text on Figs. 6 and 7).

Fermi is a Tesla C2075, Kepler a GTX680. Per-benchmark speedups stand in the figures alone, which give no numbers: what
the text says of them is kept in words. Block sizes are not printed; `BLOCK` says how sure each is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

FERMI, KEPLER = "c2075", "gtx680"
MACHINES = (KEPLER, FERMI)
"""In the order of the paper's figures."""


@dataclass(frozen=True)
class Table1Figures:
    """A row of Table 1 on one machine. sample: what stands in for the benchmark. demand: registers per thread without
    spilling. user_shared: bytes per thread. instruction_change: static instructions at the automatic occupancy over
    the original's. misses, misses_local: cache misses of a hundred accesses there, with spills to shared memory first
    and with all spills to local memory."""

    sample: str
    demand: int
    user_shared: float
    instruction_change: float
    misses: float
    misses_local: float


@dataclass(frozen=True)
class Benchmark:
    """One of the seven. block: how its block size is known."""

    kernel: str
    domain: str
    block: str
    on: dict[str, Table1Figures]


FIRM, INFERRED, CHOSEN = "firm", "inferred", "chosen"
BLOCK = {
    FIRM: "follows from Table 1's shared bytes per thread, or from the text",
    INFERRED: "the only one with which the text makes sense",
    CHOSEN: "the benchmark suite's own",
}

BENCHMARKS = (
    Benchmark(
        "cfd", "Simulation", CHOSEN,
        {
            FERMI: Table1Figures("cfd_192", 61, 0.0, 1.00, 90.49, 90.49),
            KEPLER: Table1Figures("cfd_192", 63, 0.0, 1.12, 0.0, 83.68),
        },
    ),
    Benchmark(
        "dxtc", "Imaging", FIRM,
        {
            FERMI: Table1Figures("dxtc_512", 43, 10.0, 1.03, 32.81, 54.39),
            KEPLER: Table1Figures("dxtc_256", 49, 12.0, 1.00, 0.0, 0.0),
        },
    ),
    Benchmark(
        "FDTD3d", "Numerical Ana.", FIRM,
        {
            FERMI: Table1Figures("FDTD3d", 57, 7.5, 1.05, 0.0, 0.0),
            KEPLER: Table1Figures("FDTD3d_32x8", 48, 10.0, 1.10, 0.0, 0.0),
        },
    ),
    Benchmark(
        "hotspot", "Simulation", CHOSEN,
        {
            FERMI: Table1Figures("hotspot_16x16", 36, 12.0, 1.03, 0.0, 48.26),
            KEPLER: Table1Figures("hotspot_16x16", 39, 12.0, 1.03, 0.0, 43.09),
        },
    ),
    Benchmark(
        "imageDenoising", "Imaging", INFERRED,
        {
            FERMI: Table1Figures("imageDenoising_16x16", 63, 4.0, 1.29, 0.0, 72.99),
            KEPLER: Table1Figures("imageDenoising_16x16", 63, 4.0, 1.06, 0.0, 37.05),
        },
    ),
    Benchmark(
        "particles", "Simulation", CHOSEN,
        {
            FERMI: Table1Figures("particles_256", 50, 0.0, 1.09, 0.0, 44.44),
            KEPLER: Table1Figures("particles_256", 52, 0.0, 1.12, 0.0, 43.41),
        },
    ),
    Benchmark(
        "recursiveGaussian", "Imaging", FIRM,
        {
            FERMI: Table1Figures("recursiveGaussian_1024", 41, 0.0, 1.00, 0.0, 83.69),
            KEPLER: Table1Figures("recursiveGaussian_1024", 42, 0.0, 1.07, 72.77, 90.09),
        },
    ),
)  # fmt: skip

FIGURE1 = {"heartwall": "heartwall", "particles": "particles_256", "dxtc": "dxtc_256", "FDTD3d": "FDTD3d_32x8"}
"""The benchmarks of Fig. 1, which is a GTX680's, and the samples that stand in for them."""
FIGURE1_MACHINE = KEPLER
FIGURE1_LEAST = 32
"""Its least registers per thread."""
FIGURE1_BEST = {"dxtc": 40}
"""Where the text says that a benchmark is fastest."""


class Claim(StrEnum):
    """What the text says of a benchmark in Figs. 6 and 7."""

    FASTER = "faster than the original with the automatic choice"
    BELOW_BEST = "below its best with the automatic choice"
    NOT_IMPROVED = "not improved, as the automatic choice keeps its occupancy"
    LESS_THAN_ELSEWHERE = "improved much less than on the other machine"
    MORE_THAN_ELSEWHERE = "improved much more than on the other machine"


STATED = {
    KEPLER: {
        "FDTD3d": (Claim.BELOW_BEST,),
        "imageDenoising": (Claim.BELOW_BEST,),
        "recursiveGaussian": (Claim.FASTER, Claim.MORE_THAN_ELSEWHERE),
    },
    FERMI: {
        "cfd": (Claim.NOT_IMPROVED,),
        "FDTD3d": (Claim.FASTER, Claim.BELOW_BEST),
        "particles": (Claim.FASTER, Claim.BELOW_BEST),
        "recursiveGaussian": (Claim.FASTER, Claim.LESS_THAN_ELSEWHERE),
    },
}
"""By machine and kernel; see `claims`."""


def claims(machine: str, kernel: str) -> tuple[Claim, ...]:
    """What the text says of one; of those that it does not name it says that they are "typically faster"."""
    return STATED[machine].get(kernel, (Claim.FASTER,))
