"""Which machine a binary is looked at or runs on: the one asked for, or its own."""

from __future__ import annotations

from pathlib import Path

from binalloc.errors import Hint, UsageError
from binalloc.isa.instruction import Module
from binalloc.models.machines.files import DEFAULT_MACHINE, list_machines
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.steps import find_kernel


def own_machine(module: Module, kernel: str | None, given: Machine | str | Path | None, *, runs: bool) -> Machine:
    """The machine asked for, else the one the binary's kernel was scheduled for where it is a known model.

    runs: the binary will run, so another machine than its own will not do. UsageError where its own is not known, and
    where `kernel` means no kernel.
    """
    kernels = module.kernels() if kernel is None else [find_kernel(module, kernel)]
    if given is not None:
        return given if isinstance(given, Machine) else load_machine(given)
    recorded = [fn.info.machine for fn in kernels]
    known = [name for name in recorded if name in list_machines()]
    if runs and not known and any(recorded):
        raise UsageError(
            "the binary is scheduled for a machine that is no known model",
            file=module.path or None, found=next(filter(None, recorded)), expected=", ".join(list_machines()),
            remedy=Hint("Give its machine file, {machine} FILE."),
        )  # fmt: skip
    return load_machine(known[0] if known else DEFAULT_MACHINE)
