"""This module chooses between the best version of a kernel that a policy has found and those whose blocks use shared
memory in turns.

Needs a laid-out module, a request with a launch, and runs of the original and of the policy's version. Leaves all
versions with their figures, and the fastest that may be used, or the reason why none is faster.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.emulator.host.figures.skew import LIMIT
from binalloc.errors import BinallocError, Hint, LimitHit, Refused, UsageError
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine
from binalloc.pipeline.multiplex.build import OWN, SHORTER, Wanted, barriers_of
from binalloc.pipeline.multiplex.free import without_limit
from binalloc.pipeline.multiplex.multiplexing import AUTO, Multiplexing, Tried, multiplex_kernel, wanted_versions
from binalloc.pipeline.multiplex.reasons import why_none
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.grid import share_of
from binalloc.pipeline.steps.version import Version
from binalloc.pipeline.turns import ANY, TODAY
from binalloc.printable import count

WORTH = 1 + LIMIT
"""A version that is faster by less is not taken: so much do cycles change if blocks start a little later."""


@dataclass(frozen=True)
class Turns:
    """A choice has the versions whose blocks use shared memory in turns beside the best one without."""

    among: str  #: which versions were tried: TODAY or ANY
    without: Version  #: the best version without them
    tried: Multiplexing  #: speedups are over the outcome's original
    best: Tried | None  #: the one that was taken; None if none is worth it
    #: the original as if blocks needed no shared memory, or why there is no such run; None if one was taken
    free: Version | BinallocError | None
    reason: str  #: why it was taken, or why none was, in words

    def launch(self, launch: Launch) -> Launch:
        """Return the launch of the version taken. launch: the original's."""
        return launch if self.best is None or self.best.built is None else self.best.built.launch


def versions_among(among: str, machine: Machine) -> list[Wanted]:
    """Return the versions of TODAY or of ANY on a machine."""
    return list(wanted_versions(AUTO, None, None, today=among == TODAY, barriers=barriers_of(machine)))


def every_version(among: str, machine: Machine) -> list[Wanted]:
    """Return the same, with shorter access regions and own words alone in front."""
    return [Wanted(SHORTER, shorter=True), Wanted(OWN, own=True), *versions_among(among, machine)]


def require_multiplexable(explicit: bool, running: bool) -> None:
    """Raise UsageError if a request for versions whose blocks use shared memory in turns contradicts itself. explicit:
    it names registers, slots or blocks. running: versions are emulated."""
    if explicit:
        raise UsageError(
            Hint("{multiplex} chooses registers, slots and blocks itself"),
            remedy=Hint("Leave out {registers}, {slots} and {blocks}."),
        )
    if not running:
        raise UsageError(
            Hint("{multiplex} measures versions in the emulator"), expected="a launch file",
            remedy=Hint("Give {launch}, or leave out {multiplex}."),
        )  # fmt: skip


def choose(module: Module, request: Request, original: Version, without: Version) -> Turns:
    """Return the versions and the choice. original: the run over which speedups are. without: the policy's version."""
    among = request.multiplex
    assert among in (TODAY, ANY)
    found = multiplex_kernel(module, request, versions_among(among, request.machine), original=original)
    gains = {id(one): _gain(one, without, request) for one in found.usable(among == TODAY)}
    best = max(found.usable(among == TODAY), key=lambda one: gains[id(one)], default=None)
    if best is not None and gains[id(best)] >= WORTH:
        reason = f"{best.wanted.name} is {_cycles(without) / _cycles(best.version):.3f} times as fast as the best "
        return Turns(among, without, found, best, None, f"{reason}version without turns{_spread(best, request)}")
    free = _free(module, request)
    reason = why_none(found, without, free, request.machine)
    return Turns(among, without, found, None, free, reason if best is None else reason + _spread(best, request))


def _gain(tried: Tried, without: Version, request: Request) -> float:
    """Return the speedup of a version over the one without turns, on the whole GPU if the request is about that."""
    gain = _cycles(without) / _cycles(tried.version)
    return gain * _share(request.launch, request) / _share(_launch(tried, request), request)


def _share(launch: Launch | None, request: Request) -> float:
    """Return the share of the grid that the SM with most blocks of it has. It is 1 for one SM that runs all of it."""
    if not request.whole_gpu or launch is None:
        return 1.0
    return share_of(launch, request.machine) / launch.blocks


def _launch(tried: Tried, request: Request) -> Launch | None:
    return request.launch if tried.built is None else tried.built.launch


def _spread(tried: Tried, request: Request) -> str:
    """Return what merging does to the spread of the grid over the SMs of the GPU; "" where it changes little."""
    before, after = _share(request.launch, request), _share(_launch(tried, request), request)
    launch = _launch(tried, request)
    if launch is None or after < before * WORTH:
        return ""
    spread = f"{count(launch.blocks, 'merged block')} on {count(request.machine.chip.sms, 'SM')}"
    return f"; {spread} take {after / before:.2f} times as long as the grid spread over all SMs"


def _free(module: Module, request: Request) -> Version | BinallocError:
    """Return the original as if blocks needed no shared memory, or why it cannot be run."""
    try:
        return without_limit(module, request)
    except (Refused, LimitHit) as error:
        return error


def _cycles(version: Version | None) -> int:
    """Return the cycles of a version that was run."""
    assert version is not None
    assert version.cycles is not None
    return version.cycles
