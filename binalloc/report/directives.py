"""A kernel's own directives in a report: what they bound, what overrides them, and what keeping to them costs."""

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
    """Return what the directives bound and cost; None where the kernel has none."""
    bound = kept.obeyed
    if not bound.said and not bound.smem_spilling:
        return None
    return {
        "demand": kept.demand,
        "registers": bound.registers,
        "blocks": bound.blocks,
        "smem_spilling": bound.smem_spilling,
        "said": [_said(one, bound.overridden.get(one.text)) for one in bound.said],
        "costs": [_costs(one) for one in kept.costs],
    }


def _said(one: Directive, overridden_by: str | None) -> DirectiveJson:
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


def directives_lines(told: DirectivesJson | None) -> list[str]:
    """Sentences, none where the kernel says no more than how large its blocks are."""
    if told is None:
        return []
    said = [d for d in told["said"] if not _of_no_account(d, told["demand"])]
    if not said and not told["smem_spilling"]:
        return []
    lines = [f"{_meant(d)}." for d in said]
    if told["smem_spilling"]:
        lines.append('.pragma "enable_smem_spilling": spills to shared memory are allowed.')
    costs = "; ".join(_cost(cost) for cost in told["costs"])
    return [*lines, f"To keep to them takes {costs}."] if costs else lines


def unkept(kernel: Function, machine: Machine) -> list[str]:
    """Sentences on the directives that an import, which gives all registers, does not keep to on a machine, and on
    those of which something else is used than they say."""
    out = []
    for one in directives(machine, kernel.info):
        if one.note:
            out.append(f"{kernel.name}: {one.text}: {one.note}")
        if one.registers is not None and one.registers < kernel.info.registers:
            has = f"{kernel.name} has {count(kernel.info.registers, 'register')}"
            out.append(f"{has}, {one.text} leaves {one.registers} on {machine.name}: rewrite keeps to it")
    return out


def _of_no_account(d: DirectiveJson, demand: int) -> bool:
    """Whether it is a block's size that leaves as many registers as the kernel wants."""
    of_size = d["text"].startswith((".maxntid", ".reqntid")) and not d["note"]
    return of_size and d["registers"] is not None and d["registers"] >= demand


def _meant(d: DirectiveJson) -> str:
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
