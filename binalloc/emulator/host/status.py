"""What `device_loop.run_quantum` returns."""

from __future__ import annotations

GOES_ON, ENDED, FAULTED, AT_LIMIT, LOG_FULL = range(5)
