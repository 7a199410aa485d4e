"""No work for Python's garbage collector while much is built that lives on. Needs and leaves nothing else."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_MOST = 2
"""Objects made without a look of the collector until there is one at everything, in numbers of the blocks of memory
that are taken. Less than one of twenty hangs together in circles; one run of the tool makes less than one for each
block."""


class _Unseen:
    """made: objects made within that the collector has not seen since, what has been freed again included."""

    made = 0


@contextmanager
def no_collection() -> Iterator[None]:
    """Within, and in functions that have it as a decorator, the collector does not look. Objects are freed as ever when
    nobody refers to them; only circles of them wait. What is there afterwards counts as old, so that it is not walked
    over at once; where much was made again and again, everything is."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        _Unseen.made += gc.get_count()[0]
        if not gc.get_freeze_count():  # else somebody wants those to stay apart
            gc.freeze()
            gc.unfreeze()
        gc.enable()
        if _Unseen.made > _MOST * sys.getallocatedblocks():
            _Unseen.made = 0
            gc.collect()
