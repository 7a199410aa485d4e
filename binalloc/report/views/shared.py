"""This module makes the view `--shared` of `inspect`: variables in shared memory, accesses, and barriers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.isa.instruction import Module
from binalloc.printable import count
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.analysis.shared.accesses import SharedAccess
    from binalloc.analysis.shared.barriers import BarrierSite
    from binalloc.report.shapes.commands.inspect import BarrierJson, SharedAccessJson, SharedView

_WHO = {
    "all": "all threads of the block",
    "running": "all that have not ended",
    "some": "perhaps not all that run",
}
"""Who comes to a barrier, by `Arrival`."""


def shared_of(module: Module, kernel: str) -> SharedView:
    """Return the view of a kernel and its callees. Raises Refused on recursion and indirect calls."""
    from binalloc.analysis.program import analyse
    from binalloc.analysis.shared.accesses import shared_accesses, variables
    from binalloc.analysis.shared.barriers import barrier_sites
    from binalloc.analysis.shared.uniformity import uniformity

    program = analyse(module, kernel)
    view: SharedView = {
        "bytes": module.function(kernel).info.shared_bytes,
        "variables": [
            {"function": name, "name": v.name, "offset": v.offset, "bytes": v.size, "align": v.align}
            for name, v in variables(program)
        ],
        "accesses": [_access(each) for each in shared_accesses(program)],
        "barriers": [_barrier(each) for each in barrier_sites(uniformity(program))],
        "text": "",
    }
    view["text"] = _text(kernel, view)
    return view


def _access(found: SharedAccess) -> SharedAccessJson:
    return {
        "function": found.place.function,
        "index": found.place.word,
        "access": found.memory.access.value,
        "space": found.memory.space.value,
        "bytes": found.memory.size,
        "address": found.address,
        "variable": found.variable.name if found.variable is not None else None,
    }


def _barrier(found: BarrierSite) -> BarrierJson:
    reason = found.reason
    return {
        "function": found.place.function,
        "index": found.place.word,
        "number": found.barrier.number,
        "threads": found.barrier.threads,
        "waits": found.barrier.waits,
        "arrival": found.arrival.value,
        "reason": None if reason is None else {"function": reason.function, "index": reason.word},
    }


def _text(kernel: str, view: SharedView) -> str:
    met = sum(each["arrival"] == "all" for each in view["barriers"])
    known = sum(each["variable"] is not None for each in view["accesses"])
    variables, accesses = count(len(view["variables"]), "variable"), len(view["accesses"])
    out = f"{kernel}: {count(view['bytes'], 'byte')} of shared memory per block in {variables}; "
    out += f"{count(accesses, 'access', 'accesses')}, {known} of them to a known variable; "
    out += f"{count(len(view['barriers']), 'barrier')}, {met} of them met by all threads of a block\n"
    if view["variables"]:
        rows: list[tuple[object, ...]] = []
        rows += [(v["function"], v["name"], v["offset"], v["bytes"]) for v in view["variables"]]
        out += "\n" + table(["function", "variable", "address", "bytes"], rows, left=2)
    if view["accesses"]:
        rows = [_access_row(a) for a in view["accesses"]]
        out += "\n" + table(["function", "access", "variable", "index", "bytes", "address"], rows, left=3)
    if view["barriers"]:
        rows = [(b["function"], _WHO[b["arrival"]], _because(b), b["index"], b["number"]) for b in view["barriers"]]
        out += "\n" + table(["function", "who comes", "others part at", "index", "barrier"], rows, left=3)
    return out


def _access_row(found: SharedAccessJson) -> tuple[object, ...]:
    what = f"{found['space']} {found['access']}"
    variable, address = found["variable"], found["address"]
    return (
        found["function"], what, "not known" if variable is None else variable, found["index"], found["bytes"],
        "not known" if address is None else address,
    )  # fmt: skip


def _because(barrier: BarrierJson) -> str:
    """Return the instruction that keeps threads from a barrier, in words."""
    reason = barrier["reason"]
    return "" if reason is None else f"word {reason['index']} of {reason['function']}"
