"""The static hazard check of a whole binary, for `binalloc verify`: which functions, for which machine, what was found.

Each function is checked for the machine it records; one that records none, or a machine nobody here knows, is named in
a note, not passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.model import Machine

SHOWN = 20


def check_control_codes(module: Module, given: Machine) -> dict[str, Any]:
    """ok: True where all functions were checked and no hazard found, False for a hazard, None where some could not be
    checked; `machines` checked for, `hazards`, `notes`. given: the model to take for the machine of its name."""
    from binalloc.models.machines.files import list_machines
    from binalloc.models.machines.reader import load_machine
    from binalloc.verify.hazards.check import find_hazards

    functions: dict[str, list[str]] = {}
    for fn in module:
        functions.setdefault(fn.info.machine, []).append(fn.name)
    machines: list[str] = []
    hazards: list[dict[str, object]] = []
    findings: list[str] = []
    notes: list[str] = []
    for name, members in sorted(functions.items()):
        if not name:
            notes.append(
                f"{', '.join(members)}: not scheduled, so there are no control codes to check; "
                "`binalloc schedule` sets them"
            )
            continue
        if name != given.name and name not in list_machines():
            notes.append(
                f"{', '.join(members)}: scheduled for {name}, which is no known model, so the control codes were not "
                "checked; give its machine file as the machine"
            )
            continue
        machine = given if name == given.name else load_machine(name)
        machines.append(name)
        for hazard in find_hazards(module, machine.unit_latencies):
            hazards.append({"machine": name, **hazard.to_dict()})
            findings.append(str(hazard))
    ok = False if hazards else None if notes else True
    return {"ok": ok, "machines": machines, "hazards": hazards, "findings": findings, "notes": notes}


def render_control_codes(found: dict[str, Any]) -> str:
    """As lines, the verdict first."""
    lines = []
    if found["machines"]:
        count = len(found["hazards"])
        verdict = "no hazard" if not count else "1 HAZARD" if count == 1 else f"{count} HAZARDS"
        lines.append(f"control codes: {verdict} on {', '.join(found['machines'])}\n")
    lines += [f"  {text}\n" for text in found["findings"][:SHOWN]]
    if len(found["findings"]) > SHOWN:
        lines.append(f"  and {len(found['findings']) - SHOWN} more\n")
    lines += [f"control codes NOT CHECKED: {text}\n" for text in found["notes"]]
    return "".join(lines)
