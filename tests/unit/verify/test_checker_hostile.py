"""The checker answers every pair of binaries, however broken, quickly and without an exception."""

from __future__ import annotations

import random

import pytest

from binalloc.isa.instruction import Function, Module
from binalloc.isa.table.fields import FIELDS
from binalloc.isa.text.assembler import assemble
from binalloc.verify.checker import check
from tests.support.oracles.verify.hash_machine import same_memory, same_traces
from tests.support.pairs.hand_made import PAIRS, pair
from tests.support.pairs.hand_made_order import ORDER

INFO = ("registers", "local_bytes", "spill_local", "slot_bytes", "slot_pointer", "local_stack", "shared_bytes")


def corrupt(m: Module, rng: random.Random) -> None:
    """Overwrite fields, words, map entries and declarations at random."""
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        fn = rng.choice(m.functions)
        i = rng.randrange(len(fn.instrs))
        instr = fn.instrs[i]
        what = rng.random()
        if what < 0.6 and instr.f:
            name = rng.choice(sorted(instr.f))
            f = FIELDS[name]
            value = rng.choice((f.minimum, f.maximum, rng.randint(f.minimum, f.maximum), instr.f[name] ^ 1))
            fn.instrs[i] = instr.replace(**{name: min(max(value, f.minimum), f.maximum)})
        elif what < 0.7:
            fn.instrs[i] = instr.replace(guard=(rng.randrange(8), rng.random() < 0.5))
        elif what < 0.8:
            fn.instrs[i] = rng.choice(rng.choice(m.functions).instrs)
        elif what < 0.85 and len(fn.instrs) > 1:
            del fn.instrs[i]
        elif what < 0.9 and fn.origin:
            fn.origin.index[rng.randrange(len(fn.origin.index))] = rng.randrange(-3, 50)
        elif what < 0.95:
            setattr(fn.info, rng.choice(INFO), rng.choice((0, 1, 255, 128, 300, -1, 10**9)))
        else:
            fn.address = rng.randrange(100)


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(8))
def test_random_corruptions(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        name = rng.choice(sorted(PAIRS))
        original, rewritten = pair(name)
        corrupt(rewritten, rng)
        report = check(original, rewritten, "k")
        assert not any(e.kind in ("internal", "limit") for e in report.errors), str(report)
        if report.ok and not report.notes:
            same = same_memory if name in ORDER else same_traces
            assert same(original, rewritten, "k", range(4))
        corrupt(original, rng)
        report = check(original, rewritten, "k")
        assert not any(e.kind == "internal" for e in report.errors), str(report)


def test_branch_far_outside_the_code_answers_at_once() -> None:
    original, _ = pair("guarded_call")
    for far in (2**31 - 1, -(2**31)):
        _, rewritten = pair("guarded_call")
        fn = rewritten.functions[0]
        at = next(i for i, x in enumerate(fn.instrs) if x.op.name == "BRA")
        fn.instrs[at] = fn.instrs[at].replace(target=far, reconv=2**23 - 1)
        assert not check(original, rewritten, "k").ok


def test_missing_kernel_and_empty_functions() -> None:
    original, rewritten = pair("renamed")
    assert not check(original, rewritten, "nothing").ok
    assert not check(Module(), Module(), "k").ok
    assert not check(Module([Function("k", [])]), Module([Function("k", [])]), "k").ok


def test_local_words_are_not_values_beside_a_generic_access() -> None:
    """The local window lies at a known place: a store to a number may overwrite a local word."""
    head = ".kernel k\n.param out 8\n.local_bytes 8\nMOV R4, c[0][out]\nMOV R5, c[0][out+4]\nS2R R0, SR_TID.X\n"
    window = "MOV R6, 0x2000000\nMOV R7, RZ\nST [R6], RZ\n"
    original = assemble(head + "STL [RZ+0], R0\n" + window + "LDL R1, [RZ+0]\nSTG [R4], R1\nEXIT\n.end")
    wrong = assemble(head + window + "MOV R1, R0\nSTG [R4], R1\nEXIT\n.origin k 0..2 4..6 - 8 9\n.end")
    report = check(original, wrong, "k")
    assert [e.kind for e in report.errors] == ["local"], str(report)
