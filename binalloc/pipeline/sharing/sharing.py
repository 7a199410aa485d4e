"""This module lets blocks of a kernel share memory two by two, and measures what that gives on the emulator.

Needs a laid-out module, and a request with a launch. Leaves versions for several numbers of pairs, each with its
variables moved and releases inserted as "Scratchpad Sharing in GPUs" has it (section 6), beside the original. Blocks
that share are scheduled by its owner warp first. Results are compared with the original's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from binalloc.analysis.executions import Executions
from binalloc.analysis.shared.memory import SharedMemory, shared_memory_of
from binalloc.analysis.sharing.releases import Release, at_postdominator, releases
from binalloc.analysis.sharing.touching import staying
from binalloc.emulator.host.pairs import no_pair, numbers_of, pairing_of, require_apart, require_sharing, stated
from binalloc.emulator.host.resources import Resources
from binalloc.errors import Hint, Refused, UsageError
from binalloc.isa.instruction import Module
from binalloc.models.sharing.pairs import Pairing, fitted, threshold, with_threshold
from binalloc.models.sharing.record import SharedRecord, was_shared
from binalloc.pipeline.original import baseline
from binalloc.pipeline.profile import carried
from binalloc.pipeline.request import Preparations, Request
from binalloc.pipeline.sharing.plans import Plan, Planner
from binalloc.pipeline.steps.measure import measure, measured_beside
from binalloc.pipeline.steps.proof import require_no_hazard
from binalloc.pipeline.steps.record import made_of
from binalloc.pipeline.steps.version import Version
from binalloc.transform.sharing.share import share_memory
from binalloc.verify.report import CheckReport
from binalloc.verify.sharing.check import check_shared

AUTO = "auto"
"""Stands for all numbers of pairs, each with the most private bytes, of which the fastest is chosen."""
OPT, POSTDOM, NONE = "opt", "postdom", "none"
"""Where threads release what is shared: as early as they may; all at one place, a common post-dominator of the last
accesses; or nowhere, so that blocks have it to their ends."""
KEPT, JUMP = "kept", "jump"
"""Critical edges are kept, with a release under the branch's condition in front of it; or get a block of their own, as
in the paper."""
START = "Start with the original."
"""What to do where a kernel has been made of another one already."""
OWNER_FIRST, OLDEST = "owf", "oldest"


@dataclass(frozen=True)
class Wish:
    """A wish says how blocks are to share memory."""

    sharing: str = AUTO  #: `AUTO`, a threshold, or PAIRS:BYTES
    release: str = OPT  #: one of the three
    edges: str = KEPT
    moved: bool | None = None  #: whether variables are moved; None: where that is possible
    slots: bool = False  #: whether slots may lie in the shared part


@dataclass(frozen=True)
class Shared:
    """A shared version has blocks that share memory two by two."""

    plan: Plan
    releases: list[Release]
    version: Version  #: as it was run, if it was
    report: CheckReport | None = None  #: of its proof, if there is one
    same: bool | None = None  #: whether it left the original's results; None where it was not run
    ended: str | None = None  #: why its run did not end well

    @property
    def option(self) -> str:
        """Return what `--sharing` has to be for it."""
        return str(self.plan.pairing)


@dataclass
class Sharing:
    """A sharing is what became of a kernel whose blocks share memory, beside the original."""

    original: Version
    oldest: Version | None  #: the original under the scheduler `OLDEST`, which `OWNER_FIRST` is without pairs
    scheduler: str  #: of the original's run
    planner: Planner
    tried: list[Shared]

    @property
    def chosen(self) -> Shared | None:
        """Return the fastest proven version that left the original's results, None if the original is as fast.

        Of equal ones that with the fewest pairs is taken; without runs the one with the most blocks.
        """
        usable = [
            one for one in self.tried
            if one.same is not False and one.ended is None and (one.report is None or one.report.ok)
        ]  # fmt: skip
        if self.original.cycles is None:
            return max(usable, key=lambda one: (one.plan.pairing.blocks, one.plan.private), default=None)
        best = min(usable, key=lambda one: (one.version.cycles or 0, one.plan.pairing.pairs), default=None)
        return best if best is not None and (best.version.cycles or 0) < self.original.cycles else None


def share_kernel(module: Module, request: Request, wish: Wish) -> Sharing:
    """Return what becomes of a kernel whose blocks share memory as is wished.

    Raises Refused where its blocks cannot share, where an SM would hold no block more, or where variables cannot be
    moved and have to; UsageError for a wish that is out of range.
    """
    assert request.launch is not None
    require_sharing(wish.sharing, AUTO)
    require_unpaired(module, request)
    original = baseline(module, request)
    memory = shared_memory_of(module, request.kernel, request.launch.block)
    need = block_need(original, request)
    require_apart(request.launch, need)
    planner = Planner(memory, request.machine, need.use, executions_of(module, request))
    if wish.moved:
        _require_movable(memory, planner)
    chosen = _plans(planner, need, original, request, wish)
    tried = [_built(module, request, planner, plan, wish) for plan in chosen]
    oldest = None
    if request.emulate:
        original = measure(original, request)
        oldest = measure(original, request.with_options(scheduler=OLDEST))
        tried = [_after_run(one, original, request) for one in tried]
    return Sharing(original, oldest, request.options.scheduler, planner, tried)


def _plans(planner: Planner, need: Resources, original: Version, request: Request, wish: Wish) -> list[Plan]:
    """Return the plans to try, those in which all slots are private first. Raises as `share_kernel`."""
    moved = wish.moved is not False
    found = _slots_shared(planner, wish, moved) if wish.slots else []
    try:
        plain = pairings(planner, need, original, request, wish.sharing)
    except (Refused, UsageError):
        if not found:
            raise
        return found
    return [*(planner.plan(pairing, moved=moved) for pairing in plain), *found]


def _slots_shared(planner: Planner, wish: Wish, moved: bool) -> list[Plan]:
    """Return the plans in which some slots are shared. Raises Refused for a kernel without slots, UsageError where the
    wish has a number of private slots already, or is out of range."""
    if not planner.rows.count:
        raise Refused(
            "the kernel has no slots that blocks could share", place=Hint("{share_slots}"), found="no slots",
            expected="a binary that was rewritten with slots", remedy=Hint("Share without {share_slots}."),
        )  # fmt: skip
    room = planner.room.sharing_slots(0)
    if wish.sharing == AUTO:
        given: list[Pairing] = list(fitted(room))
    elif ":" in wish.sharing:
        if numbers_of(wish.sharing)[2] is not None:
            raise UsageError("the number of private slots is given, and is to be chosen", place=Hint("{sharing}"),
                             found=wish.sharing, expected=Hint("PAIRS:BYTES, or no {share_slots}"))  # fmt: skip
        given = [stated(room, wish.sharing)]
    else:
        one = with_threshold(room, threshold(wish.sharing))
        given = [] if one is None else [one]
    plans = [planner.with_slots(pairing, moved=moved) for pairing in given]
    return [plan for plan in plans if plan is not None]


def executions_of(module: Module, request: Request) -> Executions | None:
    """Return how often the request's profile has each instruction executed; None without a profile. Raises UsageError
    if the profile is another kernel's."""
    return None if request.profile is None else request.profile.executions(module, request.kernel)


def block_need(original: Version, request: Request) -> Resources:
    """Return what a block of the original, or of another version, needs."""
    assert request.launch is not None
    fn = original.module.function(request.kernel)
    return Resources.of(fn, request.launch, original.registers, original.module.reached(fn), request.options.smm)


def pairings(
    planner: Planner, need: Resources, original: Version, request: Request, asked: str
) -> Sequence[Pairing]:
    """Return the pairings to try. Raises as `share_kernel`."""
    assert request.launch is not None
    if asked != AUTO:
        functions = original.module.reached(original.module.function(request.kernel))
        found = pairing_of(request.machine, need, request.launch, functions, asked)
        assert found is not None
        return [found]
    pairings = fitted(planner.room)
    if not pairings:
        raise no_pair(request.machine, need, planner.room, None)
    return pairings


def shared_module(module: Module, planner: Planner, plan: Plan, wish: Wish) -> Module:
    """Return the module with a kernel made for a plan."""
    places = places_of(planner, plan, wish.release, wish.edges)
    return share_memory(module, planner.memory, planner.units, plan.distances, places, plan.slots)


def _built(module: Module, request: Request, planner: Planner, plan: Plan, wish: Wish) -> Shared:
    """Return a version for a plan, not yet run. What is proven is what is run, but for the allocation of an original
    that has too many registers, which has a proof of its own."""
    assert request.launch is not None
    made = shared_module(module, planner, plan, wish)
    version = baseline(made, made_request(module, made, request))
    require_no_hazard(version.module, request.machine)
    pairing, launch = plan.pairing, request.launch
    name = f"{pairing.blocks} blocks, {pairing.pairs} in pairs with {pairing.private} bytes each"
    proven = made if version.allocated else version.module
    report = judged(module, proven, request.kernel, launch.block, plan, launch.dynamic_shared)
    places = places_of(planner, plan, wish.release, wish.edges)
    return Shared(plan, places, replace(version, name=name), report)


def judged(
    old: Module, made: Module, kernel: str, block: tuple[int, int, int], plan: Plan, dynamic: int
) -> CheckReport:
    """Return what the checker says of a kernel that was made for a plan. dynamic: bytes of dynamic shared memory."""
    return check_shared(old, made, kernel, block, plan.private, dynamic, plan.pairing.slots)


def made_request(module: Module, made: Module, request: Request) -> Request:
    """Return the request for a kernel that was made of the request's. Its profile is carried over."""
    profile = None if request.profile is None else carried(request.profile, module, made, request.kernel)
    return replace(request, profile=profile, prepared=Preparations())


def recorded(one: Shared, request: Request, wish: Wish, source: bytes) -> Module:
    """Return a version's module with a record of what it was made of and how, and with the size of its blocks as the
    required one: for others there is no proof. source: bytes of the input."""
    assert request.launch is not None
    module, launch = one.version.module, request.launch
    how = record_of(one.plan, request, wish)
    functions = [
        replace(fn, info=replace(fn.info, block=launch.block)) if fn.name == request.kernel else fn
        for fn in module.functions
    ]  # fmt: skip
    record = made_of(source, request) | how.fields()
    return replace(module, functions=functions, provenance=[*module.provenance, record])


def record_of(plan: Plan, request: Request, wish: Wish) -> SharedRecord:
    """Return how a plan's kernel was made."""
    assert request.launch is not None
    pairing, moved, dynamic = plan.pairing, wish.moved is not False, request.launch.dynamic_shared
    numbers = None if plan.slots is None else plan.slots.numbers
    distances = None if request.profile is None and numbers is None else plan.distances
    return SharedRecord(
        pairing.pairs, pairing.private, wish.release, wish.edges, moved, dynamic, distances, pairing.slots, numbers
    )  # fmt: skip


def places_of(planner: Planner, plan: Plan, release: str, edges: str) -> list[Release]:
    """Return where threads of a plan's kernel release what is shared, in one of `RELEASES`."""
    if release == NONE:
        return []
    if release == OPT and edges == KEPT:
        return plan.releases
    graph = planner.memory.program.graph
    accesses = planner.touching(plan)
    return at_postdominator(graph, accesses) if release == POSTDOM else releases(graph, accesses, guards=False)


def _after_run(one: Shared, original: Version, request: Request) -> Shared:
    """Return a version after its run."""
    how = request.with_options(scheduler=OWNER_FIRST, sharing=one.option)
    version, same, error = measured_beside(original, one.version, how)
    return replace(one, version=version, same=same, ended=None if error is None else error.message)


def require_unpaired(module: Module, request: Request) -> None:
    """Raise Refused for a kernel that releases shared memory already, or whose blocks share it by its record."""
    from binalloc.isa.kinds import Flow

    for fn in module.reached(module.function(request.kernel)):
        for word, instr in enumerate(fn.instrs):
            if instr.control == Flow.RELSSP:
                raise Refused(
                    "the kernel releases shared memory already", place=f"{fn.name}+{word}", found=instr.name,
                    expected="a kernel whose blocks share nothing", remedy=START,
                )  # fmt: skip
    made = was_shared(module, request.kernel)
    if made is not None:
        raise Refused(
            "blocks of the kernel share memory already", file=module.path or None, place=request.kernel,
            found=f"a binary that was made for {made.option}", expected="a kernel whose blocks share nothing",
            remedy=START,
        )  # fmt: skip


def _require_movable(memory: SharedMemory, planner: Planner) -> None:
    """Raise Refused where an access keeps a variable in its place."""
    kept = staying(memory, planner.units)
    if not kept:
        return
    extent = next(extent for k, extent in enumerate(planner.units.extents) if kept >> k & 1)
    places = [
        access for access in (each.reached for each in planner.units.reached)
        if access.may >> memory.reach.size & 1 or access.may >> extent.first & 1
    ]  # fmt: skip
    where = f"{places[0].place.function}+{places[0].place.word}" if places else ", ".join(extent.names)
    raise Refused(
        "variables cannot be moved, as not every access is known to stay in one", place=where,
        found=f"an access that may leave {', '.join(extent.names)}", expected="accesses of known variables",
        remedy="Leave them where they are.",
    )  # fmt: skip
