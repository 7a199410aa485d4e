"""This module has what the sharing paper prints of its Figs. 13 to 28 and Tables VI to XIII, as data.

Bars of figures have no numbers that could be read from text. So there are the numbers of its tables and sentences, what
follows from its tables, and its sentences on which bar is higher (`Saying`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from binalloc.laboratory.sharing.paper import BENCHMARKS, MEANS

_TABLES = [b for b in BENCHMARKS if b.ipc and b.instructions]


def _gain(over: int) -> dict[str, float]:
    return {b.kernel: round(100 * (b.ipc[3] / b.ipc[over] - 1), 2) for b in _TABLES if b.ipc}


def _reduction() -> dict[str, float]:
    """Return what Tables VI and XIII say of cycles: instructions over instructions per cycle."""
    out = {}
    for b in _TABLES:
        assert b.ipc is not None
        assert b.instructions is not None
        _, before, added = b.instructions
        out[b.kernel] = round(100 * (1 - (before + added) / b.ipc[3] / (before / b.ipc[0])), 2)
    return out


_UNSHARED, _OPT, _OWF = "Unshared-LRR", "Shared-OWF-OPT", "Shared-OWF"
_BOTH_14 = dict.fromkeys(("DCT1", "DCT2"), 14.0) | dict.fromkeys(("DCT3", "DCT4"), 12.0)
_ONE_MORE = [b.kernel for b in BENCHMARKS if b.group in (1, 2) and not b.kernel.startswith(("DCT", "FDTD"))]
_WITH_PAIRS = _BOTH_14 | dict.fromkeys(_ONE_MORE, 2.0)
_XI = {
    _UNSHARED: (412_680_192, 416_022_528, 24_321_552, 27_472_640, 19_898_368, 439_812_096),
    _OPT: (412_712_960, 416_284_672, 24_387_088, 27_505_408, 19_906_560, 440_991_744),
    "VTB_PIPE": (637_648_896, 445_644_800, 29_228_560, 15_611_648, 10_682_368, 525_729_792),
    "Shared-VTB_PIPE": (637_698_048, 446_038_016, 29_294_096, 15_644_416, 10_690_560, 527_499_264),
    "VTB": (696_909_824, None, 27_352_592, 15_946_752, 10_430_464, 497_025_024),
    "Shared-VTB": (696_942_592, None, 27_418_128, 15_979_520, 10_438_656, 498_794_496),
    "CO_VTB": (None, None, 25_456_176, None, 13_253_518, None),
    "Shared-CO_VTB": (None, None, 25_521_712, None, 13_261_710, None),
}
"""Table XI, by the columns of `MULTIPLEX_ORDER`."""
MULTIPLEX_ORDER = ("MV", "FFT", "MC", "SP", "HG", "CV")

PRINTED: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "13": {
        _UNSHARED: dict.fromkeys(("DCT1", "DCT2", "DCT3", "DCT4"), 7.0) | dict.fromkeys(_ONE_MORE, 1.0),
        _OWF: _WITH_PAIRS,
        _OPT: _WITH_PAIRS,
    },
    "14": {_OPT: _gain(0)},
    "15": {_OPT: _reduction()},
    "VI": {
        _UNSHARED: {b.kernel: float(b.instructions[1]) for b in _TABLES if b.instructions},
        _OWF: {b.kernel: float(b.instructions[1]) for b in _TABLES if b.instructions},
        _OPT: {b.kernel: float(b.instructions[1] + b.instructions[2]) for b in _TABLES if b.instructions},
        "difference": {b.kernel: float(b.instructions[2]) for b in _TABLES if b.instructions},
    },
    "16": {
        "Shared-NoOpt": {"backprop": 44.0}, _OWF: {"backprop": 45.0}, "Shared-OWF-Reorder": {"backprop": 45.0},
        "Shared-OWF-PostDom": {"backprop": 75.0}, _OPT: _gain(0),
    },
    "18": {"over Unshared-GTO": _gain(1), "over Unshared-2Level": _gain(2)},
    "19": {_OPT: {"heartwall": 86.0}},
    "25": {
        "Shared-OWF-OPT-48K": {"DCT1": 8.0, "DCT2": 8.0, "FDTD3d": 16.0},
        "Shared-OWF-OPT-64K": {"backprop": 8.0, "DCT1": 8.0, "DCT2": 8.0},
    },
    "XI": {
        series: {k: float(n) for k, n in zip(MULTIPLEX_ORDER, values, strict=True) if n is not None}
        for series, values in _XI.items()
    },
    "XIII": {
        series: {b.kernel: b.ipc[k] for b in _TABLES if b.ipc}
        for k, series in enumerate((_UNSHARED, "Unshared-GTO", "Unshared-2Level", _OPT))
    },
    "VIII": {
        "bytes of shared memory": {"Configuration-1": 49152.0, "Configuration-2": 65536.0},
        "blocks": {"Configuration-1": 16.0, "Configuration-2": 32.0},
        "threads": {"Configuration-1": 2048.0, "Configuration-2": 2048.0},
    },
    "XII": {
        "SMs": {f"SM Config-{k}": n for k, n in enumerate((14.0, 15.0, 16.0, 16.0, 30.0), 1)},
        "clusters": {f"SM Config-{k}": n for k, n in enumerate((7.0, 3.0, 8.0, 4.0, 10.0), 1)},
        "SMs per cluster": {f"SM Config-{k}": n for k, n in enumerate((2.0, 5.0, 2.0, 4.0, 3.0), 1)},
    },
}  # fmt: skip
"""Numbers by figure, series and row. Those of Figs. 14 to 16 and 18 follow from Tables VI and XIII, to which the text
refers; backprop's in Fig. 16 stand above its bars, heartwall's in Fig. 19 and the blocks are in the text."""

MEANS_OF: Mapping[str, Mapping[str, float]] = {
    "14": {_OPT: MEANS["lrr"]},
    "15": {_OPT: 15.42},
    "18": {"over Unshared-GTO": MEANS["gto"], "over Unshared-2Level": MEANS["two_level"]},
    "19": {_OWF: 14.04, _OPT: 18.71},
    "20": {_OWF: 8.62, _OPT: 9.21},
}
"""Geometric means in per cent, by figure and series: sections 8.1.2, 8.1.4, 8.1.7 and 8.1.8."""

ABOVE, BELOW, ABOUT, EQUAL = "above", "below", "about", "equal"
NEAR = 5.0
"""Per cent that values may differ which the paper calls comparable. It gives no number; ours is a twentieth."""


@dataclass(frozen=True)
class Saying:
    """A saying is a sentence of the paper on which of two values of a figure is higher."""

    figure: str
    text: str  #: in short
    kernels: str  #: rows of the figure, separated by spaces
    left: str  #: a series of the figure
    relation: str
    right: str = ""  #: another series; empty: nothing gained, a value of 0; `FIGURE/SERIES`: a series of another figure


_ALL = " ".join(b.kernel for b in BENCHMARKS if b.group in (1, 2))
_SET_1 = " ".join(b.kernel for b in BENCHMARKS if b.group == 1)
_SET_2 = " ".join(b.kernel for b in BENCHMARKS if b.group == 2)
_SET_3 = " ".join(b.kernel for b in BENCHMARKS if b.group == 3)
_GAINING = " ".join(k for k in _ALL.split() if k not in ("FDTD3d", "histogram"))
_DCT = "DCT1 DCT2 DCT3 DCT4"
_VII = "backprop DCT1 DCT2 NQU histogram MC2 NW1 NW2"
_CONFIGS = range(1, 6)

SAYINGS = (
    Saying("14", "improve with sharing", _GAINING, _OPT, ABOVE),
    Saying("14", "slows down with sharing", "FDTD3d", _OPT, BELOW),
    Saying("14", "does not benefit", "histogram", _OPT, ABOUT),
    Saying("16", "show some benefit without any optimization", _GAINING, "Shared-NoOpt", ABOVE),
    Saying("16", "improve further with OWF", _GAINING, _OWF, ABOVE, "Shared-NoOpt"),
    Saying("16", "reordering has no noticeable impact", _ALL, "Shared-OWF-Reorder", ABOUT, _OWF),
    Saying("16", "improve with relssp at the post-dominator", _SET_1, "Shared-OWF-PostDom", ABOVE,
           "Shared-OWF-Reorder"),
    Saying("16", "improve with relssp at the optimal places", _SET_1, _OPT, ABOVE, "Shared-OWF-Reorder"),
    Saying("16", "do not benefit much from relssp", _SET_2, _OPT, ABOUT, "Shared-OWF-Reorder"),
    Saying("16", "are better with PostDom than with OPT", "backprop SRAD2", "Shared-OWF-PostDom", ABOVE, _OPT),
    Saying("17", "make progress before they access the shared part", _ALL, "NoOpt, before", ABOVE),
    Saying("17", "spends all cycles there", "heartwall", "NoOpt, with", ABOUT),
    Saying("18", "degrades against GTO", "FDTD3d histogram", "over Unshared-GTO", BELOW),
    Saying("18", "degrades against two-level", "FDTD3d", "over Unshared-2Level", BELOW),
    Saying("18", "is better than two-level", "histogram", "over Unshared-2Level", ABOVE),
    Saying("19", "improve further with 48 KB of L1", "DCT3 DCT4 SRAD1 SRAD2 FDTD3d", _OPT, ABOVE, f"14/{_OPT}"),
    Saying("19", "improves less with 48 KB of L1", "heartwall", _OPT, BELOW, f"14/{_OPT}"),
    Saying("20", "hold no block more: OPT is OWF exactly", f"{_DCT} SRAD1 SRAD2", _OPT, EQUAL, _OWF),
    Saying("20", "gain by the scheduler alone", _DCT, _OWF, ABOVE),
    Saying("21", "improve with more threads", "SRAD1 SRAD2", _OPT, ABOVE),
    Saying("22", "are better than with twice the memory", "DCT3 DCT4 NQU heartwall", _OPT, ABOVE),
    Saying("22", "are comparable", "DCT1 DCT2 SRAD1 SRAD2 MC1", _OPT, ABOUT),
    Saying("22", "are better with twice the memory", "backprop FDTD3d histogram NW1 NW2", _OPT, BELOW),
    Saying("23", "OWF is comparable to GTO", _SET_3, _OWF, ABOUT, "Unshared-GTO"),
    Saying("24", "improve at 48 KB", "backprop DCT1 NQU histogram MC2 NW1 NW2 heartwall MC1",
           "Shared-OWF-OPT-48K", ABOVE, "Unshared-LRR-48K"),
    Saying("24", "does not improve at 48 KB", "FDTD3d", "Shared-OWF-OPT-48K", BELOW, "Unshared-LRR-48K"),
    Saying("24", "improve at 64 KB", _VII, "Shared-OWF-OPT-64K", ABOVE, "Unshared-LRR-64K"),
    Saying("24", "are better at 48 KB than unshared at 64 KB", "backprop DCT1 histogram MC2 NQU",
           "Shared-OWF-OPT-48K", ABOVE, "Unshared-LRR-64K"),
    Saying("24", "is better at 48 KB than at 64 KB", "DCT2", "Shared-OWF-OPT-48K", ABOVE, "Shared-OWF-OPT-64K"),
    Saying("24", "improve at 16 KB", "kmeans lud", "Shared-OWF-OPT-16K", ABOVE, "Unshared-LRR-16K"),
    Saying("25", "hold more blocks at 48 KB", f"{_VII} FDTD3d heartwall MC1", "Shared-OWF-OPT-48K", ABOVE,
           "Unshared-LRR-48K"),
    Saying("25", "hold more blocks at 64 KB", _VII, "Shared-OWF-OPT-64K", ABOVE, "Unshared-LRR-64K"),
    *(Saying("26", "takes fewer cycles shared than unshared or merged", "MC", _OPT, BELOW, other)
      for other in (_UNSHARED, "VTB_PIPE", "VTB", "CO_VTB")),
    *(Saying("26", "takes fewer cycles merged and shared than merged", "MC", f"Shared-{one}", BELOW, one)
      for one in ("VTB_PIPE", "VTB", "CO_VTB")),
    *(Saying("26", "takes fewer cycles shared than unshared or piped", "FFT", _OPT, BELOW, other)
      for other in (_UNSHARED, "VTB_PIPE")),
    Saying("26", "takes fewer cycles piped and shared than piped", "FFT", "Shared-VTB_PIPE", BELOW, "VTB_PIPE"),
    Saying("26", "sharing has no impact", "HG MV", _OPT, ABOUT, _UNSHARED),
    *(Saying("26", "sharing has no impact on merged blocks", "HG MV", f"Shared-{one}", ABOUT, one)
      for one in ("VTB_PIPE", "VTB")),
    Saying("26", "are better piped than shared", "CV SP", "VTB_PIPE", BELOW, _OPT),
    *(Saying("26", "take fewer cycles merged and shared than merged", "CV SP", f"Shared-{one}", BELOW, one)
      for one in ("VTB_PIPE", "VTB")),
    *(Saying("XI", "execute more instructions when merged (Table XI)", "MV FFT MC CV", one, ABOVE, _UNSHARED)
      for one in ("VTB_PIPE", "VTB")),
    *(Saying("XI", "execute fewer instructions when merged (Table XI)", "SP HG", one, BELOW, _UNSHARED)
      for one in ("VTB_PIPE", "VTB")),
    *(Saying("28", "unshared is best with 30 SMs", _ALL, "Unshared-LRR-5", ABOVE, f"Unshared-LRR-{k}")
      for k in _CONFIGS if k != 5),
    *(Saying("28", "improve in every configuration", "heartwall backprop MC1", f"Shared-OWF-OPT-{k}", ABOVE,
             f"Unshared-LRR-{k}") for k in _CONFIGS),
    *(Saying("28", "are better with 14 SMs than with 15 that share ports by fives", _DCT, f"{one}-1", ABOVE, f"{one}-2")
      for one in (_UNSHARED, _OPT)),
    Saying("28", "unshared does not improve with the SMs", "NQU", "Unshared-LRR-5", ABOUT, "Unshared-LRR-1"),
)  # fmt: skip
"""What sections 8.1.2 to 8.3.3 say in words, and the signs of Table XI."""
