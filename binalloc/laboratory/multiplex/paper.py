"""This is what the multiplex paper states (section 7): kernels and machines, averages, largest gains, and orders.

Figures 11, 14 and 15 are bar charts. Figures of single kernels are not printed, so what the text says of them is kept
in words.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from binalloc.pipeline.multiplex.build import CO_HW, CO_VTB, HW, PIPE, VTB

KERNELS = {
    "MV": "matrixVector",
    "FFT": "fourierTransform",
    "MC": "marchingCubes",
    "STO": "slidingMD5",
    "SP": "scalarProducts",
    "HG": "histogram",
    "CV": "convolution",
}
"""The seven kernels of Table 1 that shared memory limits and section 7 speaks of, with the samples that stand in."""
DIVIDED = ("MC", "STO", "HG")
"""The kernels to which the paper applies the collaborative schemes (section 6)."""
GTX285, GTX480_16K, GTX480_48K, SIMULATED = "gtx285", "gtx480-16k", "gtx480", "gtx285-gpgpusim"
SOFTWARE = (GTX285, GTX480_16K, GTX480_48K)
"""The cards of Fig. 11."""
MACHINES = (*SOFTWARE, SIMULATED)
"""The paper's machines: the cards, and the one of GPGPU-Sim on which Figs. 14 and 15 were made."""
MODERN = ("a100", "h100")
"""Machines that the paper does not have. They show what is left to gain where an SM has ten times its shared memory."""
BEST = "best"
"""In place of a scheme's name: the fastest version of each kernel in one of the paper's software schemes."""
AVERAGES: dict[str, dict[str, float]] = {
    GTX285: {BEST: 1.44},
    GTX480_16K: {BEST: 1.70, VTB: 1.42, PIPE: 1.60, CO_VTB: 1.61},
    GTX480_48K: {BEST: 1.26, VTB: 1.09, PIPE: 1.22, CO_VTB: 1.14},
    SIMULATED: {HW: 1.53, CO_HW: 1.42},
}
"""Geometric means that the text states, by machine and scheme; those of collaborative schemes are over `DIVIDED`."""
LARGEST: dict[str, dict[str, float]] = {
    GTX285: {BEST: 1.95},
    GTX480_16K: {BEST: 2.19},
    GTX480_48K: {},
    SIMULATED: {HW: 2.34, CO_HW: 1.88},
}
"""The largest gains of single kernels that the text states. Of GTX480 it is not said at which split: 2.19 is put beside
16 KB, where gains are larger."""
SHARE = 0.256
"""The part of a block's life in which shared memory is in use: a geometric mean over all ten kernels (Fig. 1)."""


@dataclass(frozen=True)
class Curve:
    """A Curve is a figure in which the work of a kernel's launch grows, on GTX480."""

    figure: int
    kernel: str
    work: str  #: what there is more of
    extents: tuple[int, ...]
    per_block: int  #: how much of it a block does
    gain: float  #: mean gain of vtb-pipe at 48 KB
    largest: float  #: largest gain there


_KILO = 1024
MV_CURVE = Curve(12, "MV", "rows", tuple(n * _KILO for n in (8, 16, 32, 64, 128)), 32, 1.52, 1.74)
"""The paper's gains of MV are over CUBLAS, of which it says that the original is as fast at 48 KB. A matrix has 1,024
columns."""
FFT_CURVE = Curve(13, "FFT", "transforms", (128, 256, 512, 1024, 2048), 1, round(205.9 / 168.3, 3), 1.33)
"""The mean gain of FFT is that of the throughputs that the paper states, in GFLOPS."""
CURVES = (MV_CURVE, FFT_CURVE)
CURVE_MACHINES = (GTX480_16K, GTX480_48K)
"""The cards of Figs. 12 and 13."""


class Order(StrEnum):
    """An Order is a statement of the paper's text that one gain is larger than another, as reports print it."""

    CO_FIRST = "co-vtb gains most of the software schemes"
    PIPE_OVER_VTB = "vtb-pipe gains more than vtb, but for MC"
    SMALL_FIRST = "gains are largest on gtx480-16k, and smallest on gtx480"
    ONE_MORE = "one more block than static memory allows (K+1) gains less than two or three more"
    ALIKE = "two and three more blocks (K+2, K+3) gain about the same"
    MORE_FOR_SOME = "FFT and MC gain more from K+3 than from K+2"
    FEWER_FOR_SOME = "HG and MV do not gain more from K+3 than from K+2"
    CO_HW_FOR_MC = "co-hw gains more than hw for MC"
    HW_FOR_OTHERS = "hw gains more than co-hw for STO and HG"


@dataclass(frozen=True)
class Judged:
    """A Judged is an order, and whether it holds here."""

    order: Order
    holds: bool | None  #: None where what decides it is missing
    counters: str  #: the figures that it compares, in words
    waits: tuple[str, ...] = ()  #: if it does not hold, for each kernel what issue slots waited for


ABOUT = 0.02
"""Mean gains that differ by less are "about the same". The paper has a bar chart, in which one hardly sees less."""
