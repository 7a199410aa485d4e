"""This module multiplexes a kernel's shared memory, and measures what that gives on the emulator.

Needs a laid-out module, and a request with a launch. Leaves a comparison: the original as `baseline` makes it, and each
version that was asked for, with the same scheduling pass. Nothing here proves the versions; their results are compared
with the original's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from binalloc.pipeline.share import region_share
from binalloc.pipeline.steps.measure import measure, same_results
from binalloc.pipeline.steps.version import Version

if TYPE_CHECKING:
    from binalloc.launch.types import Launch

VTB, HW = "vtb", "hw"
"""How blocks share memory in turns: merged, by barriers of the merged block; or as they run, by BAR.ALLOC."""


@dataclass(frozen=True)
class Wanted:
    """A wanted version names a scheme and its number."""

    scheme: str
    merge: int | None = None  #: of VTB: blocks that are merged into one
    over: int | None = None  #: of HW: most blocks beyond those of static memory; None: no limit


@dataclass(frozen=True)
class Tried:
    """A tried version was built and run, or refused."""

    wanted: Wanted
    version: Version | None = None
    refused: Refused | None = None
    same: bool | None = None  #: whether it left the same results as the original
    regions: int = 0  #: access regions of the kernel


@dataclass(frozen=True)
class Multiplexing:
    """A multiplexing is a kernel with its versions."""

    original: Version
    tried: list[Tried]
    share: float | None = None  #: share of a block's life in access regions (`share`), if it was asked for

    def speedup(self, tried: Tried) -> float | None:
        """Return the original's cycles over a version's; None where there is no run."""
        if tried.version is None or not tried.version.cycles or self.original.cycles is None:
            return None
        return self.original.cycles / tried.version.cycles


def wanted_versions(scheme: str | None, merge: int | None, over: int | None) -> Iterator[Wanted]:
    """Yield the versions that options ask for: two and four merged blocks, and no limit, where they do not say."""
    if scheme in (None, VTB):
        yield from (Wanted(VTB, merge=n) for n in ((merge,) if merge is not None else (2, 4)))
    if scheme in (None, HW):
        yield Wanted(HW, over=over)


def multiplex_kernel(
    module: Module, request: Request, versions: Sequence[Wanted], share: bool = False
) -> Multiplexing:
    """Return a kernel with the wanted versions, all measured. share: measure the share of access regions, too.

    Raises KernelFault and LimitHit of the original's run, and of a version's. What cannot be built, or does not fit on
    an SM, is noted with its reason.
    """
    assert request.launch is not None
    original = measure(baseline(module, request), request)
    tried = []
    for wanted in versions:
        try:
            tried.append(_tried(module, request, original, wanted))
        except Refused as error:
            tried.append(Tried(wanted, refused=error))
    return Multiplexing(original, tried, region_share(module, request) if share else None)


def _tried(module: Module, request: Request, original: Version, wanted: Wanted) -> Tried:
    """Return one version with its run."""
    assert request.launch is not None
    made, launch, regions = _built(module, request, wanted)
    options = replace(request.options, over=wanted.over)
    own = Request(request.kernel, request.machine, launch, options=options, progress=request.progress)
    version = replace(baseline(made, own), name=wanted.scheme)
    version = measure(version, own)
    return Tried(wanted, version, None, same_results(request, original, version), regions)


def _built(module: Module, request: Request, wanted: Wanted) -> tuple[Module, Launch, int]:
    """Return a version's module, its launch, and the number of access regions."""
    from binalloc.transform.multiplex.public import get_as_they_run
    from binalloc.transform.multiplex.turns import take_turns

    assert request.launch is not None
    launch = request.launch
    if launch.dynamic_shared:
        raise Refused("the launch adds dynamic shared memory", place=request.kernel,
                      found=f"{launch.dynamic_shared:,} bytes", expected="static shared memory alone")  # fmt: skip
    if launch.cooperative:
        raise Refused("the launch is cooperative: a block with memory might wait for one that waits for it",
                      place=request.kernel, found="a cooperative launch", expected="independent blocks")  # fmt: skip
    if wanted.scheme == HW:
        public = get_as_they_run(module, request.kernel, launch.block)
        return public.module, launch, len(public.regions)
    assert wanted.merge is not None
    axis = max(range(3), key=lambda k: launch.grid[k])
    merged = take_turns(module, request.kernel, launch.block, wanted.merge, axis)
    return merged.module, merged.merge.launch(launch), len(merged.regions)
