"""Random valid whole programs, allocated for budgets from the reported minimum up: checked, emulated, the same results.

Together the seeds give at least 500 cases of program and budget; the run's summary prints the feasible share.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from binalloc.errors import UsageError
from binalloc.isa.loom.view import view
from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.rewrite.rewrite import minimum_registers, rewrite
from binalloc.verify.report import CheckReport
from tests.conftest import REWRITES
from tests.support.generator.programs import random_program
from tests.support.kits.transform import rewrite_judge
from tests.support.kits.transform.rewrite_cases import Program, budgets, tried
from tests.support.kits.transform.rewrite_judge import HEURISTICS

SEEDS = 64
MORE = range(SEEDS, 400)
Record = Callable[[str, object], None]


def go(seed: int, record_property: Record) -> None:
    """All budgets of one program, those below the minimum too."""
    program = Program(seed)
    counts: Counter[str] = Counter()
    wrong = []
    for budget in budgets(program):
        verdict = tried(program, budget, counts)
        counts["cases"] += 1
        counts["feasible"] += not verdict
        if verdict:
            wrong.append(f"{budget}: {verdict}")
    rng = random.Random(f"below {seed}")
    for registers in sorted({1, program.minimum - 1, rng.randrange(1, program.minimum)}):
        counts["below"] += 1
        slots = rng.choice((0, 4))
        allocator = rng.choice(HEURISTICS)
        try:
            rewrite(program.module, "kernel", registers, slots, allocator)
            wrong.append(f"{registers} registers are enough, {program.minimum} were reported as the minimum")
        except Infeasible as error:
            counts["below refused"] += 1
            # which function, what was there, and what to do
            if not (error.place and error.found and error.remedy):
                wrong.append(f"unclear refusal at {registers} registers: {error}")
    record_property(REWRITES, dict(counts))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_programs_survive_rewriting(seed: int, record_property: Record) -> None:
    go(seed, record_property)


@pytest.mark.full
@pytest.mark.parametrize("seed", MORE)
def test_more_random_programs_survive_rewriting(seed: int, record_property: Record) -> None:
    go(seed, record_property)


def test_the_programs_reach_what_the_property_is_about() -> None:
    """Loops, divergence, guarded writes, calls three deep, pairs and quads, shared memory, barriers, all registers."""
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        module, _ = random_program(seed)
        depth = {fn.name: 0 for fn in module}
        for fn in reversed(module.functions):
            for index, instr in enumerate(fn.instrs):
                v = view(instr)
                seen["guarded write"] += bool(v.guard and v.defs)
                seen["divergence"] += instr.f.get("diverges", 0)
                seen["loop"] += v.control == "branch" and instr.f["target"] < 0
                seen["shared memory"] += bool(v.memory and v.memory.space == "shared")
                seen["barrier"] += v.control == "barrier" or instr.name == "BAR"
                for ref in (*v.defs, *v.uses):
                    seen[f"{ref.units} units"] += 1
                    seen["last register"] += ref.file == "R" and ref.index + ref.units == 255
                callee = module.callee(fn, index) if v.control == "call" else None
                if callee is not None:
                    depth[fn.name] = max(depth[fn.name], 1 + depth[callee.name])
                    seen["guarded call"] += v.guard is not None
        seen[f"calls {max(depth.values())} deep"] += 1
    wanted = ("guarded write", "divergence", "loop", "shared memory", "barrier", "1 units", "2 units", "4 units")
    assert [w for w in (*wanted, "last register", "calls 3 deep", "guarded call") if seen[w] < 5] == []


def test_the_minimum_is_what_rewriting_needs() -> None:
    program = Program(3)
    least = minimum_registers(program.module, "kernel", 0)
    rewrite(program.module, "kernel", least, 0)
    with pytest.raises(Infeasible, match="registers"):
        rewrite(program.module, "kernel", least - 1, 0)


def test_the_judge_sees_each_kind_of_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(3)
    new = rewrite(program.module, "kernel", program.minimum, 0)

    def kinds(registers: int) -> list[str]:
        return [kind for kind, _ in program.judge(new, registers, 0).failures]

    assert kinds(program.minimum) == []
    assert kinds(program.minimum - 1) == ["over budget"]
    instrs = new.function("kernel").instrs
    last = max(i for i, x in enumerate(instrs) if x.name == "STG")
    instrs[last] = instrs[last].replace(moff=instrs[last].f["moff"] + 4)
    assert kinds(255) == ["rejected"]
    monkeypatch.setattr(rewrite_judge, "check", lambda *_: CheckReport(True, [], [], {}))
    assert kinds(255) == ["ACCEPTED BUT WRONG"]
    program.data = b""
    assert kinds(255)[0] == "input changed"


@pytest.mark.parametrize(("registers", "slots"), [(0, 0), (256, 0), (-1, 4), (16, -1)])
def test_budgets_that_are_none_are_usage_errors(registers: int, slots: int) -> None:
    with pytest.raises(UsageError):
        rewrite(Program(3).module, "kernel", registers, slots)
