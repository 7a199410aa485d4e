"""Who comes to a barrier: exact cases."""

from __future__ import annotations

import pytest

from binalloc.analysis.program import analyse
from binalloc.analysis.shared.barriers import Arrival, BarrierSite, barrier_sites
from binalloc.analysis.shared.uniformity import uniformity
from tests.support.programs.builder import program

HEAD = """.kernel k
.block 64
    S2R R0, SR_TID.X
    S2R R2, SR_CTAID.X
    ISETP.LT.AND P0, PT, R0, 0x5, PT
    ISETP.LT.AND P2, PT, R2, 0x5, PT
"""
FIRST = 4  # words of it


def sites(body: str, tail: str = "") -> list[BarrierSite]:
    return barrier_sites(uniformity(analyse(program(f"{HEAD}{body}\n    EXIT\n.end\n{tail}"), "k")))


@pytest.mark.parametrize(("body", "arrival", "reason"), [
    ("BAR.SYNC 0", Arrival.ALL, None),
    ("@P2 BAR.SYNC 0", Arrival.ALL, None),
    ("@P0 BAR.SYNC 0", Arrival.SOME, 0),
    ("@P2 BRA on, on\nBAR.SYNC 0\non:", Arrival.ALL, None),
    ("@P0 BRA on, on\nBAR.SYNC 0\non:", Arrival.SOME, 0),
    ("@P0 BRA on, on\n@P2 BRA on, on\nBAR.SYNC 0\non:", Arrival.SOME, 0),
    ("@P0 EXIT\nBAR.SYNC 0", Arrival.RUNNING, 0),
    ("@P2 EXIT\nBAR.SYNC 0", Arrival.ALL, None),
    ("BAR.SYNC 0\n@P0 EXIT", Arrival.ALL, None),
    ("head:\nBAR.SYNC 0\n@P0 EXIT\n@P2 BRA head, on\non:", Arrival.RUNNING, 1),
    ("head:\nBAR.SYNC 0\n@P0 BRA head, on\non:", Arrival.SOME, 1),
    ("@P2 BRA on, on\n@P0 EXIT\nEXIT\non:\nBAR.SYNC 0", Arrival.ALL, None),  # blocks go one way or the other
])  # fmt: skip
def test_a_barrier_in_the_kernel(body: str, arrival: Arrival, reason: int | None) -> None:
    (site,) = sites(body)
    assert site.arrival == arrival
    assert (None if site.reason is None else site.reason.word - FIRST) == reason


def test_a_barrier_in_a_callee_depends_on_the_calls() -> None:
    callee = ".func f\n    BAR.SYNC 1, 0x40\n    RET\n.end\n"
    (site,) = sites("CALL f", callee)
    assert (site.place.function, site.place.word, site.arrival) == ("f", 0, Arrival.ALL)
    assert (site.barrier.number, site.barrier.threads, site.barrier.waits) == (1, 64, True)
    (site,) = sites("CALL f\n@P0 CALL f", callee)
    assert (site.arrival, site.reason) == (Arrival.SOME, ("k", FIRST + 1))
    (site,) = sites("@P0 BRA on, on\nCALL f\non:", callee)
    assert (site.arrival, site.reason) == (Arrival.SOME, ("k", FIRST))
    inner = ".func f\n    CALL g\n    RET\n.end\n.func g\n    BAR.SYNC 0\n    RET\n.end\n"
    (site,) = sites("@P0 CALL f", inner)
    assert (site.arrival, site.reason) == (Arrival.SOME, ("k", FIRST))


def test_an_end_in_a_callee_keeps_threads_from_later_barriers() -> None:
    callee = ".func f\n    @P0 EXIT\n    RET\n.end\n"
    (site,) = sites("CALL f\nBAR.SYNC 0", callee)
    assert (site.arrival, site.reason) == (Arrival.RUNNING, ("f", 0))


@pytest.mark.parametrize("again", ["CALL f\nCALL f", "head:\nCALL f\n@P2 BRA head, on\non:"])
def test_a_function_that_is_called_again_lacks_the_threads_that_ended_in_it(again: str) -> None:
    callee = ".func f\n    BAR.SYNC 0\n    @P0 EXIT\n    RET\n.end\n"
    (site,) = sites(again, callee)
    assert (site.arrival, site.reason) == (Arrival.RUNNING, ("f", 1))
