"""This module divides the way of a thread through a version's code into steps of a warp (`contention.WarpStep`).

Needs a scheduled version and the words that the thread executes. A step ends where the next one may have to wait:
before an instruction that waits for scoreboards, after an instruction that takes one, and at a barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from binalloc.isa.instruction import DEFAULT_CONTROL
from binalloc.isa.kinds import Access, Flow, Space
from binalloc.pipeline.estimate.contention import WarpStep
from binalloc.pipeline.steps.counts import OFF_CHIP

if TYPE_CHECKING:
    from binalloc.isa.interface.view import Memory, View
    from binalloc.models.machines.model import Machine
    from binalloc.pipeline.estimate.traffic import AccessDemand

NO_SCOREBOARD = DEFAULT_CONTROL.wbar  # in control codes, the number for "none"
QUEUES = ("answers", "requests", "dram")
"""Resources that accesses queue for besides the ports of the units: the links from and to L2, and DRAM."""
PORT = (Space.SHARED, Space.GLOBAL, Space.LOCAL, Space.GENERIC)
"""Memory spaces whose accesses take their port for a cycle per pass over banks or per line."""
IN_TURN = 4
"""Issue slots after which a step ends, so that other warps have their turn. Schedulers switch warps after every
instruction, but a step for each instruction would cost too much time. Chosen by hand."""


class StepMaker:
    """This object makes the steps of warps on one machine."""

    def __init__(
        self, machine: Machine, asked: Callable[[int, View], AccessDemand], passes: Callable[[int, Memory], float]
    ) -> None:
        """Compute the cycles that each unit takes for an instruction, and the bytes that each queue serves per cycle.

        asked: gives the demand of the off-chip access at a code word. passes: gives the cycles for which an access
        takes its port, by passes over banks or by lines of L1.
        """
        self._machine, self._asked, self._passes = machine, asked, passes
        names = sorted({unit.port_group for _, unit in machine.units.items()})
        self._numbers = {name: k for k, name in enumerate((*QUEUES, *names))}
        self._divided = {self._numbers[group.name] for group in machine.port_groups if group.divided}
        self._taken = {name: unit.interval * machine.owners(name) / unit.ports for name, unit in machine.units.items()}
        clock = machine.clock.core_mhz
        self._bytes = {
            "answers": machine.response_bytes_per_sm,
            "requests": machine.request_bytes_per_sm,
            "dram": machine.dram.bandwidth * 1000 / clock / machine.chip.sms,
        }
        self._made: dict[tuple[int, int], list[WarpStep]] = {}

    def along(self, way: Iterable[Sequence[int]], views: Callable[[int], View]) -> list[WarpStep]:
        """Return the steps along a way.

        way: stretches of consecutive code words. views: gives the instruction at a code word.
        """
        found: list[WarpStep] = []
        for stretch in way:
            key = stretch[0], stretch[-1]
            if key not in self._made:
                self._made[key] = list(self._of([(word, views(word)) for word in stretch]))
            found += self._made[key]
        return found

    def _of(self, stretch: Sequence[tuple[int, View]]) -> Iterable[WarpStep]:
        """Yield the steps of one stretch of code words."""
        open_ = _Open(self._machine.schedulers.issue_width, self._divided)
        for word, seen in stretch:
            control, unit = seen.instr.ctrl, self._machine.units[seen.unit]
            if control.wait:
                if open_.begun:
                    yield open_.end()
                open_.waits = control.wait
            open_.add(control.stall, unit.latency if seen.control in (Flow.BRANCH, Flow.BARRIER) else 0)
            group = self._numbers[unit.port_group]
            again = 0.0
            if seen.memory is not None and seen.memory.space in PORT:
                again = self._passes(word, seen.memory) - 1
            open_.uses[group] = open_.uses.get(group, 0.0) + self._taken[seen.unit] + again
            goes_off = seen.memory is not None and seen.memory.space in OFF_CHIP
            if control.wbar != NO_SCOREBOARD or control.rbar != NO_SCOREBOARD or goes_off:
                yield open_.end(**self._result(word, seen))
            elif seen.control == Flow.BARRIER:
                yield open_.end(barrier=True)
            elif open_.issues >= IN_TURN:
                yield open_.end()
        if open_.begun:
            yield open_.end()

    def _result(self, word: int, seen: View) -> dict[str, object]:
        """Return the fields of a step for its last instruction: latency, scoreboards and requests."""
        m, control, memory = self._machine, seen.instr.ctrl, seen.memory
        unit = m.units[seen.unit]
        found: dict[str, object] = {"latency": float(unit.latency), "barrier": seen.control == Flow.BARRIER}
        if control.wbar != NO_SCOREBOARD:
            found["board"] = control.wbar
        if control.rbar != NO_SCOREBOARD:
            found["reads_board"], found["reads"] = control.rbar, float(unit.interval)
        if memory is not None and memory.space == Space.SHARED:
            found["latency"] = m.shared.latency + self._passes(word, memory) - 1
        elif memory is not None and memory.space in OFF_CHIP:
            found["places"] = m.l1.store_places if memory.access == Access.STORE else m.l1.mshrs
            asked = self._asked(word, seen)
            found["latency"] = asked.latency
            wanted = {"answers": asked.answers, "requests": asked.requests, "dram": asked.dram}
            found["requests"] = tuple((self._numbers[k], n / self._bytes[k]) for k, n in wanted.items() if n)
        return found


class _Open:
    """An open step is a step whose end is not yet known."""

    def __init__(self, width: int, divided: set[int]) -> None:
        """Begin a step. width: issue width of a scheduler. divided: resources of which each scheduler has one."""
        self._width, self._divided = width, divided
        self.uses: dict[int, float] = {}
        self.issues = 0.0
        self.waits, self._cycles, self.begun = 0, 0.0, False

    def add(self, stall: int, least: int) -> None:
        """Add an instruction. stall: its stall count. least: the fewest cycles that the warp waits after it."""
        alone = stall > 0 or self._width == 1
        self.issues += alone
        self._cycles += max(stall, least, alone)
        self.begun = True

    def end(self, **more: object) -> WarpStep:
        """End the step, return it, and begin the next one. more: further fields of the step."""
        uses = sorted(self.uses.items())
        shared = tuple(use for use in uses if use[0] not in self._divided)
        own = tuple(use for use in uses if use[0] in self._divided)
        step = WarpStep(self.waits, self.issues, self._cycles, shared, own=own, **more)  # type: ignore[arg-type]
        self.uses = {}
        self.waits, self.issues, self._cycles, self.begun = 0, 0.0, 0.0, False
        return step
