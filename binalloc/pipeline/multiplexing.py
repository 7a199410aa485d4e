"""This module multiplexes a kernel's shared memory, and measures what that gives on the emulator.

Needs a laid-out module, and a request with a launch. Leaves a comparison: the original as `baseline` makes it, and each
version that was asked for, with the same scheduling pass. Its results are compared with the original's, and it is
proven, of the bytes that would be written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.isa.sets.table import set_of
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from binalloc.pipeline.share import region_share
from binalloc.pipeline.steps.measure import measure, same_results
from binalloc.pipeline.steps.proof import require_no_hazard, require_proof
from binalloc.pipeline.steps.record import made_of
from binalloc.pipeline.steps.version import Version

if TYPE_CHECKING:
    from binalloc.launch.types import Launch
    from binalloc.transform.multiplex.merge import Merge
    from binalloc.transform.multiplex.parts import Parts
    from binalloc.verify.report import CheckReport

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
    unproven: str = ""  #: what the checker could not prove; "" if there is a proof


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


def recorded(version: Version, wanted: Wanted, request: Request, source: bytes) -> Module:
    """Return a version's module with a record of what it was made of and how. source: bytes of the input."""
    record = made_of(source, request) | {"multiplexed": wanted.scheme}
    return replace(version.module, provenance=[*version.module.provenance, record])


def _tried(module: Module, request: Request, original: Version, wanted: Wanted) -> Tried:
    """Return one version with its run."""
    assert request.launch is not None
    built = _built(module, request, wanted)
    options = replace(request.options, over=wanted.over)
    own = Request(request.kernel, request.machine, built.launch, options=options, progress=request.progress)
    version = _read_back(replace(baseline(built.module, own), name=wanted.scheme))
    unproven = _prove(module, built, version, own)
    version = measure(version, own)
    return Tried(wanted, version, None, same_results(request, original, version), built.regions, unproven)


def _read_back(version: Version) -> Version:
    """Return a version with the module that its file gives, so that the proof is of the very bytes."""
    isa = set_of(version.module)
    module = isa.read(isa.write(version.module), version.module.path)
    return replace(version, module=module, functions=[module.function(fn.name) for fn in version.functions])


@dataclass(frozen=True)
class _Built:
    """What a scheme has made of a module, before it is scheduled. One of `parts` and `merge` is there."""

    module: Module
    launch: Launch
    regions: int  #: access regions of the kernel
    parts: Parts | None = None  #: of HW: the parts of shared memory
    merge: Merge | None = None  #: of VTB: how blocks were merged


def _prove(module: Module, built: _Built, version: Version, request: Request) -> str:
    """Return what could not be proven of a version, "" for nothing.

    Where it had to be allocated anew, that is one proof, and what it was made of another.
    """
    new = version.module
    if version.allocated:
        require_proof(built.module, new, request)
        new = built.module
    report = _checked(module, new, built, request.kernel)
    require_no_hazard(version.module, request.machine)
    return "" if report.ok else str(report.errors[0])


def _checked(module: Module, new: Module, built: _Built, kernel: str) -> CheckReport:
    """Return what the scheme's checker says of a module."""
    from binalloc.verify.multiplex.check import check_public
    from binalloc.verify.multiplex.division import Division
    from binalloc.verify.multiplex.merged.check import check_merged

    parts, merge = built.parts, built.merge
    if merge is not None:
        return check_merged(module, new, kernel, merge.block, merge.count, merge.axis)
    assert parts is not None
    division = Division(parts.low, parts.first, parts.high, parts.moved)
    return check_public(module, new, kernel, built.launch.block, division)


def _built(module: Module, request: Request, wanted: Wanted) -> _Built:
    """Return what a scheme makes of a module."""
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
        return _Built(public.module, launch, len(public.regions), parts=public.parts)
    assert wanted.merge is not None
    axis = max(range(3), key=lambda k: launch.grid[k])
    merged = take_turns(module, request.kernel, launch.block, wanted.merge, axis)
    return _Built(merged.module, merged.merge.launch(launch), len(merged.regions), merge=merged.merge)
