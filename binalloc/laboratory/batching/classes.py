"""This module sorts kernels into the batching paper's classes (section 6.1.1), by its rule with numbers.

C1: "high local access ratio (on average 99%) and significant performance improvement across all the configurations
employed by TEMP". C2: the ratio is high, too (93 %), with "a slight performance reduction (1%) under TEMP yet the
effective performance improvement under TEMP+TBAS". C3: the ratio is not high, and performance "is degraded". The paper
gives no limits; those here are ours. What C3 says of performance is judged as a sentence (`published`), since its own
numbers contradict it.
"""

from __future__ import annotations

from binalloc.laboratory.batching.published import C1, C2, C3, NONE

HIGH = 0.90
"""A local ratio from which on accesses count as local: a little less than the 93 % that the paper calls high."""
SIGNIFICANT = 2.0
"""Per cent of speed from which on a gain counts: what TEMP+TBAS gives C2 is "slight" with as much."""
SLIGHT = -5.0
"""Per cent of speed down to which a loss is slight: five times what the paper has on average."""


def class_of(local_ratio: float | None, temp: float, temp_tbas: float) -> str:
    """Return the class of a kernel. local_ratio: under TEMP; temp, temp_tbas: gains of speed over CCWS in per cent."""
    if local_ratio is None or local_ratio < HIGH:
        return C3
    if temp >= SIGNIFICANT and temp_tbas >= SIGNIFICANT:
        return C1
    if SLIGHT <= temp < 0 < temp_tbas:
        return C2
    return NONE
