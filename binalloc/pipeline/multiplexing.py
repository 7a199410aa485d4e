"""This module multiplexes a kernel's shared memory, and measures what that gives on the emulator.

Needs a laid-out module, and a request with a launch. Leaves a comparison: the original as `baseline` makes it, and each
version that was asked for, with the same scheduling pass. Its results are compared with the original's. A version of HW
is proven, of the bytes that would be written; there is no proof of merged blocks yet.
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
    from binalloc.transform.multiplex.parts import Parts

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
    unproven: str = ""  #: what the checker could not prove, or why it was not asked; "" if there is a proof


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
    made, launch, regions, parts = _built(module, request, wanted)
    options = replace(request.options, over=wanted.over)
    own = Request(request.kernel, request.machine, launch, options=options, progress=request.progress)
    version = _read_back(replace(baseline(made, own), name=wanted.scheme))
    unproven = "there is no checker of merged blocks yet"
    if parts is not None:
        unproven = _prove(module, made, version, own, parts)
    version = measure(version, own)
    return Tried(wanted, version, None, same_results(request, original, version), regions, unproven)


def _read_back(version: Version) -> Version:
    """Return a version with the module that its file gives, so that the proof is of the very bytes."""
    isa = set_of(version.module)
    module = isa.read(isa.write(version.module), version.module.path)
    return replace(version, module=module, functions=[module.function(fn.name) for fn in version.functions])


def _prove(module: Module, made: Module, version: Version, request: Request, parts: Parts) -> str:
    """Return what could not be proven of a version whose blocks get memory as they run, "" for nothing.

    Where it had to be allocated anew, that is one proof, and what it was made of another.
    """
    from binalloc.verify.multiplex.check import check_public
    from binalloc.verify.multiplex.division import Division

    assert request.launch is not None
    division = Division(parts.low, parts.first, parts.high, parts.moved)
    new = version.module
    if version.allocated:
        require_proof(made, new, request)
        new = made
    report = check_public(module, new, request.kernel, request.launch.block, division)
    require_no_hazard(version.module, request.machine)
    return "" if report.ok else str(report.errors[0])


def _built(module: Module, request: Request, wanted: Wanted) -> tuple[Module, Launch, int, Parts | None]:
    """Return a version's module, its launch, the number of access regions, and of HW the parts of shared memory."""
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
        return public.module, launch, len(public.regions), public.parts
    assert wanted.merge is not None
    axis = max(range(3), key=lambda k: launch.grid[k])
    merged = take_turns(module, request.kernel, launch.block, wanted.merge, axis)
    return merged.module, merged.merge.launch(launch), len(merged.regions), None
