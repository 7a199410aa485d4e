"""What the emulator refuses to hold."""

from __future__ import annotations

import pytest

from binalloc.emulator.runs.run import run
from binalloc.errors import LimitHit, MalformedInput, Refused
from binalloc.isa.text.assembler import assemble
from binalloc.launch.types import Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.emulator.small import go, module, op


def test_local_memory_beyond_the_limit_is_a_limit_not_a_crash() -> None:
    text = ".kernel k\n.local_bytes 0x800000\nEXIT\n.end\n"
    machine = load_machine("gtx680")
    module = schedule(assemble(text), machine)
    with pytest.raises(LimitHit, match="local memory"):
        run(module, "k", Launch("k", (64, 1, 1), (1024, 1, 1)), machine, engine="python")


def test_blocks_larger_than_the_records_are_refused_even_where_occupancy_is_not_asked() -> None:
    m = module([op("EXIT")], registers=1)
    with pytest.raises(Refused, match=r"threads per block.*found 2048"):
        go(m, block=2048, ideal_blocks=1)


def test_a_register_behind_the_last_is_refused_in_code_that_nobody_validated() -> None:
    wide = op("IMAD.WIDE", rd=254, ra=1, rb=1, rc=2)
    for m in (module([wide, op("EXIT")], registers=255), module([wide, op("EXIT")])):
        with pytest.raises(MalformedInput, match="R255"):
            go(m)
