"""It is proven here that slots which exchange their numbers stay slots of their own, and which ones two blocks share.

Needs flat code and the ways that threads may take; leaves `Slots`, with findings. A thread's slots are numbered from
the first one on. Code has their address in one register, the slot pointer, which it sets to the first slot and raises
around calls. Its height above the first slot is followed on all ways. So each access is to one slot, or none is known.
"""

from __future__ import annotations

from collections import deque

from binalloc.isa.instruction import NO_REGISTER, FunctionInfo
from binalloc.isa.interface.places import REG, SLOT_ROW
from binalloc.isa.interface.view import Ref, View
from binalloc.isa.kinds import CALLS, Space
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.living import mask_of
from binalloc.verify.sharing.addresses import Reach
from binalloc.verify.sharing.flat import Flat

UNKNOWN = None
Height = int | None
"""Bytes of the slot pointer above the thread's first slot."""


class Slots:
    """The slots of a kernel are the numbers that its accesses have in both programs."""

    def __init__(self, flat: Flat, reach: Reach, info: FunctionInfo, own: int | None) -> None:
        """info: of the kernel. own: slots of a thread that its block alone has; None: all."""
        self.flat, self.reach, self.own = flat, reach, own
        self.count, self.pointer = info.slot_bytes // SLOT_ROW, info.slot_pointer
        self.accesses = [n for n in sorted(reach.edges) if is_slot(flat.nodes[n].view)]
        self.shared: set[int] = set()  #: nodes that access slots which two blocks share
        self.moved: dict[int, int] = {}  #: by slot of the original the new one

    def check(self) -> None:
        """Check all accesses, if any has moved, or some slots are shared."""
        nodes = self.flat.nodes
        moves = any(nodes[n].pair.distance.get(nodes[n].n, 0) for n in self.accesses)
        if not moves and (self.own is None or self.own >= self.count):
            return
        heights = self._heights()
        for n in self.accesses:
            self._access(n, heights[n])
        taken: dict[int, int] = {}
        for old, new in sorted(self.moved.items()):
            if taken.setdefault(new, old) != old:
                self._fail(self.accesses[0], "two slots of the original have one number", "a slot for each",
                           f"slot {new} for slots {taken[new]} and {old}")  # fmt: skip

    def _access(self, n: int, height: Height) -> None:
        node = self.flat.nodes[n]
        memory, was = node.view.memory, node.pair.old.views[node.label].memory
        assert memory is not None
        assert was is not None
        by_pointer = memory.base is not None and memory.base.file == REG and memory.base.index == self.pointer
        if height is UNKNOWN or not by_pointer:
            self._fail(n, "accesses a slot of which the number is not known", "the slot pointer as address", "another")
            return
        old, rest = divmod(height + was.offset, SLOT_ROW)
        new, more = divmod(height + memory.offset, SLOT_ROW)
        if rest or more or not (0 <= old < self.count and 0 <= new < self.count):
            self._fail(n, "accesses no slot of the thread", f"slots 0 to {self.count - 1}", f"slots {old}, {new}")
            return
        if self.moved.setdefault(old, new) != new:
            self._fail(n, "has a slot elsewhere than another access", f"slot {old} as {self.moved[old]}", str(new))
        if self.own is not None and new >= self.own:
            self.shared.add(n)

    def _fail(self, n: int, message: str, expected: str, found: str) -> None:
        node = self.flat.nodes[n]
        node.pair.fail("slot", message, node.n, node.label, expected, found)

    # -- the slot pointer

    def _heights(self) -> dict[int, Height]:
        """Return the height of the slot pointer in front of each node that threads may come to."""
        heights: dict[int, Height] = {0: UNKNOWN}
        work = deque([0])
        while work:
            n = work.popleft()
            behind = self._behind(n, heights[n])
            for to in self.reach.edges.get(n, ()):
                if to not in heights:
                    heights[to] = behind
                elif heights[to] is not UNKNOWN and heights[to] != behind:
                    heights[to] = UNKNOWN
                else:
                    continue
                work.append(to)
        return heights

    def _behind(self, n: int, height: Height) -> Height:
        """Return the height behind a node."""
        node = self.flat.nodes[n]
        view, code = node.view, node.pair.new
        written = mask_of(view.defs)
        if view.control in CALLS:
            written |= self.flat.clobbered
        if self.pointer == NO_REGISTER or not written & mask_of([Ref(REG, self.pointer, 1, "")]):
            return height
        added = code.adds[node.n]
        if view.guard is None and added is not None and added[:2] == (self.pointer, self.pointer):
            return UNKNOWN if height is UNKNOWN else height + added[2]
        if view.guard is None and code.special[node.n] == set_of(view.instr).limits.slot_base:
            return 0
        return UNKNOWN


def is_slot(view: View) -> bool:
    """Return whether an instruction accesses a slot."""
    return view.memory is not None and view.memory.spill and view.memory.space == Space.SHARED
