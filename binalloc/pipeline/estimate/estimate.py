"""This module estimates from the code how fast an SM completes the warps of a version of a kernel. Nothing is run.

Needs the input and a request. A walk (`Setting.walk`) finds the way of a thread through the code, and `traffic` finds
the demand of its accesses. The warps of the resident blocks then all take the steps of this way, and contend for the
SM's resources (`contention`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.isa.interface.places import LANES, WORD
from binalloc.isa.kinds import Space
from binalloc.models.machines.unloaded import SECTOR_BYTES
from binalloc.pipeline.estimate.contention import MOST_STEPS, WarpStep, throughput
from binalloc.pipeline.estimate.steps import StepMaker
from binalloc.pipeline.estimate.traffic import SCATTERED, AccessDemand, Traffic
from binalloc.pipeline.estimate.walk.repeats import Again, Going
from binalloc.pipeline.estimate.walk.setting import LaunchSetting
from binalloc.pipeline.estimate.walk.thread import Walked
from binalloc.pipeline.estimate.walk.warps import COMMON, look_at

if TYPE_CHECKING:
    from binalloc.analysis.program import FunctionAnalysis
    from binalloc.isa.instruction import Function, Module
    from binalloc.isa.interface.view import Memory, View
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps.version import Version

MOST_WORDS = 30_000
"""Upper limit on the words of a way; a longer one is taken with fewer rounds of its loops. A larger one costs time for
each version. Chosen by hand."""
FEW_STEPS = MOST_STEPS // 4
"""Upper limit on steps followed where there is no launch: a first look, whose sizes are unknown, should be quick."""


def estimates_of(module: Module, request: Request) -> Estimates:
    """Return the estimates of the request, made once and kept in it. module: the input."""
    kept = request.prepared
    if kept.estimates is None or kept.estimates.module is not module:
        kept.estimates = Estimates(module, request)
    found: Estimates = kept.estimates
    return found


@dataclass(frozen=True)
class Followed:
    """This record has the work of the warps of a version."""

    each: list[list[WarpStep]]  #: steps of each warp
    #: code words that each warp executes, and the share of its way that they are (see `_expanded`)
    words: list[tuple[list[int], float]]
    setting: LaunchSetting
    asked: Callable[[int, View], AccessDemand]  #: gives the demand of the access at a code word
    passes: Callable[[int, Memory], float]  #: gives the cycles for which the access at a code word takes its port
    done: float  #: share of the kernel's work that the walks cover; below 1 if they were cut short
    share: float  #: share of the walked ways that `words` are, on average


class Estimates:
    """Estimates are of the versions of one kernel on one machine."""

    def __init__(self, module: Module, request: Request) -> None:
        """Walk the input. module: the input. Raises UsageError, as a run does, if launch and kernel contradict each
        other."""
        from binalloc.analysis.program import analyse
        from binalloc.pipeline.steps.kernels import kernel_use

        self.module, self._request = module, request
        self._use = kernel_use(module.function(request.kernel), request.launch, request.block)
        self._block = request.block or _required(module.function(request.kernel))
        self._last: LaunchSetting | None = None
        setting = self._setting(module)
        self._seen = look_at(setting)
        self._walked = setting.walk(*self._seen.threads[0])
        self._work = _work(self._walked, setting)
        self._rates: list[tuple[Version, float]] = []
        functions = analyse(module, request.kernel).functions
        self._apart = {(name, index) for name, f in functions.items() for index in _apart(f)}

    @property
    def sure(self) -> bool:
        """Return whether executions and addresses depend little on unknown values."""
        return self._seen.sure

    @property
    def launched(self) -> bool:
        """Return whether it is known how the kernel is launched."""
        return self._request.launch is not None

    def rate(self, version: Version) -> float:
        """Return the number of warps per cycle that complete the kernel on an SM. The result is kept."""
        for known, rate in self._rates:
            if known.module is version.module and known.blocks_per_sm == version.blocks_per_sm:
                return rate
        self._rates.append((version, self._rate(version)))
        return self._rates[-1][1]

    def _rate(self, version: Version) -> float:
        """Estimate what `rate` returns."""
        followed = self.followed(version)
        most = MOST_STEPS if self.launched else FEW_STEPS
        schedulers = self._request.machine.schedulers.count
        way = throughput(followed.each, self._use.warps, version.blocks_per_sm, schedulers, most)
        return followed.done * followed.share * way

    def without_barriers(self, version: Version) -> float:
        """Return the estimated speedup of the version if no warp waited at barriers."""
        followed = self.followed(version)
        if not any(step.barrier for steps in followed.each for step in steps):
            return 1.0
        schedulers, warps = self._request.machine.schedulers.count, self._use.warps
        free = {id(steps): [step._replace(barrier=False) for step in steps] for steps in followed.each}
        ways = [free[id(steps)] for steps in followed.each]
        rates = (throughput(one, warps, version.blocks_per_sm, schedulers, FEW_STEPS) for one in (ways, followed.each))
        after, before = rates
        return after / before if before else 1.0

    @property
    def warps(self) -> int:
        """Return the warps of a block."""
        return self._use.warps

    def followed(self, version: Version) -> Followed:
        """Return the work of a version's warps: ways, steps, and the demand of their accesses."""
        blocks = version.blocks_per_sm
        setting = self._setting(version.module)
        ways = {thread: setting.walk(*thread) for thread in dict.fromkeys(self._seen.threads)}
        expanded = {thread: _expanded(walked.way, MOST_WORDS) for thread, walked in ways.items()}
        words = {word for taken, _ in expanded.values() for word in taken}
        sectors = {word: self._sectors(*setting.where(word), setting.view(word)) for word in words}
        asks = {thread: sum(map(sectors.__getitem__, taken)) / share for thread, (taken, share) in expanded.items()}
        streamed = self._use.warps * blocks * self._mean(asks) * SECTOR_BYTES
        machine, threads = self._request.machine, self._use.threads * blocks
        traffic = Traffic(machine, threads, version.local_bytes, streamed, self._seen.fresh, self._seen.first)

        def asked(word: int, seen: View) -> AccessDemand:
            assert seen.memory is not None
            return traffic.asked(seen.memory, sectors[word], passes(word, seen.memory))

        passes = self._passes(setting)
        made = StepMaker(machine, asked, passes)
        steps = {thread: made.along(_stretches(taken), setting.view) for thread, (taken, _) in expanded.items()}
        share = self._mean({thread: share for thread, (_, share) in expanded.items()})
        complete = self._walked.complete and all(walked.complete for walked in ways.values())
        done = 1.0 if complete else _work(ways[self._seen.threads[0]], setting) / self._work
        each = [steps[thread] for thread in self._seen.threads]
        ways_taken = [expanded[thread] for thread in self._seen.threads]
        return Followed(each, ways_taken, setting, asked, passes, done, share)

    def _mean(self, of: dict[tuple[int, int], float]) -> float:
        """Return the mean over the warps of a block. of: a value for each walked thread, which represents warps."""
        return sum(of[thread] for thread in self._seen.threads) / len(self._seen.threads)

    def _setting(self, module: Module) -> LaunchSetting:
        """Return the setting of a module. The last one is kept, since the next call often is for the same module."""
        if self._last is None or self._last.module is not module:
            request = self._request
            self._last = LaunchSetting(
                module, request.kernel, request.launch, self._use.threads, request.machine, self._block
            )
        return self._last

    def _passes(self, setting: LaunchSetting) -> Callable[[int, Memory], float]:
        """Return a function that gives the cycles for which the access at a code word takes its port.

        They are the passes over the banks of shared memory, or the lines that the access touches.
        """
        shared = self._request.machine.shared

        def passes(word: int, memory: Memory) -> float:
            at = _original(*setting.where(word))
            if memory.space == Space.SHARED:
                known = self._seen.passes.get(at)
                if known is not None:
                    return known
                return max(1.0, memory.size * (memory.givers or LANES) / (shared.banks * shared.bank_bytes))
            if memory.space == Space.LOCAL:
                return max(1.0, memory.size / WORD)
            return self._seen.lines.get(at, SCATTERED if at in self._apart else 1.0)

        return passes

    def _sectors(self, fn: Function, index: int, seen: View) -> float:
        """Return the sectors that an access asks for in memory shared by all threads; 0 for other memory."""
        memory = seen.memory
        if memory is None or memory.space not in COMMON:
            return 0.0
        at = _original(fn, index)
        known = self._seen.sectors.get(at)
        if known is not None:
            return known
        return SCATTERED if at in self._apart else 1.0


def _required(kernel: Function) -> tuple[int, int, int] | None:
    """Return the block size that the binary requires; None if it requires none."""
    x, y, z = kernel.info.block
    return (x or 1, y or 1, z or 1) if x or y or z else None


def _work(walked: Walked, setting: LaunchSetting) -> float:
    """Return the number of memory accesses of a walk without spills, at least 1.

    No rewrite changes this number, so it measures how far a walk came that was cut short.
    """
    counts = enumerate(walked.counts)
    views = ((setting.view(word).memory, times) for word, times in counts if times)
    return sum(times for memory, times in views if memory is not None and not memory.spill) or 1.0


def _original(fn: Function, index: int) -> tuple[str, int]:
    """Return the function and index of the input's instruction that an instruction of a version stands for.

    The index is -1 if it stands for none.
    """
    return (fn.name, index) if fn.origin is None else (fn.origin.function, fn.origin.index[index])


def _apart(f: FunctionAnalysis) -> set[int]:
    """Return the instructions that read a lane-varying value."""
    from binalloc.analysis.varying import varying_webs

    varying = varying_webs(f)
    return {p.instr for web, varies in zip(f.webs.webs, varying, strict=True) if varies for p in web.uses}


def _expanded(way: list[Going], most: int) -> tuple[list[int], float]:
    """Return the words of a way one after the other, and the share of all its words that they are.

    most: upper limit on the words; beyond it loops get fewer rounds.
    """
    lengths = [0]
    for item in way:
        more = item.times * (lengths[item.end] - lengths[item.start]) if isinstance(item, Again) else 1
        lengths.append(lengths[-1] + more)
    part = min(1.0, most / max(1, lengths[-1]))
    words: list[int] = []
    begins = []
    for item in way:
        begins.append(len(words))
        if isinstance(item, Again):
            end = begins[item.end] if item.end < len(begins) else len(words)
            words += words[begins[item.start] : end] * max(1, round(item.times * part))
        else:
            words.append(item)
    return words, len(words) / max(1, lengths[-1])


def _stretches(words: list[int]) -> Iterator[range]:
    """Yield the maximal ranges of consecutive words."""
    start = 0
    for at in range(1, len(words) + 1):
        if at == len(words) or words[at] != words[at - 1] + 1:
            yield range(words[start], words[at - 1] + 1)
            start = at
