"""This module has what "Thread Batching for High-performance Energy-efficient GPU Memory Design" states of its results.

Drawings and bars are lost in our text, and so are the values of the baseline, over which most numbers are. So
directions can be compared, and sizes cannot. Where sentences contradict each other, the first one is here and the other
is beside.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.laboratory.batching.kernels import FEW_BLOCKS

C1, C2, C3, NONE, ALL = "C1", "C2", "C3", "none", "all"
"""Classes of section 6.1.1; kernels that fit none of them; all kernels."""
ABOVE, BELOW = "above", "below"


@dataclass(frozen=True)
class Saying:
    """A saying is a sentence of the paper on a measure under a scheme, over another scheme or over a number."""

    figure: str  #: its figure, "" for a sentence without one
    text: str  #: in short
    scheme: str
    measure: str  #: a name of `measures.MEASURES`
    relation: str
    over: str = ""  #: the other scheme; "": the measure itself is compared with `than`
    than: float = 0.0
    paper: float | None = None  #: the paper's change over the other scheme in per cent, or its measure; None: no number
    of: str = ALL  #: a class, a kernel, or all
    note: str = ""  #: what contradicts it in the paper


_PERFORMANCE = (
    Saying("10", "TEMP is faster than CCWS", "temp", "speed", ABOVE, "ccws", paper=5.7),
    Saying("10", "TEMP+TBAS is faster than CCWS", "temp_tbas", "speed", ABOVE, "ccws", paper=10.3),
    Saying("10", "TEMP+TBAS is faster than TEMP", "temp_tbas", "speed", ABOVE, "temp", paper=4.4),
    Saying("10", "OWL is slower than CCWS", "owl", "speed", BELOW, "ccws", paper=-6.4),
    Saying("10", "TEMP is faster than OWL", "temp", "speed", ABOVE, "owl", paper=12.9),
    Saying("10", "BW-AWARE is faster than CCWS", "bw_aware", "speed", ABOVE, "ccws", paper=5.1),
    Saying("10", "TEMP is faster than CCWS", "temp", "speed", ABOVE, "ccws", paper=11.1, of=C1),
    Saying("10", "TEMP is faster than OWL", "temp", "speed", ABOVE, "owl", paper=24.0, of=C1),
    Saying("10", "TEMP+TBAS is faster than CCWS", "temp_tbas", "speed", ABOVE, "ccws", paper=15.0, of=C1),
    Saying("10", "TEMP is a little slower than CCWS", "temp", "speed", BELOW, "ccws", paper=-1.0, of=C2),
    Saying("10", "TEMP+TBAS is faster than CCWS", "temp_tbas", "speed", ABOVE, "ccws", paper=2.0, of=C2),
    Saying("10", "TEMP is slower than CCWS", "temp", "speed", BELOW, "ccws", paper=-2.5, of=C3),
    Saying("10", "TEMP+TBAS is faster than CCWS", "temp_tbas", "speed", ABOVE, "ccws", paper=2.3, of=C3,
           note="the class is defined as one that TEMP and TBAS degrade"),
)  # fmt: skip
_MEMORY = (
    Saying("11", "accesses are local", "temp", "local_ratio", ABOVE, than=90.0, paper=99.0, of=C1),
    Saying("11", "accesses are local", "temp", "local_ratio", ABOVE, than=90.0, paper=93.0, of=C2),
    Saying("12", "TEMP has more busy banks", "temp", "bank_parallelism", ABOVE, "ccws", paper=58.3, of=C1),
    Saying("12", "TEMP has more row hits", "temp", "row_hits", ABOVE, "ccws", paper=17.8, of=C1),
    Saying("12", "TEMP has shorter delays of DRAM", "temp", "dram_delay", BELOW, "ccws", paper=-17.3, of=C1),
    Saying("12", "OWL has more busy banks", "owl", "bank_parallelism", ABOVE, "ccws", paper=16.3, of=C1),
    Saying("12", "OWL has more row hits", "owl", "row_hits", ABOVE, "ccws", paper=8.6, of=C1),
    Saying("12", "OWL has more congestion", "owl", "reply_stalls", ABOVE, "ccws", paper=33.6, of=C1),
    Saying("12", "TEMP+TBAS has fewer busy banks than TEMP", "temp_tbas", "bank_parallelism", BELOW, "temp",
           paper=-9.1, of=C1),
    Saying("12", "TEMP+TBAS has more row hits", "temp_tbas", "row_hits", ABOVE, "ccws", paper=33.1, of=C1),
    Saying("12", "TEMP+TBAS has shorter delays of DRAM", "temp_tbas", "dram_delay", BELOW, "ccws",
           paper=-29.9, of=C1),
    Saying("12", "TEMP+TBAS has less congestion", "temp_tbas", "reply_stalls", BELOW, "ccws", paper=-18.7, of=C1),
    Saying("12", "TEMP has longer delays of DRAM", "temp", "dram_delay", ABOVE, "ccws", of=C3),
    Saying("12", "TEMP+TBAS has more row hits", "temp_tbas", "row_hits", ABOVE, "ccws", of=C2),
    Saying("12", "TEMP+TBAS has less congestion", "temp_tbas", "reply_stalls", BELOW, "ccws", of=C2),
    Saying("12", "TEMP may limit the busy banks of few blocks", "temp", "bank_parallelism", BELOW, "ccws",
           of=FEW_BLOCKS),
    Saying("", "OWL has fewer hits of L1", "owl", "l1_hits", BELOW, "ccws"),
    Saying("", "OWL has more accesses to DRAM", "owl", "dram_bytes", ABOVE, "ccws"),
)  # fmt: skip
_ENERGY = (
    Saying("13", "activations dominate the energy of DRAM", "ccws", "activation_share", ABOVE, than=50.0),
    Saying("13", "TEMP needs less energy", "temp", "energy", BELOW, "ccws", paper=-11.2),
    Saying("13", "TEMP+TBAS needs less energy", "temp_tbas", "energy", BELOW, "ccws", paper=-20.7,
           note="11.3 % in its abstract and conclusion"),
    Saying("13", "OWL needs less energy", "owl", "energy", BELOW, "ccws", paper=-5.9),
    Saying("13", "OWL saves less than TEMP+TBAS", "owl", "energy", ABOVE, "temp_tbas"),
    Saying("13", "Batching+BW needs less energy", "batching_bw", "energy", BELOW, "ccws", paper=-14.2),
    Saying("13", "Batching+BW saves most", "batching_bw", "energy", BELOW, "temp_tbas",
           note="its own numbers are 14.2 and 20.7 %"),
)  # fmt: skip
SAYINGS = (*_PERFORMANCE, *_MEMORY, *_ENERGY)
"""Section 6.1, with Figs. 10 to 13. TEMP+TBAS over TEMP follows from the two over CCWS."""

FORMULAS = {"stride": 89.0, "modulus": 6.0, "none": 5.0}
"""Per cent of kernels by kind of formula (section 3.1). The last one is the rest."""
DISTANCES = {"one batch": 75.0, "two batches in a row": 22.0, "global": 2.0}
"""Per cent of pages, on average, by the batches that touch them, in kernels with a stride (section 3.1, Fig. 8):
"nearly 75 %", 22 % and "more than 2 %"."""
