"""Unlimited predicates brought to the machine's seven.

Predicates are coloured by live range, busy ones first where few fit. One that finds no place is *recomputed* before
each use where its only definition is a cheap comparison whose operands are still there, else *kept as a word*: each
definition is followed by `SEL word = p ? -1 : 0` under its guard, each use preceded by `ISETP.NE`. Both leave ranges of
one or two points. This repeats until everything fits; live ranges that short always do, since no instruction has more
than six predicates.
"""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.frontend.allocate.live_ranges import Ranges, live_ranges, pressure
from binalloc.frontend.allocate.runs import Runs
from binalloc.frontend.ir import FIRST_PREDICATE, PT, RZ, Node, Routine
from binalloc.frontend.opt.facts import Facts
from binalloc.isa.instruction import Instr, make
from binalloc.isa.interface.places import PRED, PREDICATES, REG
from binalloc.isa.table.opcodes import FORM_IMM, ICMPS

_ALL_ONES = 0xFFFFFFFF
_NE = ICMPS.index("NE")


def allocate_predicates(routine: Routine, clobbered: Mapping[str, int]) -> tuple[dict[int, int], int]:
    """(virtual predicate -> P0..P6, how many were spilled). `routine` gets the spill code. clobbered: per callee the
    bitset of predicates it may change."""
    if routine.registers.predicates == 0:
        return {}, 0
    short: set[int] = set()
    spilled = 0
    while True:
        ranges = live_ranges(routine)
        colour, failed = _colour(routine, ranges, clobbered, short)
        if not failed:
            return colour, spilled
        spilled += len(failed)
        _Spiller(routine, ranges, set(failed), short).run()


def _colour(
    routine: Routine, ranges: Ranges, clobbered: Mapping[str, int], short: set[int]
) -> tuple[dict[int, int], list[int]]:
    """Places for the predicates, and those that found none: of a crowd the longest ranges give way."""
    occupied = [Runs() for _ in range(PREDICATES)]
    for k, node in enumerate(routine.nodes()):
        if node.callee:
            for p in range(PREDICATES):
                if clobbered.get(node.callee, 0) >> p & 1:
                    occupied[p].add(ranges.inside[k], ranges.inside[k] + 1)
    numbers = [FIRST_PREDICATE + k for k in range(routine.registers.predicates)]
    pieces = {p: ranges.of_predicate(p) for p in numbers}
    crowded = max(pressure(pieces.values(), ranges.points)) > PREDICATES
    colour: dict[int, int] = {}
    failed: list[int] = []

    def key(p: int) -> tuple[int, ...]:
        piece = pieces[p]
        if crowded:  # short ranges cannot be helped by spilling, long ones can
            return p not in short, len(piece), p
        return 0, piece.start + 1 if piece else 0, p

    for p in sorted(numbers, key=key):
        piece = pieces[p]
        place = next((r for r in range(PREDICATES) if not occupied[r].meets(piece)), -1)
        if place < 0:
            failed.append(p)
        else:
            occupied[place].join(piece)
            colour[p] = place
    if failed and not crowded:
        failed = failed[:1]
    return colour, failed


class _Spiller:
    """Gives every predicate of `chosen` short ranges."""

    def __init__(self, routine: Routine, ranges: Ranges, chosen: set[int], short: set[int]) -> None:
        self.routine = routine
        self.ranges = ranges
        self.chosen = chosen
        self.short = short
        self.definition: dict[int, Node | None] = {}
        self.original: dict[int, Instr] = {}
        self.word: dict[int, int] = {}

    def run(self) -> None:
        self._definitions()
        for block in self.routine.blocks:
            nodes: list[Node] = []
            for node in block.nodes:
                self._node(node, nodes)
            block.nodes = nodes

    def _definitions(self) -> None:
        """The definition of each predicate that may be computed again, None otherwise."""
        facts = Facts(self.routine)
        for node in self.routine.nodes():
            for ref in node.view.defs:
                if ref.file == PRED and ref.index in self.chosen:
                    again = facts.stable[facts.predicate(ref.index)] and self._cheap(node, facts)
                    self.definition[ref.index] = node if again else None
        self._keep_where_operands_live()
        # the definitions themselves are renamed as the pass goes over them
        self.original = {p: node.instr for p, node in self.definition.items() if node is not None}

    def _keep_where_operands_live(self) -> None:
        """Recompute only what can be at every use without keeping an operand longer than it lives anyway."""
        for number, node in enumerate(self.routine.nodes()):
            before = self.ranges.inside.get(number, self.ranges.after[number]) - 1
            for p in _read(node):
                definition = self.definition.get(p)
                if definition is not None and not all(
                    before in self.ranges.of_unit(unit) for ref in definition.view.uses for unit in ref.registers()
                ):
                    self.definition[p] = None

    def _cheap(self, node: Node, facts: Facts) -> bool:
        """A comparison of stable units: the same wherever its predicate is read, as that is stable too."""
        view = node.view
        if not view.pure or view.memory is not None or any(ref.file != PRED for ref in view.defs):
            return False
        return all(ref.file == REG and all(facts.is_stable(unit) for unit in ref.registers()) for ref in view.uses)

    def _node(self, node: Node, out: list[Node]) -> None:
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
                out.append(Node(select, node.loc))

    def _fetch(self, p: int, node: Node, out: list[Node]) -> int:
        """A fresh predicate with the value of `p`, made just before `node`."""
        fresh = self._fresh()
        definition = self.definition.get(p)
        if definition is not None:
            made = _renamed(self.original[p], (PT, False), {}, {p: fresh}, drop=True)
        else:
            made = make("ISETP", pd0=fresh, pd1=PT, ra=self._word(p), rb=RZ, icmp=_NE, ps0=PT)
        out.append(Node(made, node.loc))
        return fresh

    def _fresh(self) -> int:
        p = self.routine.registers.predicate()
        self.short.add(p)
        return p

    def _word(self, p: int) -> int:
        if p not in self.word:
            self.word[p] = self.routine.registers.new()
        return self.word[p]


def _read(node: Node) -> list[int]:
    """Predicates a node reads, its guard included."""
    read = [r.index for r in node.view.uses if r.file == PRED]
    if node.view.guard is not None:
        read.append(node.view.guard[0])
    return read


def _renamed(
    instr: Instr, guard: tuple[int, bool], read: Mapping[int, int], made: Mapping[int, int], *, drop: bool = False
) -> Instr:
    """`instr` with predicates renamed. drop: destinations that are not in `made` become PT."""
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
