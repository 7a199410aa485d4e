"""The first sentence of `recommend` about versions whose blocks use shared memory in turns, or hold it for less."""

from __future__ import annotations

from typing import Any, cast

import pytest

from binalloc.report.recommend.verdict import verdict


def advice(scheme: str, merge: int | None) -> Any:
    """Return a recommendation of one version."""
    original = {"blocks_per_sm": 1, "registers": 9, "slots": 0}
    chosen = {"scheme": scheme, "merge": merge, "barriers": None, "over": None, "shorter_regions": scheme == "shorter",
              "own_words": scheme == "own", "speedup": 1.2}  # fmt: skip
    return cast(Any, {
        "bound": None, "recommended": {**original, "registers": 12}, "original": original, "ordered": None,
        "kept_original": False, "turns": {"chosen": chosen}, "speedup": 1.2, "next": None,
    })  # fmt: skip


@pytest.mark.parametrize(("scheme", "merge", "what"), [
    ("shorter", None, "Take shorter regions alone: 1 block per SM, with 12 registers per thread, 1.20 times"),
    ("own", None, "Take own words alone: 1 block per SM, with"),
    ("hw", None, "Take hw, which multiplexes shared memory: 1 block per SM, with"),
    ("vtb", 2, "Take vtb of 2, which multiplexes shared memory: 1 merged block of 2 per SM, with"),
])  # fmt: skip
def test_only_schemes_multiplex(scheme: str, merge: int | None, what: str) -> None:
    assert verdict(advice(scheme, merge)).startswith(what)
