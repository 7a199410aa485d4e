"""This module multiplexes a kernel's shared memory, and measures what that gives on the emulator.

Needs a laid-out module, and a request with a launch. Leaves a comparison of versions with the original, both at the
number of resident blocks that suits them best (`fit`). Results are compared with the original's. A version is proven
step by step, of the bytes that would be written: shorter access regions, the scheme, registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from binalloc.errors import BinallocError, KernelFault, LimitHit, Refused
from binalloc.isa.instruction import Module
from binalloc.pipeline.multiplex.build import (
    ALONE,
    AS_THEY_RUN,
    BLOCK,
    CO_HW,
    CO_VTB,
    HW,
    OWN,
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
from binalloc.pipeline.multiplex.shorter import Shorter, own_words, shorter_regions
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
    built: Built | None = None  #: what was built; None for shorter regions or own words alone
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
    own: Tried | None = None  #: likewise words of one thread in local memory alone
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

    @property
    def every(self) -> list[Tried]:
        """Return all versions, those without a scheme first."""
        return [*(each for each in (self.shorter, self.own) if each is not None), *self.tried]

    def usable(self, today: bool) -> list[Tried]:
        """Return all versions that may be used, those without a scheme among them. today: without instructions that no
        GPU has."""
        return [t for t in self.every if t.may_be_used and not (today and t.wanted.scheme in AS_THEY_RUN)]

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
    today: bool = False, barriers: Sequence[str] = (BLOCK,), own: bool | None = None,
) -> Iterator[Wanted]:
    """Yield the versions that options ask for: VTB of two and four blocks, CO-VTB of two, and no limit, where they do
    not say. A pipe and the collaborative ones are built only if the scheme is named, or is AUTO, which stands for all.
    shorter: with shorter access regions, or as they are; None: both, and own words. own: with words of one thread in
    local memory, or not. today: without what no GPU has. barriers: each of VTB, the first of CO-VTB."""
    for short, local in _kinds_of_regions(shorter, own):
        if scheme in (None, VTB, AUTO):
            numbers = (2, 4) if merge is None else (merge,)
            for kind in barriers:
                yield from (Wanted(VTB, merge=n, barriers=kind, shorter=short, own=local) for n in numbers)
        if scheme in (PIPE, AUTO) and merge in (None, 2):
            yield Wanted(PIPE, merge=2, shorter=short, own=local)
        if scheme in (None, HW, AUTO) and not today:
            yield Wanted(HW, over=over, shorter=short, own=local)
        if scheme in (CO_VTB, AUTO):
            number = 2 if merge is None else merge
            yield Wanted(CO_VTB, number, barriers[0], splits=tuple(splits), shorter=short, own=local)
        if scheme in (CO_HW, AUTO) and not today:
            yield Wanted(CO_HW, over=over, splits=tuple(splits), shorter=short, own=local)


def _kinds_of_regions(shorter: bool | None, own: bool | None) -> list[tuple[bool, bool]]:
    """Return the ways to treat access regions: whether they are made shorter, and whether own words are local."""
    if own:
        return [(False, True)]
    without = [(False, False), (True, False)] if shorter is None else [(shorter, False)]
    return without if own is False or shorter is not None else [*without, (False, True)]


def require_shared_memory(module: Module, request: Request) -> None:
    """Refuse a kernel that accesses no shared memory, before anything is run: raises Refused."""
    from binalloc.analysis.shared.memory import shared_memory_of

    assert request.launch is not None
    if not shared_memory_of(module, request.kernel, request.launch.block).reach.accesses:
        raise Refused(
            "no block waits for shared memory", place=request.kernel, found="no access to shared memory",
            expected="at least one", remedy="Leave this kernel as it is.",
        )  # fmt: skip


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
    given: dict[str, Shorter | Refused] = {}
    alone: dict[str, Tried] = {}
    for kind, what, asked, make in (
        (SHORTER, "shorter access regions", any(wanted.shorter for wanted in versions), shorter_regions),
        (OWN, "own words", any(wanted.own for wanted in versions), own_words),
    ):
        if asked:
            request.progress(f"{request.kernel}: {what}")
            try:
                given[kind] = make(module, request)
            except Refused as error:
                given[kind] = error
            wanted = Wanted(kind, shorter=kind == SHORTER, own=kind == OWN)
            alone[kind] = _noted(original, request, wanted, module, given)
    tried = [_noted(original, request, wanted, module, given) for wanted in versions]
    measured = _share(module, request) if share else None
    return Multiplexing(original, tried, alone.get(SHORTER), alone.get(OWN), measured)


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
    original: Version, request: Request, wanted: Wanted, module: Module, given: Mapping[str, Shorter | Refused]
) -> Tried:
    """Return one version with its run, or why there is none. given: the module with shorter access regions, and with
    own words in local memory."""
    request.progress(f"{request.kernel}: {wanted.name}")
    kind = SHORTER if wanted.shorter else OWN if wanted.own else ""
    try:
        return _tried(original, request, wanted, module, given.get(kind))
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
    """Return one version with its run. shorter: the module with shorter access regions or own words, where they are
    wanted."""
    assert request.launch is not None
    unproven = ""
    if isinstance(shorter, Refused):
        raise shorter
    if shorter is not None:
        module, unproven = shorter.module, shorter.unproven
    built = None if wanted.scheme in ALONE else build(module, request, wanted)
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
