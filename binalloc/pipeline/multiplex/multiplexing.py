"""This module multiplexes a kernel's shared memory, and measures what that gives on the emulator.

Needs a laid-out module, and a request with a launch. Leaves a comparison of versions with the original, both at the
number of resident blocks that suits them best (`fit`). Results are compared with the original's. A version is proven
step by step, of the bytes that would be written: shorter access regions, the scheme, registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from binalloc.errors import BinallocError, KernelFault, LimitHit, Refused
from binalloc.isa.instruction import Module
from binalloc.pipeline.multiplex.build import (
    AS_THEY_RUN,
    BLOCK,
    CO_HW,
    CO_VTB,
    HW,
    PIPE,
    SHORTER,
    VTB,
    Built,
    Wanted,
    barriers_of,
    build,
    checked,
)
from binalloc.pipeline.multiplex.fit import fastest, unmeasured
from binalloc.pipeline.multiplex.record import how_made
from binalloc.pipeline.multiplex.share import region_share
from binalloc.pipeline.multiplex.shorter import Shorter, shorter_regions
from binalloc.pipeline.original import baseline, run_original
from binalloc.pipeline.request import Preparations, Request
from binalloc.pipeline.steps.measure import same_results
from binalloc.pipeline.steps.proof import require_no_hazard, require_proof
from binalloc.pipeline.steps.record import made_of
from binalloc.pipeline.steps.version import Version

if TYPE_CHECKING:
    from binalloc.models.machines.model import Machine
    from binalloc.transform.multiplex.split import Split

AUTO = "auto"
"""Stands for all schemes, of which the best version is chosen."""
_NOTED = (Refused, KernelFault, LimitHit)
"""Reasons for which there is no figure of a version; others are measured all the same."""


@dataclass(frozen=True)
class Tried:
    """A tried version was built and run; or it was refused, or its run did not end well."""

    wanted: Wanted
    version: Version | None = None
    refused: BinallocError | None = None  #: why there is none
    same: bool | None = None  #: whether it left the same results as the original
    built: Built | None = None  #: what was built; None for shorter regions alone
    unproven: str = ""  #: what the checkers could not prove; "" if there is a proof

    @property
    def may_be_used(self) -> bool:
        """Return whether it is proven, and left the original's results, if it was run."""
        if self.version is None or self.unproven:
            return False
        return self.version.cycles is None or bool(self.same)


@dataclass(frozen=True)
class Multiplexing:
    """A multiplexing is a kernel with its versions."""

    original: Version  #: the fastest way to run the kernel that was found, as it came or with other registers
    tried: list[Tried]
    shorter: Tried | None = None  #: shorter access regions alone, if they were asked for
    #: share of a block's life in access regions (`share`), or why there is none; None if it was not asked for
    share: float | BinallocError | None = None

    def speedup(self, tried: Tried) -> float | None:
        """Return the original's cycles over a version's; None where there is no run."""
        if tried.version is None or not tried.version.cycles or self.original.cycles is None:
            return None
        return self.original.cycles / tried.version.cycles

    @property
    def best(self) -> Tried | None:
        """Return the fastest version of a scheme that may be written: proven, and with the same results."""
        good = [t for t in self.tried if t.may_be_used]
        return max(good, key=lambda t: self.speedup(t) or 0, default=None)

    def usable(self, today: bool) -> list[Tried]:
        """Return all versions that may be used, shorter regions alone among them. today: without instructions that no
        GPU has."""
        every = self.tried if self.shorter is None else [self.shorter, *self.tried]
        return [t for t in every if t.may_be_used and not (today and t.wanted.scheme in AS_THEY_RUN)]

    def chosen(self, today: bool) -> Tried | None:
        """Return the fastest of all versions that may be used, shorter regions alone among them; None where the
        original is as fast. today: without instructions that no GPU has."""
        best = max(self.usable(today), key=lambda t: self.speedup(t) or 0, default=None)
        return best if best is not None and (self.speedup(best) or 0) > 1 else None


def kinds_of_barriers(scheme: str | None, named: str | None, machine: Machine) -> tuple[str, ...]:
    """Return the barriers of the versions that options ask for: those that are named, or all that the machine has of
    AUTO, or BLOCK."""
    if named is not None:
        return (named,)
    return barriers_of(machine) if scheme == AUTO else (BLOCK,)


def wanted_versions(
    scheme: str | None, merge: int | None, over: int | None, splits: Sequence[Split] = (), shorter: bool | None = None,
    today: bool = False, barriers: Sequence[str] = (BLOCK,),
) -> Iterator[Wanted]:
    """Yield the versions that options ask for: VTB of two and four blocks, CO-VTB of two, and no limit, where they do
    not say. A pipe and the collaborative ones are built only if the scheme is named, or is AUTO, which stands for all.
    shorter: with shorter access regions, or as they are; None: both. today: without what no GPU has. barriers: each of
    VTB, the first of CO-VTB."""
    for short in (False, True) if shorter is None else (shorter,):
        if scheme in (None, VTB, AUTO):
            numbers = (2, 4) if merge is None else (merge,)
            yield from (Wanted(VTB, merge=n, barriers=kind, shorter=short) for kind in barriers for n in numbers)
        if scheme in (PIPE, AUTO) and merge in (None, 2):
            yield Wanted(PIPE, merge=2, shorter=short)
        if scheme in (None, HW, AUTO) and not today:
            yield Wanted(HW, over=over, shorter=short)
        if scheme in (CO_VTB, AUTO):
            number = 2 if merge is None else merge
            yield Wanted(CO_VTB, merge=number, barriers=barriers[0], splits=tuple(splits), shorter=short)
        if scheme in (CO_HW, AUTO) and not today:
            yield Wanted(CO_HW, over=over, splits=tuple(splits), shorter=short)


def multiplex_kernel(
    module: Module, request: Request, versions: Sequence[Wanted], share: bool = False, original: Version | None = None
) -> Multiplexing:
    """Return a kernel with the wanted versions, all measured. share: measure the share of access regions, too.
    original: a run of the kernel, over which speedups are; None for the fastest that is found. If the request does not
    ask for runs (`emulate`), versions are built and proven alone.

    Raises KernelFault and LimitHit of the original's run. What cannot be built, does not fit on an SM, faults, or comes
    to a limit is noted with its reason.
    """
    assert request.launch is not None
    original = _original(module, request) if original is None else original
    shorter: Shorter | Refused | None = None
    if any(wanted.shorter for wanted in versions):
        request.progress(f"{request.kernel}: shorter access regions")
        try:
            shorter = shorter_regions(module, request)
        except Refused as error:
            shorter = error
    alone = None if shorter is None else _noted(original, request, Wanted(SHORTER, shorter=True), module, shorter)
    tried = [_noted(original, request, wanted, module, shorter) for wanted in versions]
    return Multiplexing(original, tried, alone, _share(module, request) if share else None)


def recorded(tried: Tried, request: Request, source: bytes) -> Module:
    """Return a version's module with a record of what it was made of and how. source: bytes of the input."""
    assert tried.version is not None
    module = tried.version.module
    record = made_of(source, request) | how_made(tried.wanted, tried.built)
    return replace(module, provenance=[*module.provenance[:-1], record])


def _with_record(version: Version, request: Request, how: dict[str, object]) -> Version:
    """Return a version whose module says how it was made, and has the size of its blocks as the required one: for
    others there is no proof. request: with the version's launch."""
    assert request.launch is not None
    module, block = version.module, request.launch.block
    functions = [
        replace(fn, info=replace(fn.info, block=block)) if fn.name == request.kernel else fn for fn in module.functions
    ]
    record = {"tool": "binalloc", "kernel": request.kernel, "machine": request.machine.name} | how
    made = replace(module, functions=functions, provenance=[*module.provenance, record])
    return replace(version, module=made, proven=True)


def _original(module: Module, request: Request) -> Version:
    """Return the fastest way to run the kernel without other access to shared memory: as it came, in another order, or
    with other registers. If nothing is run, as it came."""
    if not request.emulate:
        return baseline(module, request)
    original = run_original(module, request, baseline(module, request)).base
    try:
        other = fastest(module, replace(request, prepared=Preparations()), "the original, allocated anew", slots=True)
        if (other.cycles or 0) < (original.cycles or 0) and same_results(request, original, other) is not False:
            require_proof(module, other.module, request)
            return other
    except (Refused, LimitHit):
        pass
    return original


def _noted(
    original: Version, request: Request, wanted: Wanted, module: Module, shorter: Shorter | Refused | None
) -> Tried:
    """Return one version with its run, or why there is none."""
    request.progress(f"{request.kernel}: {wanted.name}")
    try:
        return _tried(original, request, wanted, module, shorter if wanted.shorter else None)
    except _NOTED as error:
        return Tried(wanted, refused=error)


def _share(module: Module, request: Request) -> float | BinallocError:
    """Return the share of access regions, or why it cannot be measured."""
    try:
        return region_share(module, request)
    except _NOTED as error:
        return error


def _tried(
    original: Version, request: Request, wanted: Wanted, module: Module, shorter: Shorter | Refused | None
) -> Tried:
    """Return one version with its run. shorter: the module with shorter access regions, where they are wanted."""
    assert request.launch is not None
    unproven = ""
    if isinstance(shorter, Refused):
        raise shorter
    if shorter is not None:
        module, unproven = shorter.module, shorter.unproven
    built = None if wanted.scheme == SHORTER else build(module, request, wanted)
    made, launch = (module, request.launch) if built is None else (built.module, built.launch)
    options = replace(request.options, over=wanted.over)
    own = replace(request, launch=launch, options=options, profile=None, explain=False, prepared=Preparations())
    find = fastest if request.emulate else unmeasured
    version = find(made, own, wanted.scheme, slots=wanted.scheme not in AS_THEY_RUN)
    require_proof(made, version.module, own)
    require_no_hazard(version.module, request.machine)
    if built is not None:
        unproven = unproven or unproven_step(module, built, request.kernel)
    version = _with_record(version, own, how_made(wanted, built))
    same = same_results(request, original, version) if request.emulate else None
    return Tried(wanted, version, None, same, built, unproven)


def unproven_step(module: Module, built: Built, kernel: str) -> str:
    """Return what could not be proven of a scheme's step, "" for nothing."""
    report = checked(module, built, kernel)
    return "" if report.ok else str(report.errors[0])
