"""This module reports a run that stopped at a break: the state of the warp, as JSON and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.bitset import bits
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.emulator.debug.state import WarpState
    from binalloc.emulator.host.device import LaunchedDevice
    from binalloc.emulator.stops.context import StoppedContext
    from binalloc.report.shapes.parts.seen import BreakAccess, BreakJson, LaneAccess

_ROW = 8  # lanes in a line of a register: with its name it is 86 characters long; chosen by hand
_PREDICATES = "P{}"


def stopped_json(device: LaunchedDevice) -> BreakJson:
    """Return the field `break` of a report."""
    from binalloc.emulator.debug.state import stopped_warp
    from binalloc.emulator.stops.context import StoppedContext

    c, warp = StoppedContext(device), stopped_warp(device)
    function, index, instruction, source = c.parts(warp.pc)
    return {
        "why": "watch" if warp.touched else "break", "function": function, "index": index, "instruction": instruction,
        "source": source, "cycle": warp.cycle, "sm": warp.sm, "warp_slot": warp.slot, "block": warp.block,
        "warp": warp.warp, "active": warp.active, "mask": warp.mask, "touched": warp.touched,
        "registers": {f"R{i}": lanes.tolist() for i, lanes in enumerate(warp.registers)},
        "predicates": {_PREDICATES.format(i): lanes for i, lanes in enumerate(warp.predicates)},
        "busy_scoreboards": warp.busy,
        "stack": [
            {
                "kind": entry.kind, "at": _place(c, entry.pc), "mask": entry.mask,
                "reconverges": None if entry.reconverges is None else _place(c, entry.reconverges),
            }
            for entry in warp.stack
        ],
        "access": _access(warp),
        "others": [{"warp": o.warp, "doing": o.doing, "at": _place(c, o.pc)} for o in warp.others],
    }  # fmt: skip


def _place(c: StoppedContext, word: int) -> str:
    function, index, _, _ = c.parts(word)
    return f"{function}+{index}"


def _access(warp: WarpState) -> BreakAccess | None:
    """Return the addresses that the lanes of a memory instruction access, and the words there; None for another
    instruction."""
    if warp.space is None:
        return None
    lanes: list[LaneAccess] = [{"lane": t, "address": at, "words": warp.words[t]} for t, at in warp.addresses.items()]
    return {"space": warp.space, "lanes": lanes}


def render_stopped(found: BreakJson) -> str:
    """Return the state of the warp as text. A register with the same value in all active lanes takes one line."""
    source = "" if found["source"] is None else f" ({found['source']})"
    where = f"{found['function']}+{found['index']} `{found['instruction']}`{source}"
    who = f"SM {found['sm']}, warp slot {found['warp_slot']}, block {found['block']}, warp {found['warp']}"
    lanes = f"active lanes {found['active']:#010x}, lanes that execute it {found['mask']:#010x}"
    lines = [f"stopped in cycle {found['cycle']:,} in front of {where}", f"{who}; {lanes}"]
    if found["touched"]:
        lines.append(f"lanes {found['touched']:#010x} access what is watched")
    lines += _registers(found["registers"], bits(found["active"]))
    held = [f"{name} {mask:#010x}" for name, mask in found["predicates"].items() if mask]
    lines.append("predicates: " + (", ".join(held) + "; the others false" if held else "all false"))
    busy = ", ".join(map(str, found["busy_scoreboards"]))
    lines.append(
        f"busy scoreboards: {busy}; what they guard is in the registers already" if busy else "no busy scoreboard"
    )
    rows = [(e["kind"], e["at"], e["reconverges"] or "", f"{e['mask']:#010x}") for e in found["stack"]]
    text = "\n".join(lines) + "\n\n" + table(["stack, top first", "at", "reconverges", "lanes"], rows)
    if found["access"] is not None:
        words = [
            (a["lane"], f"{a['address']:#x}", " ".join(f"{word:08x}" for word in a["words"]) or "outside")
            for a in found["access"]["lanes"]
        ]
        text += "\n" + table(["lane", f"{found['access']['space']} address", "words there"], words)
    if found["others"]:
        others = [(o["warp"], o["doing"], o["at"]) for o in found["others"]]
        text += "\n" + table(["other warp of the block", "", "at"], others)
    return text


def _registers(registers: dict[str, list[int]], active: list[int]) -> list[str]:
    """Return the lines of the registers. Neighbours with one value in all active lanes share a line.

    registers: values of all lanes, by name. active: numbers of the active lanes.
    """
    lines = []
    value: int | None = None
    run: list[str] = []
    for name, lanes in [*registers.items(), ("", [])]:
        same = {lanes[t] for t in active} if lanes else set()
        if run and same != {value}:
            names = run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}"
            lines.append(f"{names:4} {value:08x} in all active lanes")
            run = []
        if len(same) == 1:
            value = next(iter(same))
            run.append(name)
        elif lanes:
            lines += _register(name, lanes)
    return lines


def _register(name: str, lanes: list[int]) -> list[str]:
    """Return lines with the values of all lanes of a register."""
    rows = [lanes[i : i + _ROW] for i in range(0, len(lanes), _ROW)]
    head = [f"{name:4} lanes {i * _ROW:2}: " for i in range(len(rows))]
    return [h + " ".join(f"{value:08x}" for value in row) for h, row in zip(head, rows, strict=True)]
