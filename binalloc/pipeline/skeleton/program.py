"""This module puts the skeletons of several kernels together, as a sequence of launches with a step for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.launch.program.schema import parse_program
from binalloc.launch.schema import parse_launch
from binalloc.models.machines.model import Machine
from binalloc.names.kernels import readable
from binalloc.pipeline.block import Three
from binalloc.pipeline.skeleton.make import skeleton_of
from binalloc.pipeline.skeleton.types import ArgumentEntry, KernelSkeleton, sides
from binalloc.pipeline.steps.kernels import find_kernel


@dataclass
class Skeleton:
    """A skeleton is a launch file to fill in."""

    kernels: list[KernelSkeleton]
    sequence: bool  #: whether it has `[[step]]` tables, even for one kernel alone
    left_out: list[tuple[str, Refused]] = field(default_factory=list)  #: kernels that are left out, with the reason

    @property
    def entries(self) -> list[ArgumentEntry]:
        """Return all arguments, then the variables, each once."""
        each = [entry for kernel in self.kernels for entry in kernel.entries]
        variables = {entry.name: entry for entry in each if entry.off}
        return [entry for entry in each if not entry.off] + list(variables.values())

    def table(self) -> dict[str, Any]:
        """Return the file's contents, as a TOML parser would give them."""
        if not self.sequence:
            return self.kernels[0].table()
        steps = []
        for kernel in self.kernels:
            step = {"launch": kernel.kernel, "grid": sides(kernel.grid), "block": sides(kernel.block)}
            if kernel.dynamic_shared:
                step["dynamic_shared"] = kernel.dynamic_shared
            if kernel.cooperative:
                step["cooperative"] = True
            steps.append(step | {"arguments": [e.name for e in kernel.entries if e.parameter]})
        arguments = [dict(entry.keys) for entry in self.entries if not entry.off]
        return ({"argument": arguments} if arguments else {}) | {"step": steps}


def skeleton(
    module: Module, kernel: str | None, machine: Machine, *, block: Three | None = None, sequence: bool = False
) -> Skeleton:
    """Return a launch file for `kernel`, or for all kernels if none is named. It has passed the checks of launch files.

    block: the user's block size; None to choose one. sequence: whether to write a sequence of launches for one kernel,
    too. Several kernels always are a sequence; kernels that cannot be analysed are left out of it.

    Raises UsageError if there is no such kernel, or none at all, and what `analyse` raises if no kernel is left.
    """
    kernels = module.kernels()
    if kernel is not None or len(kernels) < 2:
        kernels = [find_kernel(module, kernel)]
    else:
        sequence = True
    made = Skeleton([], sequence)
    prefixes: list[str] = []
    for fn in kernels:
        prefix = _prefix(fn.name, prefixes) if len(kernels) > 1 else ""
        try:
            made.kernels.append(skeleton_of(module, fn.name, machine, block=block, prefix=prefix))
        except Refused as refused:
            made.left_out.append((fn.name, refused))
    if not made.kernels:
        raise made.left_out[0][1]
    (parse_program if sequence else parse_launch)(made.table())
    return made


def _prefix(kernel: str, taken: list[str]) -> str:
    """Return a prefix for the names of a kernel's arguments: the kernel's name without scopes, made unique.

    taken: prefixes of other kernels; the new one is added.
    """
    name = readable(kernel).split("<")[0].split("::")[-1]
    plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
    plain = plain if plain and not plain[0].isdigit() else f"k_{plain}"
    number, chosen = 1, f"{plain}_"
    while chosen in taken:
        number += 1
        chosen = f"{plain}{number}_"
    taken.append(chosen)
    return chosen
