"""Slots of threads that two blocks share: their places, the lock, what stops a run, and the option for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from binalloc.errors import KernelFault, UsageError
from binalloc.isa.instruction import Module
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.public import go, kernel, ready

GPGPUSIM = load_machine("gpgpusim-sharing")
SMALL = replace(GPGPUSIM, sm=replace(GPGPUSIM.sm, shared_per_sm=2 * 640 + 512))
THREADS, WARPS = 64, 2
ROW = 128 * WARPS  # bytes of one slot of all threads

SLOTS = """
    S2R R9, SR_SLOTBASE
    IADD3 R10, R0, R1, RZ
    STS.32.SPILL [R9], R0
    STS.32.SPILL [R9+0x80], R10
    BAR.SYNC 0
    LDS.32.SPILL R7, [R9]
    LDS.32.SPILL R8, [R9+0x80]
    IADD3 R7, R7, R8, RZ
    STG.32 [R2], R7
"""
"""Slot 0 has the thread, slot 1 the thread plus the block; the sum leaves."""
SUMS = [[2 * t + b for t in range(THREADS)] for b in range(4)]


def two_slots(code: str = SLOTS, private: int = 7424) -> Module:
    m = ready(kernel(code, private=private), GPGPUSIM)
    m.function("k").info.slot_bytes = 256
    return m


def ran(m: Module, **options: Any) -> Any:
    checks = {"check": True, "race": True}
    return go(m, **{"machine": GPGPUSIM, "engine": "python", "grid": 4, "sms": 1, **checks, **options})


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize(("own", "locks"), [(0, 4), (1, 4), (2, 0)])
def test_a_slot_that_is_shared_needs_the_lock(own: int, locks: int, engine: str) -> None:
    """Of four blocks of 7,936 bytes three fit: two in full, and the private bytes and slots of a third."""
    found, left = ran(two_slots(), sharing=f"1:{own * ROW}:{own}", engine=engine)
    assert left.tolist() == SUMS
    assert found.blocks_per_sm == 3
    assert (found.stats["locks_taken"] > 0) == (locks > 0)


@pytest.mark.parametrize("reference", [False, True])
def test_fewer_private_slots_take_fewer_bytes(reference: bool) -> None:
    """512 bytes are left beside two blocks: for two slots and nothing else, or for one and 256 bytes."""
    for sharing in ("1:512:2", "1:512:1", "1:512:0"):
        found, left = ran(two_slots(), sharing=sharing, reference=reference, check=False, race=False)
        assert left.tolist() == SUMS
        assert found.blocks_per_sm == 3


KEPT = """
    S2R R9, SR_SLOTBASE
    ISETP.NE.AND P0, PT, R1, 0x2, PT
    @P0 EXIT
    STS.32.SPILL [R9+0x80], R0
    MOV R10, 0x20
again:
    IADD3 R10, R10, -0x1, RZ
    ISETP.NE.AND P1, PT, R10, RZ, PT
    @P1 BRA again
    LDS.32.SPILL R7, [R9+0x80]
    STG.32 [R2], R7
"""
"""Block 2 is the partner of block 0, whose place block 3 has while block 2 goes round."""


@pytest.mark.parametrize("checks", [False, True])
def test_a_new_block_leaves_its_partners_slots_alone(checks: bool) -> None:
    _, left = ran(two_slots(KEPT), sharing="1:256:1", check=checks, race=checks)
    assert left[2].tolist() == list(range(THREADS))


@pytest.mark.parametrize("checks", [False, True])
def test_private_bytes_beyond_the_kernels_are_no_slots(checks: bool) -> None:
    """Of 128 bytes in front of the slots 512 are to be private."""
    _, left = ran(two_slots(KEPT, private=128), sharing="1:512:0", check=checks, race=checks, machine=SMALL)
    assert left[2].tolist() == list(range(THREADS))


def test_a_shared_slot_behind_a_release_is_a_fault() -> None:
    late = SLOTS.replace("    LDS.32.SPILL R7", "    RELSSP\n    LDS.32.SPILL R7")
    with pytest.raises(KernelFault) as stopped:
        ran(two_slots(late), sharing="1:256:1")
    text = str(stopped.value)
    assert "access to shared memory that the thread has released" in text
    assert "found slot 1, behind RELSSP; expected one of the thread's 1 private slot" in text
    _, left = ran(two_slots(late), sharing="1:512:2")
    assert left.tolist() == SUMS


def test_a_shared_slot_is_undefined_when_the_block_gets_it() -> None:
    """The check says so where the partner's value would be read: only blocks 0 and 1 write slot 1."""
    write = "    STS.32.SPILL [R9+0x80], R10\n"
    unwritten = SLOTS.replace(write, f"    ISETP.LT.U32.AND P0, PT, R1, 0x2, PT\n    @P0{write[3:]}")
    for engine in ("python", "numba"):
        with pytest.raises(KernelFault, match="uninitialised"):
            ran(two_slots(unwritten), sharing="1:256:1", engine=engine)


@pytest.mark.parametrize(
    ("sharing", "text"),
    [("1:512:3", "0 to 2"), ("1:512:-1", "0 to 2"), ("1:128:1", "256 to 512"), ("1:512:x", "BYTES"),
     ("1:1:2:3", "BYTES")],
)  # fmt: skip
def test_options_that_cannot_be(sharing: str, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        ran(two_slots(), sharing=sharing)
