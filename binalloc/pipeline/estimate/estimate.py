"""How fast an SM gets through a version of a kernel, from its code: nothing is run.

Needs the input and a request. A thread's way through the code is found by a walk (`emulator.walk`), what accesses ask
for by `traffic`; the warps of the resident blocks then all take the steps of that way (`models.search.contention`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.isa.interface.places import LANES, WORD
from binalloc.isa.kinds import Space
from binalloc.models.machines.unloaded import SECTOR_BYTES
from binalloc.pipeline.estimate.contention import MOST_STEPS, WarpStep, throughput
from binalloc.pipeline.estimate.steps import Steps
from binalloc.pipeline.estimate.traffic import SCATTERED, Asked, Traffic
from binalloc.pipeline.estimate.walk.repeats import Again, Going
from binalloc.pipeline.estimate.walk.setting import Setting
from binalloc.pipeline.estimate.walk.thread import Walked
from binalloc.pipeline.estimate.walk.warps import COMMON, look_at

if TYPE_CHECKING:
    from binalloc.analysis.program import FunctionAnalysis
    from binalloc.isa.instruction import Function, Module
    from binalloc.isa.interface.view import Memory, View
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps.version import Version

MOST_WORDS = 30_000
"""Of a way; a longer one is taken with fewer rounds of its loops."""
FEW_STEPS = MOST_STEPS // 4
"""Followed where no launch says what any of them take."""


def estimates_of(module: Module, request: Request) -> Estimates:
    """Those of the request, found once."""
    kept = request.prepared
    if kept.estimates is None or kept.estimates.module is not module:
        kept.estimates = Estimates(module, request)
    found: Estimates = kept.estimates
    return found


@dataclass(frozen=True)
class Followed:
    """What warps of a version do. each, words: their steps, and the code words that they are made of with the share of
    all words that is left. asked, passes: what an access asks for, and how long it takes its port. done: how much of
    the kernel's work the ways are; share: how much is left of them."""

    each: list[list[WarpStep]]
    words: list[tuple[list[int], float]]
    setting: Setting
    asked: Callable[[int, View], Asked]
    passes: Callable[[int, Memory], float]
    done: float
    share: float


class Estimates:
    """Of versions of one kernel on one machine. module: the input."""

    def __init__(self, module: Module, request: Request) -> None:
        """Raises UsageError as a run does where launch and kernel contradict each other."""
        from binalloc.analysis.program import analyse
        from binalloc.pipeline.steps.kernels import kernel_use

        self.module, self._request = module, request
        self._use = kernel_use(module.function(request.kernel), request.launch, request.block)
        self._block = request.block or _required(module.function(request.kernel))
        self._last: Setting | None = None
        setting = self._setting(module)
        self._seen = look_at(setting)
        self._walked = setting.walk(*self._seen.threads[0])
        self._work = _work(self._walked, setting)
        self._rates: list[tuple[Version, float]] = []
        functions = analyse(module, request.kernel).functions
        self._apart = {(name, index) for name, f in functions.items() for index in _apart(f)}

    @property
    def sure(self) -> bool:
        """Whether how often code runs and where it accesses memory hangs on little that is unknown."""
        return self._seen.sure

    @property
    def launched(self) -> bool:
        """Whether it is known how the kernel is launched."""
        return self._request.launch is not None

    def rate(self, version: Version) -> float:
        """Runs of the kernel by a warp per cycle of an SM; asked again, it is at hand."""
        for known, rate in self._rates:
            if known.module is version.module and known.blocks_per_sm == version.blocks_per_sm:
                return rate
        self._rates.append((version, self._rate(version)))
        return self._rates[-1][1]

    def _rate(self, version: Version) -> float:
        followed = self.followed(version)
        most = MOST_STEPS if self.launched else FEW_STEPS
        schedulers = self._request.machine.schedulers.count
        way = throughput(followed.each, self._use.warps, version.blocks_per_sm, schedulers, most)
        return followed.done * followed.share * way

    def without_barriers(self, version: Version) -> float:
        """How many times as fast the version should be if no warp waited at barriers."""
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
        """Of a block."""
        return self._use.warps

    def followed(self, version: Version) -> Followed:
        """What warps of a version do, one after the other."""
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

        def asked(word: int, seen: View) -> Asked:
            assert seen.memory is not None
            return traffic.asked(seen.memory, sectors[word], passes(word, seen.memory))

        passes = self._passes(setting)
        made = Steps(machine, asked, passes)
        steps = {thread: made.along(_stretches(taken), setting.view) for thread, (taken, _) in expanded.items()}
        share = self._mean({thread: share for thread, (_, share) in expanded.items()})
        complete = self._walked.complete and all(walked.complete for walked in ways.values())
        done = 1.0 if complete else _work(ways[self._seen.threads[0]], setting) / self._work
        each = [steps[thread] for thread in self._seen.threads]
        ways_taken = [expanded[thread] for thread in self._seen.threads]
        return Followed(each, ways_taken, setting, asked, passes, done, share)

    def _mean(self, of: dict[tuple[int, int], float]) -> float:
        """Over the warps of a block, by the threads that stand for them."""
        return sum(of[thread] for thread in self._seen.threads) / len(self._seen.threads)

    def _setting(self, module: Module) -> Setting:
        """Kept for the next, which is often asked of the same."""
        if self._last is None or self._last.module is not module:
            request = self._request
            self._last = Setting(
                module, request.kernel, request.launch, self._use.threads, request.machine, self._block
            )
        return self._last

    def _passes(self, setting: Setting) -> Callable[[int, Memory], float]:
        """How many cycles the access at a code word takes its port: how often banks of shared memory serve it, or how
        many lines it touches."""
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
        """How many an access asks for of memory that all threads have in common; 0 for others."""
        memory = seen.memory
        if memory is None or memory.space not in COMMON:
            return 0.0
        at = _original(fn, index)
        known = self._seen.sectors.get(at)
        if known is not None:
            return known
        return SCATTERED if at in self._apart else 1.0


def _required(kernel: Function) -> tuple[int, int, int] | None:
    """The block size that the binary requires, if it does."""
    x, y, z = kernel.info.block
    return (x or 1, y or 1, z or 1) if x or y or z else None


def _work(walked: Walked, setting: Setting) -> float:
    """How far a walk came that may have been cut short: how often it accessed memory, spills apart, which no rewrite
    makes more or less."""
    counts = enumerate(walked.counts)
    views = ((setting.view(word).memory, times) for word, times in counts if times)
    return sum(times for memory, times in views if memory is not None and not memory.spill) or 1.0


def _original(fn: Function, index: int) -> tuple[str, int]:
    """The function and the instruction of the input that an instruction of a version stands for, -1 for none."""
    return (fn.name, index) if fn.origin is None else (fn.origin.function, fn.origin.index[index])


def _apart(f: FunctionAnalysis) -> set[int]:
    """The instructions that read what may differ between lanes."""
    from binalloc.analysis.varying import varying_webs

    varying = varying_webs(f)
    return {p.instr for web, varies in zip(f.webs.webs, varying, strict=True) if varies for p in web.uses}


def _expanded(way: list[Going], most: int) -> tuple[list[int], float]:
    """The words one after the other, loops with fewer rounds where there are more than so many; and how many of all
    those are left, as a share."""
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
    """Words that follow one another."""
    start = 0
    for at in range(1, len(words) + 1):
        if at == len(words) or words[at] != words[at - 1] + 1:
            yield range(words[start], words[at - 1] + 1)
            start = at
