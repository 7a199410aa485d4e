"""What is counted of each instruction of a profiled run: further columns of its row of the program, behind the staged.

They are there in profiled runs alone (`Gpu.profile`), which are runs of the checking build.
"""

from __future__ import annotations

from binalloc.emulator.state.counters import REASONS, STATS
from binalloc.emulator.state.layout import COLUMNS

FIRST_STALL = COLUMNS  # issue slots lost, by `Stall`
FIRST_COUNT = FIRST_STALL + REASONS  # the SM's counters, by `Stat`
LATENCIES = FIRST_COUNT + STATS  # accesses whose data has come; cycles from issue to data, summed; the most of them
LATENCY_SUM = LATENCIES + 1
LATENCY_MAX = LATENCIES + 2
PROFILED_COLUMNS = LATENCIES + 3
