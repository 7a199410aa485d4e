"""This module reports the directives of a kernel's author: what they limit, what overrides them, and what obeying them
costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.isa.instruction import Function
from binalloc.models.machines.author_bounds import directives
from binalloc.models.machines.model import Machine
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.models.machines.author_bounds import Directive
    from binalloc.pipeline.directives import Cost, KeptDirectives
    from binalloc.report.shapes.parts.versions import DirectiveCost, DirectiveJson, DirectivesJson


def directives_json(kept: KeptDirectives) -> DirectivesJson | None:
    """Return the limits that the directives set, and their cost; None where the kernel has no directives."""
    bound = kept.obeyed
    if not bound.said and not bound.smem_spilling:
        return None
    return {
        "demand": kept.demand,
        "registers": bound.registers,
        "blocks": bound.blocks,
        "smem_spilling": bound.smem_spilling,
        "said": [_directive(one, bound.overridden.get(one.text)) for one in bound.said],
        "costs": [_costs(one) for one in kept.costs],
    }


def _directive(one: Directive, overridden_by: str | None) -> DirectiveJson:
    return {
        "text": one.text,
        "registers": one.registers,
        "blocks": one.blocks,
        "note": one.note,
        "overridden_by": overridden_by,
    }


def _costs(one: Cost) -> DirectiveCost:
    return {
        "allocator": one.allocator,
        "registers": one.registers,
        "slots": one.slots,
        "spill_bytes": one.spill_bytes,
        "blocks_per_sm": one.blocks_per_sm,
    }


def directives_lines(found: DirectivesJson | None) -> list[str]:
    """Return sentences on the directives. There are none where a kernel only states its block size, to no effect."""
    if found is None:
        return []
    shown = [d for d in found["said"] if not _without_effect(d, found["demand"])]
    if not shown and not found["smem_spilling"]:
        return []
    lines = [f"{_meaning(d)}." for d in shown]
    if found["smem_spilling"]:
        lines.append('.pragma "enable_smem_spilling": spills to shared memory are allowed.')
    costs = "; ".join(_cost(cost) for cost in found["costs"])
    return [*lines, f"Obeying them takes {costs}."] if costs else lines


def unkept(kernel: Function, machine: Machine) -> list[str]:
    """Return sentences on two kinds of directives: those that an imported kernel exceeds on a machine, as an import
    limits no registers, and those with another value in force than the stated one."""
    out = []
    for one in directives(machine, kernel.info):
        if one.note:
            out.append(f"{kernel.name}: {one.text}: {one.note}")
        if one.registers is not None and one.registers < kernel.info.registers:
            has = f"{kernel.name} has {count(kernel.info.registers, 'register')}"
            out.append(f"{has}, {one.text} leaves {one.registers} on {machine.name}: rewrite keeps to it")
    return out


def _without_effect(d: DirectiveJson, demand: int) -> bool:
    """Return whether the directive is a block size that leaves the kernel all registers that it demands."""
    of_size = d["text"].startswith((".maxntid", ".reqntid")) and not d["note"]
    return of_size and d["registers"] is not None and d["registers"] >= demand


def _meaning(d: DirectiveJson) -> str:
    bounds = []
    if d["registers"] is not None:
        bounds.append(f"at most {count(d['registers'], 'register')} per thread")
    if d["blocks"] is not None:
        bounds.append(f"at least {count(d['blocks'], 'block')} per SM")
    words = ", ".join(bounds)
    if d["overridden_by"]:
        return f"{d['text']} is overridden by the {d['overridden_by']} asked for"
    return f"{d['text']}: " + " (".join(part for part in (words, d["note"]) if part) + ")" * bool(words and d["note"])


def _cost(cost: DirectiveCost) -> str:
    where = f"{count(cost['registers'], 'register')}, {count(cost['slots'], 'slot')}"
    what = f"{where}, {count(cost['spill_bytes'], 'byte')} of spills in local memory"
    return f"{what} (allocator {cost['allocator']})" if cost["allocator"] else f"{what} (the input as it is)"
