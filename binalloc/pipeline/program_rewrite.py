"""This module rewrites the kernels of a program one after the other, and runs the program before and after.

Needs a program that runs with the binary as it is. Leaves true: every rewrite is proven against the binary before it,
so that all of them together are proven; buffers and variables are compared as the whole program leaves them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from binalloc.analysis.flow.callgraph import build_callgraph
from binalloc.emulator.runs.program import Ran, run_steps
from binalloc.errors import Hint, Refused, UsageError, running
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import write_module
from binalloc.launch.file import compare, compare_globals
from binalloc.launch.program.types import Program
from binalloc.pipeline.pipeline import Outcome, add_provenance, rewrite_kernel
from binalloc.pipeline.policies.table import POLICIES, find_policy
from binalloc.pipeline.request import Preparations, Request
from binalloc.pipeline.steps.programs import kernels_of, program_progress, scheduled_for

STATIC_POLICY = "model"
"""Name of the policy for requests without a budget: it runs nothing, since only a whole program can be run."""


@dataclass
class RewrittenProgram:
    """A rewritten program has the outcome of each kernel, and the runs of the program before and after."""

    program: Program
    request: Request
    outcomes: list[Outcome]  #: one for each kernel that was asked for; static, so that versions have no cycles
    module: Module  #: the binary, with a record of each rewrite; the input if every kernel is kept
    original: Ran  #: the run before
    rewritten: Ran  #: the run after
    differences: list[str]  #: differences between the results of both runs
    #: kernels that cannot be rewritten for any budget, since they reach recursion or an indirect call, and why
    left_out: list[tuple[str, Refused]] = field(default_factory=list)

    @property
    def verified(self) -> bool:
        """Return whether both runs left the same results; the checker has passed every rewrite."""
        return not self.differences


def rewrite_program(
    module: Module, source: bytes, program: Program, request: Request, only: str | None
) -> RewrittenProgram:
    """Rewrite each kernel that the program launches, or `only` that one, as `request` asks.

    source: the binary's bytes. request: for every kernel. Its own kernel and launch are ignored, since the program has
    them. So is `emulate`, since only a run shows the block sizes of the launches. Without a budget, the policy must be
    one that runs nothing.

    Raises Refused with the kernel's name if one cannot be rewritten so. A kernel that reaches recursion or an indirect
    call is left out instead, unless it is `only`, or no kernel can be rewritten. UsageError is raised for a policy that
    measures. Errors of `run_steps` pass through.
    """
    _require_static(request)
    kernels = kernels_of(module, program)
    names = list(dict.fromkeys(fn.name for fn in kernels.values()))
    wanted = names if only is None else [only]
    if only is not None and only not in names:
        raise UsageError(
            "the program launches no such kernel", file=program.path or None, place=Hint("{kernel}"), found=only,
            expected=", ".join(names),
        )  # fmt: skip
    given = scheduled_for(module, kernels, request.machine)
    before = _run(given, program, request, "the original")
    outcomes, made = [], given
    left_out: list[tuple[str, Refused]] = []
    for name in wanted:
        launch = before.largest.get(name)
        if launch is None:
            continue  # the run has skipped every launch of it
        request.progress(f"{name}: rewritten")
        asked = replace(request, kernel=name, launch=launch, emulate=False, prepared=Preparations())
        try:
            outcome = rewrite_kernel(made, asked)
        except Refused as error:
            if name not in str(error):
                error.message = f"{name}: {error.message}"
            if only is not None or build_callgraph(made, name).is_static:
                raise
            left_out.append((name, error))
            continue
        outcomes.append(outcome)
        if not outcome.kept_original:
            made = add_provenance(outcome, source)
            source = write_module(made)
    if left_out and not outcomes:
        raise left_out[0][1]
    after = _run(made, program, request, "rewritten")
    found = compare(program.held, before.buffers, after.buffers)
    found += compare_globals(program.held, before.globals, after.globals)
    printed = before.said.differs(after.said)
    differences = [str(d) for d in found] + ([] if printed is None else [printed])
    return RewrittenProgram(program, request, outcomes, made, before, after, differences, left_out)


def _require_static(request: Request) -> None:
    """Raise UsageError if the request names no budget and its policy measures."""
    explicit = any(n is not None for n in (request.registers, request.slots, request.blocks))
    if not explicit and find_policy(request.policy).measures:
        static = ", ".join(p.name for p in POLICIES.built_in.values() if not p.measures)
        raise UsageError(
            f"the {request.policy} policy measures one launch", place=Hint("{policy}"), found=request.policy,
            expected=f"for a sequence of launches {static}, or a budget",
        )  # fmt: skip


def _run(module: Module, program: Program, request: Request, version: str) -> Ran:
    """Run the program. version: its name in errors and in progress."""
    with running(version):
        return run_steps(
            module, program, request.options, kernels=kernels_of(module, program),
            progress=program_progress(lambda text: request.progress(f"{version}: {text}")),
        )  # fmt: skip
