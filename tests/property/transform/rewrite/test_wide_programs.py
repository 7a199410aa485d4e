"""Wide programs: valid, reproducible, of every shape asked for; and 500 of them through the whole path.

`make fuzz` runs many more, with every allocator on each; here the allocators take turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from binalloc.emulator.runs.run import run
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Function, Instr
from binalloc.isa.interface.places import PRED, REG
from binalloc.isa.kinds import Flow, Space
from binalloc.isa.loom.view import view
from binalloc.transform.schedule.schedule import schedule
from tests.conftest import WIDE
from tests.fuzz.programs import options
from tests.support.generator.programs import generate
from tests.support.kits.suite import rotation
from tests.support.kits.transform.rewrite_judge import HEURISTICS, MACHINE, MAX_CYCLES
from tests.support.kits.transform.wide_cases import HOLES, report_on

PROGRAMS = 500
PARTS = 20
VALID = (*range(40), 2038, 2732, 3073, 3946)
"""The last ones were none: some lanes alone called functions whose lanes gather, a loop set its counter anew."""
HOLED = 100
HOLED_PARTS = 5
Record = Callable[[str, object], None]


@pytest.mark.rotates(parts=rotation.EIGHTH)
@pytest.mark.parametrize("part", range(PARTS))
def test_wide_programs_survive_rewriting(part: int, record_property: Record) -> None:
    counts: Counter[str] = Counter()
    wrong = []
    for seed in range(part, PROGRAMS, PARTS):
        report = report_on(seed, (HEURISTICS[seed // PARTS % len(HEURISTICS)],))
        counts += report.counts
        wrong += [f"seed {seed}: {kind}: {text}" for kind, text in report.failures]
    record_property(WIDE, dict(counts))
    assert not wrong, "\n".join(wrong)
    assert counts["programs"] == PROGRAMS // PARTS


FOUND = (
    3169, 3567, 6539, 900219, 900504, 901206, 901252, 911326, 911789, 912586, 912809, 913408, 2000355, 2001107,
    2002660, 2006713, 3007263, 8000622, 9000366, 9001103, 9001831,
)  # fmt: skip

AS_FOUND = {"halves": False, "matrices": False, "neighbours": "", "faulting": False}
"""What programs did not have when those were found."""


@pytest.mark.parametrize("seed", FOUND)
def test_what_the_fuzzer_found_is_proven(seed: int) -> None:
    """The original waited in front of a meeting point for a word that had gone behind it; the same register written by
    some threads, then by all others, was one value with what it held before; one operand was known as a value alone
    behind a meeting point, the other as a constant alone; a store that is gone had to wait for what is made later;
    or bound the order though nobody loads its words; a callee of a guarded call called another under the opposite
    guard; the original copied an operand of what had been moved up. Two rewrites were wrong: half of a pair was made
    again of what the other half had been before a call changed it; and the kernel's stack register was to be in memory
    at its start, where nobody had stored it. And once the program itself was: its threads wrote each other's words."""
    report = report_on(seed, HEURISTICS, {**options(seed), **AS_FOUND})
    assert not report.failures


@pytest.mark.parametrize("seed", VALID)
def test_wide_programs_use_nothing_undefined_and_have_no_races(seed: int) -> None:
    module, launches = generate("wide", seed)
    scheduled = read_module(write_module(schedule(module, MACHINE)))
    for launch in launches:
        result = run(scheduled, launch.kernel, launch, MACHINE, check=True, race=True, max_cycles=MAX_CYCLES)
        assert result.buffers["output"].any()


@pytest.mark.parametrize("part", range(HOLED_PARTS))
def test_wide_programs_with_holes_survive_rewriting(part: int, record_property: Record) -> None:
    """Pure words are missing: values are read which nobody wrote, or which some threads alone wrote."""
    counts: Counter[str] = Counter()
    wrong = []
    for seed in range(part, HOLED, HOLED_PARTS):
        report = report_on(seed, (HEURISTICS[seed // HOLED_PARTS % len(HEURISTICS)],), {"holes": HOLES})
        counts += report.counts
        wrong += [f"seed {seed}: {kind}: {text}" for kind, text in report.failures]
    record_property(WIDE, dict(counts))
    assert not wrong, "\n".join(wrong)
    assert counts["accepted with notes"] > HOLED // HOLED_PARTS // 3


def test_holes_change_nothing_else() -> None:
    for seed in range(10):
        whole, launches = generate("wide", seed)
        holed, others = generate("wide", seed, holes=HOLES)
        assert launches == others
        missing = [
            (a.name, b.name)
            for f, g in zip(whole, holed, strict=True)
            for a, b in zip(f.instrs, g.instrs, strict=True)
            if a != b
        ]
        assert missing
        assert {name for _, name in missing} == {"NOP"}


def test_equal_seeds_give_equal_wide_programs() -> None:
    assert generate("wide", 7) == generate("wide", 7)
    assert generate("wide", 7)[0] != generate("wide", 8)[0]


@pytest.mark.rotates("long")
def test_wide_programs_reach_the_corners() -> None:
    seen: Counter[str] = Counter()
    for seed in range(800):
        module, launches = generate("wide", seed)
        seen["several kernels"] += len(launches) > 1
        seen["dynamic shared memory"] += launches[0].dynamic_shared > 0
        seen["a long chain"] += len(module.functions) > 25
        seen["local stack"] += module.function("kernel").info.local_stack != 255
        for fn in module:
            _shapes(fn, seen)
    wanted = """several kernels, dynamic shared memory, a long chain, local stack, target is the next word,
        target is the point, point behind the target, point in front, uniform, equal results, CALL.IND, guarded CALL,
        guarded RET, guarded EXIT, guarded BAR, named barrier, BAR.ARV, BAR.RED, MATCH, WARPSYNC,
        computed local address, LD, ST, ATOMS, self copy, never, local quad, pair, quad, guarded write,
        guarded wide write, own guard changed, loop, divergence, shared, local, barrier, call"""
    names = [" ".join(name.split()) for name in wanted.split(",")]
    assert [name for name in names if seen[name] < 3] == []


def _common(instr: Instr, seen: Counter[str]) -> None:
    """What spill code is about everywhere."""
    v = view(instr)
    written = [r for r in v.defs if r.file == REG]
    for ref in (*v.defs, *v.uses):
        seen["pair"] += ref.units == 2
        seen["quad"] += ref.units == 4
    if v.guard is not None:
        seen["guarded write"] += bool(written)
        seen["guarded wide write"] += any(r.units > 1 for r in written)
        changed = any(r.file == PRED and r.index == v.guard[0] for r in v.defs)
        seen["own guard changed"] += changed and bool(written)
    seen["loop"] += v.control == Flow.BRANCH and instr.f["target"] < 0
    seen["divergence"] += instr.f.get("diverges", 0)
    seen["shared"] += v.memory is not None and v.memory.space == Space.SHARED
    seen["local"] += v.memory is not None and v.memory.space == Space.LOCAL
    seen["barrier"] += instr.name == "BAR"
    seen["call"] += v.control == Flow.CALL


def _shapes(fn: Function, seen: Counter[str]) -> None:
    for instr in fn.instrs:
        f, v = instr.f, view(instr)
        guarded = v.guard is not None
        seen[instr.name] += 1
        seen[f"guarded {instr.name}"] += guarded
        _common(instr, seen)
        if v.control == "branch" and guarded:
            seen["target is the next word"] += f["target"] == 0
            seen["uniform"] += not f["diverges"]
            if f["diverges"]:
                seen["target is the point"] += f["reconv"] == f["target"]
                seen["point behind the target"] += f["reconv"] > max(f["target"], 0)
                seen["point in front"] += f["reconv"] < 0
        if instr.name == "BAR":
            seen["named barrier"] += f["barid"] > 0
            seen["BAR.ARV"] += f["bar"] == 1
            seen["BAR.RED"] += f["bar"] > 1
        seen["equal results"] += f.get("pd0", 7) == f.get("pd1", 6)
        seen["computed local address"] += instr.name in ("LDL", "STL") and f["ra"] not in (255, fn.info.local_stack)
        seen["local quad"] += instr.name in ("LDL", "STL") and f["width"] == 6
        seen["self copy"] += instr.name == "MOV" and f.get("rb", 255) == f["rd"] != 255
        seen["never"] += (instr.guard, instr.guard_neg) == (7, True)
