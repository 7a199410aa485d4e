"""The checker of kernels whose variables lie over one another in shared memory.

    report = check_overlay(original, made, "kernel", (128, 1, 1), dynamic=0)

**What is proven**, for every launch with blocks of that size and so many dynamic bytes: where the original's run ends
well, the new kernel's does, with the same results.

- *Lockstep* (`pairing.py` of the package above). Thread by thread, both kernels execute the same words, but for offsets
  of accesses to shared memory.
- *Images* (`images.py`). Each byte has one new place in the new block's memory, whichever access reaches it. Accesses
  are as aligned as the original's. The tables of variables say the same.
- *Together* (`course.py`). All barriers are of the whole block, and threads that part never come to different ones. So
  the run of a block falls into intervals between barriers.
- *Apart* (`images.py`). In no interval a byte is written while another byte in its place is accessed.
- *Contents* (`contents.py`). No thread reads a byte whose contents are lost. They are from the interval in which
  another byte in its place is written. They are there again once the byte has surely been overwritten: by the thread
  itself, or by the block in front of a barrier.

**What is not.** Reads of bytes that the original never wrote: their values are not defined (ISA.md, State and memory).

**What is refused.** Generic accesses and slots; guarded and named barriers, and those for a part of the block; code
that asks for the size of shared memory; calls by address, and recursion.

This package shares no code with the transformation and the analyses behind it. `check_overlay` raises nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.places import LANES
from binalloc.isa.kinds import Access, Flow, Space
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.memory import Range
from binalloc.verify.multiplex.spread import Mask
from binalloc.verify.reading.code import text
from binalloc.verify.report import BY_SYMBOL, CheckReport, Finding
from binalloc.verify.sharing.addresses import Reach
from binalloc.verify.sharing.check import SharingProof
from binalloc.verify.sharing.flat import Flat, Pairings
from binalloc.verify.sharing.overlay.contents import Contents
from binalloc.verify.sharing.overlay.course import Course
from binalloc.verify.sharing.overlay.images import Images

BEYOND = 17
"""Places behind the block's memory: an access may begin in it and end behind it; the last is all bytes beyond."""
WALKS = 5
"""Most walks after which accesses are known to reach more bytes. Chosen by hand: they hardly ever do."""


def check_overlay(
    original: Module, made: Module, kernel: str, block: tuple[int, int, int], dynamic: int = 0
) -> CheckReport:
    """Prove that `made`'s kernel does what `original`'s does, with its variables in other places of shared memory, some
    of them the same. block: the size of blocks. dynamic: bytes of dynamic shared memory."""
    return _Proof(original, made, kernel, block, 0, dynamic).report()


class _Proof(SharingProof):
    may_differ = ("machine", "shared_bytes")

    def records(self, old: Function, new: Function) -> None:
        super().records(old, new)
        self.resized = old.info.shared_bytes != new.info.shared_bytes
        if new.info.shared_bytes < 0 or new.info.shared_bytes > old.info.shared_bytes:
            self.fail("resources", "shared memory has grown", "", f"at most {old.info.shared_bytes} bytes",
                      str(new.info.shared_bytes))  # fmt: skip
        if old.info.slot_bytes:
            self.fail("not proven", "slots in the original are not known to this proof")
        for fn in self.original.reached(old):
            for n, _ in enumerate(fn.instrs):
                if reason := self._unknown(fn, n):
                    message = f"{reason} is not known to this proof"
                    self.findings[Finding("not proven", message, "", -1, fn.name, n, text(fn, n))] = None

    def _unknown(self, fn: Function, n: int) -> str:
        """Return what this proof does not know of a word of the original, "" if it knows all."""
        instr = fn.instrs[n]
        isa, view = set_of(instr), set_of(instr).view(instr)
        barrier, limits = isa.barrier(instr), isa.limits
        if view.memory is not None and (view.memory.space == Space.GENERIC or view.memory.spill):
            return "a generic access, or a spill"
        if self.resized and isa.special_register(instr) in (limits.shared_size, limits.slot_base):
            return "code that depends on the size of shared memory"
        if barrier is not None and (view.guard is not None or not barrier.waits
                                    or barrier.threads not in (0, self._threads())):  # fmt: skip
            return "a barrier that is guarded, or not for the whole block"
        return ""

    def _threads(self) -> int:
        """Return the threads that arrive at a barrier of the whole block."""
        x, y, z = self.block or (0, 0, 0)
        return -(-x * y * z // LANES) * LANES

    def shared_memory(self, pairings: Pairings, flat: Flat, old: Function, new: Function) -> None:
        assert self.block is not None
        self.taken: dict[int, Range] = {}  # by node what C's rule is taken of
        for by_symbols in (False, True):  # C's rule is taken where the proof fails without it
            for pair in pairings.of.values():
                pair.findings = {}
                for n, view in enumerate(pair.new.views):
                    if view.control == Flow.RELSSP and pair.after[n]:
                        pair.fail("instruction", "releases shared memory", n)
            course = Course(flat, self.block, old.info.shared_bytes + (self.dynamic or 0) + BEYOND)
            images = self._settled(course, flat, old, new, by_symbols)
            found = [finding for pair in pairings.of.values() for finding in pair.findings]
            if not found:
                break
        self._note(found)
        if not self.findings:
            for pair in pairings.of.values():
                for message in images.misplaced(pair.old.fn.shared, pair.new.fn.shared):
                    self.fail("variables", f"the table of variables {message}", pair.new.name)
        self.stats = {
            "words": len(flat.nodes),
            "accesses": len({str(flat.nodes[n]) for n in images.touched}),
            "moved": len({str(flat.nodes[n]) for n, d in images.distance.items() if d}),
            "steps": course.assumed.steps,
            BY_SYMBOL: len({str(flat.nodes[n]) for n in self.taken}),
        }

    def _settled(self, course: Course, flat: Flat, old: Function, new: Function, by_symbols: bool) -> Images:
        """Walk, first to find where bytes go, then to follow what they hold, and judge what the walks show."""
        course.run()
        images = self._images(course, flat, old, new, by_symbols)
        for _ in range(WALKS):
            if any(node.pair.findings for node in flat.nodes):
                return images
            image, within = images.image(), images.within
            contents = Contents(image, BEYOND)
            others = _by_ended(course, contents)
            course.run(contents, others, within)
            self.taken = within
            images = self._images(course, flat, old, new, by_symbols)
            same = np.array_equal(images.image(), image) and images.within.items() <= within.items()
            if same and _alike(_by_ended(course, contents), others):
                break
        else:
            self.fail("limit", "the places of bytes are not found in a few walks")
        for n, byte in sorted(course.walk.stale.items()):
            node = flat.nodes[n]
            node.pair.fail("contents", "may read what another byte in its place has overwritten", node.n, node.label,
                           found=f"byte {byte:#x} of the original's")  # fmt: skip
        return images

    def _images(self, course: Course, flat: Flat, old: Function, new: Function, by_symbols: bool) -> Images:
        """Judge what the last walk shows, but for the contents of bytes."""
        images = Images(flat, Reach(dict(course.walk.reach), {}, 0), old, new.info.shared_bytes, self.dynamic or 0,
                        by_symbols=by_symbols)  # fmt: skip
        images.check()
        course.check_parting()
        if not any(node.pair.findings for node in flat.nodes):
            images.apart(course.intervals())
        return images


def _by_ended(course: Course, contents: Contents) -> dict[int, Mask]:
    """Return by barrier the bytes whose places threads may have written to that ended before, since the last one."""
    found: dict[int, Mask] = {}
    for interval in course.intervals():
        if interval.end is None:
            continue
        for n in interval.alone:
            reach, memory = course.walk.reach.get(n), course.flat.nodes[n].view.memory
            if reach is not None and memory is not None and memory.access != Access.LOAD:
                mask = contents.displaced(contents.bytes(reach, memory.size))
                if mask.any():
                    found[interval.end] = found.get(interval.end, False) | mask
    return found


def _alike(one: Mapping[int, Mask], other: Mapping[int, Mask]) -> bool:
    return one.keys() == other.keys() and all(bool((one[n] == other[n]).all()) for n in one)
