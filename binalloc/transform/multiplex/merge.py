"""This module merges blocks: one block of the new kernel does the work of several original ones, its *virtual blocks*.

Needs a laid-out module; leaves edits of the kernel. (Multiplex paper, section 4.1: the identifier of a thread's virtual
block is its index divided by the original size.) The virtual blocks are stacked along z, so that indices along x and y
stay and each has warps of its own. A virtual block's number in the grid is the merged block's times their count plus
its own, along one axis of the grid; one that the original grid does not have ends at once. The extent of the original
grid along that axis comes as one more parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from binalloc.analysis.program import ProgramAnalysis
from binalloc.errors import Refused
from binalloc.isa.instruction import FunctionInfo, Instr, Param
from binalloc.isa.interface.places import LANES, WORD
from binalloc.isa.interface.view import ALWAYS, Guard
from binalloc.launch.merged import GRID, Merge
from binalloc.transform.multiplex.edit import Edit

_Z = 2  # the axis along which virtual blocks are stacked
_GRID = 3  # what the interface adds to the axes of the grid
_RECIPROCAL_BITS = 16  # with so many, quotients of a thread's index, below 1024, are exact


def require_mergeable(program: ProgramAnalysis, merge: Merge) -> None:
    """Refuse what cannot be merged: blocks that are not of whole warps, and code that reads the clock."""
    kernel, isa = program.graph.kernel, program.isa
    if program.kernel.cfg.preds[0]:
        raise Refused("a branch leads to the kernel's first word", place=kernel, found="a loop that begins there",
                      expected="code in front of all loops")  # fmt: skip
    if any(p.name == GRID for p in program.kernel.fn.info.params):
        raise Refused("a parameter has the name of one that merging adds", place=kernel, found=GRID,
                      expected="another name; a kernel is merged once")  # fmt: skip
    if merge.threads % LANES:
        raise Refused("blocks are merged only if they are of whole warps", place=kernel,
                      found=f"{merge.threads} threads a block", expected=f"a multiple of {LANES}")  # fmt: skip
    for name, f in program.functions.items():
        for word, seen in enumerate(f.cfg.views):
            register = isa.special_register(seen.instr)
            if register is not None and not seen.pure:
                raise Refused("the code reads a clock", place=f"{name}+{word}", found=register,
                              expected="code whose results do not depend on time")  # fmt: skip
            if name != kernel and register is not None and _changes(program, register, merge):
                raise Refused("a function asks for its block or thread", place=f"{name}+{word}", found=register,
                              expected="this in the kernel alone", remedy="Inline the function.")  # fmt: skip


def _changes(program: ProgramAnalysis, register: str, merge: Merge) -> bool:
    """Return whether a special register of a merged block differs from its virtual block's."""
    limits = program.isa.limits
    along = {limits.places.get(register), limits.sizes.get(register)} & {_Z, merge.axis + _GRID}
    return bool(along) or register in (limits.warp, limits.warps)


class Merging:
    """This pass makes a kernel's threads those of virtual blocks. number: register with a virtual block's number in its
    merged block. scratch, extent_register: those with its number in the grid, and with the extent of the original's
    grid, at the kernel's start."""

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
        begin = [build.special(number, _named(limits.places, _Z)), *self._divided(number, merge.block[_Z])]
        begin += [
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
        most = info.max_threads * self.merge.count
        params = [*info.params, self.extent]
        return replace(
            info, block=block, max_threads=most, params=params, registers=max(info.registers, self.next), machine=""
        )  # fmt: skip

    def _divided(self, register: int, by: int) -> list[Instr]:
        """Return code that divides a thread's index by a number."""
        if by == 1:
            return []
        build, reciprocal = self.isa.build, -(-(1 << _RECIPROCAL_BITS) // by)
        return [
            build.multiply_add(register, register, reciprocal, self.isa.limits.zero),
            build.shift_right(register, register, _RECIPROCAL_BITS),
        ]

    def _special(self, word: int, register: str, target: int, guard: Guard) -> None:
        """Let a special register be the virtual block's."""
        build, merge, limits = self.isa.build, self.merge, self.isa.limits
        place, side = limits.places.get(register), limits.sizes.get(register)
        after: list[Instr] = []
        if place == _Z:
            after = [build.multiply_add(target, self.number, -merge.block[_Z], target, guard)]
        elif register == limits.warp:
            after = [build.multiply_add(target, self.number, -(merge.threads // LANES), target, guard)]
        elif place == merge.axis + _GRID:
            after = [build.multiply_add(target, target, merge.count, self.number, guard)]
        elif side == _Z:
            self.edit.replaced[word] = build.number(target, merge.block[_Z], guard)
        elif register == limits.warps:
            self.edit.replaced[word] = build.number(target, merge.threads // LANES, guard)
        elif side == merge.axis + _GRID:
            self.edit.replaced[word] = build.parameter(target, self.extent.offset, guard)
        if after:
            self.edit.behind(word, after)


def _named(numbers: Mapping[str, int], axis: int) -> str:
    """Return the special register with a number along an axis."""
    return next(name for name, k in numbers.items() if k == axis)
