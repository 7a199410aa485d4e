"""The checker of kernels that are prepared for blocks that share a part of their shared memory two by two.

    report = check_shared(original, made, "kernel", (128, 1, 1), private=2048)

**What is proven**, for every launch with blocks of that size: where the original's run ends well, the new kernel's
does, with the same results.

- *Lockstep* (`pairing.py`). Thread by thread, the new kernel and the functions that it calls execute the original's
  words, with the same operands, guards, branches and reconvergence points. They have nothing else but RELSSP, jumps,
  and other offsets in accesses to shared memory.
- *Moves* (`moves.py`). Each byte of shared memory has one new place, for all accesses that may reach it, and no two
  bytes have one place. Accesses are as aligned as the original's. The tables of variables say the same.
- *Slots* (`slots.py`). Where slots have other numbers, or two blocks share some of them, each access is to one slot,
  and each slot has one new number of its own.
- *Releases* (`releases.py`). No thread accesses the shared part after RELSSP, and none executes RELSSP twice.

A thread that ends without RELSSP is right, too. Where it has executed other words since its last access to the shared
part, a remark (`CheckReport.notes`) says so.

**How.** Calls are followed into a copy of the callee (`flat.py`), and all threads of a block walk the result with
bounds of every value (`addresses.py`). A generic access may reach all of shared memory. Where the proof fails so, it is
tried again with C's rule (`attributed.py`): an address that the original's producer saw come from variables stays in
them. The report counts the accesses that this is taken of. An access that bounds keep out of these variables is a
remark, and nothing is taken of it.

**What is not.** Calls by address and recursion are refused. So are originals with RELSSP, BAR.ALLOC or BAR.FREE.
Whether blocks wait for one another through global memory is not looked at (ISA.md, Shared memory that two blocks
share).

This package shares no code with the transformation and the analyses behind it. `check_shared` raises nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from binalloc.call_stack import with_room
from binalloc.collection import no_collection
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.places import STACK_ENTRIES
from binalloc.verify.multiplex.graph import TooTangled
from binalloc.verify.multiplex.kernels.records import (
    MOST_SHARED,
    MOST_THREADS,
    block_fault,
    check_records,
    kernel_of,
)
from binalloc.verify.multiplex.walk import TooLong
from binalloc.verify.reading.code import Malformed, text
from binalloc.verify.report import BY_SYMBOL, CheckReport, Finding
from binalloc.verify.resources import check_accesses
from binalloc.verify.sharing.addresses import reach
from binalloc.verify.sharing.flat import Flat, Pairings, unknown
from binalloc.verify.sharing.moves import Bytes, Moves
from binalloc.verify.sharing.releases import Releases
from binalloc.verify.sharing.slots import Slots

UNORDERED = ("machine",)  # fields of a function's record that belong to its control codes


def check_shared(
    original: Module,
    made: Module,
    kernel: str,
    block: tuple[int, int, int] | None,
    private: int,
    dynamic: int | None = None,
    slots: int | None = None,
) -> CheckReport:
    """Prove that `made`'s kernel does what `original`'s does where blocks share memory. block: the size of blocks, None
    for any that the kernel allows. private: bytes from address 0 on that belong to one block alone. dynamic: bytes of
    dynamic shared memory, None for any number. slots: of each thread that belong to its block alone, None for all."""
    return SharingProof(original, made, kernel, block, private, dynamic, slots).report()


class SharingProof:
    """A proof of two kernels, of which the second one has its variables in other places, and releases."""

    may_differ: tuple[str, ...] = UNORDERED  #: fields of the kernel's record

    def __init__(self, original: Module, made: Module, kernel: str, block: tuple[int, int, int] | None, private: int,
                 dynamic: int | None, slots: int | None = None) -> None:  # fmt: skip
        self.original, self.made, self.kernel = original, made, kernel
        self.block, self.private, self.dynamic, self.slots = block, private, dynamic, slots
        self.findings: dict[Finding, None] = {}
        self.remarks: dict[Finding, None] = {}
        self.stats: dict[str, int] = {}

    def fail(self, kind: str, message: str, name: str = "", expected: str = "", found: str = "") -> None:
        self.findings[Finding(kind, message, name or self.kernel, expected=expected, found=found)] = None

    def _note(self, findings: list[Finding]) -> None:
        self.findings.update(dict.fromkeys(findings))

    @with_room
    @no_collection()
    def report(self) -> CheckReport:
        """Run the proof, and return what it found. Raises nothing."""
        try:
            self._prove()
        except TooLong:
            self.fail("limit", "the kernel is too long to be walked")
        except TooTangled:
            self.fail("limit", "a loop of the kernel has two entries")
        except Malformed as e:
            self.fail("malformed", str(e))
        except Exception as e:
            self.fail("internal", f"the checker could not make sense of the binaries: {type(e).__name__}: {e}")
        errors, notes = (sorted(found, key=lambda e: (e.function, e.index, e.kind, e.message, e.found))
                         for found in (self.findings, self.remarks))  # fmt: skip
        return CheckReport(not errors, errors[: CheckReport.LIMIT], notes[: CheckReport.LIMIT], self.stats)

    def _prove(self) -> None:
        old, new = kernel_of(self.original, self.kernel), kernel_of(self.made, self.kernel)
        if old is None or new is None:
            self.fail("kernel", f"no kernel {self.kernel} in {'the original' if old is None else 'the new binary'}")
            return
        self.records(old, new)
        if self.findings:
            return
        pairings = Pairings(self.original, self.made, old, new)
        self._note(check_accesses(pairings.codes, new.info))
        self._callees(pairings)
        for pair in pairings.of.values():
            self._note(list(pair.findings))
        if self.findings:
            return
        flat = pairings.flat()
        self.shared_memory(pairings, flat, old, new)

    # -- records

    def records(self, old: Function, new: Function) -> None:
        """Check the records of both kernels."""
        if self.block is None and old.info.block != (0, 0, 0):
            self.block = old.info.block
        if self.block is not None and (fault := block_fault(self.block, old)):
            self.fail("block", fault)
        if min(self.private, self.dynamic or 0, self.slots or 0) < 0:
            self.fail("resources", "a number of bytes or slots is negative")
        if old.info.shared_bytes + (self.dynamic or 0) > MOST_SHARED:
            self.fail("limit", "too many bytes of shared memory to follow them one by one")
        self._note(check_records(self.original, self.made, old, new, self.may_differ))
        functions = self.original.reached(old)
        for fn, n, reason in unknown(self.original, functions):
            message = f"{reason} is not known to this proof"
            self._note([Finding("not proven", message, "", -1, fn.name, n, text(fn, n))])
        if self.original.comes_back(old) or self.made.comes_back(new):
            self.fail("not proven", "recursion is not known to this proof")

    def _callees(self, pairings: Pairings) -> None:
        """Check what the records of called functions say, and the depth of the stack."""
        for pair in pairings.of.values():
            one, two = pair.old.fn, pair.new.fn
            same = vars(replace(one.info, machine="")) == vars(replace(two.info, machine=""))
            if pair is not pairings.kernel and not same:
                self.fail("resources", f"the record of the function {one.name} changed", two.name)
        deeper = [pair for pair in pairings.of.values() if pair.deeper]
        if deeper and pairings.depth(pairings.kernel).entries > STACK_ENTRIES:
            for pair in deeper:
                n = pair.deeper[0]
                pair.fail("stack", "takes more entries of the reconvergence stack than the original", n, pair.label[n])

    # -- shared memory

    def shared_memory(self, pairings: Pairings, flat: Flat, old: Function, new: Function) -> None:
        """Check what is in shared memory, where the code is the original's."""
        most = min(old.info.max_threads or MOST_THREADS, MOST_THREADS)
        found = reach(flat, self.block, most)
        for by_symbols in (False, True):  # C's rule is taken where the proof fails without it
            moves = Moves(flat, found, old, self.dynamic, by_symbols=by_symbols)
            shared = {access.node for access in moves.accesses if access.last >= self.private}
            slots = Slots(flat, found, new.info, self.slots)
            releases = Releases(flat, found)
            findings = self._judged(pairings, moves, slots, releases, shared)
            if not findings:
                break
        self._note(findings)
        self._contradictions(flat, moves, releases)
        self.remarks = releases.remarks
        self._count(flat, moves, shared)
        self.stats["steps"] = found.steps

    def _judged(
        self, pairings: Pairings, moves: Moves, slots: Slots, releases: Releases, shared: set[int]
    ) -> list[Finding]:
        """Return what speaks against moves and releases. shared: nodes that may access bytes of the shared part."""
        for pair in pairings.of.values():
            pair.findings = {}
        moves.check()
        slots.check()
        releases.run(shared | slots.shared)
        found = [finding for pair in pairings.of.values() for finding in pair.findings]
        if not found:
            for pair in pairings.of.values():
                for message in moves.misplaced(pair.old.fn.shared, pair.new.fn.shared):
                    message = f"the table of variables {message}"
                    found.append(Finding("variables", message, pair.new.name))
        return found

    def _contradictions(self, flat: Flat, moves: Moves, releases: Releases) -> None:
        """Remark accesses that are never in the variables that their addresses are said to come from."""
        for n in moves.contradicted:
            node = flat.nodes[n]
            names = " or ".join(node.pair.old.fn.touches[node.label])
            releases.remarks[
                Finding("contradiction", "is never in the variables that its address is said to come from",
                        node.pair.new.name, node.n, node.pair.old.name, node.label, found=names)
            ] = None  # fmt: skip

    def _count(self, flat: Flat, moves: Moves, shared: set[int]) -> None:
        """Count words of accesses: each by the weakest of what is known of it in its chains of calls."""
        chosen: list[Callable[[Bytes], object]] = [
            lambda _: True, lambda a: not a.inside, lambda a: a.node in shared, lambda a: a.distance,
            lambda a: a.by_symbol,
        ]  # fmt: skip
        every, unknowns, reaching, moved, by_symbol = (
            {str(flat.nodes[access.node]) for access in moves.accesses if holds(access)} for holds in chosen
        )
        self.stats = {
            "words": len(flat.nodes),
            "accesses": len(every),  # words that may access shared memory
            "private": len(every - reaching),  # that are proven to stay in the private part
            "placed": len(every - unknowns),  # that are proven to stay in bytes with one distance
            "unknown": len(unknowns),  # whose addresses may be anything, as far as is known
            "moved": len(moved),
            BY_SYMBOL: len(by_symbol),  # whose bytes are known by C's rule alone
        }
