"""`device_loop.run_quantum` returns one of these codes."""

from __future__ import annotations

# the quantum is over; the launch has ended; device code reported a fault; the cycle limit is reached; the log is full
GOES_ON, ENDED, FAULTED, AT_LIMIT, LOG_FULL = range(5)
