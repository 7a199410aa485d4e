"""Analyses and the checker see a barrier of a block as a `Barrier`."""

from __future__ import annotations

from typing import NamedTuple


class Barrier(NamedTuple):
    """A barrier instruction lets a warp arrive at one of the barriers of its block."""

    number: int  #: which of the block's barriers it is
    waits: bool  #: whether the warp waits until the barrier opens
    combines: bool  #: whether it writes one value for all threads that arrived
    #: threads that have to arrive, 0 for all of the block; None where only a run shows it
    threads: int | None
    #: of a barrier that says whether any thread has given "true": what each thread gives, where the instruction itself
    #: shows it; None for others
    gives: bool | None = None

    @property
    def whole(self) -> bool:
        """Return whether it lets threads wait for all of their block that run."""
        return self.waits and self.threads == 0

    @property
    def plain(self) -> bool:
        """Return whether it is the block's first barrier, and does nothing but wait for all of the block."""
        return self.whole and self.number == 0 and not self.combines

    @property
    def vote(self) -> bool:
        """Return whether it is the block's first barrier, of the whole block, and each thread gives the same there."""
        return self.whole and self.number == 0 and self.gives is not None
