"""Python's garbage collector is held back while much is built that lives on. Needs and leaves nothing else."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_GROWTH = 2
"""A full collection is due when this many times as many blocks of memory are allocated as after the last one. It bounds
garbage by as much again as is in use."""
FEW = 2_000_000
"""Below this many allocated blocks, times `_GROWTH`, no full collection is due: one run of the tool seldom allocates
more, and ends before a collection has paid for its time."""


class _Looked:
    """The last full collection is remembered here for the whole process."""

    blocks = 0  #: blocks of memory allocated right after it


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the garbage collector from running in the body, or in a function that has this as a decorator.

    Objects are freed as ever when nobody refers to them. Only cycles of references wait, with the objects that they
    hold. Objects that exist at the end count as old, so that the next young collection does not walk over them. Where
    memory has grown much since the last full collection, one is made at the end.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # else somebody froze objects and wants them to stay so
            gc.freeze()
            gc.unfreeze()
        gc.enable()
        if sys.getallocatedblocks() > _GROWTH * max(_Looked.blocks, FEW):
            gc.collect()
            _Looked.blocks = sys.getallocatedblocks()
