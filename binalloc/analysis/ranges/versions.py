"""This module finds which definition of a web a use reads.

Needs a function's webs; leaves them untouched. A *version* of a web is one of its definitions, or what it is where
several meet: at the blocks where an SSA form has a phi, and behind a guarded definition. (Cytron et al., "Efficiently
Computing Static Single Assignment Form and the Control Dependence Graph", TOPLAS 1991, section 5; looked up from the
use, so that nothing is renamed.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from enum import Enum
from typing import NamedTuple

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.flow.frontiers import frontiers, iterated
from binalloc.analysis.program import FunctionAnalysis
from binalloc.analysis.web import WebNumber, WebPoint


class Kind(Enum):
    """A version's kind says where the web gets this value."""

    ENTRY = 0  # the function's entry, or nowhere
    DEF = 1  # an instruction that writes it in every thread that comes to it
    EITHER = 2  # a guarded instruction: its result, or the version before
    JOIN = 3  # the begin of a block


class Version(NamedTuple):
    """A version of a web is a value that it has from one place on."""

    web: WebNumber
    kind: Kind
    place: int  #: the instruction, or the block of a join
    ref: int = 0  #: of an instruction's definition, as in `WebPoint`
    unit: int = 0


class Versions:
    """The versions of a function are found on request."""

    def __init__(self, f: FunctionAnalysis) -> None:
        self.function, self.tree = f, f.dominators()
        self.defs: dict[tuple[BlockNumber, WebNumber], list[WebPoint]] = defaultdict(list)
        self.joins: dict[WebNumber, set[int]] = {}
        self.out: dict[tuple[BlockNumber, WebNumber], Version] = {}
        frontier = frontiers(f.cfg, self.tree)
        for web in f.webs:
            inside = sorted({p for p in web.defs if p.instr >= 0})
            blocks = {f.cfg.block_of[p.instr] for p in inside}
            for p in inside:
                self.defs[f.cfg.block_of[p.instr], web.id].append(p)
            given = web.undefined or web.arg
            if len(web.defs) > 1 or given:
                self.joins[web.id] = iterated(frontier, blocks | ({f.cfg.rpo[0]} if given else set()))

    def before(self, index: int, web: WebNumber) -> Version:
        """Return the version that instruction `index` reads."""
        block = self.function.cfg.block_of[index]
        found = self.defs.get((block, web))
        if found:
            at = bisect_left(found, (index,))
            if at:
                return self._defined(found[at - 1], web)
        return self.entering(block, web)

    def entering(self, block: BlockNumber, web: WebNumber) -> Version:
        """Return the version at the begin of a block."""
        if block in self.joins.get(web, ()):
            return Version(web, Kind.JOIN, block)
        if block == self.tree.root:
            return Version(web, Kind.ENTRY, -1)
        return self.leaving(BlockNumber(self.tree.idom[block]), web)

    def leaving(self, block: BlockNumber, web: WebNumber) -> Version:
        """Return the version at the end of a block."""
        passed: list[BlockNumber] = []
        while (block, web) not in self.out:
            found = self.defs.get((block, web))
            if found:
                self.out[block, web] = self._defined(found[-1], web)
            elif block in self.joins.get(web, ()) or block == self.tree.root:
                self.out[block, web] = self.entering(block, web)
            else:
                passed.append(block)
                block = BlockNumber(self.tree.idom[block])
        version = self.out[block, web]
        self.out |= dict.fromkeys([(b, web) for b in passed], version)
        return version

    def previous(self, version: Version) -> Version:
        """Return the version that a guarded definition leaves in threads whose guard does not hold."""
        return self.before(version.place, version.web)

    def _defined(self, point: WebPoint, web: WebNumber) -> Version:
        guarded = self.function.cfg.views[point.instr].guard is not None
        return Version(web, Kind.EITHER if guarded else Kind.DEF, *point)
