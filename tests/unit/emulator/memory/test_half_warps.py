"""GT200's accesses: half a warp at a time, segments of 32, 64 or 128 bytes, no cache for data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result
from binalloc.isa.text.assembler import assemble
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.emulator.small import go

GTX285 = load_machine("gtx285")


def access(offsets: list[int], size: int = 4, *, store: bool = False, twice: bool = False) -> Result:
    """A warp whose lane i touches `size` bytes at offsets[i], of 64 KB from an address that is a multiple of 256."""
    width = {4: "", 8: ".64", 16: ".128"}[size]
    one = f"STG{width} [R4], R8\n" if store else f"LDG{width} R8, [R4]\nMOV R12, R8\n"
    text = f"""
    .kernel k
    .registers 16
    .param x 8
    .param at 8
        S2R R0, SR_LANEID
        MOV R2, 4
        IMAD.WIDE R4, R0, R2, c[0][at]
        LDG R6, [R4]
        MOV R2, 1
        IMAD.WIDE R4, R6, R2, c[0][x]
        {one * (2 if twice else 1)}
        EXIT
    .end
    """
    module = schedule(assemble(text, "k"), GTX285)
    buffers = {"x": np.zeros(16384, np.uint32), "at": np.array(offsets, np.uint32)}
    return go(module, buffers=buffers, machine=GTX285)


FIRST = 2 * 2
"""Sectors of the load of the offsets: two halves of 64 bytes."""


def transactions(offsets: list[int], size: int) -> list[int]:
    """Sizes of a warp's transactions by the programming guide's protocol for capability 1.2, one half warp after the
    other: the segment of 128 bytes of the lowest lane, all lanes in it, then halved as long as one half holds all."""
    sizes = []
    for half in (offsets[:16], offsets[16:]):
        pieces = [(at, min(size, 128)) for at in half]
        while pieces:
            segment = pieces[0][0] // 128
            inside = [(at, n) for at, n in pieces if at // 128 == segment]
            pieces = [p for p in pieces if p not in inside]
            low, length = segment * 128, 128
            while length > 32:
                middle = low + length // 2
                if all(at + n <= middle for at, n in inside):
                    length //= 2
                elif all(at >= middle for at, n in inside):
                    low, length = middle, length // 2
                else:
                    break
            sizes.append(length)
    return sizes


PATTERNS = {
    "in order": ([4 * i for i in range(32)], 4),
    "from the middle of a line": ([64 + 4 * i for i in range(32)], 4),
    "one word off": ([4 + 4 * i for i in range(32)], 4),
    "the same word": ([8] * 32, 4),
    "backwards": ([4 * (31 - i) for i in range(32)], 4),
    "every second word": ([8 * i for i in range(32)], 4),
    "a line each": ([128 * i for i in range(32)], 4),
    "pairs": ([8 * i for i in range(32)], 8),
    "quads": ([16 * i for i in range(32)], 16),
    "two sectors in the middle": ([32 + 4 * (i % 16) for i in range(32)], 4),
    "first and last sector": ([124 * (i % 2) for i in range(32)], 4),
    "scattered": ([(i * 7919) % 16384 * 4 for i in range(32)], 4),
}


@pytest.mark.rotates
@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_requests_are_those_of_the_programming_guide(pattern: str, store: bool) -> None:
    offsets, size = PATTERNS[pattern]
    expected = transactions(offsets, size)
    stats = access(offsets, size, store=store).stats
    if store:
        assert stats["l2_stores"] == len(expected)
        assert stats["global_store_sectors"] == sum(expected) // 32
        assert stats["dram_writes"] == sum(expected) // 32
    else:
        assert stats["l2_misses"] - 2 == len(expected)
        assert stats["global_load_sectors"] - FIRST == sum(expected) // 32
        assert stats["dram_reads"] - FIRST == sum(expected) // 32


@pytest.mark.parametrize("store", [False, True])
def test_nothing_is_kept_of_what_goes_past_l2(store: bool) -> None:
    once = access(PATTERNS["in order"][0], store=store).stats
    twice = access(PATTERNS["in order"][0], store=store, twice=True).stats
    assert twice["l2_hits"] == 0
    key = "dram_writes" if store else "dram_reads"
    assert twice[key] - once[key] == 4


def test_atomics_read_and_write_dram_and_the_grid_waits_for_their_answer() -> None:
    text = """
    .kernel k
    .param x 8
        MOV R4, c[0][x]
        MOV R5, c[0][x+4]
        MOV R6, 1
        RED.ADD [R4], R6
        EXIT
    .end
    """
    module = schedule(assemble(text, "k"), GTX285)
    result = go(module, buffers={"x": np.zeros(64, np.uint32)}, machine=GTX285)
    assert result.buffers["x"][0] == 32
    assert (result.stats["dram_reads"], result.stats["dram_writes"]) == (2, 2)
    assert result.cycles > GTX285.dram.latency


def test_whole_warps_ask_for_a_line_once() -> None:
    whole = replace(GTX285, coalescing=replace(GTX285.coalescing, lanes=32))
    text = """
    .kernel k
    .param x 8
        S2R R0, SR_LANEID
        MOV R2, 4
        IMAD.WIDE R4, R0, R2, c[0][x]
        LDG R8, [R4]
        MOV R9, R8
        EXIT
    .end
    """
    for machine, requests in ((GTX285, 2), (whole, 1)):
        module = schedule(assemble(text, "k"), machine)
        result = go(module, buffers={"x": np.zeros(64, np.uint32)}, machine=machine)
        assert result.stats["l2_misses"] == requests
