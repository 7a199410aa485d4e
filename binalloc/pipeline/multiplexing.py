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
from binalloc.pipeline.dividing import DividedVariable, divided_variables, private_of
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
    from binalloc.transform.multiplex.split import Split
    from binalloc.verify.report import CheckReport

VTB, HW, CO_VTB, CO_HW = "vtb", "hw", "co-vtb", "co-hw"
"""How blocks share memory in turns: merged, by barriers of the merged block; or as they run, by BAR.ALLOC. In the
collaborative ones each block, or virtual block, keeps a private part."""


@dataclass(frozen=True)
class Wanted:
    """A wanted version names a scheme and its number."""

    scheme: str
    merge: int | None = None  #: of VTB and CO-VTB: blocks that are merged into one
    over: int | None = None  #: of HW and CO-HW: most blocks beyond those of static memory; None: no limit
    #: of CO-VTB and CO-HW: what is private; empty: the cut that the model chooses
    splits: tuple[Split, ...] = ()


@dataclass(frozen=True)
class Built:
    """A built version has its module and launch, and how shared memory was divided."""

    module: Module
    launch: Launch
    regions: int  #: access regions of the kernel
    parts: Parts | None = None  #: of HW and CO-HW: the parts of shared memory
    merge: Merge | None = None  #: of VTB and CO-VTB: how blocks were merged
    private: int | None = None  #: bytes that each block, or virtual block, has to itself; None for VTB
    public: int | None = None  #: bytes that they use in turns; None for VTB
    variables: tuple[DividedVariable, ...] = ()  #: of CO-VTB and CO-HW: those with private bytes


@dataclass(frozen=True)
class Tried:
    """A tried version was built and run, or refused."""

    wanted: Wanted
    version: Version | None = None
    refused: Refused | None = None
    same: bool | None = None  #: whether it left the same results as the original
    built: Built | None = None  #: what was built
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


def wanted_versions(
    scheme: str | None, merge: int | None, over: int | None, splits: Sequence[Split] = ()
) -> Iterator[Wanted]:
    """Yield the versions that options ask for: VTB of two and four blocks, CO-VTB of two, and no limit, where they do
    not say. The collaborative ones are built only if the scheme is named."""
    if scheme in (None, VTB):
        yield from (Wanted(VTB, merge=n) for n in ((merge,) if merge is not None else (2, 4)))
    if scheme in (None, HW):
        yield Wanted(HW, over=over)
    if scheme == CO_VTB:
        yield Wanted(CO_VTB, merge=2 if merge is None else merge, splits=tuple(splits))
    if scheme == CO_HW:
        yield Wanted(CO_HW, over=over, splits=tuple(splits))


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
    return Tried(wanted, version, None, same_results(request, original, version), built, unproven)


def _read_back(version: Version) -> Version:
    """Return a version with the module that its file gives, so that the proof is of the very bytes."""
    isa = set_of(version.module)
    module = isa.read(isa.write(version.module), version.module.path)
    return replace(version, module=module, functions=[module.function(fn.name) for fn in version.functions])


def _prove(module: Module, built: Built, version: Version, request: Request) -> str:
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


def _checked(module: Module, new: Module, built: Built, kernel: str) -> CheckReport:
    """Return what the scheme's checker says of a module."""
    from binalloc.verify.multiplex.check import check_public
    from binalloc.verify.multiplex.division import Division
    from binalloc.verify.multiplex.merged.check import check_merged
    from binalloc.verify.report import CheckReport, Finding

    parts, merge = built.parts, built.merge
    if merge is not None and built.private is not None:
        return CheckReport(False, [Finding("not proven", "there is no checker of private copies yet", kernel)], [], {})
    if merge is not None:
        return check_merged(module, new, kernel, merge.block, merge.count, merge.axis)
    assert parts is not None
    division = Division(parts.low, parts.first, parts.high, parts.moved)
    return check_public(module, new, kernel, built.launch.block, division)


def _built(module: Module, request: Request, wanted: Wanted) -> Built:
    """Return a version, not yet scheduled or allocated."""
    from binalloc.transform.multiplex.public import get_as_they_run
    from binalloc.transform.multiplex.turns import take_turns

    assert request.launch is not None
    launch, kernel = request.launch, request.kernel
    if launch.dynamic_shared:
        raise Refused("the launch adds dynamic shared memory", place=request.kernel,
                      found=f"{launch.dynamic_shared:,} bytes", expected="static shared memory alone")  # fmt: skip
    if launch.cooperative:
        raise Refused("the launch is cooperative: a block with memory might wait for one that waits for it",
                      place=request.kernel, found="a cooperative launch", expected="independent blocks")  # fmt: skip
    private = 0
    if wanted.scheme in (CO_VTB, CO_HW):
        private = private_of(module, request, wanted.splits, wanted.merge, wanted.over)
    variables = divided_variables(module.function(kernel), private)
    if wanted.scheme in (HW, CO_HW):
        made = get_as_they_run(module, kernel, launch.block, private)
        parts = made.parts
        return Built(
            made.module, launch, len(made.regions), parts, None, parts.private, parts.public, variables
        )
    assert wanted.merge is not None
    axis = max(range(3), key=lambda k: launch.grid[k])
    merged = take_turns(module, kernel, launch.block, wanted.merge, axis, private)
    built = Built(merged.module, merged.merge.launch(launch), len(merged.regions), merge=merged.merge)
    if wanted.scheme == VTB:
        return built
    return replace(built, private=merged.copies.private, public=merged.copies.public, variables=variables)
