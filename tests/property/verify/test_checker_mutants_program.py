"""The checker against defects of whole programs: `mutants_program` and `mutants_flow` on real rewrites of
wide programs.

A mutant must be rejected, or be equivalent: its kind stands in `HARMLESS`, with the way in which such a change can mean
nothing, and emulated runs of every kernel on four inputs leave the same buffers. The run's summary prints the table.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache

import pytest

from binalloc.errors import BinallocError, MalformedInput, Refused
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.conftest import MUTANTS
from tests.support.generator.programs import generate
from tests.support.kits.suite import rotation
from tests.support.kits.transform.rewrite_judge import MACHINE, Buffers, difference, emulate
from tests.support.pairs.mutants import Mutant
from tests.support.pairs.mutants_flow import flow_mutants
from tests.support.pairs.mutants_program import program_mutants
from tests.support.programs.builder import identity

PER_KIND = 2
INPUTS = 4
Record = Callable[[str, object], None]

SHAPES: dict[str, dict[str, object]] = {
    "kernels": {"kernels": 3, "callees": 2, "addresses": False, "stack": ""},
    "addresses": {"kernels": 2, "callees": 2, "addresses": True, "stack": ""},
    "barriers": {"barriers": True, "shared": True, "leaving": False, "block": 64, "callees": 2, "stack": ""},
    "lanes": {"hops": True, "odd_points": 0.7, "uniform": 0.3, "depth": 2, "size": 40, "callees": 1, "stack": ""},
    "predicates": {"aliases": True, "flags": True, "guards": 0.6, "stack": ""},
    "frames": {"arrays": True, "generic": True, "local": True, "dynamic": 3, "stack": "moving"},
    "calls": {"chain": 12, "depth": 0, "stack": "", "registers": 12},
    "slots": {"callees": 3, "registers": 16, "size": 40, "stack": "", "leaving": False},
}
SEEDS = range(1)
MORE = range(1, 4)

UNREAD = "what it writes, or no longer writes, is not read before it is written anew"
AGREE = "the lanes agree there, or nothing between the points sees which of them are active"
NEVER = "no thread comes there under that condition, or what it executes then has no effect"
SAME = "what it names instead holds the same value there"
TEXT = "it says nothing about what the program does"
BEYOND = "bytes behind a bank's end are read by no program that runs without a fault"
UNTOLD = "the register's value at the start is undefined in the original"
NOBODY = "no address of a function is taken"
EQUAL = "the other function does the same"
DEAD = "no thread enters it"
AGAIN = "the slot base is a constant of the thread"
HARMLESS = {
    **dict.fromkeys(("line table nonsense", "labels changed", "provenance lost", "provenance nonsense"), TEXT),
    **dict.fromkeys(("constant bank added", "constant bank lengthened"), BEYOND),
    **dict.fromkeys(("word without effect added", "word without effect deleted", "word added behind a branch"), TEXT),
    **dict.fromkeys(("word between branch and target deleted", "copy turned round"), UNREAD),
    **dict.fromkeys(("slot pointer overwritten", "slot pointer raised", "slot pointer raised in some lanes"), UNREAD),
    **dict.fromkeys(("slot pointer not lowered", "slot pointer shifted in some lanes"), UNREAD),
    **dict.fromkeys(("other special register", "clone that clobbers", "clone with another constant"), UNREAD),
    **dict.fromkeys(("reconvergence at the end", "reconvergence point one word off", "lanes split and joined at once"),
                    AGREE),
    **dict.fromkeys(("reconvergence at the target", "reconvergence behind the branch"), AGREE),
    **dict.fromkeys(("branch to the next word", "branch never taken", "constant read beyond its bank"), NEVER),
    **dict.fromkeys(("equal clone called", "original called in place of its clone"), EQUAL),
    **dict.fromkeys(("predicate left out of R2P", "comparison inverted", "predicate results swapped"), UNREAD),
    **dict.fromkeys(("both results in one predicate", "table of PLOP3 changed", "tables of PLOP3 swapped"), UNREAD),
    **dict.fromkeys(("first of two equal results dropped", "second of two equal results dropped"), UNREAD),
    **dict.fromkeys(("sense of a predicate inverted",), UNREAD),
    "addresses moved where none is taken": NOBODY,
    "local stack register added": UNTOLD,
    "spill access off its word": "guards of calls that exclude each other lead there: nobody comes",
    "slot pointer set again": AGAIN,
    **dict.fromkeys(("frame moved", "sense of a branch inverted"), SAME),
    **dict.fromkeys(("kernel's own frame changed", "shared callee renamed"), TEXT),
    "function reached by address renamed": TEXT,
    "call under another guard": "the lanes that come there are those for which the guard holds",
    **dict.fromkeys(
        (f"function nobody calls{what}" for what in (
            " changed", " changed under a map", " changed under a map of nothing", " dropped", " renamed",
            " changed under another function's map", "'s guard inverted", "'s block changed", "'s local_bytes changed",
            "'s local_stack changed", "'s max_threads changed", "'s registers changed", "'s shared_bytes changed",
            "'s spill_local changed",
        )), DEAD),
}  # fmt: skip
"""Per kind, the way in which such a change can mean nothing. Anything else that is accepted is a mistake."""


@dataclass
class Pair:
    """An original, what the rewriter made of it, and the runs both must agree on."""

    original: Module
    rewritten: Module
    launches: list[list[Launch]]
    _expected: list[Buffers] = field(default_factory=list)

    def expected(self) -> list[Buffers]:
        if not self._expected:
            self._expected = [emulate(schedule(self.original, MACHINE), launches) for launches in self.launches]
        return self._expected


def inputs(launches: list[Launch]) -> Iterator[list[Launch]]:
    """The same launches with other contents of the buffers and other scalars."""
    for n in range(INPUTS):
        rng = random.Random(f"inputs {n}")
        changed = tuple(
            replace(a, init=replace(a.init, seed=a.init.seed + n)) if a.kind == "buffer"
            else replace(a, value=rng.getrandbits(31) if n else a.value)
            for a in launches[0].arguments
        )  # fmt: skip
        yield [replace(launch, arguments=changed) for launch in launches]


@cache
def pair(shape: str, seed: int) -> Pair:
    options = {"registers": 16, "grid": 1, "size": 20, **SHAPES[shape]}
    rng = random.Random(f"{shape} {seed}")
    for number in itertools.count(1000 * seed + sorted(SHAPES).index(shape), 100):
        module, launches = generate("wide", number, **options)
        if shape == "addresses" and not any(i.name == "CALL.IND" for fn in module for i in fn.instrs):
            continue
        rewritten = _rewritten(module, rng)
        if {e.kind for e in check(module, rewritten, "kernel").errors} != {"stack"}:
            return Pair(module, rewritten, list(inputs(launches)))
    raise AssertionError


def _rewritten(module: Module, rng: random.Random) -> Module:
    """For the first budget that will do; what cannot be rewritten stands for itself."""
    for registers in range(rng.randrange(4, 12), 40):
        try:
            return rewrite(module, "kernel", registers, 8, rng.choice(("local", "unified", "best", "best")))
        except Infeasible:
            continue
        except Refused:
            break
    return identity(module)


def drawn(pair: Pair, rng: random.Random) -> list[Mutant]:
    """At most PER_KIND mutants of each kind."""
    by_kind: dict[str, list[Mutant]] = {}
    for mutant in (*flow_mutants(pair.rewritten, "kernel"), *program_mutants(pair.rewritten, "kernel")):
        by_kind.setdefault(mutant.kind, []).append(mutant)
    return [m for _, ms in sorted(by_kind.items()) for m in rng.sample(ms, min(PER_KIND, len(ms)))]


def accepted(pair: Pair, mutant: Mutant) -> str:
    """What is wrong with accepting this mutant, "" where it is equivalent."""
    if mutant.kind not in HARMLESS:
        return "and there is no known way in which it could be harmless"
    try:
        scheduled = read_module(write_module(schedule(mutant.module, MACHINE)))
    except MalformedInput:
        return ""  # no file says this: nobody can be handed it
    for launches, expected in zip(pair.launches, pair.expected(), strict=True):
        try:
            found = difference(expected, emulate(scheduled, launches))
        except BinallocError as error:
            found = f"its run ends with: {error}"
        if found:
            return f"and {found}"
    return ""


def go(shape: str, seed: int, record_property: Record) -> None:
    program = pair(shape, seed)
    report = check(program.original, program.rewritten, "kernel")
    assert report.ok, str(report)
    table: dict[str, Counter[str]] = {}
    wrong = []
    for mutant in rotation.sample(drawn(program, random.Random(f"mutants {shape} {seed}")), shape):
        counts = table.setdefault(mutant.kind, Counter())
        counts["mutants"] += 1
        report = check(program.original, mutant.module, "kernel")
        if any(e.kind == "internal" for e in report.errors):
            wrong.append(f"{mutant.kind} at {mutant.place}: {report}")
        elif not report.ok:
            counts["rejected"] += 1
        elif reason := accepted(program, mutant):
            wrong.append(f"{mutant.kind} at {mutant.place} was accepted, {reason}")
        else:
            counts["equivalent"] += 1
    record_property(MUTANTS, {kind: dict(counts) for kind, counts in table.items()})
    assert not wrong, "\n".join(wrong)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_mutants_of_whole_programs(shape: str, seed: int, record_property: Record) -> None:
    go(shape, seed, record_property)


@pytest.mark.full
@pytest.mark.parametrize("seed", MORE)
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_mutants_of_more_whole_programs(shape: str, seed: int, record_property: Record) -> None:
    go(shape, seed, record_property)


def test_the_library_has_a_hundred_kinds_and_the_shapes_reach_them() -> None:
    kinds = {m.kind for shape in SHAPES for m in drawn(pair(shape, 0), random.Random(0))}
    assert len(kinds) >= 100
