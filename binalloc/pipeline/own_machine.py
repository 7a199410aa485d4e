"""This module chooses the machine for a binary: the one asked for, the one of its schedule, or the one of its target.

It also says why.
"""

from __future__ import annotations

from pathlib import Path

from binalloc.errors import Hint, UsageError
from binalloc.isa.instruction import Module
from binalloc.models.machines.aliases import by_target
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine, machine_of_target
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.kernels import find_kernel


def own_machine(module: Module, kernel: str | None, given: Machine | str | Path | None, *, runs: bool) -> Machine:
    """Return the machine asked for; else the known model of the kernel's schedule; else the one of its target GPU.

    runs: whether the binary will run, which only the machine of its schedule allows. Raises UsageError if it runs and
    this machine is no known model, and if `kernel` means no kernel.
    """
    kernels = module.kernels() or list(module) if kernel is None else [find_kernel(module, kernel)]
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
    if known:
        return load_machine(known[0])
    return machine_of_target(next((fn.info.target for fn in kernels if fn.info.target), ""))


def at_home(module: Module, request: Request) -> Request:
    """Return the request, with the binary's own machine if it names none."""
    if request.names_machine:
        return request
    kernel = request.kernel or (request.launch.kernel if request.launch else None)
    return request.with_options(machine=own_machine(module, kernel, None, runs=False))


def why_that_machine(module: Module, kernel: str | None, given: object, machine: Machine) -> str:
    """Return why `own_machine` gave that machine, in a few words: asked for, of a target, or the binary's own."""
    if given is not None:
        return "asked for"
    kernels = module.kernels() or list(module) if kernel is None else [find_kernel(module, kernel)]
    for fn in kernels:
        named = by_target(fn.info.target)
        if named is not None and named.machine == machine.name:
            return f"target {fn.info.target}: {named.why}"
    return "the binary's own" if any(fn.info.machine == machine.name for fn in kernels) else "default"
