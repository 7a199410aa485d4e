"""This module lets blocks of a kernel share memory two by two from Python, as `binalloc share` does from files."""

from __future__ import annotations

from dataclasses import replace

from binalloc.emulator.host.pairs import require_sharing
from binalloc.errors import Hint, UsageError
from binalloc.isa.instruction import Module
from binalloc.pipeline.own_machine import at_home
from binalloc.pipeline.request import Request
from binalloc.pipeline.sharing.sharing import (
    AUTO,
    JUMP,
    KEPT,
    NONE,
    OPT,
    POSTDOM,
    Sharing,
    Wish,
    share_kernel,
)
from binalloc.pipeline.steps.kernels import find_kernel


def share(
    module: Module,
    request: Request,
    sharing: str = AUTO,
    *,
    release: str = OPT,
    edges: str = KEPT,
    moved: bool | None = None,
) -> Sharing:
    """Let blocks of a kernel share a part of their memory two by two, so that more of them run, and measure the gain.

    After "Scratchpad Sharing in GPUs" (Jatala and others), section 6. No GPU does this; the emulator does.

    Args:
        module: the binary.
        request: names the kernel, its launch and the machine; without a machine, the binary's own. Its profile, if it
            has one, weighs which variables are shared.
        sharing: "auto" for every number of pairs, each with the most private bytes; the share of a block's bytes that
            stays private, between 0 and 1, as text; or "PAIRS:BYTES", pairs of an SM and private bytes of a block.
        release: where threads release what is shared: "opt", as early as they may; "postdom", all at one place; or
            "none", so that blocks have it to their ends.
        edges: of "opt", whether critical edges are "kept", or get a block of their own with a "jump".
        moved: whether variables are moved; None where that is possible.

    Returns:
        The original and the versions, each with its proof and, if the request asks for runs, its run under the warp
        scheduler `owf`. `chosen` is the fastest version that is proven and leaves the original's results; None if the
        original is as fast. Its `version.module` is run with the run options `sharing=chosen.option` and
        `scheduler="owf"`.

    Raises:
        UsageError: there is no launch, no such option, or a number is out of range.
        Refused: blocks cannot share memory, an SM would hold no block more, or variables cannot be moved and have to.
        KernelFault, LimitHit: of the original's run.
    """
    require_sharing(sharing, AUTO)
    for place, given, known in (("release", release, (OPT, POSTDOM, NONE)), ("edges", edges, (KEPT, JUMP))):
        if given not in known:
            raise UsageError("there is no such way", place=place, found=given, expected=f"one of {', '.join(known)}")
    if edges == JUMP and release != OPT:
        raise UsageError("edges are about releases as early as they may be", place="edges", found=f"release {release}",
                         expected=f"release {OPT}")  # fmt: skip
    if request.launch is None:
        raise UsageError("versions are made for a size of blocks", place=Hint("{launch}"), found="no launch",
                         expected="a launch")  # fmt: skip
    request = at_home(module, request)
    assert request.launch is not None
    kernel = find_kernel(module, request.kernel or request.launch.kernel).name
    return share_kernel(module, replace(request, kernel=kernel), Wish(sharing, release, edges, moved))
