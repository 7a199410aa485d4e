"""The symbolic checker accepts right rewrites of every kind a rewriter makes, made by hand."""

from __future__ import annotations

import pytest

from binalloc.verify.checker import check
from tests.checker_pairs import PAIRS, pair
from tests.pair_text import identity


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_accepts_right_rewrite(name: str) -> None:
    original, rewritten = pair(name)
    report = check(original, rewritten, "k")
    assert report.ok, str(report)
    assert not report.notes
    assert report.stats["words"] > 0


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_accepts_identity(name: str) -> None:
    original, _ = pair(name)
    report = check(original, identity(original), "k")
    assert report.ok, str(report)


def test_hint_is_not_trusted() -> None:
    original, rewritten = pair("loop")
    fn = rewritten.functions[0]
    assert fn.origin is not None
    for index in ([], [-1] * len(fn.instrs), [10**9] * len(fn.instrs), [0] * len(fn.instrs), fn.origin.index[::-1]):
        fn.origin.index = index
        assert not check(original, rewritten, "k").ok
    fn.origin = None
    assert not check(original, rewritten, "k").ok


def test_names_place_operand_and_values() -> None:
    original, rewritten = pair("renamed")
    fn = rewritten.functions[0]
    fn.instrs[4] = fn.instrs[4].replace(rb=3)
    (error,) = check(original, rewritten, "k").errors
    assert (error.function, error.index, error.origin_function, error.origin_index) == ("k", 4, "k", 4)
    assert error.operand == "rb = R3"
    assert error.expected == "the value of R1"
    assert error.found.startswith("R0")
