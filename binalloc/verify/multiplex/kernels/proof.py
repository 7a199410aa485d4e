"""A proof of this package begins with what all of them have in common: two kernels, their records, and a map.

Needs two modules; leaves a report.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from binalloc.call_stack import with_room
from binalloc.collection import no_collection
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.banks import bank_bytes
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.graph import TooTangled
from binalloc.verify.multiplex.kernels.calls import called
from binalloc.verify.multiplex.kernels.pairing import Pairs, used_registers
from binalloc.verify.multiplex.kernels.records import check_callees, check_known, check_records, fits, kernel_of
from binalloc.verify.multiplex.living import Called
from binalloc.verify.multiplex.walk import TooLong
from binalloc.verify.reading.code import FunctionCode, Malformed
from binalloc.verify.report import CheckReport, Finding
from binalloc.verify.resources import check_accesses


@dataclass(frozen=True)
class Given:
    """A proof is given both kernels' code, the functions that they call, and the instruction map."""

    old: FunctionCode
    new: FunctionCode
    callees: list[Function]
    index: list[int]  #: the original word of each new word, or -1
    untouched: set[int]  #: registers that the original's call graph never uses
    called: Called  #: what those functions do


class Proof(ABC):
    """A proof collects findings. The map is not trusted."""

    may_differ: ClassVar[Sequence[str]] = ()  #: fields of the kernel's record

    def __init__(self, original: Module, made: Module, kernel: str) -> None:
        self.original, self.made, self.kernel = original, made, kernel
        self.findings: dict[Finding, None] = {}
        self.stats: dict[str, int] = {}
        self.pairing: Pairs | None = None

    @abstractmethod
    def records(self, old: Function, new: Function) -> None:
        """Check records as far as only this proof knows."""

    @abstractmethod
    def prove(self, given: Given) -> None:
        """Check the code, where the records are right."""

    def fail(self, kind: str, message: str, expected: str = "", found: str = "") -> None:
        self.findings[Finding(kind, message, self.kernel, expected=expected, found=found)] = None

    @with_room
    @no_collection()
    def report(self) -> CheckReport:
        """Run the proof, and return what it found. Raises nothing."""
        try:
            given = self._given()
            if given is not None:
                self.prove(given)
        except TooLong:
            self.fail("limit", "the kernel is too long to be walked")
        except TooTangled:
            self.fail("limit", "a loop of the kernel has two entries")
        except Malformed as e:
            self.fail("malformed", str(e))
        except Exception as e:
            self.fail("internal", f"the checker could not make sense of the binaries: {type(e).__name__}: {e}")
        found = {**self.findings, **(self.pairing.findings if self.pairing is not None else {})}
        errors = sorted(found, key=lambda e: (e.function, e.index, e.kind, e.message, e.operand, e.found))
        return CheckReport(not errors, errors[: CheckReport.LIMIT], [], self.stats)

    def _given(self) -> Given | None:
        old, new = kernel_of(self.original, self.kernel), kernel_of(self.made, self.kernel)
        if old is None or new is None:
            self.fail("kernel", f"no kernel {self.kernel} in {'the original' if old is None else 'the new binary'}")
            return None
        self.records(old, new)
        self._note(check_records(self.original, self.made, old, new, self.may_differ))
        callees = [fn for fn in self.original.reached(old) if fn is not old]
        index = new.origin.index if new.origin is not None and new.origin.function == old.name else None
        if index is None or len(index) != len(new.instrs) or not fits(index, len(old.instrs)):
            self.fail("map", "the instruction map does not fit the code")
        if self.findings or index is None:
            return None
        codes = [
            FunctionCode(fn, bank_bytes(module.constants, fn.info.params), follow=False)
            for module, fn in ((self.original, old), (self.made, new))
        ]
        self._note(check_known(codes[0], set_of(self.original).limits))
        self._note(check_callees(self.original, self.made, old, new, callees))
        self._note(check_accesses([codes[1]], new.info))
        untouched = set(range(set_of(self.original).limits.registers)) - used_registers([old, *callees])
        return Given(codes[0], codes[1], callees, index, untouched, called(self.original, old, callees))

    def _note(self, findings: list[Finding]) -> None:
        self.findings.update(dict.fromkeys(findings))
