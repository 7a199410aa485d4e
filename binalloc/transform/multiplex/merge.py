"""This module merges blocks: one block of the new kernel does the work of several original ones, its *virtual blocks*.

Needs a laid-out module; leaves edits of the kernel. (Multiplex paper, section 4.1: the identifier of a thread's virtual
block is its index divided by the original size.) Each virtual block has warps of its own. Those of whole warps are
stacked along z, so that indices along x and y stay, as far as blocks may be so deep. Else the merged block has one
dimension, and virtual blocks are padded to whole warps. Padding threads end at once, before anything else, as if the
last warp had only the other lanes. Indices along x, y and z are computed from the index there.

A virtual block's number in the grid is the merged block's times their count plus its own, along one axis of the grid;
one that the original grid does not have ends at once. The extent of the original grid along that axis comes as one more
parameter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from binalloc.analysis.program import ProgramAnalysis
from binalloc.errors import Hint, Refused
from binalloc.isa.instruction import FunctionInfo, Instr, Param
from binalloc.isa.interface.instruction_set import SetLimits
from binalloc.isa.interface.places import LANES, WORD
from binalloc.isa.interface.view import ALWAYS, Guard
from binalloc.launch.merged import GRID, Merge
from binalloc.transform.multiplex.edit import Edit

_X = 0  # the axis of blocks with one dimension
UNMERGED = Hint("Choose {scheme} hw, which merges no blocks, if the launch adds no dynamic shared memory.")
"""The remedy where blocks cannot be merged."""
_Z = 2  # the axis along which virtual blocks are stacked
_GRID = 3  # what the interface adds to the axes of the grid
_RECIPROCAL_BITS = 20  # with so many, quotients of a thread's index, below 1024, by any such number are exact


def require_mergeable(program: ProgramAnalysis, merge: Merge) -> None:
    """Refuse what cannot be merged, such as code that reads the clock."""
    kernel, isa = program.graph.kernel, program.isa
    if program.kernel.cfg.preds[0]:
        raise Refused("a branch leads to the kernel's first word", place=kernel, found="a loop that begins there",
                      expected="code in front of all loops", remedy=UNMERGED)  # fmt: skip
    if any(p.name == GRID for p in program.kernel.fn.info.params):
        raise Refused("a parameter has the name of one that merging adds", place=kernel, found=GRID,
                      expected="another name; a kernel is merged once", remedy="Merge the original.")  # fmt: skip
    for name, f in program.functions.items():
        for word, seen in enumerate(f.cfg.views):
            register = isa.special_register(seen.instr)
            if register is not None and not seen.pure:
                raise Refused("the code reads a clock", place=f"{name}+{word}", found=register,
                              expected="code whose results do not depend on time", remedy=UNMERGED)  # fmt: skip
            if register in isa.limits.block_registers - isa.limits.places.keys():
                raise Refused("the code asks on which SM it runs", place=f"{name}+{word}", found=register,
                              expected="code whose results do not depend on that", remedy=UNMERGED)  # fmt: skip
            if name != kernel and register is not None and changes(isa.limits, register, merge):
                raise Refused("a function asks for its block or thread", place=f"{name}+{word}", found=register,
                              expected="this in the kernel alone", remedy="Inline the function.")  # fmt: skip


def changes(limits: SetLimits, register: str, merge: Merge) -> bool:
    """Return whether a special register of a merged block differs from its virtual block's."""
    axes = {_Z} if merge.stacked else set(range(_GRID))
    along = {limits.places.get(register), limits.sizes.get(register)} & {*axes, merge.axis + _GRID}
    return bool(along) or register in (limits.warp, limits.warps)


class Merging:
    """This pass makes a kernel's threads those of virtual blocks. number: register with a virtual block's number in its
    merged block. scratch, extent_register: those with its number in the grid, and with the extent of the original's
    grid, at the kernel's start; from there on `scratch` holds what is computed for a thread's index."""

    def __init__(self, program: ProgramAnalysis, merge: Merge, edit: Edit, free: int) -> None:
        self.program, self.merge, self.edit = program, merge, edit
        self.isa = program.isa
        self.number, self.scratch, self.extent_register = free, free + 1, free + 2
        self.next = free + 3
        info = program.kernel.fn.info
        at = max((p.offset + p.size for p in info.params), default=0)
        self.extent = Param(GRID, -(-at // WORD) * WORD, WORD)

    def run(self) -> None:
        """Insert the code."""
        build, merge, limits = self.isa.build, self.merge, self.isa.limits
        number, scratch, extent = self.number, self.scratch, self.extent_register
        begin = [
            *self._numbered(),
            build.special(scratch, _named(limits.places, merge.axis + _GRID)),
            build.multiply_add(scratch, scratch, merge.count, number),
            build.parameter(extent, self.extent.offset),
            build.less(0, scratch, extent),
            build.stop((0, True)),  # a virtual block that the original grid does not have
        ]
        self.edit.insert(0, None, begin)
        for word, seen in enumerate(self.program.kernel.cfg.views):
            register = self.isa.special_register(seen.instr)
            if register is not None and seen.defs:
                self._special(word, register, seen.defs[0].index, seen.guard or ALWAYS)

    def info(self, info: FunctionInfo) -> FunctionInfo:
        """Return the merged kernel's record."""
        block = self.merge.merged_block if any(info.block) else info.block
        most = -(-info.max_threads // LANES) * LANES * self.merge.count
        params = [*info.params, self.extent]
        return replace(
            info, block=block, max_threads=most, params=params, registers=max(info.registers, self.next), machine=""
        )  # fmt: skip

    def _numbered(self) -> list[Instr]:
        """Return code that finds a thread's virtual block, and ends the threads with which it is padded."""
        build, merge, places = self.isa.build, self.merge, self.isa.limits.places
        if merge.stacked:
            begin = [build.special(self.number, _named(places, _Z))]
            return begin + self._divided(self.number, self.number, merge.block[_Z])
        linear = self.extent_register  # which gets the extent behind this
        begin = [build.special(linear, _named(places, _X)), *self._divided(self.number, linear, merge.padded)]
        if merge.padded == merge.threads:
            return begin
        return [
            *begin,
            build.multiply_add(self.scratch, self.number, -merge.padded, linear),
            build.below(0, self.scratch, merge.threads),
            build.stop((0, True)),
        ]

    def _divided(self, target: int, source: int, by: int, guard: Guard = ALWAYS) -> list[Instr]:
        """Return code that divides a thread's index by a number. It may write `scratch`."""
        build, scratch = self.isa.build, self.scratch
        if by == 1 and target == source:
            return []
        if by & (by - 1) == 0:
            return [build.shift_right(target, source, by.bit_length() - 1, guard)]
        reciprocal = -(-(1 << _RECIPROCAL_BITS) // by)
        return [
            build.multiply_add(scratch, source, reciprocal, self.isa.limits.zero),
            build.shift_right(target, scratch, _RECIPROCAL_BITS, guard),
        ]

    def _special(self, word: int, register: str, target: int, guard: Guard) -> None:
        """Let a special register be the virtual block's."""
        build, merge, limits = self.isa.build, self.merge, self.isa.limits
        place, side = limits.places.get(register), limits.sizes.get(register)
        after: list[Instr] = []
        if not merge.stacked and place is not None and place < _GRID:
            after = self._index(word, place, target, guard)
        elif not merge.stacked and side is not None and side < _GRID:
            self.edit.replaced[word] = build.number(target, merge.block[side], guard)
        elif place == _Z:
            after = [build.multiply_add(target, self.number, -merge.block[_Z], target, guard)]
        elif register == limits.warp:
            after = [build.multiply_add(target, self.number, -(merge.padded // LANES), target, guard)]
        elif place == merge.axis + _GRID:
            after = [build.multiply_add(target, target, merge.count, self.number, guard)]
        elif side == _Z:
            self.edit.replaced[word] = build.number(target, merge.block[_Z], guard)
        elif register == limits.warps:
            self.edit.replaced[word] = build.number(target, merge.padded // LANES, guard)
        elif side == merge.axis + _GRID:
            self.edit.replaced[word] = build.parameter(target, self.extent.offset, guard)
        if after:
            self.edit.behind(word, after)

    def _index(self, word: int, axis: int, target: int, guard: Guard) -> list[Instr]:
        """Let a word read a thread's index in the merged block, and return the code to find the one along an axis."""
        build, merge, isa = self.isa.build, self.merge, self.isa
        if merge.block[axis] == 1:
            self.edit.replaced[word] = build.number(target, 0, guard)
            return []
        instr = build.special(target, _named(isa.limits.places, _X))
        self.edit.replaced[word] = instr.replace(guard=guard)
        within, size = math.prod(merge.block[:axis]), merge.block[axis]
        code = [build.multiply_add(target, self.number, -merge.padded, target, guard)]
        code += self._divided(target, target, within, guard)
        if within * size < merge.threads:  # there are further axes
            code += self._divided(self.scratch, target, size)
            code.append(build.multiply_add(target, self.scratch, -size, target, guard))
        return code


def _named(numbers: Mapping[str, int], axis: int) -> str:
    """Return the special register with a number along an axis."""
    return next(name for name, k in numbers.items() if k == axis)
