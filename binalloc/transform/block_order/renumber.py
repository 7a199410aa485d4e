"""Blocks of one grid work as other blocks of it: code that asks for a block's place in the grid gets another one's.

Needs a laid-out module without indirect calls; leaves another one, in front of allocation. A kernel computes the place
at its start, and its reads are copies from there. A called function computes it in front of each read, since no
convention of calls would hand it on. On every other grid all blocks keep their places. Nothing but registers behind
those of the program is written, and no predicate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis, analyse
from binalloc.analysis.shared.waiting import waiting_for_blocks
from binalloc.errors import Refused
from binalloc.isa.instruction import Module, Origin
from binalloc.isa.interface.instruction_set import InstructionSet
from binalloc.isa.interface.view import ALWAYS
from binalloc.models.batches.order import BlockOrder, Three
from binalloc.transform.block_order.numbering import GRID, Numbering
from binalloc.transform.multiplex.edit import Edit, in_place

REMEDY = "Leave the order of its blocks as it is."
MOST_BLOCKS = 1 << 22
"""Most blocks of a grid: the checker looks at them one by one, which takes some seconds for so many."""


@dataclass(frozen=True)
class Renumbered:
    """A renumbered module has a kernel whose blocks work in another order."""

    module: Module
    reads: int  #: words that ask for a block's place and get another one's
    words: int  #: words that were inserted


def block_reads(program: ProgramAnalysis) -> dict[str, dict[int, int]]:
    """Return the words that ask for the block's place in the grid, by function, with the axis."""
    return {name: _reads(program.isa, f) for name, f in program.functions.items()}


def require_movable(module: Module, kernel: str, grid: Three) -> ProgramAnalysis:
    """Return the analysis of a kernel whose blocks may work in any order. Raises Refused for one whose blocks wait for
    others, with the place, for a grid that is too large for a proof, and as `analyse`."""
    program = analyse(module, kernel)
    waits = waiting_for_blocks(program)
    if waits:
        raise Refused(
            "blocks wait for what other blocks write, or may: in another order they might wait for ever",
            place=f"{waits[0].function}+{waits[0].word}",
            found="a loop that ends by an ordered or atomic read of global memory, which waits for another block or "
            "only tries its own atomic again: code does not tell one from the other",
            expected="independent blocks",
            remedy=REMEDY,
        )  # fmt: skip
    blocks = math.prod(grid)
    if blocks > MOST_BLOCKS:
        raise Refused("the grid is too large for a proof of the order of its blocks", place=kernel,
                      found=f"{blocks:,} blocks", expected=f"at most {MOST_BLOCKS:,}", remedy=REMEDY)  # fmt: skip
    return program


def renumber_blocks(
    program: ProgramAnalysis, order: BlockOrder, grid: Three, sms: int, on: Three | None = None
) -> Renumbered:
    """Return the module with a kernel whose blocks work in an order on one grid. sms: to which hardware deals blocks in
    turn. on: a grid in place of that one, on which the code has no meaning: on the order's own grid it runs, and leaves
    all blocks in place. program: of `require_movable`. Raises Refused if registers do not suffice."""
    isa, module, kernel = program.isa, program.module, program.graph.kernel
    moved = Numbering(isa, order, grid, sms).moved()
    free = isa.highest_register(i for f in program.functions.values() for i in f.fn.instrs) + 1
    count = words = 0
    most = free
    for name in program.graph.top_down:
        reads = {word: axis for word, axis in _reads(isa, program.functions[name]).items() if axis in moved}
        if not reads:
            continue
        _require_own(program, name)
        numbering = Numbering(isa, order, grid, sms, on)
        edit = Edit(module.function(name))
        starts = {0: reads} if name == kernel else {word: {word: axis} for word, axis in reads.items()}
        behind = free
        for start, those in starts.items():
            behind = max(behind, _replace(edit, numbering, start, those, free))
        if name == kernel:
            free = behind  # its values live across calls
        most = max(most, behind)
        fn, index = edit.done()
        count, words = count + len(reads), words + index.count(-1)
        info = replace(fn.info, registers=max(fn.info.registers, behind), machine="")
        module = in_place(module, replace(fn, info=info, origin=Origin(name, index)), index)
    if most > isa.limits.zero:
        raise Refused("the kernel has too many registers", place=kernel,
                      found=f"{free} registers without those for the order of blocks",
                      expected=f"at most {isa.limits.zero - most + free}",
                      remedy="Rewrite it for fewer registers first.")  # fmt: skip
    return Renumbered(_with_registers(module, kernel, most), count, words)


def _replace(edit: Edit, numbering: Numbering, start: int, reads: dict[int, int], free: int) -> int:
    """Compute the block's place in front of a word, and let reads be copies. reads: the axis of each. free: the first
    free register. Return the one behind the last used."""
    isa = numbering.steps.isa
    found = numbering.computed(sorted(set(reads.values())))
    code, registers, behind = numbering.steps.code(free, set(found.values()))
    edit.insert(start, None, code)
    for word, axis in reads.items():
        seen = isa.view(edit.fn.instrs[word])
        source = registers[found[axis]]
        edit.replaced[word] = isa.build.copy(seen.defs[0].index, source, seen.guard or ALWAYS)
    return behind


def _reads(isa: InstructionSet, f: FunctionAnalysis) -> dict[int, int]:
    """Return the words of a function that ask for the block's place, with the axis. Raises Refused for one that asks
    for more than one word."""
    found = {}
    for word, seen in enumerate(f.cfg.views):
        register = isa.special_register(seen.instr)
        axis = -1 if register is None else isa.limits.places.get(register, -1) - GRID
        if axis < 0 or not seen.defs:
            continue
        if seen.defs[0].units != 1:
            raise Refused("the code asks for two words at once", place=f"{f.name}+{word}", found=str(register),
                          expected="reads of one word", remedy=REMEDY)  # fmt: skip
        found[word] = axis
    return found


def _require_own(program: ProgramAnalysis, name: str) -> None:
    """Raise Refused for a function that other kernels call, too: their blocks would change their order."""
    module, kernel = program.module, program.graph.kernel
    others = [fn.name for fn in module.kernels() if fn.name != kernel and fn.name != name
              and any(reached.name == name for reached in module.reached(fn))]  # fmt: skip
    if others:
        raise Refused("a function asks for its block that other kernels call, too", place=name, found=others[0],
                      expected=f"calls by {kernel} alone", remedy=REMEDY)  # fmt: skip


def _with_registers(module: Module, kernel: str, most: int) -> Module:
    """Return the module with as many registers for a kernel as it and the functions that it calls have."""
    functions = [
        replace(fn, info=replace(fn.info, registers=max(fn.info.registers, most), machine=""))
        if fn.name == kernel else fn
        for fn in module.functions
    ]  # fmt: skip
    return replace(module, functions=functions)
