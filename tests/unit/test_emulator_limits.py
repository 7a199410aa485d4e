"""What the emulator refuses to hold."""

from __future__ import annotations

import pytest

from binalloc.emulator.launch_types import Launch
from binalloc.emulator.run import run
from binalloc.errors import LimitHit
from binalloc.isa.assembler import assemble
from binalloc.models.machine import load_machine
from binalloc.transform.schedule import schedule


def test_local_memory_beyond_the_limit_is_a_limit_not_a_crash() -> None:
    text = ".kernel k\n.local_bytes 0x800000\nEXIT\n.end\n"
    machine = load_machine("gtx680")
    module = schedule(assemble(text), machine)
    with pytest.raises(LimitHit, match="local memory"):
        run(module, "k", Launch("k", (64, 1, 1), (1024, 1, 1)), machine, engine="python")
