"""The checker of kernels whose blocks work in another order.

    report = check_order(original, made, "kernel", "tile:8x8", (64, 32, 1), sms=8)

**What is proven**, for every launch: where the original's run ends well, whatever the order in which its blocks run,
the new kernel's does, with results that some order of the original's blocks leaves.

- *Lockstep* (`pairing.py`). The new kernel and the functions that it calls have the original's words, in order, with
  the same operands, guards, branches and reconvergence points. In place of words that ask for the block's place in the
  grid they have copies of a register. Inserted words do nothing but write registers that the original never uses.
- *Permutation* (`fitting.py`, `orders.py`). On the order's grid, block by block, these copies have the place of the
  block that the order names. All reads, in all functions, are of the same block, and no two blocks work as one.
- *Other grids* (`others.py`). On every other grid each read has the block's own place.
- *No waiting* (`waits.py`). No loop ends by what another block writes meanwhile.

**What is not.** That the results of the original are the same in every order of its blocks, as CUDA demands of a
kernel: atomics on floating-point numbers round differently, and the contents of a buffer may be in another order.
Waiting with plain accesses, which race. Calls by address and recursion are refused, and launches that are cooperative
are not to be made.

This package shares no code with the transformation, nor with the definition of orders there. `check_order` raises
nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from binalloc.call_stack import with_room
from binalloc.collection import no_collection
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.banks import bank_bytes
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of
from binalloc.verify.block_order.fitting import IN_GRID, Fitting, Three, Words
from binalloc.verify.block_order.orders import Numbers, numbers_of
from binalloc.verify.block_order.others import Copy, Fact, Others
from binalloc.verify.block_order.pairing import Paired, functions_of
from binalloc.verify.block_order.waits import waiting_words
from binalloc.verify.multiplex.graph import TooTangled
from binalloc.verify.multiplex.kernels.pairing import used_registers
from binalloc.verify.multiplex.kernels.records import check_records, kernel_of
from binalloc.verify.reading.code import FunctionCodes, Malformed, text
from binalloc.verify.report import CheckReport, Finding
from binalloc.verify.resources import check_accesses

MOST_BLOCKS = 1 << 22
"""Most blocks of a grid, which are looked at one by one. Chosen by hand: so many take some seconds."""
MOST_SMS = 1 << 16
"""Most SMs. Chosen by hand, above any GPU's: it bounds numbers from a record."""
AT_ONCE = 1 << 18
"""Blocks that are looked at together. Chosen by hand: so many words are 2 MB for each register."""

_T = TypeVar("_T")


def check_order(original: Module, made: Module, kernel: str, order: str, grid: Three, sms: int) -> CheckReport:
    """Prove that `made`'s kernel does what `original`'s does, with blocks that work in an order on one grid. order: as
    in `orders.py`. sms: SMs to which hardware deals blocks in turn."""
    return _Proof(original, made, kernel, order, grid, sms).report()


class _Proof:
    def __init__(self, original: Module, made: Module, kernel: str, order: str, grid: Three, sms: int) -> None:
        self.original, self.made, self.kernel = original, made, kernel
        self.order, self.grid, self.sms = order, grid, sms
        self.findings: dict[Finding, None] = {}
        self.stats: dict[str, int] = {}

    def fail(self, kind: str, message: str, name: str = "", expected: str = "", found: str = "") -> None:
        self.findings[Finding(kind, message, name or self.kernel, expected=expected, found=found)] = None

    @with_room
    @no_collection()
    def report(self) -> CheckReport:
        """Run the proof, and return what it found. Raises nothing."""
        try:
            self._prove()
        except TooTangled:
            self.fail("limit", "a loop of a function has two entries")
        except Malformed as e:
            self.fail("malformed", str(e))
        except Exception as e:
            self.fail("internal", f"the checker could not make sense of the binaries: {type(e).__name__}: {e}")
        errors = sorted(self.findings, key=lambda e: (e.function, e.index, e.kind, e.message, e.found))
        return CheckReport(not errors, errors[: CheckReport.LIMIT], [], self.stats)

    def _prove(self) -> None:
        old, new = kernel_of(self.original, self.kernel), kernel_of(self.made, self.kernel)
        if old is None or new is None:
            self.fail("kernel", f"no kernel {self.kernel} in {'the original' if old is None else 'the new binary'}")
            return
        numbers = self._numbers()
        self._note(check_records(self.original, self.made, old, new, ("registers", "machine")))
        self._known(old)
        if self.findings or numbers is None:
            return
        pairs = self._pairs(old, new)
        self._note(check_accesses([pair.new for pair in pairs], new.info))
        for code, n in waiting_words([pair.old for pair in pairs]):
            self._note([Finding("waits", "waits for what another block writes, which may be dealt later", "", -1,
                                code.name, n, text(code.fn, n))])  # fmt: skip
        for pair in pairs:
            self._note(list(pair.findings))
        if not self.findings:
            self._values(pairs, numbers)

    def _note(self, findings: list[Finding]) -> None:
        self.findings.update(dict.fromkeys(findings))

    # -- what is given

    def _numbers(self) -> Numbers | None:
        """Return as which block each one works, by the order's definition."""
        sides = [side for side in self.grid if 0 < side <= MOST_BLOCKS]
        if len(sides) < len(self.grid) or sides[0] * sides[1] * sides[2] > MOST_BLOCKS or not 0 < self.sms <= MOST_SMS:
            self.fail("limit", "the grid has too many blocks, or none", expected=f"at most {MOST_BLOCKS:,}",
                      found=f"{self.grid}, {self.sms} SMs")  # fmt: skip
            return None
        numbers = numbers_of(self.order, self.grid, self.sms)
        if numbers is None or not np.array_equal(np.sort(numbers), np.arange(numbers.size)):
            self.fail("order", "no order of blocks", found=self.order[:80])
            return None
        return numbers

    def _known(self, old: Function) -> None:
        """Refuse what this proof does not know."""
        if self.original.comes_back(old):
            self.fail("not proven", "recursion is not known to this proof")
        for fn in self.original.reached(old):
            for n, instr in enumerate(fn.instrs):
                if instr.control == Flow.CALL_INDIRECT:
                    self._note([Finding("not proven", "a call by address is not known to this proof", "", -1, fn.name,
                                        n, text(fn, n))])  # fmt: skip

    def _pairs(self, old: Function, new: Function) -> list[Paired]:
        """Return the pairs of all functions, the kernel's first."""
        before, after = functions_of(self.original, old), functions_of(self.made, new)
        if set(before) != set(after):
            self.fail("call", "the new kernel calls other functions")
            return []
        codes = [FunctionCodes(bank_bytes(module.constants, fn.info.params), follow=False)
                 for module, fn in ((self.original, old), (self.made, new))]  # fmt: skip
        limits = set_of(self.original).limits
        untouched = set(range(limits.registers)) - used_registers(list(before.values())) - {limits.zero}
        pairs = []
        for name, fn in before.items():
            pair = Paired(codes[0].of(fn), codes[1].of(after[name]), untouched, limits)
            pair.run(self.original, self.made)
            pairs.append(pair)
            said = [replace(one.info, registers=0, machine="") for one in (fn, after[name])]
            if fn is not old and (said[0] != said[1] or fn.shared != after[name].shared):
                self.fail("resources", f"the record of the function {name} changed")
        if old.shared != new.shared:
            self.fail("resources", "the shared variables changed")
        return pairs

    # -- values

    def _values(self, pairs: list[Paired], numbers: Numbers) -> None:
        """Follow what inserted words compute."""
        gx, gy, _ = self.grid
        limits = pairs[0].limits
        for start in range(0, numbers.size, AT_ONCE):
            blocks = range(start, min(start + AT_ONCE, numbers.size))
            machine = Fitting(self.grid, limits, blocks)
            those = numbers[blocks.start : blocks.stop].astype(np.uint64)
            wide, layer = np.uint64(gx), np.uint64(gx * gy)
            wanted = (those % wide, those // wide % np.uint64(gy), those // layer)
            kept = _lasting(pairs, machine.execute(pairs[0].runs[0], {}))
            for k, pair in enumerate(pairs):
                self._fitting(pair, machine, wanted, kept if k == 0 else {})
        names = {axis - IN_GRID: name for name, axis in limits.places.items()}
        for name, axis in limits.sizes.items():
            if axis >= IN_GRID:
                others = Others(name, self.grid[axis - IN_GRID])
                kept_facts = _lasting(pairs, others.execute(pairs[0].runs[0], {}))
                for k, pair in enumerate(pairs):
                    self._others(pair, others, names, kept_facts if k == 0 else {})
        self.stats = {
            "blocks": numbers.size,
            "reads": sum(read.source is not None for pair in pairs for read in pair.reads),
            "inserted": sum(len(run) for pair in pairs for run in pair.runs.values()),
        }

    def _fitting(self, pair: Paired, machine: Fitting, wanted: tuple[Words, ...], kept: dict[int, Words]) -> None:
        """Check all reads of a function on the order's grid."""
        for read in pair.reads:
            if read.source is None:
                value: Words | None = machine.place[read.axis]
            else:
                value = machine.execute(pair.runs[read.word], kept if read.word else {}).get(read.source)
            if value is None:
                self._wrong(pair, read.word, "the block's place is not known", "", "")
                continue
            apart = np.flatnonzero(value != wanted[read.axis])
            if apart.size:
                at = int(apart[0])
                expected, found = int(wanted[read.axis][at]), int(value[at])
                where = f"block {machine.blocks.start + at:,} works as another one than the order says"
                self._wrong(pair, read.word, where, f"{expected} along axis {read.axis}", str(found))

    def _others(self, pair: Paired, others: Others, names: dict[int, str], kept: dict[int, Fact]) -> None:
        """Check all reads of a function on other grids."""
        for read in pair.reads:
            if read.source is None:
                continue
            value = others.execute(pair.runs[read.word], kept if read.word else {}).get(read.source)
            if value != Copy(names[read.axis]):
                self._wrong(pair, read.word, f"on a grid with another {others.size} the block's place may be another",
                            names[read.axis], str(value))  # fmt: skip

    def _wrong(self, pair: Paired, m: int, message: str, expected: str, found: str) -> None:
        self._note([Finding("order", message, pair.new.name, -1, pair.old.name, m, text(pair.old.fn, m),
                            expected=expected, found=found)])  # fmt: skip


def _lasting(pairs: list[Paired], known: dict[int, _T]) -> dict[int, _T]:
    """Return what is known behind the kernel's first run, as far as no other run writes it."""
    written: set[int] = set()
    for k, pair in enumerate(pairs):
        for m, places in pair.written.items():
            if k or m:
                written |= places
    return {at: value for at, value in known.items() if at not in written}
