"""Virtual code with what most passes ask of it, worked out once for each form that the code takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.transform.virtual.code import COPY, VCode
from binalloc.transform.virtual.flat import Flat, flatten
from binalloc.transform.virtual.live_ranges import LiveRanges, deaths, live_ranges


@dataclass(frozen=True)
class Analysed:
    """code: not to be changed any more. flat, live: of that code."""

    code: VCode
    flat: Flat
    live: LiveRanges

    def copied(self) -> VCode:
        """The code once more, to be changed; its items, which nobody changes, are shared."""
        blocks = [replace(block, items=list(block.items)) for block in self.code.blocks]
        return replace(self.code, blocks=blocks, names=list(self.code.names), before=dict(self.code.before))


def analysed(code: VCode) -> Analysed:
    flat = flatten(code)
    return Analysed(code, flat, live_ranges(flat, len(code.names)))


def without_dead_copies(given: Analysed) -> Analysed:
    """The code without copies that nobody reads, such as stores to local words that are values here."""
    code = given.copied()
    dropped = False
    dead = deaths(given.flat, given.live)[1]
    for b, block in enumerate(code.blocks):
        first = given.flat.starts[b]
        kept = [item for k, item in enumerate(block.items, first) if item.kind != COPY or k not in dead]
        dropped = dropped or len(kept) < len(block.items)
        block.items = kept
    return without_dead_copies(analysed(code)) if dropped else given
