"""This module describes what each instruction writes and reads, as sets of locations. Liveness is solved over these
rows.

Needs a `Cfg`; leaves it untouched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from binalloc.analysis.flow.backward import FlowBlocks, FlowRows, literal
from binalloc.analysis.flow.cfg import Cfg
from binalloc.analysis.locations import PRED_MASK, Location, location
from binalloc.isa.interface.places import PRED_BASE, PREDICATES
from binalloc.isa.interface.view import Ref

_PLACES = tuple(1 << (PRED_BASE + p) for p in range(PREDICATES))  # for each predicate, the set with its location alone


class LiftedAccess(NamedTuple):
    """A lifted access is a load or store of local words that are lifted, that is, treated as values."""

    is_store: bool  #: it is a store
    first: Location  #: location of the first word
    words: int  #: number of words


def refs_mask(refs: tuple[Ref, ...]) -> int:
    """Return the set of locations that register and predicate operands cover."""
    mask = 0
    for r in refs:
        mask |= ((1 << r.units) - 1) << location(r.file, r.index)
    return mask


@dataclass
class InstructionFacts(FlowRows):
    """The facts of a function are the sets of locations that its instructions write and read.

    `defs` of a call is the set that the callee surely redefines.
    """

    clobbers: list[int]  #: as `defs`, but for a call all that the callee may change
    #: accesses to lifted local words, by instruction; they are in the sets, too
    local: dict[int, LiftedAccess] = field(default_factory=dict)

    @property
    def everything(self) -> int:
        """Return the union of all sets."""
        mask = 0
        for d, u in zip(self.clobbers, self.uses, strict=True):
            mask |= d | u
        for g in self.lits:
            if g >= 0:
                mask |= 1 << (PRED_BASE + (g >> 1))
        return mask


def build_facts(cfg: Cfg, local: dict[int, LiftedAccess] | None = None) -> InstructionFacts:
    """Return the sets that instructions have by themselves.

    Calls and returns have none yet (their summaries come later).
    """
    defs = [refs_mask(v.defs) for v in cfg.views]
    uses = [refs_mask(v.uses) for v in cfg.views]
    lits = [literal(v.guard) for v in cfg.views]
    for i, (is_store, first, count) in (local or {}).items():
        (defs if is_store else uses)[i] |= ((1 << count) - 1) << first
    return InstructionFacts(defs, uses, lits, [changed_predicates(d) for d in defs], _PLACES, list(defs), local or {})


def changed_predicates(locations: int) -> int:
    """Return the predicates in a set of locations, as a bitset of their own."""
    return (locations & PRED_MASK) >> PRED_BASE


def flow_of(cfg: Cfg) -> FlowBlocks:
    """Return the graph in the form that the solver needs."""
    reachable = [[p for p in preds if cfg.rpo_number[p] >= 0] for preds in cfg.preds]
    return FlowBlocks([(b.start, b.end) for b in cfg.blocks], cfg.taken, cfg.fall, cfg.rpo, reachable)
