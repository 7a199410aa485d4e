"""This module reduces unlimited predicates to the machine's seven.

Predicates are coloured by live range, busy ones first where few fit. A predicate without a place is spilled. If its
only definition is a cheap comparison whose operands are still live, it is *recomputed* before each use. Otherwise it is
*kept as a word*: each definition is followed by `SEL word = p ? -1 : 0` under its guard, each use preceded by
`ISETP.NE`. Both leave ranges of one or two points. This repeats until everything fits. Such short ranges always fit,
since no instruction has more than six predicates.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from binalloc.bitset import lowest
from binalloc.frontend.allocate.flat_routine import FIRST_LINE, flat_routine
from binalloc.frontend.ir import FIRST_PREDICATE, FIRST_REGISTER, PT, RZ, Routine, VirtualNode
from binalloc.frontend.opt.facts import UnitFacts
from binalloc.isa.instruction import Instr, make
from binalloc.isa.interface.places import ALL_PREDICATES, PRED, PREDICATES, REG
from binalloc.isa.table.opcodes import FORM_IMM, ICMPS
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.live_ranges import LiveRanges, live_ranges, lives_at

_ALL_ONES = 0xFFFFFFFF  # the word of a predicate that is true
_NE = ICMPS.index("NE")  # number of this comparison in ISETP


def allocate_predicates(routine: Routine, clobbered: Mapping[str, int]) -> tuple[dict[int, int], int]:
    """Return (virtual predicate -> P0..P6, how many were spilled), and add the spill code to `routine`.

    clobbered: callee -> bitset of predicates that it may change.
    """
    if routine.registers.predicates == 0:
        return {}, 0
    short: set[int] = set()
    spilled = 0
    while True:
        flat = flat_routine(routine, PRED)
        colour, failed = _colour(routine, flat, live_ranges(flat, routine.registers.predicates), clobbered, short)
        if not failed:
            return colour, spilled
        spilled += len(failed)
        _Spiller(routine, set(failed), short).run()


def _colour(
    routine: Routine, flat: Flat, live: LiveRanges, clobbered: Mapping[str, int], short: set[int]
) -> tuple[dict[int, int], list[int]]:
    """Return places for the predicates, and those without a place. Where too many are live, the longest ranges are
    spilled."""
    occupied = np.zeros(flat.points, np.uint8)  # for each point, the bitset of places that are taken
    for k, node in enumerate(routine.nodes(), FIRST_LINE):
        if node.callee:
            occupied[2 * k + 1] = clobbered.get(node.callee, 0)  # no live range begins or ends at this point
    crowded = max(live.pressure(flat.points)) > PREDICATES
    colour: dict[int, int] = {}
    failed: list[int] = []

    def key(k: int) -> tuple[int, ...]:
        pieces = live.intervals[k]
        if crowded:  # spilling makes long ranges shorter, but not short ones: place these first
            return k + FIRST_PREDICATE not in short, sum(end - start for start, end in pieces), k
        return 0, pieces[0][0] + 1 if pieces else 0, k

    for k in sorted(range(len(live.intervals)), key=key):
        taken = 0
        for start, end in live.intervals[k]:
            taken |= int(np.bitwise_or.reduce(occupied[start:end]))
        free = ALL_PREDICATES & ~taken
        if not free:
            failed.append(k + FIRST_PREDICATE)
            continue
        colour[k + FIRST_PREDICATE] = lowest(free)
        for start, end in live.intervals[k]:
            occupied[start:end] |= free & -free
    if failed and not crowded:
        failed = failed[:1]
    return colour, failed


class _Spiller:
    """`_Spiller` splits every predicate of `chosen` into short ranges."""

    def __init__(self, routine: Routine, chosen: set[int], short: set[int]) -> None:
        self.routine = routine
        self.chosen = chosen  #: the predicates to be split
        self.short = short  #: predicates whose live ranges are short already
        self.definition: dict[
            int, VirtualNode | None
        ] = {}  #: predicate -> its definition if it may be recomputed, else None
        self.original: dict[int, Instr] = {}  #: predicate -> its definition before it is renamed
        self.word: dict[int, int] = {}  #: predicate -> the unit that keeps it

    def run(self) -> None:
        self._definitions()
        for block in self.routine.blocks:
            nodes: list[VirtualNode] = []
            for node in block.nodes:
                self._node(node, nodes)
            block.nodes = nodes

    def _definitions(self) -> None:
        """Find the definition of each predicate that may be recomputed; None for the others."""
        facts = UnitFacts(self.routine)
        for node in self.routine.nodes():
            for ref in node.view.defs:
                if ref.file == PRED and ref.index in self.chosen:
                    again = facts.stable[facts.predicate(ref.index)] and self._cheap(node, facts)
                    self.definition[ref.index] = node if again else None
        self._keep_where_operands_live()
        # Save the instructions: the pass renames the definitions when it comes to them.
        self.original = {p: node.instr for p, node in self.definition.items() if node is not None}

    def _keep_where_operands_live(self) -> None:
        """Recompute only predicates whose operands are live at every use anyway."""
        if not any(self.definition.values()):
            return
        live = live_ranges(flat_routine(self.routine, REG), len(self.routine.registers.base))
        for line, node in enumerate(self.routine.nodes(), FIRST_LINE):
            for p in _read(node):
                definition = self.definition.get(p)
                if definition is not None and not all(
                    lives_at(live.intervals[unit - FIRST_REGISTER], 2 * line)
                    for ref in definition.view.uses
                    for unit in ref.registers()
                ):
                    self.definition[p] = None

    def _cheap(self, node: VirtualNode, facts: UnitFacts) -> bool:
        """Return whether a node is a comparison of stable units, with no other result.

        Its result is the same at every read of its predicate, as that is stable, too.
        """
        view = node.view
        if not view.pure or view.memory is not None or any(ref.file != PRED for ref in view.defs):
            return False
        return all(ref.file == REG and all(facts.is_stable(unit) for unit in ref.registers()) for ref in view.uses)

    def _node(self, node: VirtualNode, out: list[VirtualNode]) -> None:
        names = {p: self._fetch(p, node, out) for p in dict.fromkeys(_read(node)) if p in self.chosen}
        made = {r.index: self._fresh() for r in node.view.defs if r.file == PRED and r.index in self.chosen}
        guard = (names.get(node.instr.guard, node.instr.guard), node.instr.guard_neg)
        node.instr = _renamed(node.instr, guard, names, made)
        recomputed = bool(made) and all(self.definition.get(p) is node for p in made)
        if recomputed and all(ref.index in made.values() for ref in node.view.defs):
            return
        out.append(node)
        for p, fresh in made.items():
            if self.definition.get(p) is not node:
                word = self._word(p)
                select = make("SEL", form=FORM_IMM, rd=word, ra=RZ, imm=_ALL_ONES, ps0=fresh, ps0n=1, guard=guard)
                out.append(VirtualNode(select, node.loc))

    def _fetch(self, p: int, node: VirtualNode, out: list[VirtualNode]) -> int:
        """Return a fresh predicate with the value of `p`, set just before `node`."""
        fresh = self._fresh()
        definition = self.definition.get(p)
        if definition is not None:
            made = _renamed(self.original[p], (PT, False), {}, {p: fresh}, drop=True)
        else:
            made = make("ISETP", pd0=fresh, pd1=PT, ra=self._word(p), rb=RZ, icmp=_NE, ps0=PT)
        out.append(VirtualNode(made, node.loc))
        return fresh

    def _fresh(self) -> int:
        p = self.routine.registers.predicate()
        self.short.add(p)
        return p

    def _word(self, p: int) -> int:
        if p not in self.word:
            self.word[p] = self.routine.registers.new()
        return self.word[p]


def _read(node: VirtualNode) -> list[int]:
    """Return the predicates that a node reads, its guard included."""
    read = [r.index for r in node.view.uses if r.file == PRED]
    if node.view.guard is not None:
        read.append(node.view.guard[0])
    return read


def _renamed(
    instr: Instr, guard: tuple[int, bool], read: Mapping[int, int], made: Mapping[int, int], *, drop: bool = False
) -> Instr:
    """Return `instr` with predicates renamed. drop: destinations that are not in `made` become PT."""
    fields: dict[str, int] = {}
    for name in ("ps0", "ps1", "ps2"):
        if instr.f.get(name, PT) in read:
            fields[name] = read[instr.f[name]]
    for name in ("pd0", "pd1"):
        old = instr.f.get(name, PT)
        if old in made:
            fields[name] = made[old]
        elif drop and old != PT:
            fields[name] = PT
    return Instr(instr.op, {**instr.f, **fields}, guard[0], guard[1], instr.ctrl)
