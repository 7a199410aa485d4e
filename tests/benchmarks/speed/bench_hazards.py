"""Time of the static hazard check at three sizes, beside that of the scheduling pass: is it linear?

Run: python -m tests.benchmarks.speed.bench_hazards [instructions...]

Two shapes: one kernel of small loops, two-sided branches, loads and calls one after the other, and one whose divergent
branches all share a reconvergence point (early returns).
"""

from __future__ import annotations

import sys
import time

from binalloc.isa.instruction import Module
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.hazards.check import find_hazards
from tests.support.programs.builder import Code, module_of

SIZES = (1_000, 10_000, 100_000)


def structured(instructions: int) -> Module:
    """Loops with a two-sided branch inside, loads before and a call behind."""
    code, callee = Code("kernel"), Code("callee", kernel=False)
    while len(code.instrs) < instructions:
        top, other, end = code.new_label(), code.new_label(), code.new_label()
        code.emit("LDG", rd=8, ra=2, width=6)
        code.label(top)
        code.emit("ISETP", pd0=0, pd1=7, ra=4, rb=5)
        code.bra(other, end, (0, False))
        for k in range(6):
            code.emit("FFMA", rd=4 + k % 3, ra=4, rb=8 + k % 4, rc=5)
        code.bra(end)
        code.label(other)
        for k in range(5):
            code.emit("IMAD", rd=5 + k % 3, ra=4, rb=8 + k % 4, rc=6)
        code.label(end)
        code.bra(top, end + "x", (1, True))
        code.label(end + "x")
        code.call("callee")
    for k in range(12):
        callee.emit("IADD3", rd=4 + k % 4, ra=5, rb=6, rc=8)
    callee.emit("RET")
    code.emit("EXIT")
    return module_of(code, callee)


def early_returns(instructions: int, apart: int = 50) -> Module:
    """A kernel that leaves early at every `apart`-th instruction."""
    code = Code("kernel")
    while len(code.instrs) < instructions:
        code.bra("end", "end", (0, False))
        for k in range(apart - 1):
            code.emit("IADD3", rd=k % 8, ra=(k + 1) % 8, rb=(k + 2) % 8)
    code.label("end")
    code.emit("EXIT")
    return module_of(code)


def report(label: str, module: Module) -> None:
    """One line: seconds of scheduling and of the check."""
    machine = load_machine("gtx680")
    begin = time.process_time()
    scheduled = schedule(module, machine)
    middle = time.process_time()
    found = find_hazards(scheduled, machine.unit_latencies)
    end = time.process_time()
    assert not found, found[0]
    count = sum(len(fn) for fn in module)
    print(f"{label:14s} {count:8,d} instructions: schedule {middle - begin:7.2f} s, check {end - middle:6.2f} s")


def main() -> None:
    for size in [int(a) for a in sys.argv[1:]] or SIZES:
        report("structured", structured(size))
        report("early returns", early_returns(size))


if __name__ == "__main__":
    main()
