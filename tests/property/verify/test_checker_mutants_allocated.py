"""The checker against what an allocator could get wrong: order, split live ranges, recomputed values.

Real rewrites of programs that have all of it, by several allocators at several budgets. A mutant must be rejected, or
be equivalent: its kind is not in `ALWAYS_WRONG`, and runs on hashed values and emulated runs on several inputs leave
the same memory. Of each kind so many must be rejected (`AT_LEAST`), so that no test here can become empty. The run's
summary prints the table.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pytest

from binalloc.errors import BinallocError
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import load
from binalloc.launch.file import load_launch
from binalloc.launch.types import Launch
from binalloc.transform.rewrite.rewrite import minimum_registers, rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.conftest import MUTANTS
from tests.support.generator.programs import random_program
from tests.support.generator.transform.made import made_program
from tests.support.kits.suite import rotation
from tests.support.kits.transform.rewrite_judge import MACHINE, Buffers, difference, emulate
from tests.support.oracles.verify.hash_machine import same_memory
from tests.support.pairs.mutants import Mutant
from tests.support.pairs.mutants_allocated import order_mutants, remade_mutants, split_mutants
from tests.support.paths import sample_file

PER_KIND = 3
INPUTS = 3
HASHED = range(24)
STEPS = 1500
Record = Callable[[str, object], None]
Case = tuple[str, int, int, int, str]
"""What program (its kind, its seed), registers above the fewest, slots, allocator."""

CASES: tuple[Case, ...] = (
    *(("made", seed, 1 + 3 * (seed % 3), seed % 4, name)
      for seed, name in enumerate(("best", "local", "unified", "regdem", "best", "local") * 3)),
    *(("random", seed, seed % 3, 3, name)
      for seed, name in enumerate(("best", "local", "unified", "best", "regdem", "local"))),
    ("callchain", 0, 1, 3, "best"), ("stencil3d", 0, 2, 3, "best"),
)  # fmt: skip
MORE: tuple[Case, ...] = (
    *(("made", seed, seed % 8, seed % 5, name)
      for seed, name in enumerate(("best", "local", "unified", "regdem", "ptxas-smem") * 6, 100)),
    *(("random", seed, seed % 5, 3, name)
      for seed, name in enumerate(("best", "local", "unified", "regdem", "ptxas-smem") * 4, 100)),
    ("nbody", 0, 4, 3, "best"), ("stencil2d", 0, 2, 3, "best"), ("matmul", 0, 2, 3, "local"),
)  # fmt: skip
FAMILIES = {"order": order_mutants, "split": split_mutants, "remade": remade_mutants}

ALWAYS_WRONG = frozenset((
    "effect across a barrier or fence", "access across an atomic", "exchanges between lanes exchanged",
    "load and store of one word exchanged", "stores of one word exchanged", "effect behind the branch that followed it",
))  # fmt: skip
"""Kinds that are never accepted. A mutant of another kind may be equivalent: where it reads another place, or reads too
late, that place holds the same value; where a word was lost or moved, its place held the value already, or is not read
before it is written anew; two accesses are apart; on a way that lost a word its value is not read."""

AT_LEAST: dict[str, dict[str, int]] = {
    "order": {
        "access across an atomic": 5,
        "effect across a barrier or fence": 28,
        "effect behind the branch that followed it": 1,
        "exchanges between lanes exchanged": 1,
        "guarded word before the writer of its guard": 3,
        "guarded word behind the next writer of its guard": 3,
        "load and store of one word exchanged": 6,
        "load and store that may meet exchanged": 9,
        "reader before the writer of its operand": 36,
        "reader before the writer of its predicate": 13,
        "reader behind the next writer of its operand": 37,
        "stores of one word exchanged": 12,
        "stores that may meet exchanged": 2,
        "value behind the branch that followed it": 8,
        "value behind the meeting point that followed it": 6,
        "words exchanged under the old map": 38,
        "writers of one place exchanged": 8,
    },
    "split": {
        "copies of a parallel copy exchanged": 16,
        "copy before the last reader of its place": 24,
        "copy before the meeting point, on one way only": 1,
        "copy before the writer whose place it takes": 2,
        "copy before what it moves is there": 11,
        "copy behind its reader": 12,
        "copy behind the branch, on one way only": 2,
        "copy behind the next writer of its place": 1,
        "copy behind what overwrites its operand": 8,
        "copy dropped": 11,
        "leg of a parallel copy dropped": 20,
        "reload before the last access of its word": 5,
        "reload before the last reader of its place": 36,
        "reload before the meeting point, on one way only": 11,
        "reload before the writer whose place it takes": 1,
        "reload before what it moves is there": 1,
        "reload behind its reader": 38,
        "reload behind the next access of its word": 8,
        "reload behind the next writer of its place": 1,
        "reload dropped": 38,
        "reload from another value's word": 39,
        "stale register read": 37,
        "store before the last access of its word": 5,
        "store before the meeting point, on one way only": 1,
        "store before what it moves is there": 38,
        "store behind the branch, on one way only": 1,
        "store behind the next access of its word": 2,
        "store behind what overwrites its operand": 39,
        "store dropped": 38,
        "store to another value's word": 38,
        "word of an exchange dropped": 25,
    },
    "remade": {
        "carry dropped": 5,
        "carry from another predicate": 5,
        "carry made behind its reader": 4,
        "recomputed after its operand was overwritten": 17,
        "recomputed before its carry is there": 4,
        "recomputed before its operand is there": 21,
        "recomputed before the last reader of its place": 27,
        "recomputed before the writer whose place it takes": 3,
        "recomputed behind its reader": 26,
        "recomputed behind the next writer of its place": 2,
        "recomputed by another operation": 27,
        "recomputed from another register": 27,
        "recomputed with another constant": 28,
        "word of a recomputation dropped": 25,
    },
}
"""Per family and kind, how many are rejected at least; there are no other kinds."""


@cache
def program(case: Case) -> tuple[Module, Module, str, tuple[Launch, ...]]:
    """Original, rewritten, kernel and launches."""
    name, seed, more, slots, allocator = case
    if name == "made":
        module, launch = made_program(seed)
    elif name == "random":
        shape = {"size": 30, "registers": 16, "depth": 2, "callees": 2, "block": 32, "grid": 1}
        module, launch = random_program(seed, **shape, halves=seed >= 100)  # what AT_LEAST counts is as it was
    else:
        module, launch = load(sample_file(f"{name}.loom")), load_launch(sample_file(f"{name}.toml"), "test")
    registers = minimum_registers(module, launch.kernel, slots, allocator) + more
    launches = (launch,) if name not in ("made", "random") else tuple(_inputs(launch))
    return module, rewrite(module, launch.kernel, registers, slots, allocator), launch.kernel, launches


def _inputs(launch: Launch) -> Iterator[Launch]:
    """The same launch with other contents of the buffers and other scalars."""
    for n in range(INPUTS):
        rng = random.Random(f"inputs {n}")
        changed = tuple(
            replace(a, init=replace(a.init, seed=a.init.seed + n)) if a.kind == "buffer"
            else replace(a, value=rng.getrandbits(31) if n else a.value)
            for a in launch.arguments
        )  # fmt: skip
        yield replace(launch, arguments=changed)


@cache
def expected(case: Case) -> list[Buffers]:
    module, _, _, launches = program(case)
    return _runs(module, launches)


def _runs(module: Module, launches: tuple[Launch, ...]) -> list[Buffers]:
    scheduled = schedule(module, MACHINE)
    return [emulate(scheduled, [launch]) for launch in launches]


def chosen(case: Case, family: str) -> list[Mutant]:
    """At most PER_KIND mutants of each kind, of all of which `make test` takes a quarter."""
    _, rewritten, kernel, _ = program(case)
    by_kind: dict[str, list[Mutant]] = {}
    for mutant in FAMILIES[family](rewritten, kernel):
        by_kind.setdefault(mutant.kind, []).append(mutant)
    rng = random.Random(f"{case} {family}")
    drawn = [m for _, ms in sorted(by_kind.items()) for m in rng.sample(ms, min(PER_KIND, len(ms)))]
    return rotation.sample(drawn, f"{case} {family}")


def accepted(case: Case, mutant: Mutant) -> str:
    """What is wrong with accepting this mutant, "" where it is equivalent."""
    original, _, kernel, launches = program(case)
    if mutant.kind in ALWAYS_WRONG:
        return "and is wrong wherever it stands"
    if not same_memory(original, mutant.module, kernel, HASHED, STEPS):
        return "and leaves other memory on hashed values"
    try:
        got = _runs(mutant.module, launches)
    except BinallocError as error:
        return f"and its run ends with: {error}"
    for one, other in zip(expected(case), got, strict=True):
        if found := difference(one, other):
            return f"and {found}"
    return ""


def judged(case: Case, family: str, table: dict[str, Counter[str]]) -> list[str]:
    """What is wrong with the checker's answers on this case; counts into table."""
    original, rewritten, kernel, _ = program(case)
    report = check(original, rewritten, kernel)
    assert report.ok, str(report)
    assert same_memory(original, rewritten, kernel, HASHED, STEPS)
    wrong = []
    for mutant in chosen(case, family):
        counts = table.setdefault(mutant.kind, Counter())
        counts["mutants"] += 1
        report = check(original, mutant.module, kernel)
        if any(e.kind in ("internal", "limit") for e in report.errors):
            wrong.append(f"{case}: {mutant.kind} at {mutant.place}: {report}")
        elif not report.ok:
            counts["rejected"] += 1
        elif reason := accepted(case, mutant):
            wrong.append(f"{case}: {mutant.kind} at {mutant.place} was accepted, {reason}")
        else:
            counts["equivalent"] += 1
    return wrong


@pytest.mark.sampled
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_what_an_allocator_could_get_wrong_is_rejected(family: str, record_property: Record) -> None:
    table: dict[str, Counter[str]] = {}
    wrong = [found for case in CASES for found in judged(case, family, table)]
    record_property(MUTANTS, {kind: dict(counts) for kind, counts in table.items()})
    assert not wrong, "\n".join(wrong)
    share = 1 if rotation.part() is None else 2 * rotation.PARTS  # of some kinds fewer than a quarter are drawn
    rejected = {kind: table.get(kind, Counter())["rejected"] for kind in AT_LEAST[family]}
    assert {kind: n for kind, n in rejected.items() if n < AT_LEAST[family][kind] // share} == {}
    assert set(table) <= set(AT_LEAST[family])


@pytest.mark.full
@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("case", MORE, ids=str)
def test_more_of_it(case: Case, family: str, record_property: Record) -> None:
    table: dict[str, Counter[str]] = {}
    wrong = judged(case, family, table)
    record_property(MUTANTS, {kind: dict(counts) for kind, counts in table.items()})
    assert not wrong, "\n".join(wrong)
