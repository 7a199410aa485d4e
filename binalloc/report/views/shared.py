"""This module makes the view `--shared` of `inspect`: variables in shared memory, accesses, barriers and regions."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from binalloc.isa.instruction import DYNAMIC, Module, SharedVar
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine
from binalloc.printable import count
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.analysis.program import ProgramAnalysis
    from binalloc.analysis.shared.barriers import BarrierSite
    from binalloc.analysis.shared.memory import Three
    from binalloc.analysis.shared.place import Place
    from binalloc.analysis.shared.regions import Bound, Region
    from binalloc.analysis.sharing.attribution import Attributed
    from binalloc.report.shapes.parts.sharing.shared import (
        BarrierJson,
        BoundJson,
        PartingJson,
        RegionJson,
        ResidentsJson,
        SharedAccessJson,
        SharedView,
    )

_WHO = {
    "all": "all threads of the block",
    "running": "all that have not ended",
    "some": "perhaps not all that run",
}
"""Who comes to a barrier, by `Arrival`."""

_MOST_NAMES = 3  # of an access's variables in the table; chosen by hand: more than the code of any sample can mean


def shared_of(module: Module, kernel: str, machine: Machine, block: Three | None, dynamic: int) -> SharedView:
    """Return the view of a kernel and its callees. block: threads of a block, if known. dynamic: bytes of its dynamic
    shared memory, 0 if not known. Raises Refused on recursion and indirect calls."""
    from binalloc.analysis.program import analyse
    from binalloc.analysis.shared.memory import shared_memory
    from binalloc.analysis.shared.regions import access_regions
    from binalloc.analysis.shared.variables import bytes_of, variables
    from binalloc.analysis.sharing.attribution import attributed
    from binalloc.report.views.sharing import sharing_of

    program = analyse(module, kernel)
    memory = shared_memory(program, block)
    regions, info = access_regions(memory), module.function(kernel).info
    common, those = memory.common.bytes, variables(program)
    among = [v for _, v in those]
    view: SharedView = {
        "bytes": info.shared_bytes,
        "block": list(block) if block is not None else None,
        "common_bytes": common.bit_count(),
        "variables": [
            {
                "function": name, "name": v.name, "offset": v.offset, "bytes": v.size, "align": v.align,
                "common": bool(bytes_of(v)) and not bytes_of(v) & ~common,
            }
            for name, v in those
        ],
        "accesses": [_access(each, program, common, regions, among) for each in attributed(memory)],
        "barriers": [_barrier(each) for each in memory.barriers],
        "regions": [_region(each, program, memory.reach.size, among) for each in regions],
        "text": "",
    }  # fmt: skip
    if block is not None:
        use = KernelUse.of(info, prod(block), dynamic)
        view["residents"] = _residents(use, machine)
        if use.shared_bytes:
            view["sharing"] = sharing_of(memory, machine, use)
    view["text"] = _text(kernel, view)
    return view


def _access(
    given: Attributed, program: ProgramAnalysis, common: int, regions: list[Region], among: list[SharedVar]
) -> SharedAccessJson:
    from binalloc.analysis.shared.variables import container

    found = given.reached
    name, word = found.place
    variable = container(among, found.may)
    here = name == program.graph.kernel and found.may & ~common
    inside = (k for k, region in enumerate(regions) if any(start <= word < end for start, end in region.spans))
    return {
        "function": name,
        "index": word,
        "access": found.memory.access.value,
        "space": found.memory.space.value,
        "bytes": found.memory.size,
        "address": found.low if found.low == found.high else None,
        "low": found.low,
        "high": found.high,
        "variable": variable.name if variable is not None else None,
        "evidence": given.evidence.value,
        "variables": list(given.touches),
        "contradicted": list(given.contradicted),
        "region": next(inside, None) if here else None,
    }


def _barrier(found: BarrierSite) -> BarrierJson:
    return {
        "function": found.place.function,
        "index": found.place.word,
        "number": found.barrier.number,
        "threads": found.barrier.threads,
        "waits": found.barrier.waits,
        "arrival": found.arrival.value,
        "reason": _place(found.reason),
    }


def _place(found: Place | None) -> PartingJson | None:
    return None if found is None else {"function": found.function, "index": found.word}


def _region(found: Region, program: ProgramAnalysis, size: int, among: list[SharedVar]) -> RegionJson:
    from binalloc.analysis.shared.variables import overlapping

    cfg = program.kernel.cfg

    def bounds(given: list[Bound]) -> list[BoundJson]:
        ends = [block.end - 1 for block in cfg.blocks]
        return [{"index": b.word, "from_index": None if b.source is None else ends[b.source]} for b in given]

    return {
        "spans": [{"first": start, "last": end - 1} for start, end in found.spans],
        "begins": bounds(found.begins),
        "ends": bounds(found.ends),
        "bytes": (found.bytes & (1 << size) - 1).bit_count(),
        "variables": [v.name for v in overlapping(among, found.bytes)],
        "exits": found.exits,
        "ended": _place(found.ended),
    }


def _residents(use: KernelUse, machine: Machine) -> ResidentsJson:
    """Return the multiplex paper's Table 1 for a kernel. It leaves registers out, as its machines' limit is another."""
    found = machine.occupancy(use.given(1, use.slots))
    return {
        "machine": machine.name,
        "threads": use.threads,
        "shared_bytes": use.block_shared,
        "blocks_per_sm": found.blocks_per_sm,
        "threads_per_sm": found.blocks_per_sm * use.threads,
        "shared_bytes_per_sm": found.blocks_per_sm * use.block_shared,
        "limits": list(found.limiters),
        "with_registers": machine.occupancy(use).blocks_per_sm,
    }


def _text(kernel: str, view: SharedView) -> str:
    from binalloc.report.views.sharing import sharing_text

    out = _summary(kernel, view) + _residents_text(view)
    if view["variables"]:
        rows: list[tuple[object, ...]] = []
        rows += [
            (v["function"], v["name"], "yes" if v["common"] else "", v["offset"], v["bytes"]) for v in view["variables"]
        ]
        out += "\n" + table(["function", "variable", "common to all blocks", "address", "bytes"], rows, left=3)
    if view["accesses"]:
        rows = [_access_row(a) for a in view["accesses"]]
        head = ["function", "access", "variables", "by", "addresses", "index", "bytes", "region"]
        out += "\n" + table(head, rows, left=5)
    if view["barriers"]:
        rows = [(b["function"], _WHO[b["arrival"]], _because(b["reason"]), b["index"], b["number"])
                for b in view["barriers"]]  # fmt: skip
        out += "\n" + table(["function", "who comes", "others part at", "index", "barrier"], rows, left=3)
    if view["regions"]:
        rows = [(k, *_region_row(r)) for k, r in enumerate(view["regions"])]
        out += "\n" + table(["region", "instructions", "begins", "ends", "may be short of", "bytes"], rows, left=5)
    return out + (sharing_text(view["sharing"]) if "sharing" in view else "")


def _summary(kernel: str, view: SharedView) -> str:
    met = sum(each["arrival"] == "all" for each in view["barriers"])
    proved, symbols = (sum(a["evidence"] == what for a in view["accesses"]) for what in ("proved", "symbol"))
    inside = sum(span["last"] - span["first"] + 1 for r in view["regions"] for span in r["spans"])
    out = f"{kernel}: {count(view['bytes'], 'byte')} of shared memory per block in "
    out += f"{count(len(view['variables']), 'variable')}, {count(view['common_bytes'], 'byte')} common to all blocks; "
    out += f"{count(len(view['accesses']), 'access', 'accesses')}, {proved} of them proven to stay in "
    out += f"variables, {symbols} more by C's rule; "
    out += f"{count(len(view['barriers']), 'barrier')}, {met} of them met by all threads of a block; "
    return out + f"{count(len(view['regions']), 'access region')} of {count(inside, 'instruction')}\n"


def _residents_text(view: SharedView) -> str:
    if view["block"] is None:
        return "The size of a block is not known; more can be known with it.\n"
    r = view["residents"]
    limits = " and ".join(r["limits"])
    out = f"An SM of {r['machine']} holds {count(r['blocks_per_sm'], 'block')} of {count(r['threads'], 'thread')} by "
    out += f"{limits}, registers left out: {r['threads_per_sm']:,} threads, {r['shared_bytes_per_sm']:,} bytes. "
    return out + f"With this binary's registers it holds {r['with_registers']}.\n"


def _access_row(found: SharedAccessJson) -> tuple[object, ...]:
    from binalloc.analysis.ranges.value import UNSIGNED

    what = f"{found['space']} {found['access']}"
    low, high, region = found["low"], found["high"], found["region"]
    names = ["dynamic memory" if name == DYNAMIC else name for name in found["variables"]]
    if len(names) > _MOST_NAMES:
        names[_MOST_NAMES - 1 :] = [f"{len(names) - _MOST_NAMES + 1} others"]
    by = {"proved": "ranges", "symbol": "C's rule"}.get(found["evidence"], "")
    if found["contradicted"]:
        by = f"never in {' or '.join(found['contradicted'])}, as its symbols say"
    if found["address"] is not None:
        where = f"{low:,}"
    else:
        where = "not known" if (low, high) == UNSIGNED else f"{low:,} to {high:,}"
    return (
        found["function"], what, " or ".join(names) or "not known", by, where, found["index"], found["bytes"],
        "" if region is None else region,
    )  # fmt: skip


def _region_row(found: RegionJson) -> tuple[object, ...]:
    spans = ", ".join(f"{s['first']}-{s['last']}" for s in found["spans"])
    short = "" if found["ended"] is None else f"threads that ended at {_because(found['ended'])}"
    return spans, _bounds(found["begins"]), _bounds(found["ends"]) or "with the block", short, found["bytes"]


def _bounds(found: list[BoundJson]) -> str:
    return ", ".join(
        str(b["index"]) if b["from_index"] is None else f"{b['index']} from {b['from_index']}" for b in found
    )


def _because(reason: PartingJson | None) -> str:
    """Return an instruction that keeps threads away, in words."""
    return "" if reason is None else f"word {reason['index']} of {reason['function']}"
