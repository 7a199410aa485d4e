"""A sample of many launches through the whole path: its row of the demo.

Every kernel is rewritten as `binalloc rewrite` does, by the policy that runs nothing, and all launches are run before
and after.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from binalloc.pipeline.running.reference import against_reference
from binalloc.report.program_rewrite import rewritten_program_json

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.launch.program.types import Program
    from binalloc.pipeline.pipeline import Outcome, Request

_OF_PROGRAM = ("launches", "cycles", "speedup", "same_results", "differences")
_OF_KERNEL = ("kernel", "name", "kept_original", "reason", "original", "rewritten", "launches", "cycles", "speedup")


def why_left_out(program: Program) -> str:
    """Why it is not run without `--host-steps`; "" where nothing keeps it."""
    if not program.host_files:
        return ""
    return "its host steps execute Python code: give --host-steps if you trust it"


def program_row(sample: str, module: Module, source: bytes, program: Program, request: Request) -> dict[str, Any]:
    """What becomes of all its kernels, as `request` asks, and of the whole. source: what the binary was made of."""
    from binalloc.pipeline.program_rewrite import STATIC_POLICY, rewrite_program

    asked = replace(request, policy=STATIC_POLICY)
    done = rewrite_program(module, source, program, asked, None)
    told = rewritten_program_json(done)
    right = program.held.reference is None or all(
        against_reference(program.held, ran.buffers, program.constants).same
        for ran in (done.original, done.rewritten)
    )
    kernels = [
        {key: kernel[key] for key in _OF_KERNEL} | {"by_order_alone": outcome.by_order_alone}
        for kernel, outcome in zip(told["kernels"], done.outcomes, strict=True)
    ]
    return {
        "sample": sample,
        "verified": done.verified and right,
        "as_reference": right,
        **{key: told[key] for key in _OF_PROGRAM},
        "rewritten": sum(map(_moved, done.outcomes)),
        "reordered": sum(outcome.by_order_alone for outcome in done.outcomes),
        "kernels": kernels,
    }


def _moved(outcome: Outcome) -> bool:
    """Whether values were placed anew, for another number of blocks."""
    return not outcome.kept_original and not outcome.by_order_alone
