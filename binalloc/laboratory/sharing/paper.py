"""This module has what "Scratchpad Sharing in GPUs" states of its experiments, as data."""

from __future__ import annotations

from dataclasses import dataclass

MACHINE = "gpgpusim-sharing"
"""Table II."""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark is a kernel of the paper with the sample that stands in for it."""

    kernel: str  #: the paper's name
    sample: str
    group: int  #: its set: 1 and 2 of Table I, 3 of Table IV; 9 of Table IX, 0 of Table VII
    #: instructions per cycle of Table XIII: unshared under LRR, GTO and two-level, and Shared-OWF-OPT
    ipc: tuple[float, float, float, float] | None = None
    #: instructions of Table VI: threads, without sharing, added by Shared-OWF-OPT
    instructions: tuple[int, int, int] | None = None


BENCHMARKS = (
    Benchmark("backprop", "backprop", 1, (178.01, 179.78, 178.38, 310.1), (1_048_576, 131_203_072, 2_031_616)),
    Benchmark("DCT1", "DCT1", 1, (284.48, 289.39, 281.54, 322.28), (32_768, 9_371_648, 32_768)),
    Benchmark("DCT2", "DCT2", 1, (283.84, 287.16, 288.42, 325.83), (32_768, 9_502_720, 32_768)),
    Benchmark("DCT3", "DCT3", 1, (358.11, 373.21, 384.3, 423.12), (32_768, 11_255_808, 49_152)),
    Benchmark("DCT4", "DCT4", 1, (381.23, 402.4, 406.12, 436.2), (32_768, 11_157_504, 49_152)),
    Benchmark("NQU", "NQU", 1, (35.77, 35.77, 35.76, 37.46), (24_576, 1_282_747, 48_768)),
    Benchmark("SRAD1", "SRAD1", 1, (199.18, 200.58, 199.23, 227.74), (4_161_600, 756_433_955, 4_161_600)),
    Benchmark("SRAD2", "SRAD2", 1, (67.19, 67.39, 66.98, 76.18), (4_161_600, 450_077_975, 4_161_600)),
    Benchmark(
        "FDTD3d", "FDTD3d_32x4", 2, (330.52, 331.96, 328.95, 322.94), (144_384, 5_549_531_392, 288_768)
    ),
    Benchmark("heartwall", "heartwall_128", 2, (104.92, 104.92, 105.05, 201.62), (17_920, 11_280_920, 35_840)),
    Benchmark(
        "histogram", "histogram_192", 2, (153.46, 153.38, 151.56, 153.19), (46_080, 893_769_168, 92_160)
    ),
    Benchmark("MC1", "MC1", 2, (44.43, 44.57, 44.15, 58.79), (3_008, 2_881_568, 6_016)),
    Benchmark("NW1", "NW1", 2, (25.34, 25.34, 25.26, 25.94), (3_184, 5_580_458, 3_184)),
    Benchmark("NW2", "NW2", 2, (25.4, 25.4, 25.32, 27.51), (3_168, 5_561_919, 3_168)),
    Benchmark("BFS", "BFS", 3), Benchmark("b+tree", "bplustree", 3), Benchmark("DCT5", "DCT5", 3),
    Benchmark("gaussian", "gaussian", 3), Benchmark("NN", "NN", 3),
    Benchmark("CV", "convolution", 9), Benchmark("FFT", "fourierTransform", 9), Benchmark("HG", "HG_32", 9),
    Benchmark("MC", "marchingCubes", 9), Benchmark("MV", "matrixVector", 9), Benchmark("SP", "scalarProducts", 9),
    Benchmark("kmeans", "kmeans", 0), Benchmark("lud", "lud", 0),
)  # fmt: skip
"""Tables I, IV and IX, and those of Table VII for 16 KB. NW's threads are the paper's, no multiples of its blocks."""
LAUNCH_OF_NOTHING = "heartwall"
"""Its launch never touches shared memory, the paper says; its gain is one of blocks alone."""
MEANS = {"lrr": 19.01, "gto": 17.73, "two_level": 18.08}
"""Gains of Shared-OWF-OPT in per cent, by the scheduler of unshared blocks: geometric means over Sets 1 and 2 (Table
XIII)."""
MEANS_WITHOUT = {"lrr": 14.70, "gto": 13.38, "two_level": 13.75}
"""The same without `LAUNCH_OF_NOTHING`, from the figures of the table."""
