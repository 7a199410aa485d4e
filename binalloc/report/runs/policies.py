"""The policies of the SM in the title of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.run_program import ProgramRunFields
    from binalloc.report.shapes.commands.runs import ResultJson


def policies_text(found: ResultJson | ProgramRunFields) -> str:
    """Name the policies of a run that are not the usual ones, each after a comma."""
    from binalloc.emulator.runs.options import USUAL

    usual = {"scheduler": USUAL.scheduler, **USUAL.policies}
    chosen = {
        "scheduler": found["scheduler"],
        "dispatcher": found["dispatcher"],
        "placement": found["placement"],
        "pages": found["pages"],
    }
    return "".join(f", {option} {name}" for option, name in chosen.items() if name != usual[option])
