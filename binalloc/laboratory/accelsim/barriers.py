"""A trace can express only some barriers; others are refused here."""

from __future__ import annotations

from binalloc.errors import Refused
from binalloc.isa.instruction import LANES, Function, Instr, Module
from binalloc.isa.table.fields import RZ
from binalloc.isa.table.opcodes import BAR_MODES, FORM_IMM, FORM_REG
from binalloc.launch.types import Launch

_ARRIVE = BAR_MODES.index("ARV")  # the mode of a BAR at which a warp does not wait


def check_barriers(module: Module, kernel: Function, launch: Launch) -> None:
    """Raise Refused for a BAR of fewer threads than the block has, and for one that does not wait.

    The simulator knows one barrier per block, at which every warp waits for every other. Several BARs of all threads
    are no problem: the warps of a block come to all of them in the same order, or the run could not end.
    """
    threads = -(-launch.threads_per_block // LANES) * LANES
    for fn in module.reached(kernel):
        for index, instr in enumerate(fn.instrs):
            if instr.name == "BAR" and not _of_all(instr, threads):
                raise Refused(
                    "a trace for Accel-Sim cannot have this barrier",
                    file=module.path or None,
                    place=f"{fn.name}+{index}",
                    found="a barrier of some of the block's warps, or at which a warp does not wait",
                    expected=f"barriers of all {threads} threads that wait",
                )


def _of_all(instr: Instr, threads: int) -> bool:
    """Return whether a BAR waits, and for all `threads` of the block."""
    f = instr.f
    if f["bar"] == _ARRIVE:
        return False
    if f["form"] == FORM_IMM:
        return f["imm"] in (0, threads)
    return f["form"] == FORM_REG and f["rb"] == RZ
