"""More predicates than there are: those kept elsewhere hold their values."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ptx.elementwise import elementwise


@pytest.mark.parametrize("optimised", [True, False])
def test_twelve_comparisons_live_together(optimised: bool) -> None:
    """Some of them are computed again before their uses, into the predicate that is read there."""
    x = np.arange(16, dtype=np.uint32)
    compare = "".join(f"setp.gt.u32 %p{k}, %a0, {k};" for k in range(12))
    use = "".join(f"selp.u32 %w{k}, {1 << k}, 0, %p{k}; or.b32 %r0, %r0, %w{k};" for k in reversed(range(12)))
    (found,) = elementwise(
        f"mov.u32 %r0, 0; {compare} {use} xor.b32 %r0, %r0, %a0;", ["u32"], ["u32"], [x], optimised=optimised
    )
    assert found.tolist() == [sum(1 << k for k in range(12) if v > k) ^ v for v in range(16)]


@pytest.mark.parametrize("optimised", [True, False])
def test_constants_and_copies_among_many(optimised: bool) -> None:
    x = np.arange(16, dtype=np.uint32)
    compare = "mov.pred %p10, 1; mov.pred %p11, 0;" + "".join(f"setp.gt.u32 %p{k}, %a0, {k};" for k in range(10))
    use = "".join(f"selp.u32 %w{k}, {1 << k}, 0, %p{k}; or.b32 %r0, %r0, %w{k};" for k in reversed(range(12)))
    (found,) = elementwise(
        f"mov.u32 %r0, 0; {compare} {use} xor.b32 %r0, %r0, %a0;", ["u32"], ["u32"], [x], optimised=optimised
    )
    assert found.tolist() == [sum(1 << k for k in range(10) if v > k) ^ 1 << 10 ^ v for v in range(16)]
