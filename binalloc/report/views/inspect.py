"""This module makes the views of `binalloc inspect`, as JSON and as text.

Views:
    sections: ELF sections, resources of each function, provenance.
    cfg: call graph, basic blocks, loops; also with recursion and indirect calls.
    webs: table of live ranges.
    live: live ranges beside the instructions (`live.py`).
    pressure: register pressure by instruction, Max-live over calls (`pressure.py`).
    stack: three stack layouts, slots and spill area (`stack.py`).
    shared: variables in shared memory, accesses, barriers and access regions (`shared.py`).
    minimum: fewest registers that a rewrite can have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from binalloc.errors import Refused
from binalloc.isa.instruction import NO_REGISTER, Function, Module
from binalloc.isa.sets.table import set_of
from binalloc.models.machines.model import Machine
from binalloc.pipeline.block import Three, require_block
from binalloc.printable import count, one_line
from binalloc.report.table import table
from binalloc.report.views.excerpt import EVERYTHING, Excerpt

if TYPE_CHECKING:
    from binalloc.launch.types import Launch
    from binalloc.report.shapes.commands.inspect import (
        CfgView,
        ControlFlow,
        FunctionRecord,
        FunctionWebs,
        InspectionJson,
        LiveView,
        MinimumView,
        OwnOccupancy,
        PressureView,
        SectionsView,
        WebsView,
    )
    from binalloc.report.shapes.parts.sharing.shared import SharedView
    from binalloc.report.shapes.parts.stack import StackView

TEXTS: tuple[Literal["cfg", "webs", "live", "pressure", "stack", "shared", "minimum"], ...] = (
    "cfg", "webs", "live", "pressure", "stack", "shared", "minimum",
)  # fmt: skip
"""Views that have a text, in the order in which they are shown."""


def inspect_module(
    module: Module,
    data: bytes,
    kernel: str | None,
    views: list[str],
    machine: Machine,
    excerpt: Excerpt = EVERYTHING,
    columns: str = "auto",
    block: Three | None = None,
    launch: Launch | None = None,
) -> InspectionJson:
    """Return the views of a module as `inspect --json` prints them, with its file and its kernel.

    Args:
        module: the binary.
        data: the bytes of its file.
        kernel: name; None for the only kernel.
        views: names of the views.
        machine: machine for occupancy.
        excerpt: part of the code to show in the view `live`.
        columns: columns of the view `live`: one of `live.COLUMNS`.
        block: block size that the user states; None if the binary's or the launch's is meant.
        launch: of the kernel, with the size and the dynamic shared memory of its blocks; None if it is not known.

    Raise UsageError if there is no such kernel, or several to choose from, or if launch and block differ. Raise Refused
    on recursion and indirect calls, for all views except `sections` and `cfg`.
    """
    from binalloc.pipeline.pipeline import find_kernel

    found: InspectionJson = {"file": module.path}
    name = ""
    if kernel is not None or any(v != "sections" for v in views):
        name = find_kernel(module, kernel).name
        found["kernel"] = name
    dynamic = 0
    if launch is not None:
        require_block(block, module.function(name).info, launch, module.path)
        block, dynamic = launch.block, launch.dynamic_shared
    for v in views:
        match v:
            case "sections":
                found["sections"] = _sections(module, data, machine, name, block, dynamic)
            case "cfg":
                found["cfg"] = _cfg(module, name)
            case "webs":
                found["webs"] = _webs(module, name)
            case "live":
                found["live"] = _live(module, name, excerpt, columns)
            case "pressure":
                found["pressure"] = _pressure(module, name)
            case "stack":
                found["stack"] = _stack(module, name)
            case "shared":
                found["shared"] = _shared(module, name, machine, block, dynamic)
            case "minimum":
                found["minimum"] = _minimum(module, name)
    return found


# -- sections ---------------------------------------------------------------------------------------------------------


def _sections(
    module: Module, data: bytes, machine: Machine, kernel: str, block: Three | None, dynamic: int
) -> SectionsView:  # fmt: skip
    """Return the view `sections`. kernel: the kernel whose block size is `block`; "" for all kernels. dynamic: bytes of
    its dynamic shared memory."""
    for fn in module.kernels():
        if kernel in ("", fn.name):
            require_block(block, fn.info, None, module.path)
    return {
        "bytes": len(data),
        "isa_version": module.isa_version,
        "sections": [
            {"name": s.name, "type": s.type, "address": s.address, "offset": s.offset, "bytes": s.bytes}
            for s in set_of(module).sections(data)
        ],
        "functions": [
            _resources(fn, machine, *((block, dynamic) if kernel in ("", fn.name) else (None, 0))) for fn in module
        ],
        "globals": [
            {"name": v.name, "address": v.address, "bytes": v.size, "align": v.align, "initialised": len(v.data)}
            for v in module.globals
        ],
        "constant_variables": [
            {"name": v.name, "bank": v.bank, "offset": v.offset, "bytes": v.size} for v in module.constant_vars
        ],
        "constants": [{"bank": bank, "bytes": len(content)} for bank, content in sorted(module.constants.items())],
        "provenance": module.provenance,
    }


def _resources(fn: Function, machine: Machine, block: Three | None, dynamic: int) -> FunctionRecord:
    info = fn.info
    out: FunctionRecord = {
        "function": fn.name,
        "kind": info.kind,
        "address": fn.address,
        "instructions": len(fn),
        "registers": info.registers,
        "local_frame": info.local_frame,
        "local_bytes": info.local_bytes,
        "spill_local": info.spill_local,
        "shared_bytes": info.shared_bytes,
        "slots": info.slots,
        "slot_pointer": _register(info.slot_pointer),
        "local_stack": _register(info.local_stack),
        "block": list(info.block) if any(info.block) else None,
        "max_threads": info.max_threads or None,
        "machine": info.machine or None,
        "params": [{"name": p.name, "offset": p.offset, "bytes": p.size} for p in info.params],
        "shared": [{"name": s.name, "offset": s.offset, "bytes": s.size, "align": s.align} for s in fn.shared],
    }
    if info.is_kernel and (block is not None or any(info.block)):
        out["occupancy"] = _occupancy(fn, machine, block, dynamic)
    return out


def _register(number: int) -> str | None:
    return None if number == NO_REGISTER else f"R{number}"


def _occupancy(fn: Function, machine: Machine, block: Three | None, dynamic: int) -> OwnOccupancy:
    """Return how many blocks of a kernel an SM holds. dynamic: bytes of dynamic shared memory. Precondition: `block` or
    the kernel's record gives the block size."""
    from binalloc.models.machines.kernel_use import KernelUse

    x, y, z = block or (n or 1 for n in fn.info.block)
    answer = machine.occupancy(KernelUse.of(fn.info, x * y * z, dynamic))
    return {"machine": machine.name, "blocks_per_sm": answer.blocks_per_sm, "occupancy": answer.occupancy}


_RESOURCES: tuple[
    Literal[
        "function", "kind", "instructions", "registers", "local_frame", "local_bytes", "spill_local", "shared_bytes",
        "slots", "slot_pointer", "machine",
    ],
    ...,
] = (
    "function", "kind", "instructions", "registers", "local_frame", "local_bytes", "spill_local", "shared_bytes",
    "slots", "slot_pointer", "machine",
)  # fmt: skip
"""Fields of a function's record that the table of functions shows."""


def _sections_text(found: SectionsView) -> str:
    parts = [f"{found['bytes']:,} bytes, ISA version {found['isa_version']}\n\n"]
    rows = [(s["name"], s["type"], f"{s['address']:#x}", f"{s['offset']:#x}", s["bytes"]) for s in found["sections"]]
    parts.append(table(["section", "type", "address", "offset", "bytes"], rows, left=2) + "\n")
    names = [name.replace("_", " ") for name in _RESOURCES]
    parts.append(table(names, [[f[name] for name in _RESOURCES] for f in found["functions"]], left=2))
    for f in found["functions"]:
        parts += [f"\n{f['function']}: block {' x '.join(map(str, f['block']))}" if f["block"] else ""]
        parts += [f"\n{f['function']}: at most {f['max_threads']} threads per block" if f["max_threads"] else ""]
        o = f.get("occupancy")
        if o is not None:
            blocks = count(o["blocks_per_sm"], "block")
            parts.append(f"; {blocks} per SM of {o['machine']}, occupancy {o['occupancy']:.3f}")
        head = f"\n{f['function']}: "
        parts += [f"{head}parameter {p['name']} at c[0][{p['offset']:#x}], {p['bytes']} bytes" for p in f["params"]]
        parts += [f"{head}shared {s['name']} at {s['offset']}, {s['bytes']} bytes" for s in f["shared"]]
    parts += [
        f"\nglobal {v['name']}: {v['bytes']} bytes at {v['address']:#x}, {v['initialised']} of them initialised"
        for v in found["globals"]
    ]
    parts += [
        f"\nconstant {v['name']}: {v['bytes']} bytes at c[{v['bank']}][{v['offset']:#x}]"
        for v in found["constant_variables"]
    ]
    parts += [f"\nconstant bank {c['bank']}: {c['bytes']} bytes" for c in found["constants"]]
    for record in found["provenance"]:
        parts.append("\n" + one_line("provenance: " + ", ".join(f"{k} {v}" for k, v in record.items())))
    return "".join(parts) + "\n"


# -- control flow and values ------------------------------------------------------------------------------------------


def _cfg(module: Module, kernel: str) -> CfgView:
    from binalloc.analysis.flow.callgraph import build_callgraph
    from binalloc.analysis.flow.loops import find_loops
    from binalloc.report.views.dump import (
        callgraph_dict,
        callgraph_text,
        cfg_dict,
        cfg_text,
        loops_dict,
        loops_text,
    )

    graph = build_callgraph(module, kernel)
    functions: list[ControlFlow] = []
    texts = [callgraph_text(graph)]
    for name in graph.functions:
        cfg = graph.cfgs[name]
        nest = find_loops(cfg)
        functions.append({**cfg_dict(cfg, nest), "loops": loops_dict(nest)})
        texts += [cfg_text(cfg, nest), loops_text(nest)]
    return {"callgraph": callgraph_dict(graph), "functions": functions, "text": "\n".join(texts)}


def _webs(module: Module, kernel: str) -> WebsView:
    from binalloc.analysis.program import analyse
    from binalloc.report.views.dump import summary_dict, summary_text, webs_dict, webs_text

    program = analyse(module, kernel, lift=True)
    functions: list[FunctionWebs] = [
        {"summary": summary_dict(f), **webs_dict(f.webs)} for f in program.functions.values()
    ]
    texts = [text for f in program.functions.values() for text in (summary_text(f), webs_text(f.webs))]
    texts += [f"not lifted: {reason}\n" for reason in program.lifting.reasons]
    return {"functions": functions, "not_lifted": program.lifting.reasons, "text": "\n".join(texts)}


def _live(module: Module, kernel: str, excerpt: Excerpt, columns: str) -> LiveView:
    from binalloc.report.views.live import live_of

    return live_of(module, kernel, excerpt, columns)


def _pressure(module: Module, kernel: str) -> PressureView:
    from binalloc.report.views.pressure import pressure_of

    return pressure_of(module, kernel)


def _stack(module: Module, kernel: str) -> StackView:
    from binalloc.report.views.stack import stack_of

    return stack_of(module, kernel)


def _shared(module: Module, kernel: str, machine: Machine, block: Three | None, dynamic: int) -> SharedView:
    from binalloc.report.views.shared import shared_of

    info = module.function(kernel).info
    require_block(block, info, None, module.path)
    if block is None and any(info.block):
        x, y, z = (side or 1 for side in info.block)
        block = x, y, z
    return shared_of(module, kernel, machine, block, dynamic)


def _minimum(module: Module, kernel: str) -> MinimumView:
    from binalloc.transform.rewrite.rewrite import minimum_registers

    info = module.function(kernel).info
    if info.slot_bytes or info.spill_local:
        raise Refused(
            f"{kernel} has been rewritten before: the minimum is a property of the original",
            file=module.path or None,
            remedy="Ask for the original binary's.",
        )
    fewest = minimum_registers(module, kernel)
    text = f"{kernel} can run with {count(fewest, 'register')} per thread (it reserves {info.registers}); "
    text += "the rest is spilled\n"
    return {"registers": fewest, "reserved": info.registers, "text": text}


def render_inspection(found: InspectionJson) -> str:
    """Return all views as text, one after the other."""
    parts = [_sections_text(found["sections"])] if "sections" in found else []
    for v in TEXTS:
        if v in found:
            parts.append(found[v]["text"])
    return "\n".join(parts)
