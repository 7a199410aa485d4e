"""Profile columns count what each instruction does in a profiled run. They follow the staged columns of the
instruction's row of the program.

Only profiled runs have them (`Gpu.profile`), and these are runs of the checking build.
"""

from __future__ import annotations

from binalloc.emulator.state.counters import REASONS, STATS
from binalloc.emulator.state.layout import COLUMNS

FIRST_STALL = COLUMNS  # lost issue slots, by `Stall`
FIRST_COUNT = FIRST_STALL + REASONS  # counters of the SM, by `Stat`
LATENCIES = FIRST_COUNT + STATS  # accesses whose data has come
LATENCY_SUM = LATENCIES + 1  # sum of their cycles from issue to data
LATENCY_MAX = LATENCIES + 2  # the most cycles of one of them
PROFILED_COLUMNS = LATENCIES + 3
