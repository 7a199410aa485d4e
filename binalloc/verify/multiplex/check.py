"""The checker of kernels whose blocks get their shared memory as they run.

    report = check_public(original, made, "kernel", (128, 1, 1), Division(low, first, high, moved))

**What is proven**, for every launch with blocks of that size: where the original's run ends well, the new kernel's
does, with the same results.

- *Lockstep* (`pairing.py`). Thread by thread, the new kernel executes the original's words, with the same operands,
  guards, branches and reconvergence points. In between it has inserted words that write nothing that the original
  needs, and barriers BAR.ALLOC and BAR.FREE, some of which take the place of one of the original's.
- *Addresses* (`addresses.py`). Each access to shared memory goes to where the division says, in every thread, and to
  the public part only while the block holds it.
- *Together* (`walk.py`, `together.py`). Every barrier is executed by all threads of the block that have not ended, in
  the same order, and by whole warps: branches that come to different barriers are taken by all threads alike, and lanes
  that part have met again.
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

from binalloc.call_stack import with_room
from binalloc.collection import no_collection
from binalloc.isa.instruction import Function, Module, Origin
from binalloc.isa.interface.banks import bank_bytes
from binalloc.isa.kinds import Flow, Space
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.course import Course
from binalloc.verify.multiplex.division import WORDS, Division
from binalloc.verify.multiplex.graph import TooTangled
from binalloc.verify.multiplex.pairing import INSERTED, Pairing, shares, used_registers
from binalloc.verify.multiplex.waits import reads_others
from binalloc.verify.multiplex.walk import TooLong
from binalloc.verify.reading.code import FunctionCode, Malformed, text
from binalloc.verify.report import CheckReport, Finding
from binalloc.verify.resources import check_accesses, check_data
from binalloc.verify.surroundings import check_surroundings

HELD = (Flow.ALLOC, Flow.FREE)
MOST_THREADS = 1024  # of a block, as on every GPU that Loom is modelled on
MOST_SHARED = 1 << 20
"""Most bytes of shared memory that are followed one by one; chosen by hand, above any machine's."""
_MAY_DIFFER = ("registers", "shared_bytes", "machine")  # of the kernel's record


@with_room
@no_collection()
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
    proof = _Proof(original, made, kernel, block, division, dynamic)
    try:
        proof.run()
    except TooLong:
        proof.fail("limit", "the kernel is too long to be walked")
    except TooTangled:
        proof.fail("limit", "a loop of the kernel has two entries")
    except Malformed as e:
        proof.fail("malformed", str(e))
    except Exception as e:
        proof.fail("internal", f"the checker could not make sense of the binaries: {type(e).__name__}: {e}")
    return proof.report()


def walked(module: Module, kernel: str, block: tuple[int, int, int]) -> tuple[CheckReport, Course | None]:
    """Return the course of a kernel as it is, for blocks of this size, and what could not be shown of it. Raises what
    `check_public` catches."""
    functions = [
        replace(fn, origin=Origin(fn.name, list(range(len(fn.instrs))))) if fn.name == kernel else fn
        for fn in module.functions
    ]
    same = replace(module, functions=functions)
    proof = _Proof(same, same, kernel, block, Division(0, 0, 0, 0), None)
    proof.addresses = False
    proof.run()
    return proof.report(), proof.course


class _Proof:
    def __init__(
        self,
        original: Module,
        made: Module,
        kernel: str,
        block: tuple[int, int, int],
        division: Division,
        dynamic: int | None,
    ) -> None:
        self.dynamic = dynamic
        self.original, self.made, self.kernel, self.block, self.division = original, made, kernel, block, division
        self.findings: dict[Finding, None] = {}
        self.stats: dict[str, int] = {}
        self.pairing: Pairing | None = None
        self.course: Course | None = None
        self.addresses = True  # whether it is checked where accesses go

    def fail(self, kind: str, message: str, expected: str = "", found: str = "") -> None:
        self.findings[Finding(kind, message, self.kernel, expected=expected, found=found)] = None

    def report(self) -> CheckReport:
        found = {**self.findings, **(self.pairing.findings if self.pairing is not None else {})}
        errors = sorted(found, key=lambda e: (e.function, e.index, e.kind, e.message, e.operand, e.found))
        return CheckReport(not errors, errors[: CheckReport.LIMIT], [], self.stats)

    def run(self) -> None:
        old, new = _kernel(self.original, self.kernel), _kernel(self.made, self.kernel)
        if old is None or new is None:
            self.fail("kernel", f"no kernel {self.kernel} in {'the original' if old is None else 'the new binary'}")
            return
        self._records(old, new)
        callees = [fn for fn in self.original.reached(old) if fn is not old]
        index = new.origin.index if new.origin is not None and new.origin.function == old.name else None
        if index is None or len(index) != len(new.instrs) or not _fits(index, len(old.instrs)):
            self.fail("map", "the instruction map does not fit the code")
        if self.findings or index is None:
            return
        codes = [
            FunctionCode(fn, bank_bytes(module.constants, fn.info.params), follow=False)
            for module, fn in ((self.original, old), (self.made, new))
        ]
        self._plain(codes[0])
        self._callees(old, new, callees)
        untouched = set(range(set_of(self.original).limits.registers)) - used_registers([old, *callees])
        self.pairing = Pairing(codes[0], codes[1], index, untouched)
        self.pairing.run()
        self._sizes(self.pairing)
        for finding in check_accesses([codes[1]], new.info):
            self.findings[finding] = None
        if not self.findings and not self.pairing.findings:
            end = WORDS if self.dynamic is None else old.info.shared_bytes + self.dynamic
            self.course = Course(self.pairing, callees, self.block, self.division, end)
            self.course.run(self.addresses)
            self.stats = self.course.stats

    # -- records

    def _records(self, old: Function, new: Function) -> None:
        for fault in (self.division.fault(), _block_fault(self.block, old)):
            if fault:
                self.fail("division", fault)
        before = vars(replace(old.info, **{name: getattr(new.info, name) for name in _MAY_DIFFER}))
        for name, value in before.items():
            if value != getattr(new.info, name):
                self.fail("resources", f"the kernel's {name} changed", str(value), str(getattr(new.info, name)))
        if new.info.registers < old.info.registers:
            self.fail("resources", "fewer registers", str(old.info.registers), str(new.info.registers))
        private = old.info.shared_bytes - self.division.moved
        if new.info.shared_bytes < private:
            self.fail("resources", "the private part has too few bytes", str(private), str(new.info.shared_bytes))
        if self.division.high > old.info.shared_bytes or old.info.shared_bytes > MOST_SHARED:
            self.fail("division", "the public part is not in static memory")
        for finding in check_data(self.original, self.made):
            self.findings[finding] = None
        for finding in check_surroundings(self.original, self.made, self.kernel):
            self.findings[finding] = None
        if self.original.memory_model != self.made.memory_model:
            self.fail("resources", "the memory model changed")

    def _plain(self, code: FunctionCode) -> None:
        """Refuse what the proof does not know."""
        if code.fn.info.slot_bytes or code.fn.info.spill_local:
            self.fail("not proven", "the kernel has slots, or spills")
        limits = set_of(self.original).limits
        for n, (view, instr) in enumerate(zip(code.views, code.instrs, strict=True)):
            memory, barrier = view.memory, set_of(instr).barrier(instr)
            reason = ""
            if shares(view) and memory is not None and (memory.space == Space.GENERIC or memory.givers or memory.spill):
                reason = "a generic access, one by the whole warp, or a spill"
            elif code.special[n] in (limits.shared_size, limits.slot_base, limits.shared_window):
                reason = "code that depends on the place or size of shared memory"
            elif view.control in (*HELD, Flow.RELSSP, Flow.RETURN, Flow.CALL_INDIRECT):
                reason = "such an instruction in the original"
            elif barrier is not None and (view.guard is not None or not barrier.waits or barrier.number != 0
                                          or barrier.threads != 0):  # fmt: skip
                reason = "a barrier that is guarded, named, or not for the whole block"
            if reason:
                message, word = f"{reason} is not known to this proof", text(code.fn, n)
                self.findings[Finding("not proven", message, "", -1, code.name, n, word)] = None

    def _callees(self, old: Function, new: Function, callees: list[Function]) -> None:
        """Check that called functions are the same, and have nothing to do with other threads."""
        theirs = {fn.name: fn for fn in self.made.reached(new) if fn is not new}
        if set(theirs) != {fn.name for fn in callees}:
            self.fail("call", "the new kernel calls other functions")
            return
        for fn in callees:
            other = theirs[fn.name]
            if not _equal(self.original, self.made, fn, other):
                self.fail("call", f"the function {fn.name} changed")
            for instr in fn.instrs:
                view = set_of(instr).view(instr)
                others = shares(view) or reads_others(view) or set_of(instr).barrier(instr) is not None
                if others or view.control in (Flow.EXIT, Flow.CALL_INDIRECT, Flow.RELSSP, *HELD):
                    self.fail("not proven", f"{fn.name} has to do with other threads, or ends its own")
                    break
        for n, m in enumerate(new.origin.index if new.origin is not None else ()):
            if m >= 0 and new.instrs[n].control == Flow.CALL:
                one, two = self.original.callee(old, m), self.made.callee(new, n)
                if one is None or two is None or one.name != two.name:
                    self.fail("call", f"word {n} calls another function")

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


def _block_fault(block: tuple[int, int, int], fn: Function) -> str:
    x, y, z = block
    if not 0 < x * y * z <= MOST_THREADS or min(block) < 1:
        return f"no block has {x} x {y} x {z} threads"
    if fn.info.block != (0, 0, 0) and fn.info.block != block:
        return f"the kernel requires blocks of {fn.info.block}"
    return ""


def _kernel(module: Module, name: str) -> Function | None:
    found = [fn for fn in module.functions if fn.name == name]
    return found[0] if len(found) == 1 and found[0].info.is_kernel else None


def _fits(index: list[int], words: int) -> bool:
    return all(type(k) is int and INSERTED <= k < words for k in index)


def _equal(original: Module, made: Module, one: Function, other: Function) -> bool:
    """Return whether two called functions have the same code and record, and call the same."""
    if len(one.instrs) != len(other.instrs) or one.shared != other.shared:
        return False
    if vars(replace(one.info, machine="")) != vars(replace(other.info, machine="")):
        return False
    for n, (a, b) in enumerate(zip(one.instrs, other.instrs, strict=True)):
        if set_of(a) is not set_of(b) or not set_of(a).alike(a, b):
            return False
        if a.control == Flow.CALL:
            callees = original.callee(one, n), made.callee(other, n)
            if callees[0] is None or callees[1] is None or callees[0].name != callees[1].name:
                return False
    return True
