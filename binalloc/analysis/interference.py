"""This module builds the interference graph over the webs of one function.

Needs its `Webs`. Classes are 32-bit words (files R and L) and predicates (file P). Two webs of one class interfere in
three cases: one is defined where the other is live after, both are defined by one instruction, or both are live at
entry. Dead
definitions count: they still write a register. Chaitin's exemption: an unguarded copy does not make its source and
target interfere.

An instruction's sources may share registers with its targets, whole or in part (register groups): hardware and emulator
read all operands before they write a result, so there are no early clobbers.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.locations import PRED_MASK, locations_in
from binalloc.analysis.web import WebNumber, Webs
from binalloc.isa.interface.places import PRED

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass
class InterferenceGraph:
    """An interference graph is symmetric and without loops, in compressed rows.

    The neighbours of web w, ascending, are neighbour[start[w]:start[w + 1]].
    """

    count: int  #: number of webs
    start: NDArray[np.int64]  #: where each row starts
    neighbour: NDArray[np.int32]  #: all rows, one behind the other
    moves: list[tuple[WebNumber, WebNumber]]  #: (target, source) webs of unguarded copies, in code order
    _rows: dict[WebNumber, int] = field(default_factory=dict, repr=False)

    def neighbours(self, web: WebNumber) -> list[WebNumber]:
        """Return the webs that interfere with `web`, ascending."""
        row: list[WebNumber] = self.neighbour[self.start[web] : self.start[web + 1]].tolist()
        return row

    def degree(self, web: WebNumber) -> int:
        return int(self.start[web + 1] - self.start[web])

    def degrees(self) -> list[int]:
        """Return the degree of every web."""
        out: list[int] = np.diff(self.start).tolist()
        return out

    def row(self, web: WebNumber) -> int:
        """Return the neighbours of `web` as a bitset of web ids (kept after the first call)."""
        if web not in self._rows:
            row = self.neighbour[self.start[web] : self.start[web + 1]]
            flags = np.zeros(int(row[-1]) + 1 if len(row) else 0, np.uint8)
            flags[row] = 1
            self._rows[web] = int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
        return self._rows[web]

    def adjacency(self) -> list[int]:
        """Return the bitset rows of all webs. Quadratic memory: webs squared / 16 bytes on average."""
        return [self.row(WebNumber(w)) for w in range(self.count)]

    @property
    def edges(self) -> int:
        return len(self.neighbour) // 2


def build_interference(webs: Webs, *, copies: bool = True) -> InterferenceGraph:
    """Return the interference graph of a function. With `copies`, source and target of a copy may share a place.

    Time and memory grow with the sum over definitions of the number of live webs.
    """
    sources, lengths, targets = array("i"), array("i"), array("i")
    _clique(list(webs.entry[0].values()), webs, sources, lengths, targets)
    for block in webs.cfg.rpo:
        _block_edges(webs, block, copies, sources, lengths, targets)
    moves = [pair for i in sorted(webs.copies) for pair in webs.copies[i]]
    return _compress(len(webs), sources, lengths, targets, moves)


def _compress(
    count: int, sources: array[int], lengths: array[int], targets: array[int], moves: list[tuple[WebNumber, WebNumber]]
) -> InterferenceGraph:
    """Sort edges, drop repetitions and loops, and store both directions in rows.

    An edge is source * count + target.
    """
    one = np.repeat(np.asarray(sources, np.int32), np.asarray(lengths, np.int32))
    two = np.asarray(targets, np.int32)
    keys = np.minimum(one, two).astype(np.int64)
    keys *= count
    keys += np.maximum(one, two)
    keys = keys[one != two]
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) != 0]
    low, high = np.divmod(keys, max(count, 1))
    both = np.concatenate([keys, high * count + low])
    both.sort()
    rows, columns = np.divmod(both, max(count, 1))
    start = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=count), out=start[1:])
    return InterferenceGraph(count, start, columns.astype(np.int32), moves)


def _clique(
    members: list[WebNumber], webs: Webs, sources: array[int], lengths: array[int], targets: array[int]
) -> None:
    """Add edges between all members of one class."""
    for kind in (True, False):
        part = [w for w in members if (webs[w].file == PRED) is kind]
        for w in part:
            sources.append(w)
            lengths.append(len(part))
            targets.extend(part)


def _block_edges(
    webs: Webs,
    block: BlockNumber,
    copies: bool,
    sources: array[int],
    lengths: array[int],
    targets: array[int],
) -> None:
    """Add edges between every definition of one block and the webs live after it, walking forwards."""
    live, all_webs, cfg = webs.live, webs.webs, webs.cfg
    now = dict(webs.entry[block])
    words = {w for loc, w in now.items() if not 1 << loc & PRED_MASK}
    preds = {w for loc, w in now.items() if 1 << loc & PRED_MASK}
    for i in range(cfg.blocks[block].start, cfg.blocks[block].end):
        after = live.after[i]
        for loc in locations_in(live.before[i] & ~after):
            (preds if 1 << loc & PRED_MASK else words).discard(now.pop(loc))
        defined = webs.defined_at.get(i)
        if not defined:
            continue
        for w in defined:
            loc = all_webs[w].loc
            if after >> loc & 1:
                kind = preds if 1 << loc & PRED_MASK else words
                kind.discard(now.get(loc, -1))
                kind.add(w)
                now[loc] = w
        sources_of = dict(webs.copies[i]) if copies and i in webs.copies else {}
        for w in defined:
            kind = preds if 1 << all_webs[w].loc & PRED_MASK else words
            source = sources_of.get(w, -1)
            others = kind - {source} if source in kind else kind
            sources.append(w)
            lengths.append(len(others))
            targets.extend(others)
        if len(defined) > 1:
            _clique(defined, webs, sources, lengths, targets)
