"""The checker refuses every mutant that executes what may fault where the original does not."""

from __future__ import annotations

from collections import Counter

import pytest

from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.verify.checker import check
from tests.support.pairs.mutants_faults import ADDED, fault_mutants
from tests.unit.transform.rewrite.test_faulting_words import REGIONS, original


@pytest.mark.parametrize("registers", [16, 40])
@pytest.mark.parametrize("name", REGIONS)
def test_no_fault_is_added(name: str, registers: int) -> None:
    module = original(REGIONS[name])
    rewritten = rewrite(module, "kernel", registers, 0)
    assert check(module, rewritten, "kernel").ok
    seen: Counter[str] = Counter()
    for mutant in fault_mutants(rewritten, "kernel"):
        seen[mutant.kind] += 1
        assert not check(module, mutant.module, "kernel").ok, (mutant.kind, mutant.place)
    assert seen.keys() >= ADDED.keys()
    unmoved = ("argument of a callee", "behind the end of threads", "fetch behind a branch")
    assert seen.keys() > ADDED.keys() or name in unmoved
