"""No work for Python's garbage collector while much is built that lives on. Needs and leaves nothing else."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_GROWTH = 2
"""How many times as many blocks of memory may be taken as after the last look at everything, until there is one."""
_FEW = 2_000_000
"""Blocks that are few: one run of the tool seldom takes more, and then no look is worth its time."""


class _Looked:
    """blocks: taken after the last look at everything."""

    blocks = 0


@contextmanager
def no_collection() -> Iterator[None]:
    """Within, and in functions that have it as a decorator, the collector does not look. Objects are freed as ever when
    nobody refers to them; only circles of them wait, and what hangs on these. What is there afterwards counts as old,
    so that it is not walked over at once; where much has come together since the last time, everything is."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # else somebody wants those to stay apart
            gc.freeze()
            gc.unfreeze()
        gc.enable()
        if sys.getallocatedblocks() > _GROWTH * max(_Looked.blocks, _FEW):
            gc.collect()
            _Looked.blocks = sys.getallocatedblocks()
