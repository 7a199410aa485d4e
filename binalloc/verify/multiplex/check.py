"""The checker of kernels whose blocks get their shared memory as they run.

    report = check_public(original, made, "kernel", (128, 1, 1), Division(low, first, high, moved))

**What is proven**, for every launch with blocks of that size: where the original's run ends well, the new kernel's
does, with the same results.

- *Lockstep* (`kernels/pairing.py`). Thread by thread, the new kernel executes the original's words, with the same
  operands, guards, branches and reconvergence points. In between it has inserted words that write nothing that the
  original needs, and barriers BAR.ALLOC and BAR.FREE, some of which take the place of one of the original's.
- *Addresses* (`addresses.py`). Each access to shared memory goes to where the division says, in every thread, and to
  the public part only while the block holds it.
- *Together* (`walk.py`, `together.py`, `parting.py`). Every barrier is executed by all threads of the block that have
  not ended, in the same order, and by whole warps: branches that come to different barriers are taken by all threads
  alike, and lanes that part have met again.
- *Contents* (`walk.py`, `memory.py`). No thread reads a public byte that an earlier holding period of its block may
  have written, unless the block, ordered by a barrier, or the thread itself has surely overwritten it since.
- *No new deadlock* (`waits.py`). No loop of the original waits for what another thread writes: the other thread might
  wait at an inserted barrier, or for memory.

**How.** All threads of one block walk the original's integer code at once, each with bounds of every value: the block's
size is known, so thread numbers and what follows from them are. Loads, parameters and block numbers may be anything.

**What is not.** Races of the original: their results are not defined. Reads of bytes that the original never wrote.
Whether the machine has the memory that BAR.ALLOC asks for, rounded up. Kernels with generic accesses, accesses by the
warp together, named barriers, slots, or barriers in functions that they call: all that is refused.

This package shares no code with the transformation and the analyses behind it. `check_public` raises nothing.
"""

from __future__ import annotations

from dataclasses import replace

from binalloc.isa.instruction import Function, Module, Origin
from binalloc.isa.kinds import Flow
from binalloc.verify.multiplex.course import Course
from binalloc.verify.multiplex.division import WORDS, Division
from binalloc.verify.multiplex.kernels.pairing import INSERTED, Pairing
from binalloc.verify.multiplex.kernels.proof import Given, Proof
from binalloc.verify.multiplex.kernels.records import MOST_SHARED, block_fault
from binalloc.verify.report import CheckReport


def check_public(
    original: Module,
    made: Module,
    kernel: str,
    block: tuple[int, int, int],
    division: Division,
    dynamic: int | None = None,
) -> CheckReport:
    """Prove that `made`'s kernel does what `original`'s does, for blocks of this size. division: where the original's
    shared memory went; it is not trusted, nor is the new kernel's instruction map. dynamic: bytes of dynamic shared
    memory that launches have at most, None for any number. Accesses beyond stop the original with a fault."""
    return _Proof(original, made, kernel, block, division, dynamic).report()


def walked(module: Module, kernel: str, block: tuple[int, int, int]) -> tuple[CheckReport, Course | None]:
    """Return the course of a kernel as it is, for blocks of this size, and what could not be shown of it. Raises
    nothing."""
    functions = [
        replace(fn, origin=Origin(fn.name, list(range(len(fn.instrs))))) if fn.name == kernel else fn
        for fn in module.functions
    ]
    same = replace(module, functions=functions)
    proof = _Proof(same, same, kernel, block, Division(0, 0, 0, 0), None)
    proof.addresses = False
    return proof.report(), proof.course


class _Proof(Proof):
    may_differ = ("registers", "shared_bytes", "machine")

    def __init__(
        self,
        original: Module,
        made: Module,
        kernel: str,
        block: tuple[int, int, int],
        division: Division,
        dynamic: int | None,
    ) -> None:
        super().__init__(original, made, kernel)
        self.block, self.division, self.dynamic = block, division, dynamic
        self.course: Course | None = None
        self.addresses = True  # whether it is checked where accesses go

    def records(self, old: Function, new: Function) -> None:
        for fault in (self.division.fault(), block_fault(self.block, old)):
            if fault:
                self.fail("division", fault)
        private = old.info.shared_bytes - self.division.moved
        if new.info.shared_bytes < private:
            self.fail("resources", "the private part has too few bytes", str(private), str(new.info.shared_bytes))
        if self.division.high > old.info.shared_bytes or old.info.shared_bytes > MOST_SHARED:
            self.fail("division", "the public part is not in static memory")

    def prove(self, given: Given) -> None:
        pairing = Pairing(given.old, given.new, given.index, given.untouched, given.called)
        self.pairing = pairing
        pairing.run()
        self._sizes(pairing)
        if not self.findings and not pairing.findings:
            end = WORDS if self.dynamic is None else given.old.fn.info.shared_bytes + self.dynamic
            self.course = Course(pairing, self.block, self.division, end)
            self.course.run(self.addresses)
            self.stats = self.course.stats

    def _sizes(self, pairing: Pairing) -> None:
        sizes = {}
        for n, view in enumerate(pairing.new.views):
            if view.control == Flow.ALLOC and pairing.label[n] == INSERTED:
                sizes[n] = pairing.size(n)
        needed = self.division.high - self.division.low
        for n, size in sizes.items():
            if size is None or size < max(needed, 1) or size != next(iter(sizes.values())):
                found = "no immediate" if size is None else str(size)
                pairing.fail("size", "a BAR.ALLOC has not the size that it needs, or not the others'", n, -1,
                             f"{needed} at least", found)  # fmt: skip
