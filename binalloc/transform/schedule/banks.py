"""This module renumbers registers, so that instructions read their operands from different banks of the register file.

It needs a module with addresses laid out, its registers allocated, and the names of functions that only call one
another. It leaves the same code with single registers exchanged, the same ones in all of these functions. Arguments,
results and values that survive a call therefore stay consistent. A function's highest register stays, and so does the
occupancy. Groups of registers keep their numbers, since they lie in as many banks wherever they are. Registers named
by a function's info keep theirs, too.

The cost counts the reads of the emulated machine (TIMING.md, "Registers"). These are the operands of instructions of
fixed latency. A register at two operands counts once. Operands kept by the operand cache (`reuse`) count not at all.
Each two registers of one bank cost as much as their instruction is executed, by loops and calls: of two banks, three
registers in one hold the scheduler up, two take the next instruction's turn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from binalloc.analysis.flow.callgraph import CallGraph, build_callgraph
from binalloc.analysis.flow.loops import find_loops
from binalloc.analysis.frequencies import runs
from binalloc.isa.instruction import Function, Instr, Module
from binalloc.isa.interface.places import REG
from binalloc.isa.sets.table import set_of
from binalloc.models.allocation.banks import STAYS, spread
from binalloc.transform.schedule.graph import InstrGraph, build_graph
from binalloc.transform.schedule.reuse import reuse_flags
from binalloc.transform.schedule.timing import timing

if TYPE_CHECKING:
    from binalloc.models.machines.model import Machine


def spread_over_banks(module: Module, machine: Machine, names: Collection[str] | None = None) -> Module:
    """Return the module with registers of the functions `names` (of all by default) in other banks. Return the module
    itself where the machine names no banks."""
    banks = machine.register_file.banks if machine.register_file is not None else 1
    chosen = [fn for fn in module if names is None or fn.name in names]
    count = max((fn.info.registers for fn in chosen), default=0)
    if banks < 2 or not count:
        return module
    number = spread(_together(module, machine, chosen, count), banks, _classes(chosen, count))
    if number == sorted(number):
        return module
    renumbered = {fn.name: replace(fn, instrs=[_renamed(i, number) for i in fn.instrs]) for fn in chosen}
    return replace(module, functions=[renumbered.get(fn.name, fn) for fn in module])


def _classes(functions: list[Function], count: int) -> list[int]:
    """Return a class for each register; only registers of one class may be exchanged."""
    limits = sorted({fn.info.registers for fn in functions})
    classes = [bisect_right(limits, r) for r in range(count)]
    for fn in functions:
        for register in (fn.info.local_stack, fn.info.slot_pointer):
            if register < count:  # a rewritten callee's info may still name the original's
                classes[register] = STAYS
        for instr in fn.instrs:
            v = set_of(instr).view(instr)
            for ref in (*v.defs, *v.uses):
                if ref.file == REG and (ref.units > 1 or ref.alignment > 1 or not ref.field):
                    for register in ref.registers():
                        classes[register] = STAYS
    return classes


def _together(module: Module, machine: Machine, functions: list[Function], count: int) -> NDArray[np.float64]:
    """Return the cost of two registers in one bank, as a matrix over both."""
    out = np.zeros((count, count))
    graph = build_graph(module)
    read = _read(graph, machine)
    weights = _weights(module, functions)
    for fn, base in zip(graph.functions, graph.base, strict=True):
        for k, weight in enumerate(weights.get(fn.name, ())):
            registers = sorted(read[base + k])
            for i, one in enumerate(registers):
                for other in registers[:i]:
                    out[one, other] += weight
                    out[other, one] += weight
    return out


def _read(graph: InstrGraph, machine: Machine) -> list[set[int]]:
    """Return, by node, the registers that it reads from the banks."""
    timings = [timing(v, machine) for v in graph.views]
    kept = reuse_flags(graph, timings, machine)
    out: list[set[int]] = []
    for node, v in enumerate(graph.views):
        there = kept[node - 1] if node else 0
        asks = not v.control and not timings[node].guarded
        refs = [ref for ref in v.uses if ref.file == REG and ref.operand >= 0 and not there >> ref.operand & 1]
        out.append({r for ref in refs for r in ref.registers()} if asks else set())
    return out


def _weights(module: Module, functions: list[Function]) -> dict[str, list[float]]:
    """Return, by function and word, how often it is executed: the sum over all kernels that reach it."""
    out = {fn.name: [0.0] * len(fn) for fn in functions}
    for fn in functions:
        if fn.info.is_kernel:
            for name, k, weight in _executions(build_callgraph(module, fn.name)):
                if name in out:
                    out[name][k] += weight
    return out


def _executions(graph: CallGraph) -> Iterator[tuple[str, int, float]]:
    """Yield (function, word, how often it is executed per run of the kernel)."""
    loops = {name: find_loops(cfg) for name, cfg in graph.cfgs.items()}
    often = runs(graph, loops)
    for name, cfg in graph.cfgs.items():
        for k, block in enumerate(cfg.block_of):
            yield name, k, often[name] * loops[name].weight[block]


def _renamed(instr: Instr, number: list[int]) -> Instr:
    isa = set_of(instr)
    v = isa.view(instr)
    fields = {
        ref.field: number[ref.index]
        for ref in (*v.defs, *v.uses)
        if ref.file == REG and ref.field and number[ref.index] != ref.index
    }
    return isa.rename(instr, fields) if fields else instr
