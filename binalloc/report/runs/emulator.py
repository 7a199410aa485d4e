"""This module reports the emulator of a run: its machine, its engine, its SMs and their policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.emulator.runs.program import Ran
    from binalloc.emulator.runs.run import Result
    from binalloc.report.shapes.parts.common import EmulatorJson


def emulator_json(ran: Result | Ran) -> EmulatorJson:
    """Return the fields on the emulator of a run, of one launch or of a program."""
    return {
        "machine": ran.machine,
        "engine": ran.engine,
        "scheduler": ran.scheduler,
        "dispatcher": ran.policies["dispatcher"],
        "batches": ran.policies["batches"],
        "placement": ran.policies["placement"],
        "pages": ran.policies["pages"],
        "sms": ran.sms,
    }


def emulator_text(found: EmulatorJson) -> str:
    """Return the emulator for the title of a run: its SMs, and its policies that are not the usual ones."""
    from binalloc.emulator.runs.options import USUAL

    usual = {"scheduler": USUAL.scheduler, **USUAL.policies}
    policies = {name: value for name, value in found.items() if name in usual}
    chosen = [f"{option} {name}" for option, name in policies.items() if name != usual[option]]
    return ", ".join(["emulated", count(found["sms"], "SM"), *chosen])
