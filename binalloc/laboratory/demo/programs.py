"""A sample of many launches is rewritten, proven, and run before and after.

Every kernel is rewritten as by `binalloc rewrite`, with the policy that runs nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from binalloc.emulator.host.figures.off_chip import per
from binalloc.laboratory.demo.records import LaunchedKernel, ProgramDemo
from binalloc.names.kernels import readable
from binalloc.pipeline.running.reference import against_reference

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.launch.program.types import Program
    from binalloc.pipeline.pipeline import Outcome, Request
    from binalloc.pipeline.program_rewrite import RewrittenProgram


def why_left_out(program: Program) -> str:
    """Return the reason why a program is not run without `--host-steps`; "" if there is none."""
    if not program.host_files:
        return ""
    return "its host steps execute Python code: give --host-steps if you trust it"


def program_record(sample: str, module: Module, source: bytes, program: Program, request: Request) -> ProgramDemo:
    """Rewrite all kernels of a sample, and return its record.

    source: bytes of the files from which the binary was made. request: options for all kernels. Raises as
    `rewrite_program` does.
    """
    from binalloc.pipeline.program_rewrite import STATIC_POLICY, rewrite_program

    done = rewrite_program(module, source, program, replace(request, policy=STATIC_POLICY), None)
    before, after = done.original, done.rewritten
    right = program.held.reference is None or all(
        against_reference(program.held, ran.buffers, program.constants).same for ran in (before, after)
    )
    return ProgramDemo(
        sample=sample,
        verified=done.verified and right,
        as_reference=right,
        differences=done.differences,
        launches=(len(before.launches), len(after.launches)),
        cycles=(before.cycles, after.cycles),
        speedup=per(before.cycles, after.cycles),
        rewritten=sum(map(_moved, done.outcomes)),
        reordered=sum(outcome.by_order_alone for outcome in done.outcomes),
        kernels=[_kernel(done, outcome) for outcome in done.outcomes],
    )


def _kernel(done: RewrittenProgram, outcome: Outcome) -> LaunchedKernel:
    name = outcome.request.kernel
    old, new = done.original.totals[name], done.rewritten.totals.get(name)
    return LaunchedKernel(
        kernel=name,
        name=readable(name),
        kept_original=outcome.kept_original,
        by_order_alone=outcome.by_order_alone,
        reason=outcome.reason,
        original=outcome.given.row(),
        rewritten=outcome.rewritten.row(),
        launches=(old.calls, 0 if new is None else new.calls),
        cycles=(old.cycles, 0 if new is None else new.cycles),
        speedup=None if new is None else per(old.cycles, new.cycles),
    )


def _moved(outcome: Outcome) -> bool:
    """Return whether values have other places, for another number of blocks."""
    return not outcome.kept_original and not outcome.by_order_alone
