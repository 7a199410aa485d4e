"""This module multiplexes the shared memory of a kernel from Python, as `binalloc multiplex` does from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from binalloc.errors import Hint, UsageError
from binalloc.isa.instruction import Module
from binalloc.launch.merged import fitting
from binalloc.pipeline.multiplex.build import BLOCK, NAMED, SCHEMES
from binalloc.pipeline.multiplex.multiplexing import (
    AUTO,
    Multiplexing,
    kinds_of_barriers,
    multiplex_kernel,
    wanted_versions,
)
from binalloc.pipeline.own_machine import at_home
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.kernels import find_kernel


def multiplex(
    module: Module,
    request: Request,
    scheme: str = AUTO,
    *,
    today: bool = False,
    merge: int | None = None,
    barriers: str | None = None,
    over: int | None = None,
    splits: Sequence[str] = (),
    shorter: bool | None = None,
    own: bool | None = None,
    share: bool = False,
) -> Multiplexing:
    """Let blocks of a kernel use shared memory in turns, so that more of them run, and measure the gain.

    Args:
        module: the binary.
        request: names the kernel, its launch and the machine; without a machine, the binary's own.
        scheme: by name, as `multiplex --scheme`; "auto" for all.
        today: without schemes whose instructions no GPU has.
        merge: blocks that are merged into one, of schemes that merge; None for two and for four.
        barriers: at which virtual blocks take turns, "block" or "named", as `multiplex --barriers`; None for "block",
            and with "auto" for both where the machine has both.
        over: most blocks beyond those of static memory, of schemes by which blocks get memory as they run; None for no
            limit.
        splits: which rows of shared variables are private, as `vertices=16`, of schemes with a private part. Without
            splits the best cut is chosen.
        shorter: whether access regions are made shorter first; None for both.
        own: whether words that belong to one thread for a while go to its local memory first; None for both, unless
            `shorter` is given.
        share: whether the share of a block's life in access regions is measured.

    Returns:
        The original and all versions, each with its run. What cannot be built, or does not end well, has the reason in
        `refused`. `chosen(today)` is the fastest that is proven and leaves the original's results. Its
        `version.module` is ready to be saved, and runs with the original's launch.

    Raises:
        UsageError: there is no launch, no such scheme, or a split does not fit the kernel.
        KernelFault, LimitHit: of the original's run.
    """
    from binalloc.transform.multiplex.split import Split

    if scheme not in (*SCHEMES, AUTO):
        raise UsageError("there is no such scheme", place=Hint("{scheme}"), found=scheme,
                         expected=f"one of {', '.join((*SCHEMES, AUTO))}")  # fmt: skip
    if barriers not in (None, BLOCK, NAMED):
        raise UsageError("there are no such barriers", place=Hint("{barriers}"), found=barriers,
                         expected=f"{BLOCK} or {NAMED}")  # fmt: skip
    if request.launch is None:
        raise UsageError("versions are run", place=Hint("{launch}"), found="no launch", expected="a launch")
    if merge is not None and merge < 2:  # one block alone is not merged
        raise UsageError("so few blocks cannot be merged", place=Hint("{merge}"), found=merge, expected="2 or more")
    request = at_home(module, request)
    assert request.launch is not None
    kernel = find_kernel(module, request.kernel or request.launch.kernel).name
    request = replace(request, kernel=kernel, launch=fitting(request.launch, module, kernel))
    kinds = kinds_of_barriers(scheme, barriers, request.machine)
    cuts = [Split.parse(text) for text in splits]
    versions = wanted_versions(scheme, merge, over, cuts, shorter, today, kinds, own)
    return multiplex_kernel(module, request, list(versions), share)
