"""Virtual blocks vote on the end of a turn on machines whose barriers can vote."""

from __future__ import annotations

import pytest

from binalloc.errors import Refused
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.multiplex.build import PIPE, VTB, Wanted, build, checked
from binalloc.pipeline.request import Request
from tests.support.programs.builder import program
from tests.unit.transform.multiplex.test_voted_turns import BLOCK, KERNEL

MODULE = program(KERNEL.format("c[0][rounds]"))
LAUNCH = Launch("k", (7, 1, 1), BLOCK, 0, (
    Argument("out", "buffer", "u32", (7 * 64,)), Argument("rounds", "scalar", "u32", value=5),
))  # fmt: skip


def test_barriers_vote_since_compute_capability_2() -> None:
    built = build(MODULE, Request(kernel="k", machine=load_machine("gtx480-16k"), launch=LAUNCH), Wanted(VTB, merge=2))
    assert checked(MODULE, built, "k").ok
    with pytest.raises(Refused, match="more or less than once") as error:
        build(MODULE, Request(kernel="k", machine=load_machine("gtx285"), launch=LAUNCH), Wanted(VTB, merge=2))
    assert "compute capability 2.0" in (error.value.remedy or "")


def test_a_pipe_does_not_vote() -> None:
    with pytest.raises(Refused, match="more or less than once") as error:
        build(MODULE, Request(kernel="k", machine=load_machine("gtx480-16k"), launch=LAUNCH), Wanted(PIPE, merge=2))
    assert error.value.remedy == "Choose vtb."
