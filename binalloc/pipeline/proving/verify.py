"""The use case `verify`: a symbolic check of two binaries, a hazard check of the second's control codes and, with a
launch, a comparison of their emulated runs; and whether the second keeps the limits that it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from binalloc.pipeline.proving.check import Proof, kernel_to_run, kernels_to_prove, prove_kernels
from binalloc.pipeline.proving.control_codes import ControlCodes, check_control_codes
from binalloc.pipeline.proving.limits import KeptLimit, Limits, check_limits
from binalloc.pipeline.proving.runs import ComparedRuns, compare_launches, compare_programs

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.isa.instruction import Module
    from binalloc.launch.program.types import Program
    from binalloc.launch.types import Launch


@dataclass
class Verification:
    """All that `verify` has found."""

    proof: Proof
    control_codes: ControlCodes
    runs: ComparedRuns | None = None  #: None without a launch
    limits: list[KeptLimit] = field(default_factory=list)  #: one for each limit of each kernel

    @property
    def verified(self) -> bool:
        """Whether nothing was found against the rewritten binary; limits apart."""
        sound = self.control_codes.ok is not False and (self.runs is None or self.runs.same)
        return self.proof.passed is not False and sound

    @property
    def within_limits(self) -> bool | None:
        """Whether all limits are kept; None where there are none."""
        return all(limit.kept for limit in self.limits) if self.limits else None


def verify_rewrite(
    old: Module,
    new: Module,
    kernel: str | None,
    launch: Launch | Program | None,
    options: RunOptions,
    progress: Callable[[str], None],
    limits: Limits | None = None,
) -> Verification:
    """Verify `new` against `old`. Raises KernelFault where a run faults.

    Without `kernel` every kernel is proven that is not as it was, code and callees; of those that are the checker takes
    the only one there is, if it can. With `kernel` that one alone is proven, and that the others are as they were.

    A binary that `rewrite` did not write has no instruction map; where its functions are as long as the original's of
    the same name, the checker is offered the identity as the map (a hint that it does not trust).
    """
    from binalloc.launch.program.types import Program

    names = kernels_to_prove(old, new, kernel)
    proof = prove_kernels(old, new, names, whole=kernel is None)
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
