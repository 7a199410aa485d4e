"""This module gives a kernel shorter access regions, and has each step proven.

Needs a laid-out module and a request with a launch; leaves the module with the kernel's regions shorter: by another
order of its instructions, or by local memory for words that belong to one thread for a while.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.isa.instruction import Module
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.proof import require_proof


@dataclass(frozen=True)
class Shorter:
    """A module has shorter access regions."""

    module: Module
    unproven: str  #: what could not be proven of it, "" for nothing


def own_words(module: Module, request: Request) -> Shorter:
    """Return the module with words that belong to one thread for a while in its local memory.

    Raises Refused if the kernel has none, or they cannot be copied.
    """
    from binalloc.transform.shorten.own_words import with_own_words
    from binalloc.verify.shorten.own import check_own_words

    assert request.launch is not None
    kernel, block = request.kernel, request.launch.block
    made = with_own_words(module, kernel, block)
    report = check_own_words(module, made.module, kernel, block, made.parts)
    return Shorter(made.module, "" if report.ok else str(report.errors[0]))


def shorter_regions(module: Module, request: Request) -> Shorter:
    """Return the module with a kernel's access regions shorter.

    Raises Refused if the kernel cannot be rewritten, or its values do not find registers.
    """
    from binalloc.transform.shorten.shorten import shortened
    from binalloc.verify.shorten.late import check_late_stores
    from binalloc.verify.shorten.unrolled import check_unrolled

    assert request.launch is not None
    kernel, block = request.kernel, request.launch.block
    unproven = ""
    for step in shortened(module, kernel, block):
        if step.last:
            report = check_unrolled(module, step.module, kernel, block, dict(step.last))
            unproven = unproven or ("" if report.ok else str(report.errors[0]))
        elif step.late:
            report = check_late_stores(module, step.module, kernel, block)
            unproven = unproven or ("" if report.ok else str(report.errors[0]))
        else:
            require_proof(module, step.module, request)
        module = step.module
    return Shorter(module, unproven)
