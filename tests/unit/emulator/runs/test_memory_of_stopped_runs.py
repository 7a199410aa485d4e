"""A launch that has stopped gives back its memory once nobody has its error, and Python's garbage collector need not
look for it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.errors import BinallocError
from binalloc.isa.instruction import Instr
from tests.support.kits.emulator.small import go, module, op

ENDING = {
    "ended": [op("EXIT")],
    "global memory access out of bounds": [op("LDG", rd=6, ra=255, width=4, wbar=0), op("EXIT", wait=1)],
    "RET outside of a call": [op("RET")],
    "deadlock": [op("BAR", barid=1, form=1, imm=64), op("EXIT")],
    "the kernel did not end within the cycle limit": [op("BRA", target=-1), op("EXIT")],
}


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """Have the garbage collector not run in a test."""
    enabled = gc.isenabled()
    gc.disable()
    yield
    if enabled:
        gc.enable()


@pytest.mark.parametrize("ending", ENDING)
@pytest.mark.parametrize("path", ["", "k.loom"])
def test_the_device_of_a_launch_is_freed_with_its_error(ending: str, path: str) -> None:
    seen: list[weakref.ref[LaunchedDevice]] = []
    assert ending in outcome(ENDING[ending], path, seen)
    assert seen
    assert all(device() is None for device in seen)


def outcome(code: list[Instr], path: str, seen: list[weakref.ref[LaunchedDevice]]) -> str:
    """Run the code; return "ended" or the error's text."""
    made = module(code)
    made.path = path
    try:
        go(made, block=96, max_cycles=1000, observer=lambda device, _: seen.append(weakref.ref(device)))
    except BinallocError as error:
        return str(error)
    return "ended"
