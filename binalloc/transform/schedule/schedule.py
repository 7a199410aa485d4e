"""This module is the scheduling pass, which computes control codes for a machine.

It needs a module with addresses laid out, all branches inside their function. It leaves the same instructions in the
same order, each with the control code that the machine needs. It writes the machine's name into every function's info.
The rules are the ISA's: see `scoreboards` for variable latencies, `stalls` for fixed ones, `graph` for the paths
considered.

It sets stall, wbar, rbar, wait, and, if the machine has an operand cache, reuse (see `reuse`). A stall of 0 lets an
instruction issue together with the next one (`timing.may_pair`), never two in a row and never across a block boundary.
Reuse flags of the
input are dropped, since its registers may have changed. yield is 1 throughout (no hint to switch warps). Branches and
barriers have no minimum of their own beyond 1: the emulated machine holds the warp for their latency itself. A pass
that reorders instructions goes before this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from binalloc.collection import no_collection
from binalloc.isa.instruction import Control, Function, Instr, Module
from binalloc.isa.timing import NO_SCOREBOARD
from binalloc.transform.schedule.graph import InstrGraph, build_graph
from binalloc.transform.schedule.reuse import reuse_flags
from binalloc.transform.schedule.scoreboards import Scoreboards, assign_scoreboards
from binalloc.transform.schedule.stalls import StallSolver
from binalloc.transform.schedule.timing import may_pair, timing

if TYPE_CHECKING:
    from binalloc.models.machines.model import Machine


@no_collection()
def schedule(module: Module, machine: Machine) -> Module:
    """Return a copy of `module` with every control code set for `machine`; earlier codes are ignored.

    Raises MalformedInput where a branch leaves its function or a call enters none. Takes about 0.3 s for 10,000
    instructions, linear except for callees with very many returns and call sites (their product counts).
    """
    graph = build_graph(module)
    timings = [timing(v, machine) for v in graph.views]
    boards = assign_scoreboards(graph, timings)
    stalls = StallSolver(graph, timings, _pairs(graph, boards, machine)).solve()
    reuse = reuse_flags(graph, timings, machine)
    functions = []
    for fn, base in zip(graph.functions, graph.base, strict=True):
        instrs = [
            instr.replace(ctrl=Control(stalls[n], 1, boards.wbar[n], boards.rbar[n], boards.wait[n], reuse[n]))
            for n, instr in enumerate(fn.instrs, base)
        ]
        functions.append(replace(fn, instrs=instrs, info=replace(fn.info, machine=machine.name)))
    return replace(module, functions=functions)


def _pairs(graph: InstrGraph, boards: Scoreboards, machine: Machine) -> list[bool]:
    """Say for each node whether it may issue together with the next one, as far as that does not depend on distances.

    The next one must follow in the same block, and not wait for a scoreboard raised by the first.
    """
    out = []
    for node in range(len(graph)):
        second = node + 1
        pair = graph.succ[node] == [second] and second not in graph.leaders
        if pair and may_pair(graph.views[node], graph.views[second], machine):
            raised = sum(1 << b for b in {boards.wbar[node], boards.rbar[node]} if b != NO_SCOREBOARD)
            pair = not raised & boards.wait[second]
        else:
            pair = False
        out.append(pair)
    return out


def average_dispatch_interval(code: Function | Sequence[Instr]) -> Fraction:
    """Return the mean static dispatch interval of scheduled code, in cycles: AD_int of the unified paper, section 4.

    The interval of two adjacent instructions is the stall count of the first. So `n` instructions have `n - 1`
    intervals, in the order of the code, and the last count does not matter. A dual-issued pair counts 0. Waits on
    scoreboards are not static and do not count. Code of fewer than two instructions has interval 1.
    """
    instrs = code.instrs if isinstance(code, Function) else code
    if len(instrs) < 2:
        return Fraction(1)
    return Fraction(sum(instr.ctrl.stall for instr in instrs[:-1]), len(instrs) - 1)
