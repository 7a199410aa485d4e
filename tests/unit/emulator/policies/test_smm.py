"""The shared memory management of an SM by itself: places, order, and what is given back in a cycle."""

from __future__ import annotations

from binalloc.emulator.policies.regions import close_all, open_first
from binalloc.emulator.policies.smm import ask, first_waiting, give_back, public_words, serve_next
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.parts.regions import RESERVED
from binalloc.emulator.state.records import Gpu, Sm


def managed(size: int = 2048, private: int = 1024, resident: int = 3, total: int = 4096) -> tuple[Gpu, Sm]:
    """A device and its SM of `total` words, with `private` words for each block and `size` bytes of public memory."""
    g, s = Gpu(), Sm()
    g.smm, g.public_bytes, g.public_unit, g.public_first = 1, size, 128, private * resident
    g.block_words, g.user_shared, g.shared_words, g.resident_limit = private, 4 * private, total, resident
    s.region_owner[0], s.region_end[0], s.regions = RESERVED, g.public_first, 1
    return g, s


def test_private_parts_lie_in_places_from_0_on_and_public_ones_behind() -> None:
    """Fig. 10: 4 and 2 KB in 16 KB."""
    g, s = managed()
    assert [open_first(g, s, slot) * 4 for slot in range(3)] == [0, 4096, 8192]
    assert [ask(g, s, slot, 7) for slot in range(3)] == [1, 1, 0]
    bases = [s.region_base[s.allocated[slot] - 1] for slot in range(2)]
    assert bases == [12288, 14336]
    close_all(s, 1)
    assert open_first(g, s, 1) * 4 == 4096
    assert s.allocated[1] == 0


def test_a_size_is_rounded_up_to_whole_units() -> None:
    g, _ = managed()
    for size, words in ((1, 128), (512, 128), (513, 256), (2048, 512), (2049, 640)):
        g.public_bytes = size
        assert public_words(g) == words


def test_nobody_gets_memory_before_those_that_wait() -> None:
    """What block 0 gives back in a cycle is not for block 2, which asks in the same cycle, while block 1 waits."""
    g, s = managed(size=8192, private=0)
    g.cycle = 10
    assert [ask(g, s, slot, 7) for slot in range(2)] == [1, 1]
    g.cycle, g.shared_words = 20, 2048  # as if the second half were not there
    give_back(s, 1, 9)
    assert ask(g, s, 1, 7) == 0
    g.cycle = 30
    give_back(s, 0, 9)
    assert s.closed_some
    assert ask(g, s, 2, 7) == 0
    assert first_waiting(g, s) == 1
    assert (serve_next(g, s), serve_next(g, s)) == (1, -1)
    assert first_waiting(g, s) == 2
    g.cycle = 35
    close_all(s, 1)
    assert (serve_next(g, s), serve_next(g, s)) == (2, -1)
    counted = [s.stat[i] for i in (Stat.SHARED_ALLOCATIONS, Stat.SHARED_WAITS, Stat.SHARED_WAIT_CYCLES)]
    assert counted == [4, 2, 10 + 5]


def test_what_a_block_had_is_noted_until_the_next_one_comes() -> None:
    g, s = managed()
    open_first(g, s, 0)
    ask(g, s, 0, 7)
    give_back(s, 0, 9)
    assert (s.freed_base[0], s.freed_pc[0], s.allocated[0]) == (12288, 10, 0)
    close_all(s, 0)
    open_first(g, s, 0)
    assert s.freed_pc[0] == 0
