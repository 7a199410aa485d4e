"""This module checks the control codes of a whole binary for hazards, for `binalloc verify`.

Each function is checked for the machine that it records. A function that records no machine, or an unknown one, is
named in a note.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.model import Machine
    from binalloc.verify.hazards.check import Hazard


@dataclass
class ControlCodes:
    """This record is the result of the hazard check of a binary."""

    machines: list[str] = field(default_factory=list)  #: machines that functions were checked for
    hazards: list[tuple[str, Hazard]] = field(default_factory=list)  #: each with its machine
    notes: list[str] = field(default_factory=list)  #: which functions were not checked, and why

    @property
    def ok(self) -> bool | None:
        """Return whether all functions were checked and none has a hazard; None if some could not be checked."""
        return False if self.hazards else None if self.notes else True


def check_control_codes(module: Module, given: Machine) -> ControlCodes:
    """Check every function for the machine that it records. given: the model to use for the machine of its name."""
    from binalloc.models.machines.files import list_machines
    from binalloc.models.machines.reader import load_machine
    from binalloc.verify.hazards.check import find_hazards

    functions: dict[str, list[str]] = {}
    for fn in module:
        functions.setdefault(fn.info.machine, []).append(fn.name)
    found = ControlCodes()
    for name, members in sorted(functions.items()):
        if not name:
            found.notes.append(
                f"{', '.join(members)}: not scheduled, so there are no control codes to check; "
                "`binalloc schedule` sets them"
            )
            continue
        if name != given.name and name not in list_machines():
            found.notes.append(
                f"{', '.join(members)}: scheduled for {name}, which is no known model, so the control codes were not "
                "checked; give its machine file as the machine"
            )
            continue
        machine = given if name == given.name else load_machine(name)
        found.machines.append(name)
        found.hazards += [(name, hazard) for hazard in find_hazards(module, machine.unit_latencies)]
    return found
