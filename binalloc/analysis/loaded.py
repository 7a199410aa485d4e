"""This module finds out whether the places that a kernel accesses in global memory may depend on contents of memory.

Needs a `ProgramAnalysis`; leaves it untouched. A value *hangs on memory* if it comes from a load of global memory or of
a texture, from an atomic operation, or from a special register that tells the time or the place of a thread (a clock,
the number of the SM); or if an operation, or its guard, uses such a value. Shared and local memory are one place each:
what is loaded there hangs on memory where something is stored there that does. The accessed places may hang on memory
if the address or the guard of an access does, or the condition of any jump, call or end of a thread. So the answer no
is certain, and the answer yes may be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.analysis.locations import Location
from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis
from binalloc.analysis.web import CALL, GUARD, WebNumber
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import CALLS, ENDS, Access, Space
from binalloc.isa.sets.table import set_of

_DEVICE = (Space.GLOBAL, Space.GENERIC)  # accesses that may go to global memory
_OWN = (Space.SHARED, Space.LOCAL)


def places_hang_on_memory(program: ProgramAnalysis) -> bool:
    """Return whether the places that the kernel accesses in global memory may depend on contents of memory."""
    found = _Hanging(program)
    changed = True
    while changed and not found.places:
        before = found.size
        for f in program.functions.values():
            found.look_at(f)
        changed = found.size != before
    return found.places


@dataclass
class _Hanging:
    """This object collects what hangs on memory: webs of functions, and the spaces shared and local."""

    program: ProgramAnalysis
    webs: set[tuple[str, WebNumber]] = field(default_factory=set)
    spaces: set[Space] = field(default_factory=set)
    places: bool = False  #: whether accessed places do

    @property
    def size(self) -> int:
        """Return how much hangs on memory."""
        return len(self.webs) + len(self.spaces)

    def look_at(self, f: FunctionAnalysis) -> None:
        """Look at all instructions of a function once."""
        for (index, ref, _), web in f.webs.web_of_use.items():
            if (f.name, web) in self.webs:
                self._used(f, index, ref)
        for one in f.webs:
            for point in one.defs:
                if point.instr >= 0 and self._written(f, point.instr, point.ref, Location(point.unit)):
                    self.webs.add((f.name, one.id))
        for call in f.webs.calls.values():
            args = dict(self.program[call.callee].webs.args)
            for location, given in call.args:
                if (f.name, given) in self.webs and location in args:
                    self.webs.add((call.callee, args[location]))

    def _used(self, f: FunctionAnalysis, index: int, ref: int) -> None:
        """Follow a use of a value that hangs on memory."""
        seen = f.cfg.views[index]
        memory = seen.memory
        if ref == GUARD:
            self.places |= seen.control in (*ENDS, *CALLS) or (memory is not None and memory.space in _DEVICE)
        elif seen.control in CALLS and ref != CALL:
            self.places = True  # the callee
        if memory is None:
            return
        if ref == seen.address_operand:
            self.places |= memory.space in _DEVICE
        if memory.access != Access.LOAD:
            self.spaces.update(_OWN if memory.space == Space.GENERIC else [memory.space])

    def _written(self, f: FunctionAnalysis, index: int, ref: int, location: Location) -> bool:
        """Return whether what a definition writes hangs on memory."""
        if ref == CALL:
            callee = f.webs.calls[index].callee
            return (callee, dict(self.program[callee].webs.results).get(location)) in self.webs
        seen = f.cfg.views[index]
        keys = [(index, ref, unit) for ref, use in enumerate(seen.uses) for unit in range(use.units)]
        used = [f.webs.web_of_use.get(key) for key in [*keys, (index, GUARD, 0)]]
        return self._is_source(seen) or any((f.name, web) in self.webs for web in used)

    def _is_source(self, seen: View) -> bool:
        """Return whether an instruction's result hangs on memory by itself."""
        memory = seen.memory
        if memory is not None:
            own = memory.space in _OWN
            return memory.access == Access.ATOMIC or (
                memory.space in self.spaces if own else memory.space != Space.CONST
            )
        isa = set_of(seen.instr)
        name, limits = isa.special_register(seen.instr), isa.limits
        fixed = {*limits.places, *limits.sizes, *limits.lane_registers, limits.lane, limits.warp, limits.warps,
                 limits.slot_base, limits.shared_size, limits.shared_window}  # fmt: skip
        return name is not None and name not in fixed
