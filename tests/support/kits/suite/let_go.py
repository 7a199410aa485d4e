"""What a module of tests has kept is let go when its last test has run: a worker of a whole run held 5.6 GB.

The collector has little to do by itself here (see `SELDOM`), and what the product builds counts as old at once
(`binalloc.collection`). A device is part of a circle and holds 110 MB, so that memory decides when it is looked for.
"""

from __future__ import annotations

import gc
from types import ModuleType

SELDOM = 3_000
"""Objects between two looks at the young ones. With Python's 700 the collector took a sixth of the time of tests that
rewrite, which build much that is in no circle; with 20,000 tests that run much waited for memory."""
GROWTH = 600
"""MB that a process may grow until everything is looked at: some devices. A look takes some tenths of a second."""
_PAGES_OF_A_MB = 256


class _Looked:
    """size: of the process after the last look at everything, in MB."""

    size = 0


def let_go(module: ModuleType) -> None:
    """Empty the caches of functions of a module of tests."""
    for value in vars(module).values():
        if hasattr(value, "cache_clear") and value.__module__ == module.__name__:
            value.cache_clear()


def collect() -> None:
    """Look for circles where the process has grown much since the last time."""
    if _size() > _Looked.size + GROWTH:
        gc.collect()
        _Looked.size = _size()


def _size() -> int:
    """MB of the process that are in memory; 0 on systems that do not tell, where nothing is looked for."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) // _PAGES_OF_A_MB
    except OSError:
        return 0
