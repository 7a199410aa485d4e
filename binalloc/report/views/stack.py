"""This module makes the view `inspect --stack`: the depth of a kernel's stack in three layouts, and the place of the
stack in a rewritten binary.

The stack has a procedure's variables in memory. They are the words of local memory that are accessed at fixed offsets
alone (file "L" of the analysis). A word that passes an argument or a result belongs to the caller. In the text slots
are counted from 1, as in the unified paper's Fig. 3 (section 3.2.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.analysis.program import ProgramAnalysis, analyse
from binalloc.isa.instruction import NO_REGISTER, Function, Module
from binalloc.isa.interface.places import LOCAL, REG, SLOT_ROW, WORD
from binalloc.isa.kinds import Space
from binalloc.isa.sets.table import set_of, view
from binalloc.models.allocation.stack.stack_layout import Layout, StackCall, StackLayouts, stack_layouts
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.report.shapes.parts.stack import (
        SlotCall,
        SlotFunction,
        SlotsJson,
        SpillArea,
        SpillFunction,
        StackFacts,
        StackLayoutJson,
        StackView,
    )


def stack_of(module: Module, kernel: str) -> StackView:
    """Return the three layouts of a kernel's local variables, and the slots and the spill area of a rewritten binary.

    Raise Refused on recursion and indirect calls, with which the stack has no fixed depth.
    """
    program = analyse(module, kernel, lift=True)
    frames, calls = stack_problem(program)
    layouts = stack_layouts({name: len(words) for name, words in frames.items()}, calls)
    found: StackFacts = {
        "depths": {
            "traditional": layouts.traditional.depth,
            "register_stack": layouts.register_stack.depth,
            "moving_stack": layouts.moving_stack.depth,
        },
        "frames": {name: [f"L[{WORD * word:#x}]" for word in words] for name, words in frames.items()},
        "layouts": [_layout(x) for x in (layouts.traditional, layouts.register_stack, layouts.moving_stack)],
        "not_lifted": program.lifting.reasons,
        "slots": _slots(program),
        "spill_area": _spill_area(program),
    }
    return {**found, "text": _text(kernel, layouts, found)}


def stack_problem(program: ProgramAnalysis) -> tuple[dict[str, list[int]], list[StackCall]]:
    """Return the local words of each procedure, ascending, and for each call which of its caller's are live across it.

    Words that pass arguments or results are left out of the callee's. A call has indices into its caller's words.
    """
    frames: dict[str, list[int]] = {}
    for name in program.graph.functions:
        webs = program[name].webs.of_file(LOCAL)
        given = set() if name == program.graph.kernel else {w.arch for w in webs if w.arg or w.result}
        frames[name] = sorted({w.arch for w in webs} - given)
    calls = []
    for name in program.graph.functions:
        webs_of = program[name].webs
        place = {word: k for k, word in enumerate(frames[name])}
        for site in program.graph.sites[name]:
            survivors = [webs_of[w] for w in webs_of.calls[site.index].survivors] if site.index in webs_of.calls else []
            live = sorted({place[w.arch] for w in survivors if w.file == LOCAL and w.arch in place})
            calls.append(StackCall(name, site.callee, tuple(live)))
    return frames, calls


def _layout(layout: Layout) -> StackLayoutJson:
    return {
        "name": layout.name,
        "depth": layout.depth,
        "start": layout.start,
        "calls": [
            {
                "caller": c.call.caller,
                "callee": c.call.callee,
                "live": list(c.call.live),
                "shift": c.shift,
                "moves": [list(m) for m in c.moves],
            }
            for c in layout.calls
        ],
    }


def _slots(program: ProgramAnalysis) -> SlotsJson | None:
    """Return the slots of a rewritten binary: their number, the slots that each function accesses from its slot
    pointer, and how far the pointer moves around each call; None for a binary without slots."""
    info = program.kernel.fn.info
    if not info.slot_bytes:
        return None
    functions: list[SlotFunction] = []
    for name in program.graph.functions:
        fn = program[name].fn
        rows = sorted({offset // SLOT_ROW for offset in _spill_offsets(fn, Space.SHARED)})
        shifts: list[SlotCall] = [
            {"index": s.index, "callee": s.callee, "slots": _shift(fn, s.index, info.slot_pointer)}
            for s in program.graph.sites[name]
        ]
        functions.append({"function": name, "rows": rows, "calls": shifts})
    return {
        "bytes_per_warp": info.slot_bytes,
        "slots": info.slots,
        "pointer": None if info.slot_pointer == NO_REGISTER else f"R{info.slot_pointer}",
        "functions": functions,
    }


def _spill_offsets(fn: Function, space: Space) -> list[int]:
    """Return the offsets of a function's spill code in a memory space, in bytes."""
    memories = [view(i).memory for i in fn.instrs]
    return [m.offset for m in memories if m is not None and m.spill and m.space == space]


def _shift(fn: Function, call: int, pointer: int) -> int:
    """Return by how many slots the slot pointer moves around a call. call: its word. pointer: the pointer's register.

    That is the last change of the pointer before the call, without a jump or another call in between; 0 without one.
    """
    for index in range(call - 1, -1, -1):
        v = view(fn.instrs[index])
        if v.control:
            return 0
        if any(d.file == REG and pointer in d.registers() for d in v.defs):
            added = set_of(v.instr).add_immediate(v.instr)
            return max(0, added[2]) // SLOT_ROW if added is not None else 0
    return 0


def _spill_area(program: ProgramAnalysis) -> SpillArea | None:
    """Return the words of local memory that spill code accesses, by function; None for a binary without any."""
    info = program.kernel.fn.info
    if not info.spill_local:
        return None
    functions: list[SpillFunction] = [
        {"function": name, "offsets": sorted(set(_spill_offsets(program[name].fn, Space.LOCAL)))}
        for name in program.graph.functions
    ]
    return {"start": info.local_bytes, "bytes": info.spill_local, "functions": functions}


def _text(kernel: str, layouts: StackLayouts, found: StackFacts) -> str:
    deep = found["depths"]
    depths = f"{deep['traditional']} / {deep['register_stack']} / {deep['moving_stack']}"
    lines = [f"stack of {kernel}: {depths} slots deep (traditional / register stack / moving stack)\n\n"]
    lines.append(layouts.text())
    if not any(found["frames"].values()):
        lines.append("No variable of the input lives at a fixed place in local memory.\n")
    lines += [f"not lifted: {reason}\n" for reason in found["not_lifted"]]
    if found["slots"]:
        lines.append("\n" + _slots_text(found["slots"]))
    if found["spill_area"]:
        area = found["spill_area"]
        lines.append(f"\nspill area: local bytes {area['start']} to {area['start'] + area['bytes'] - 1}\n")
        lines += [f"  {f['function']}: {_list(f['offsets'])}\n" for f in area["functions"]]
    return "".join(lines)


def _slots_text(slots: SlotsJson) -> str:
    head = f"slots: {slots['slots']} per thread, {slots['bytes_per_warp']} bytes per warp, pointer {slots['pointer']}\n"
    rows = [
        (f["function"], _list([r + 1 for r in f["rows"]]), ", ".join(_call(c) for c in f["calls"]) or "-")
        for f in slots["functions"]
    ]
    return head + table(["procedure", "slots from its pointer", "calls"], rows, left=3)


def _call(call: SlotCall) -> str:
    return f"{call['callee']} at word {call['index']} (pointer + {call['slots']} slots)"


def _list(numbers: list[int]) -> str:
    return " ".join(map(str, numbers)) or "none"
