"""Which variables of a block meet: kernels with a few phases, each with the one thing that decides."""

from __future__ import annotations

import pytest

from binalloc.analysis.shared.memory import SharedMemory, shared_memory_of
from binalloc.analysis.sharing.arrivals import Arrivals
from binalloc.analysis.sharing.overlay import meetings
from binalloc.analysis.sharing.units import units_of
from tests.support.programs.builder import program

HEAD = """
.kernel k
.param n, 4
.shared a, 256, 4, 0
.shared b, 256, 4, 256
.shared c, 256, 4, 512
S2R R0, SR_TID.X
SHF.L.U32 R1, R0, 0x2, RZ
LOP3 R2, R1, 0x4, RZ, 0x3c
ISETP.LT.AND P0, PT, R0, 0x20, PT
"""
"""R1: the thread's word, R2: the word of the thread beside, P0: it is in the first warp of two."""
BARRIER = "BAR.SYNC 0\n"


def fill(name: str, guard: str = "") -> str:
    return f"{guard} STS.32 [R1+{name}], R0\n"


def read(name: str) -> str:
    return f"LDS.32 R3, [R2+{name}]\n"


def memory(body: str, end: str = "EXIT\n.end\n") -> SharedMemory:
    return shared_memory_of(program(HEAD + body + end), "k", (64, 1, 1))


def met(body: str, end: str = "EXIT\n.end\n") -> set[str]:
    """The pairs of variables that meet, as two letters each."""
    known = memory(body, end)
    assert Arrivals(known).keeping() is None
    units = units_of(known)
    names = [extent.names[0] for extent in units.extents]
    found = meetings(known, units)
    pairs = {(j, k) for k, mask in enumerate(found.masks) for j in range(k) if mask >> j & 1}
    assert set(found.reasons) == pairs
    return {names[j] + names[k] for j, k in pairs}


ONE_AFTER_THE_OTHER = (
    fill("a") + BARRIER + read("a") + BARRIER + fill("b") + BARRIER + read("b") + BARRIER + fill("c") + BARRIER
    + read("c")
)  # fmt: skip


def test_variables_of_phases_with_barriers_between_them_do_not_meet() -> None:
    assert met(ONE_AFTER_THE_OTHER) == set()


def test_with_no_barrier_they_do() -> None:
    assert met(fill("a") + BARRIER + read("a") + fill("b") + BARRIER + read("b")) == {"ab"}
    assert met(fill("a") + BARRIER + read("a") + BARRIER + fill("b") + read("b")) == set()


@pytest.mark.parametrize(
    ("barrier", "found"),
    [("BAR.SYNC 5\n", set()), ("BAR.SYNC 1, 0x40\n", set()), ("MEMBAR.CTA\n", {"ab"}), ("NOP\n", {"ab"})],
)
def test_what_is_a_barrier(barrier: str, found: set[str]) -> None:
    assert met(fill("a") + BARRIER + read("a") + barrier + fill("b") + BARRIER + read("b")) == found


@pytest.mark.parametrize("barrier", ["@P0 BAR.SYNC 0\n", "BAR.SYNC 1, 0x20\n", "BAR.ARV 1, 0x40\n"])
def test_barriers_that_some_threads_meet_are_named(barrier: str) -> None:
    known = memory(fill("a") + barrier + fill("b"))
    kept = Arrivals(known).keeping()
    assert kept is not None
    assert (kept[0].place.word, kept[1]) == (5, None)


def test_a_branch_keeps_threads_from_a_barrier() -> None:
    known = memory("@P0 BRA on, on\n" + BARRIER + "on:\n" + fill("b") + BARRIER)
    kept = Arrivals(known).keeping()
    assert kept is not None
    assert kept[1] is not None
    assert (kept[0].place.word, kept[1].word) == (5, 4)


def test_what_is_read_later_is_held() -> None:
    late = fill("a") + BARRIER + fill("b") + BARRIER + read("b") + BARRIER + read("a")
    assert met(late) == {"ab"}
    assert met(late.replace(read("a"), fill("a") + BARRIER + read("a"))) == set()
    some = late.replace(read("a"), fill("a", "@P0") + BARRIER + read("a"))
    assert met(some) == {"ab"}


def loop(body: str) -> str:
    count = "IADD3 R6, R6, 0x1, RZ\nISETP.LT.AND P1, PT, R6, c[0][n], PT\n"
    return "MOV R6, 0x0\nagain:\n" + body + count + "@P1 BRA again, after\nafter:\n"


def test_loops_go_from_the_last_phase_to_the_first() -> None:
    assert met(loop(ONE_AFTER_THE_OTHER + BARRIER)) == set()
    assert met(loop(ONE_AFTER_THE_OTHER)) == {"ac"}
    kept = fill("a") + BARRIER + loop(read("a") + BARRIER + fill("b") + BARRIER + read("b") + BARRIER)
    assert met(kept) == {"ab"}


def test_what_follows_a_loop_does_not_meet_its_first_phase() -> None:
    """At the barrier at a loop's end all threads go on to one and the same barrier: the loop's first, or the next."""
    inner = fill("a") + BARRIER + read("a") + BARRIER
    assert met(loop(inner) + fill("b") + BARRIER + read("b")) == set()
    assert met(loop(fill("a") + BARRIER + read("a")) + fill("b") + BARRIER + read("b")) == {"ab"}


def test_threads_that_end_early_are_in_the_interval_of_the_others() -> None:
    alone = "@!P0 BRA on, on\n" + fill("b") + "EXIT\non:\n"
    assert met(fill("a") + BARRIER + alone + BARRIER + read("a")) == {"ab"}
    assert met(fill("a") + BARRIER + read("a") + BARRIER + alone + BARRIER + fill("c") + BARRIER + read("c")) == set()
    assert met("@P0 EXIT\n" + ONE_AFTER_THE_OTHER) == set()
    assert met("@P0 BRA off, off\n" + ONE_AFTER_THE_OTHER + "off:\n") == set()
    last = "@P0 BRA off, off\n" + ONE_AFTER_THE_OTHER + "off:\n" + fill("c")
    assert met(last) == {"ac"}  # those that leave out the rest write while the others are in the first interval


def test_calls_access_what_the_called_function_does() -> None:
    end = "EXIT\n.end\n.func f\nSTS.32 [R1+0x100], R0\nRET\n.end\n"
    assert met(fill("a") + BARRIER + "CALL f\n" + read("a"), end) == {"ab"}
    assert met(fill("a") + BARRIER + read("a") + BARRIER + "CALL f\n" + BARRIER + read("b"), end) == set()
