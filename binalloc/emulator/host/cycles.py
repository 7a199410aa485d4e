"""A run ends with an error after a number of emulated cycles. This is the default limit.

The longest sample at full size (matrixVector on gtx680) takes 19 million cycles, and a rewrite may be several times
slower. An endless loop of one warp reaches the limit within minutes.
"""

from __future__ import annotations

DEFAULT_MAX_CYCLES = 1_000_000_000
