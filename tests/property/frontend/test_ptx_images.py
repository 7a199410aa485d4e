"""Random kernels on textures and surfaces: import, plain and optimised, and emulation beside interpretation."""

from __future__ import annotations

import pytest

from tests.support.ptx.bodies import both
from tests.support.ptx.generator.images import THREADS, draw


@pytest.mark.parametrize("seed", range(40))
def test_random_kernels_agree(seed: int) -> None:
    kernel = draw(seed)
    both(kernel.body, THREADS, args=kernel.arguments, params=kernel.params)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_many_random_kernels_agree(seed: int) -> None:
    kernel = draw(seed, 16)
    both(kernel.body, THREADS, args=kernel.arguments, params=kernel.params)
