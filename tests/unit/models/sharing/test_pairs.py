"""The paper's numbers of resident blocks come out of the rule, with and without sharing."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binalloc.errors import UsageError
from binalloc.isa.interface.places import WORD
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.reader import load_machine
from binalloc.models.sharing.pairs import Room, fitted, status_bits, threshold, with_threshold

KIB = 1024
TENTH = Fraction(1, 10)
BYTES = {
    "backprop": (9408, 256), "DCT1": (2112, 64), "DCT2": (2112, 64), "DCT3": (2176, 128), "DCT4": (2176, 128),
    "NQU": (10496, 64), "SRAD1": (13824, 576), "SRAD2": (11520, 576), "FDTD3d": (3840, 128), "heartwall": (11872, 128),
    "histogram": (9216, 192), "MC1": (9216, 32), "NW1": (8452, 32), "NW2": (8452, 32), "MC2": (13824, 48),
    "DCT1 of 8,320": (8320, 256), "kmeans": (4608, 576), "lud": (3872, 484), "CV": (8256, 128), "FFT": (8704, 64),
    "HG": (7168, 32), "MC": (9216, 32), "MV": (4224, 32), "SP": (4144, 64),
}  # fmt: skip
"""Shared bytes and threads of a block: Tables I, VII and IX."""


def room(kernel: str, total: int, threads: int, blocks: int) -> Room:
    """The room of an SM of `total` bytes, and at most so many threads and blocks."""
    size, block = BYTES[kernel]
    return Room(total, size, min(blocks, threads // block))


@pytest.mark.parametrize(
    ("kernel", "before", "after", "pairs", "unshared"),
    [
        ("DCT1", 7, 14, 7, 0), ("DCT2", 7, 14, 7, 0), ("DCT3", 7, 12, 5, 2), ("DCT4", 7, 12, 5, 2),
        ("FDTD3d", 4, 6, 2, 2),
        *((name, 1, 2, 1, 0) for name in ("backprop", "NQU", "SRAD1", "SRAD2", "heartwall", "histogram", "MC1")),
        ("NW1", 1, 2, 1, 0), ("NW2", 1, 2, 1, 0),
        ("kmeans", 3, 5, 2, 1), ("lud", 4, 6, 2, 2),
        ("CV", 1, 2, 1, 0), ("FFT", 1, 2, 1, 0), ("MC", 1, 2, 1, 0), ("HG", 2, 4, 2, 0),
        ("MV", 3, 6, 3, 0), ("SP", 3, 6, 3, 0),
    ],
)  # fmt: skip
def test_16_kib(kernel: str, before: int, after: int, pairs: int, unshared: int) -> None:
    # Table II; threads of lud and kmeans come to more than its 3,072 only with sharing
    given = room(kernel, 16 * KIB, 3072, 16)
    found = with_threshold(given, TENTH)
    assert found is not None
    assert (given.alone, found.blocks, found.pairs, found.unshared) == (before, after, pairs, unshared)
    assert found.private == 4 * int(TENTH * BYTES[kernel][0] / 4)


@pytest.mark.parametrize(
    ("kernel", "before", "after"),
    [
        ("backprop", 5, 7), ("NQU", 4, 8), ("histogram", 5, 8), ("MC1", 5, 8), ("MC2", 3, 6), ("NW1", 5, 10),
        ("FDTD3d", 12, 16), ("heartwall", 4, 5), ("DCT1 of 8,320", 5, 8), ("SRAD1", 3, 3), ("SRAD2", 3, 3),
    ],
)  # fmt: skip
def test_48_kib(kernel: str, before: int, after: int) -> None:
    _compare(room(kernel, 48 * KIB, 2048, 16), before, after)


@pytest.mark.parametrize(("kernel", "before", "after"), [("SRAD1", 3, 5), ("SRAD2", 4, 5)])
def test_48_kib_and_more_threads(kernel: str, before: int, after: int) -> None:
    _compare(room(kernel, 48 * KIB, 3072, 16), before, after)


@pytest.mark.parametrize(
    ("kernel", "before", "after"),
    [
        ("backprop", 6, 8), ("NQU", 6, 8), ("histogram", 7, 8), ("MC2", 4, 8), ("NW1", 7, 14), ("FDTD3d", 16, 16),
        ("DCT1 of 8,320", 7, 8),
    ],
)  # fmt: skip
def test_64_kib(kernel: str, before: int, after: int) -> None:
    _compare(room(kernel, 64 * KIB, 2048, 32), before, after)


def _compare(given: Room, before: int, after: int) -> None:
    found = with_threshold(given, TENTH)
    assert given.alone == before
    assert (found.blocks if found else before) == after


def test_the_room_of_a_machine_counts_all_other_resources() -> None:
    machine = load_machine("gpgpusim-sharing")
    answer = machine.occupancy(KernelUse(20, 2112, 64))
    found = Room.of(answer, machine.limits.shared_per_sm)
    assert found == Room(16 * KIB, 2112, 16)
    assert Room.of(machine.occupancy(KernelUse(60, 2112, 256)), 16 * KIB).most == 4  # by registers


@pytest.mark.parametrize(
    ("kernel", "share"),
    [
        ("CV", 0.98), ("NW1", 0.94), ("histogram", 0.78), ("MC1", 0.78), ("backprop", 0.74), ("NQU", 0.56),
        ("SRAD2", 0.42), ("heartwall", 0.38), ("DCT1", 0.108),
    ],
)  # fmt: skip
def test_the_most_private_bytes(kernel: str, share: float) -> None:
    given = room(kernel, 16 * KIB, 3072, 16)
    best = fitted(given)[-1]
    assert best.blocks == min(2 * given.alone, given.most)
    assert best.private / given.block == pytest.approx(share, abs=0.006)


def test_example_3_1() -> None:
    # two blocks of 9,408 bytes: 6,976 bytes each, and 2,432 together
    (found,) = fitted(room("backprop", 16 * KIB, 3072, 16))
    assert (found.pairs, found.private, BYTES["backprop"][0] - found.private) == (1, 6976, 2432)


def test_a_pairing_of_each_number_of_pairs() -> None:
    found = fitted(room("DCT3", 16 * KIB, 3072, 16))
    assert [p.pairs for p in found] == list(range(1, 8))
    assert [p.private for p in found] == [4 * (1152 // k // 4) for k in range(1, 8)]


@given(
    st.integers(1, 256 * KIB), st.integers(1, 64 * KIB), st.integers(1, 32),
    st.fractions(0, 1).filter(lambda share: 0 < share < 1),
)  # fmt: skip
def test_all_blocks_fit_and_none_is_lost(total: int, block: int, most: int, share: Fraction) -> None:
    given = Room(total, block, most)
    for found in (with_threshold(given, share), *fitted(given)):
        if found is not None:
            assert found.bytes(block) <= total
            assert given.alone < found.blocks <= most
            assert found.unshared >= 0
            assert found.private % WORD == 0
            assert found.private <= block


@given(st.integers(1, 256 * KIB), st.integers(1, 64 * KIB), st.integers(1, 32))
def test_no_pair_more_would_fit(total: int, block: int, most: int) -> None:
    given = Room(total, block, most)
    found = with_threshold(given, TENTH)
    if found is not None and found.pairs < given.alone and found.blocks < most:
        assert (found.pairs + 1) * (1 + TENTH) * block + (found.unshared - 1) * block > total


def test_bits() -> None:
    assert status_bits(16, 96) == 209


def test_thresholds_are_exact() -> None:
    assert threshold("0.1") == threshold("1/10") == TENTH
    for text in ("0", "1", "-0.1", "1.5", "a", "1/0", "nan", "1e-99999999", "0." + "1" * 99):
        with pytest.raises(UsageError):
            threshold(text)
