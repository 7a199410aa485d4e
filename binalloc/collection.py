"""Less work for Python's garbage collector while much is built that lives on. Needs and leaves nothing else."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_EVERY = 100_000
"""Objects made between two looks of the collector (700 by default): enough that it takes a few percent of the time, few
enough that what hangs together in circles does not fill the memory."""
_OLD = 1000
"""Looks at what is not new before one at everything, which takes longer the more there is."""


@contextmanager
def rare_collection() -> Iterator[None]:
    """Within, and in functions that have it as a decorator, the collector looks seldom. Objects are freed as ever when
    nobody refers to them; only circles of them wait."""
    threshold = gc.get_threshold()
    if 0 < threshold[0] < _EVERY:
        gc.set_threshold(_EVERY, threshold[1], _OLD)
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
