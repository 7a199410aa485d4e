"""This is the unified paper's data on its benchmarks (section 5: Table 1, and the text on Figs. 6 and 7).

Fermi is a Tesla C2075, Kepler a GTX680. Speedups of single benchmarks are only in the figures, without numbers, so the
text's claims about them are kept in words (`Claim`). Block sizes are not printed; `BLOCK` says how sure each is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

FERMI, KEPLER = "c2075", "gtx680"
MACHINES = (KEPLER, FERMI)
"""The paper's machines, in the order of its figures."""


@dataclass(frozen=True)
class Table1Figures:
    """A Table1Figures is a row of Table 1 on one machine."""

    sample: str  #: name of the sample that stands in for the benchmark
    demand: int  #: registers per thread without spills
    user_shared: float  #: the user's shared memory, in bytes per thread
    instruction_change: float  #: static instructions at the automatic occupancy, over the original's
    misses: float  #: cache misses in percent, at the automatic occupancy, with spills to shared memory first
    misses_local: float  #: cache misses in percent, at the automatic occupancy, with all spills to local memory


@dataclass(frozen=True)
class Benchmark:
    """A Benchmark is one of the paper's seven."""

    kernel: str
    domain: str  #: as in Table 1
    block: str  #: how its block size is known, a key of `BLOCK`
    on: dict[str, Table1Figures]  #: by machine


FIRM, INFERRED, CHOSEN = "firm", "inferred", "chosen"
BLOCK = {
    FIRM: "follows from Table 1's shared bytes per thread, or from the text",
    INFERRED: "the only one with which the text makes sense",
    CHOSEN: "the benchmark suite's own",
}
"""How a block size is known, and how the reports say it."""

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
"""The benchmarks of Fig. 1, and the samples that stand in for them."""
FIGURE1_MACHINE = KEPLER
"""The machine of Fig. 1."""
FIGURE1_LEAST = 32
"""The least number of registers per thread in Fig. 1."""
FIGURE1_BEST = {"dxtc": 40}
"""Registers per thread at which a benchmark is fastest, where the text on Fig. 1 gives them."""


class Claim(StrEnum):
    """A Claim is a statement of the paper's text on Figs. 6 and 7 about a benchmark, as reports print it."""

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
"""The text's claims about the benchmarks that it names, by machine and kernel; `claims` has them for all."""


def claims(machine: str, kernel: str) -> tuple[Claim, ...]:
    """Return the text's claims about a benchmark. It says of benchmarks that it does not name: "typically faster"."""
    return STATED[machine].get(kernel, (Claim.FASTER,))
