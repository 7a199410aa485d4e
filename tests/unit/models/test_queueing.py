"""Warps that queue for an SM's resources: what mean value analysis must give where it can be said otherwise."""

from __future__ import annotations

import pytest

from binalloc.models.search.queueing import throughput


def test_one_warp_takes_its_own_time() -> None:
    assert throughput([3.0, 5.0, 0.0], 12.0, 1) == pytest.approx(1 / 20)


@pytest.mark.parametrize("warps", [1, 2, 7, 64])
def test_equal_resources_share_as_is_known(warps: int) -> None:
    """K equal queues and nothing else: W / (D * (K + W - 1))."""
    assert throughput([4.0] * 3, 0.0, warps) == pytest.approx(warps / (4.0 * (3 + warps - 1)))


def test_one_resource_and_waiting_is_the_machine_repairmans() -> None:
    """Two warps, service 1, waiting 1: of the three states' probabilities 1/5, 2/5, 2/5 four fifths serve."""
    assert throughput([1.0], 1.0, 2) == pytest.approx(4 / 5)


def test_many_warps_take_the_busiest_resources_time() -> None:
    rates = [throughput([2.0, 5.0, 1.0], 400.0, warps) for warps in (1, 2, 8, 64, 4096)]
    assert rates == sorted(rates)
    assert rates[-1] == pytest.approx(1 / 5)
    assert all(rate <= min(1 / 5, warps / 408) + 1e-12 for rate, warps in zip(rates, (1, 2, 8, 64, 4096), strict=True))


def test_no_warps_are_refused() -> None:
    with pytest.raises(ValueError, match="0 warps"):
        throughput([1.0], 1.0, 0)
