"""This module is the use case `verify`.

It makes a symbolic check of two binaries, a hazard check of the second's control codes and, with a launch, a comparison
of their emulated runs. It also checks whether the second binary keeps the limits that are given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from binalloc.pipeline.proving.check import SymbolicProof, kernel_to_run, kernels_to_prove, prove_kernels
from binalloc.pipeline.proving.control_codes import ControlCodes, check_control_codes
from binalloc.pipeline.proving.limits import KeptLimit, VerifyLimits, check_limits
from binalloc.pipeline.proving.runs import ComparedRuns, compare_launches, compare_programs

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.isa.instruction import Module
    from binalloc.launch.program.types import Program
    from binalloc.launch.types import Launch


@dataclass
class Verification:
    """A verification is the result of `verify`."""

    proof: SymbolicProof
    control_codes: ControlCodes
    runs: ComparedRuns | None = None  #: None without a launch
    limits: list[KeptLimit] = field(default_factory=list)  #: one for each limit of each kernel

    @property
    def verified(self) -> bool:
        """Return whether nothing speaks against the rewritten binary, apart from limits."""
        sound = self.control_codes.ok is not False and (self.runs is None or self.runs.same)
        return self.proof.passed is not False and sound

    @property
    def within_limits(self) -> bool | None:
        """Return whether all limits are kept; None if there are none."""
        return all(limit.kept for limit in self.limits) if self.limits else None


def verify_rewrite(
    old: Module,
    new: Module,
    kernel: str | None,
    launch: Launch | Program | None,
    options: RunOptions,
    progress: Callable[[str], None],
    limits: VerifyLimits | None = None,
) -> Verification:
    """Verify `new` against `old`. Raises KernelFault if a run faults.

    Without `kernel`, every kernel is proven whose code or callees have changed. An unchanged kernel is checked only if
    it is the only one, and if the checker can follow it. With `kernel`, this kernel is proven, and the others are
    proven to be unchanged.

    A kernel whose blocks use shared memory in turns is proven step by step, by the binary's record (`prove_turns`).

    A binary that `rewrite` did not write has no instruction map. If a function is as long as the original's of the same
    name, the checker is offered the identity as the map, a hint that it does not trust.
    """
    from binalloc.launch.program.types import Program

    names = kernels_to_prove(old, new, kernel)
    block = None if launch is None or isinstance(launch, Program) else launch.block
    proof = prove_kernels(
        old, new, names, options.machine, whole=kernel is None, sharing=options.sharing, block=block
    )  # fmt: skip
    found = Verification(proof, check_control_codes(new, options.machine))
    if isinstance(launch, Program):
        ran = launch.path or "the program"
        found.runs = compare_programs(old, new, launch, options, progress)
    else:
        ran = kernel_to_run(new, kernel, launch)
        if launch is not None and any(fn.name == ran for fn in old.kernels()):  # else a finding says that it is missing
            found.runs = compare_launches(old, new, ran, launch, options, progress)
    if limits is not None:
        found.limits = check_limits(old, new, names, ran, found.runs, limits, options.machine)
    return found
