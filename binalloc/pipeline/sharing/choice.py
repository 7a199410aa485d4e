"""This module chooses between versions whose blocks share memory two by two and the best version without.

The latter is the one that a policy has found, or that registers and slots ask for.

Needs a laid-out module, a request with a launch, and runs of the original and of the version without pairs. Leaves what
each technique gives under each scheduler: nothing, registers and slots, pairs, and both. Where levels are searched, it
also says what variables give that lie over one another. Such a version is another kernel to begin with, and not taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from binalloc.emulator.host.figures.skew import LIMIT
from binalloc.emulator.host.pairs import OFF, require_sharing
from binalloc.emulator.policies.schedulers.table import chosen_scheduler
from binalloc.errors import BinallocError, Hint, KernelFault, LimitHit, Refused, UsageError
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import write_module
from binalloc.models.machines.budget import Budget
from binalloc.pipeline.explicit import explicit_budget
from binalloc.pipeline.request import Request
from binalloc.pipeline.sharing.overlay import overlay_kernel
from binalloc.pipeline.sharing.paired import TAKE_AUTO, Maker, Paired
from binalloc.pipeline.sharing.sharing import AUTO, OWNER_FIRST
from binalloc.pipeline.steps.grid import share_of
from binalloc.pipeline.steps.measure import measure
from binalloc.pipeline.steps.version import Version
from binalloc.pipeline.turns import OFF as NO_TURNS
from binalloc.printable import count

WORTH = 1 + LIMIT
"""A version that is faster by less is not taken: so much do cycles change if blocks start a little later."""
ORIGINAL, LEVEL, OVERLAY, ALONE, BOTH = "original", "level", "overlay", "pairs", "both"
"""What is changed: nothing; registers and slots; variables, which lie over one another; what blocks share; or this and
registers and slots."""


@dataclass(frozen=True)
class Way:
    """A way is what one technique gives under one scheduler."""

    technique: str
    scheduler: str
    version: Version | None = None  #: the fastest; None if there is none
    paired: Paired | None = None  #: the same with its pairs; None without pairs
    refused: str = ""  #: why there is none

    @property
    def cycles(self) -> int | None:
        """Return the emulated cycles; None if there is no such version."""
        return None if self.version is None else self.version.cycles


@dataclass(frozen=True)
class PairsChoice:
    """A choice has what pairs of blocks gave beside the best version without them."""

    asked: str  #: the option
    schedulers: tuple[str, ...]  #: of the runs
    without: Version  #: the best version without pairs
    ways: list[Way]
    tried: list[Paired]  #: all versions that were run
    best: Paired | None  #: the one that was taken; None if none is worth it
    reason: str  #: why it was taken, or why none was, in words

    def under(self, scheduler: str) -> Version:
        """Return the version without pairs as it ran under a scheduler, or if it came to no end there, as it ran
        otherwise."""
        ran = (w.version for w in self.ways if w.scheduler == scheduler and w.technique == LEVEL and w.version)
        return next(ran, self.without)


def require_shareable(request: Request, running: bool) -> None:
    """Raise UsageError if a request for pairs of blocks is none, or contradicts itself. running: versions are
    emulated."""
    require_sharing(request.sharing, AUTO, OFF, slots=False)
    for name in request.schedulers:
        chosen_scheduler(name)
    if request.blocks is not None:
        remedy = Hint("Leave out {blocks}, or give {registers} and {slots} in its place.")
        raise UsageError(Hint("{sharing} chooses the number of blocks itself"), remedy=remedy)
    if request.multiplex != NO_TURNS:
        raise UsageError(Hint("{sharing} and {multiplex} each make other code of the kernel"),
                         remedy="Give one of the two.")  # fmt: skip
    if not running:
        raise UsageError(
            Hint("{sharing} measures versions in the emulator"), expected="a launch file",
            remedy=Hint("Give {launch}, or leave out {sharing}."),
        )  # fmt: skip


class Sharer:
    """A sharer has the paired versions of one request, before and after their runs.

    original: the input as a version (`baseline`). explicit: the request names registers or slots; otherwise those of
    all levels are tried. Raises Refused where blocks cannot share memory, or where a budget leaves no pair.
    """

    def __init__(self, module: Module, request: Request, original: Version, explicit: bool) -> None:
        self.maker = Maker(module, request, original)
        if not explicit:
            self.maker.require_level()
        self.budget: Budget | None = None
        self.built: list[Paired] = []
        own: tuple[str, ...] = (request.options.scheduler, OWNER_FIRST)
        if explicit:
            budget = explicit_budget(module, request)
            if request.slots is None:
                budget = self.maker.budget(budget.registers)
            request = replace(request, registers=budget.registers, slots=budget.slots)
            self.budget, self.built, own = budget, self.maker.allocated(budget), (OWNER_FIRST,)
        self.request = request  #: with all that the budget has
        self.schedulers = request.schedulers or tuple(dict.fromkeys(own))

    def choose(self, original: Version, without: Version) -> PairsChoice:
        """Return the choice, all versions measured. original: the input as it came. without: the version without pairs;
        it may be the input in another order. Both have been run."""
        ways = [way for scheduler in self._all() for way in self._unpaired(scheduler, original, without)]
        ways += self._overlaid() if self.budget is None else []
        tried: list[Paired] = []
        for technique, made in self._versions(without):
            ran = [self.maker.run(one, name) for one in made[0] for name in self.schedulers]
            tried += ran
            ways += [_way(technique, name, [one for one in ran if one.scheduler == name], made[1])
                     for name in self.schedulers]  # fmt: skip
        choice = PairsChoice(self.request.sharing, self.schedulers, without, ways, tried, None, "")
        if not tried and self.request.sharing != AUTO and not self._starved():
            raise Refused("no version with such pairs can be made", place=Hint("{sharing}"), found=self.request.sharing,
                          expected=self._why_none(ways, None, 0), remedy=TAKE_AUTO)  # fmt: skip
        best = _fastest(tried)
        if self.budget is not None:
            return replace(choice, best=_required(best, tried), reason=self._as_asked(choice, best))
        least = min((way.cycles for way in ways if way.paired is None and way.cycles), default=0)
        if best is not None and least >= WORTH * (best.version.cycles or 0):
            gain = least / (best.version.cycles or 1)
            reason = f"{_words(best)} {gain:.3f} times as fast as the best version without pairs under any scheduler"
            return replace(choice, best=best, reason=reason + _first_overlaid(ways))
        return replace(choice, reason=self._why_none(ways, best, least) + _first_overlaid(ways))

    def _all(self) -> list[str]:
        """Return the schedulers of versions without pairs: that of the original's run first."""
        return list(dict.fromkeys((self.request.options.scheduler, *self.schedulers)))

    def _unpaired(self, scheduler: str, original: Version, without: Version) -> Iterator[Way]:
        """Yield what the versions without pairs give under a scheduler."""
        for technique, version in ((ORIGINAL, original), (LEVEL, without)):
            yield self._plain(technique, scheduler, version)

    def _plain(self, technique: str, scheduler: str, version: Version) -> Way:
        """Return what a version without pairs gives under a scheduler."""
        try:
            return Way(technique, scheduler, self._under(scheduler, version))
        except (KernelFault, LimitHit) as error:
            return Way(technique, scheduler, refused=error.message)

    def _overlaid(self) -> list[Way]:
        """Return what the original gives under each scheduler with variables that lie over one another."""
        refused = ""
        try:
            found = overlay_kernel(self.maker.module, replace(self.request, emulate=False))
            if not found.report.ok:
                refused = "it is not proven"
            elif not found.gains:
                refused = f"with {found.plan.bytes:,} bytes instead of {found.plan.before:,} no block is gained"
        except Refused as error:
            refused = error.said()
        if refused:
            return [Way(OVERLAY, scheduler, refused=refused) for scheduler in self._all()]
        return [self._plain(OVERLAY, scheduler, found.version) for scheduler in self._all()]

    def _under(self, scheduler: str, version: Version) -> Version:
        """Return a version as it runs under a scheduler. It has been run under that of the request, if at all."""
        if scheduler == self.request.options.scheduler and version.cycles is not None:
            return version
        self.request.progress(f"{self.request.kernel}: {version.name}, {scheduler}")
        return measure(version, self.request.with_options(scheduler=scheduler))

    def _versions(self, without: Version) -> Iterator[tuple[str, tuple[list[Paired], str]]]:
        """Yield for each technique with pairs its versions, and why there are none."""
        if self.budget is not None:
            yield BOTH, (self.built, "")
            return
        if self._starved():
            return
        try:
            yield ALONE, (self.maker.as_it_came(), "")
        except (Refused, UsageError) as error:
            yield ALONE, ([], error.said())
        yield BOTH, self._both(without)

    def _both(self, without: Version) -> tuple[list[Paired], str]:
        """Return the versions of all levels, each different one once, and why there are none."""
        found: dict[bytes, Paired] = {}
        reason = "no number of registers and slots leaves a pair"
        asked: list[tuple[Budget, int | None]] = [(level, level.blocks) for level in self.maker.levels()]
        asked.append((Budget(0, without.registers, without.slots), None))
        for budget, blocks in asked:
            try:
                made = self.maker.allocated(budget, blocks if self.request.sharing == AUTO else None)
            except (Refused, UsageError) as error:
                reason = error.said()
                continue
            for one in made:
                found.setdefault(one.record.option.encode() + write_module(one.version.module), one)
        return list(found.values()), reason

    def _starved(self) -> bool:
        """Return whether an SM of the GPU gets no more blocks of the grid than it holds without pairs."""
        request = self.request
        held = self.maker.original.blocks_per_sm
        return request.whole_gpu and request.launch is not None and share_of(request.launch, request.machine) <= held

    def _as_asked(self, choice: PairsChoice, best: Paired | None) -> str:
        """Return "as asked", with what the pairs of the version give."""
        if best is None:
            return "as asked"
        without = choice.under(best.scheduler)
        gain = (without.cycles or 0) / (best.version.cycles or 1)
        return f"as asked; {_words(best)} {gain:.3f} times as fast as the same without pairs"

    def _why_none(self, ways: Sequence[Way], best: Paired | None, least: int) -> str:
        """Return why no version with pairs is taken."""
        request = self.request
        if self._starved():
            assert request.launch is not None
            share = count(share_of(request.launch, request.machine), "block")
            return f"the grid gives an SM {share} at most, which it holds without pairs"
        if best is not None:
            gain = least / (best.version.cycles or 1)
            return f"the fastest has {_words(best)} {gain:.3f} times as fast as the best version without pairs"
        reasons = [way.refused for way in ways if way.refused and way.technique in (ALONE, BOTH)]
        return reasons[-1] if reasons else "no version with pairs left the original's results"


def _first_overlaid(ways: Sequence[Way]) -> str:
    """Return the end of a sentence that says whether the kernel's variables should lie over one another."""

    def least(*techniques: str) -> int:
        return min((way.cycles for way in ways if way.technique in techniques and way.cycles), default=0)

    cycles = least(OVERLAY)
    if not cycles or least(ORIGINAL, LEVEL) < WORTH * cycles:
        return ""
    gain = least(ORIGINAL, LEVEL) / cycles
    return f"; with variables over one another the kernel is {gain:.3f} times as fast as the best without, on any GPU"


def _words(best: Paired) -> str:
    """Return what a version is, for a sentence that goes on with how fast it is."""
    pairing = best.plan.pairing
    blocks, own = count(pairing.blocks, "block"), count(pairing.private, "byte")
    return f"{blocks}, {2 * pairing.pairs} of them in pairs with {own} of each private, under {best.scheduler} are"


def _fastest(tried: Sequence[Paired]) -> Paired | None:
    """Return the fastest version whose run ended well; of equal ones that with the fewest pairs."""
    usable = [one for one in tried if one.usable]
    return min(usable, key=lambda one: (one.version.cycles or 0, one.plan.pairing.pairs), default=None)


def _way(technique: str, scheduler: str, ran: Sequence[Paired], refused: str) -> Way:
    """Return the best of what one technique gave under a scheduler. refused: why nothing was run."""
    best = _fastest(ran)
    if best is not None:
        return Way(technique, scheduler, best.version, best)
    ended = [one.ended.message for one in ran if one.ended is not None]
    other = "other results than the original's" if ran else refused
    return Way(technique, scheduler, refused=ended[0] if ended else other)


def _required(best: Paired | None, tried: Sequence[Paired]) -> Paired:
    """Return the version to take where one is asked for. Raises the error that ended the run of the first one, if none
    ended well."""
    if best is not None:
        return best
    ended: list[BinallocError] = [one.ended for one in tried if one.ended is not None]
    if ended:
        raise ended[0]
    return tried[0]
