"""This module has what the hazard check needs to know of single instructions, as integers: `HazardCode`.

Needs a module laid out and the unit latencies of a machine. Leaves one entry per word of every function that is
scheduled for that machine. Registers and predicates are *places*, numbered together (predicate p is place p, register r
place 8 + r), and sets of places are integers of one bit per place, `width` bits long.

What is in flight is a row of such sets, *planes* of `width` bits in one integer:

- Fixed results. Plane k holds the places whose result is there in more than k cycles (0 <= k < 15). So the stall count
  of an instruction shifts it down by as many planes, and where paths meet, OR keeps the slowest.
- Variable results. Plane b < 8 holds the places whose result scoreboard b guards (7: none, never there).
- Late reads. After these there is one plane per pair (rbar, wbar) that occurs, for the places still to be read.
"""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.bitset import bits
from binalloc.errors import MalformedInput
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.places import PRED, REG, TRUE
from binalloc.isa.interface.view import Ref, View
from binalloc.isa.sets.table import view
from binalloc.isa.timing import LONGEST_STALL, SCOREBOARDS, UnitLatencies, by_scoreboard

FIRST_REGISTER = TRUE + 1  # place of R0, behind the predicates
BOARDS = 8
"""Values of the scoreboard fields; values above 5 stand for none."""
WAITS = 1 << SCOREBOARDS  # number of sets of scoreboards that an instruction may wait for


class HazardCode:
    """Hazard code has one entry for each word of the code; words are numbered through the functions in file order,
    `base[f]` + index.

    views: its view. reads: places that it reads (guard included). late: places that it reads after its issue. writes:
    places that it writes. cycles: of its unit. boarded: whether scoreboards guard it. stall, wait: its control codes.
    fixed, pending: the planes that it puts in flight.
    """

    def __init__(self, module: Module, latencies: UnitLatencies) -> None:
        self.functions: list[Function] = [fn for fn in module if fn.info.machine == latencies.machine]
        self.path = module.path
        self.base: list[int] = []
        self.owner: list[int] = []
        self.views: list[View] = []
        for number, fn in enumerate(self.functions):
            self.base.append(len(self.views))
            self.owner += [number] * len(fn.instrs)
            self.views += [self._view(fn, i) for i in range(len(fn.instrs))]
        top = max((r.index + r.units for v in self.views for r in (*v.defs, *v.uses) if r.file == REG), default=0)
        self.width = FIRST_REGISTER + top
        self.ladder = [sum(1 << k * self.width for k in range(n)) for n in range(LONGEST_STALL + 1)]
        self._masks(latencies)
        self._boards()

    def __len__(self) -> int:
        return len(self.views)

    def _view(self, fn: Function, index: int) -> View:
        try:
            return view(fn.instrs[index])
        except (KeyError, IndexError) as e:
            raise MalformedInput(
                "reserved or missing fields", file=self.path or None, place=f"{fn.name}+{index}", found=e
            ) from e

    def _masks(self, latencies: UnitLatencies) -> None:
        self.cycles = [latencies.cycles[v.unit] for v in self.views]
        self.boarded = [by_scoreboard(v.variable, c) for v, c in zip(self.views, self.cycles, strict=True)]
        uses = [places(v.uses) for v in self.views]
        self.reads = [u | _guard(v) for u, v in zip(uses, self.views, strict=True)]
        self.late = [u if boarded else 0 for u, boarded in zip(uses, self.boarded, strict=True)]
        self.writes = [places(v.defs) for v in self.views]
        self.fixed = [
            0 if boarded else w * self.ladder[c]
            for w, c, boarded in zip(self.writes, self.cycles, self.boarded, strict=True)
        ]
        self.stall = [v.instr.ctrl.stall for v in self.views]
        self.wait = [v.instr.ctrl.wait for v in self.views]

    def _boards(self) -> None:
        self.pairs: list[tuple[int, int]] = sorted(
            {(v.instr.ctrl.rbar, v.instr.ctrl.wbar) for v, late in zip(self.views, self.late, strict=True) if late}
        )
        plane = {pair: (BOARDS + k) * self.width for k, pair in enumerate(self.pairs)}
        self.pending = [0] * len(self)
        for n, v in enumerate(self.views):
            if self.boarded[n]:
                ctrl = v.instr.ctrl
                self.pending[n] = self.writes[n] << ctrl.wbar * self.width
                if self.late[n]:
                    self.pending[n] |= self.late[n] << plane[ctrl.rbar, ctrl.wbar]
        self.places = (1 << self.width) - 1
        self.keep = [self._kept(wait) for wait in range(WAITS)]

    def _kept(self, wait: int) -> int:
        """Return the planes that stay in flight after waiting for the scoreboards in `wait`."""
        kept = 0
        for b in range(BOARDS):
            if not wait >> b & 1:
                kept |= self.places << b * self.width
        for k, (rbar, wbar) in enumerate(self.pairs):
            if not (wait >> rbar & 1 or wait >> wbar & 1):
                kept |= self.places << (BOARDS + k) * self.width
        return kept

    def unwritten(self, pending: int) -> int:
        """Return places with a variable result in flight."""
        return self._union(pending & ((1 << BOARDS * self.width) - 1))

    def unread(self, pending: int) -> int:
        """Return places that a variable instruction has still to read."""
        return self._union(pending >> BOARDS * self.width)

    def _union(self, planes: int) -> int:
        out = 0
        while planes:
            out |= planes & self.places
            planes >>= self.width
        return out


def places(refs: Iterable[Ref]) -> int:
    """Return the set of places that `refs` cover."""
    mask = 0
    for ref in refs:
        first = ref.index if ref.file == PRED else FIRST_REGISTER + ref.index
        mask |= ((1 << ref.units) - 1) << first
    return mask


def _guard(v: View) -> int:
    return 0 if v.guard is None or v.guard[0] == TRUE else 1 << v.guard[0]


def place_names(mask: int) -> list[str]:
    """Return the places of `mask` as assembly names them, predicates last."""
    found = bits(mask)
    registers = [f"R{k - FIRST_REGISTER}" for k in found if k >= FIRST_REGISTER]
    return registers + [f"P{k}" for k in found if k < FIRST_REGISTER]
