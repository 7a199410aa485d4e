"""Watchpoints: every access to watched bytes in its order, with what they held before and after."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.issue_log import IssueLog
from binalloc.emulator.runs.watch import ByteSpan, Watch, WatchedTouch
from binalloc.emulator.state.layout import AccessCode
from binalloc.errors import KernelFault, UsageError
from binalloc.isa.instruction import Instr
from binalloc.isa.table.opcodes import ATOMIC_OPS
from tests.support.kits.emulator.small import address, go, module, op

BASE = 0x10000000


def watched(code: list[Instr], spans: list[tuple[int, int]], **options: Any) -> list[WatchedTouch]:
    """Accesses of a launch to (offset, size) of its buffer `x` of 64 words, each its number."""
    touches: list[WatchedTouch] = []
    listed = [ByteSpan("x", BASE + offset, offset, size) for offset, size in spans]
    watch = Watch(lambda _: listed, touches.append)
    made = module([*address(), *code, op("EXIT")], params={"x": 8})
    everything = options.pop("everything", False)
    log = IssueLog([watch.listener()], everything=everything)
    result = go(made, buffers={"x": np.arange(64, dtype=np.uint32)}, log=log, **options)
    watch.check()
    for touch in touches:
        assert len(touch.before) == len(touch.after) > 0
    final = result.buffers["x"].tobytes()
    for offset, size in spans:
        image = bytearray(np.arange(64, dtype=np.uint32).tobytes())
        for touch in touches:
            at = touch.address - BASE
            if touch.span == ByteSpan("x", BASE + offset, offset, size):
                assert image[at : at + len(touch.before)] == touch.before
                image[at : at + len(touch.after)] = touch.after
        assert image[offset : offset + size] == final[offset : offset + size]
    return touches


def words(data: bytes) -> list[int]:
    return np.frombuffer(data, "<u4").tolist()


def test_loads_and_stores_of_a_word() -> None:
    code = [
        op("LDG", rd=6, ra=4, width=4, wbar=1), op("IADD3", rd=6, ra=6, form=1, imm=100, rc=255, wait=2),
        op("STG", ra=4, rb=6, width=4),
    ]  # fmt: skip
    load, store = watched(code, [(20, 4)])
    assert (load.access, load.lane, load.pc, words(load.before), load.after) == (
        AccessCode.LOAD,
        5,
        4,
        [5],
        load.before,
    )
    assert (store.access, store.lane, store.pc) == (AccessCode.STORE, 5, 6)
    assert (words(store.before), words(store.after)) == ([5], [105])
    assert load.cycle < store.cycle


def test_lanes_that_store_to_one_place_come_in_their_order() -> None:
    code = [op("STG", ra=2, rb=0, width=4, moff=16)]
    touches = watched(code, [(16, 4)], block=64)
    assert [(t.in_block, t.lane) for t in touches] == [(w, lane) for w in range(2) for lane in range(32)]
    assert [words(t.after)[0] for t in touches] == list(range(64))
    assert [words(t.before)[0] for t in touches] == [4, *range(63)]


def test_of_a_wide_access_the_watched_bytes_alone() -> None:
    wide = [op("IMAD.WIDE", rd=4, ra=0, form=1, imm=16, rc=2), op("MOV", rd=8, rb=0), op("MOV", rd=9, form=1, imm=77)]
    touches = watched([*wide, op("STG", ra=4, rb=8, width=6, guard=(0, True))], [(18, 4)], block=16)
    (touch,) = touches
    assert (touch.lane, touch.address - BASE) == (1, 18)
    assert touch.before == np.array([4, 5], "<u4").tobytes()[2:6]
    assert touch.after == np.array([1, 77], "<u4").tobytes()[2:6]


def test_narrow_stores_change_their_bytes() -> None:
    bytes_ = [op("IADD3", rd=4, ra=2, rb=0, rc=255), op("STG", ra=4, rb=0, width=0, moff=4)]
    touches = watched(bytes_, [(4, 8)])
    assert [(t.address - BASE, t.after) for t in touches] == [(4 + i, bytes([i])) for i in range(8)]


def test_what_is_stored_beside_the_watched_bytes_counts_for_atomics_on_both() -> None:
    """A sum of 64 bits carries into the word that is watched, out of one that was stored to just before."""
    first = op("ISETP", pd0=0, ra=0, form=1, imm=1, icmp=1)
    code = [
        first, op("MOV", rd=8, form=1, imm=0xFFFFFFFF), op("STG", ra=2, rb=8, width=4, guard=(0, False), rbar=2),
        op("MOV", rd=8, form=1, imm=1, wait=4), op("MOV", rd=9, rb=255),
        op("ATOMG", rd=12, ra=2, rb=8, aop=0, atyp=2, guard=(0, False), wbar=1), op("NOP", wait=2),
    ]  # fmt: skip
    (touch,) = watched(code, [(4, 4)])
    assert (touch.access, words(touch.before), words(touch.after)) == (AccessCode.ATOMIC, [1], [2])


def test_overlapping_spans_are_told_of_each_for_itself() -> None:
    touches = watched([op("STG", ra=4, rb=0, width=4)], [(0, 8), (4, 4)])
    assert [(t.span.size, t.lane) for t in touches] == [(8, 0), (8, 1), (4, 1)]


def test_what_only_comes_near_is_not_told_of() -> None:
    assert watched([op("STG", ra=4, rb=0, width=4, guard=(7, True))], [(0, 256)]) == []
    assert [t.lane for t in watched([op("STG", ra=4, rb=0, width=4)], [(8, 4)])] == [2]
    shared = [op("STS", ra=255, rb=0, width=4), op("STL", ra=255, rb=0, width=4)]
    made = module([*shared, op("EXIT")], shared_bytes=64, local_bytes=8)
    touches: list[WatchedTouch] = []
    watch = Watch(lambda _: [ByteSpan("none", 0, 0, 64)], touches.append)
    go(made, log=IssueLog([watch.listener()]))
    assert touches == []


@pytest.mark.rotates
@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("seed", range(4))
def test_random_accesses_add_up_to_what_memory_holds(seed: int, engine: str, everything: bool) -> None:
    """`watched` holds each access against the image of those before it, and the last against memory."""
    rng = random.Random(seed)
    code: list[Instr] = [op("MOV", rd=8, rb=0), op("IMAD", rd=9, ra=0, form=1, imm=0x9E3779B9, rc=255)]
    code += [op("MOV", rd=10, rb=9), op("MOV", rd=11, rb=8), op("ISETP", pd0=0, ra=0, form=1, imm=9, icmp=1)]
    for _ in range(30):
        guard = rng.choice([(7, False), (0, False), (0, True)])
        kind = rng.randrange(4)
        near = {"ra": 4, "moff": 4 * rng.randrange(30), "guard": guard}
        if kind == 0:
            code.append(op("LDG", rd=12, width=4, wbar=rng.randrange(6), **near))
        elif kind == 1:
            code.append(op("STG", rb=rng.randrange(8, 12), width=rng.choice((0, 2, 4)), **near))
        elif kind == 2:
            atomic = {"aop": rng.randrange(len(ATOMIC_OPS)), "atyp": 0, "rd": 12, "rb": 8, "rc": 9, "wbar": 1}
            code.append(op("ATOMG", **atomic, **near))
        else:
            wide = {"ra": 2, "moff": 8 * rng.randrange(30), "guard": guard, "rd": 12, "rb": 8, "rc": 10, "wbar": 1}
            code.append(op("ATOMG", aop=rng.choice((0, 1, 5, 6, 7, 8, 9)), atyp=3, **wide))
    spans = [(rng.randrange(0, 120), rng.choice((1, 3, 4, 8, 24))) for _ in range(3)]
    options = {"hazards": False, "engine": engine, "everything": everything, "block": 32}
    touches = watched(code, spans, **options)
    assert len({t.access for t in touches}) > 1


def test_an_access_that_faults_is_none() -> None:
    """Of its lanes some are in the buffer, but nothing is stored."""
    touches: list[WatchedTouch] = []
    watch = Watch(lambda _: [ByteSpan("x", BASE, 0, 256)], touches.append)
    code = [
        op("IMAD.WIDE", rd=6, ra=0, form=1, imm=16, rc=2),
        op("STG", ra=4, rb=0, width=4),
        op("STG", ra=6, rb=0, width=4),
    ]
    made = module([*address(), *code, op("EXIT")], params={"x": 8})
    with pytest.raises(KernelFault, match="out of bounds"):
        go(made, buffers={"x": np.zeros(64, np.uint32)}, log=IssueLog([watch.listener()]))
    assert [touch.pc for touch in touches] == [5] * 32
    watch.check()


def test_too_many_watches_are_refused() -> None:
    with pytest.raises(UsageError, match="too many watches"):
        watched([], [(0, 4)] * 65)
