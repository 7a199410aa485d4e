"""Prints the emulator's rates: `python -m tests.benchmarks.emulator.emulator_rates`.

Warp instructions per CPU second of one SM (GTX680, 64 warps), functional and timing together, after start-up; of each
the best of several runs, each of about a second or more:

- arithmetic: IADD3, FFMA, LOP3 and FADD in equal parts, without dependences;
- streaming: coalesced load, two operations, store, every line touched by one of each;
- conflicts: every second instruction a load from shared memory with a 32-way bank conflict;
- gather: one instruction in seven a load of 32 sectors at random places of 4 MB.

Beside them cold compile, cached start and peak memory, each in a process of its own.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

from tests.support.kits.emulator.small import Module, go, module, op


def loop(body: list[object], rounds: int, prologue: list[object]) -> list[object]:
    """`prologue`, then `body` executed `rounds` times (counter R31), then EXIT."""
    head = [*prologue, op("MOV", rd=31, form=1, imm=rounds)]
    tail = [
        op("IADD3", rd=31, ra=31, form=1, imm=0xFFFFFFFF, rc=255),
        op("ISETP", pd0=0, ra=31, form=1, imm=0, icmp=5),
    ]
    back = -(len(body) + len(tail) + 1)
    return [*head, *body, *tail, op("BRA", guard=(0, False), target=back, diverges=1, reconv=0), op("EXIT")]


def arithmetic(rounds: int = 400) -> Module:
    names = ("IADD3", "FFMA", "LOP3", "FADD")
    extra = {"IADD3": {}, "FFMA": {}, "LOP3": {"lut": 0x96}, "FADD": {}}
    body = []
    for i in range(96):
        name = names[i % 4]
        third = {} if name == "FADD" else {"rc": 2}
        body.append(op(name, stall=1, rd=8 + i % 16, ra=0, rb=1, **third, **extra[name]))
    return module(loop(body, rounds, []), registers=32)


RUNS = 5
STREAMED = 40  # elements of a thread
TOGETHER = 128  # blocks whose k-th elements lie side by side
STREAMING_BLOCKS = 20 * TOGETHER


def streaming() -> Module:
    """Element k of a thread lies behind the k-th of all others of its TOGETHER blocks."""
    start = [
        *prologue(), op("SHF", rd=6, ra=1, form=1, imm=TOGETHER.bit_length() - 1, rc=255, dir=1),
        op("IMAD", rd=0, ra=6, form=1, imm=(STREAMED - 1) * TOGETHER * 256, rc=0),
        op("IMAD.WIDE", rd=4, ra=0, form=1, imm=4, rc=2),
    ]  # fmt: skip
    body = []
    for k in range(STREAMED):
        offset = {"moff": k * TOGETHER * 256 * 4, "width": 4}
        body += [
            op("LDG", stall=1, rd=6, ra=4, wbar=1, **offset),
            op("IADD3", stall=9, rd=7, ra=6, form=1, imm=5, rc=255, wait=2),
            op("FADD", stall=9, rd=8, ra=7, rb=6, wait=4),
            op("STG", stall=1, ra=4, rb=8, rbar=2, **offset),
        ]
    return module([*start, *body, op("EXIT")], params={"x": 8}, registers=32)


def prologue() -> list[object]:
    return [
        op("S2R", rd=0, sreg=0, wbar=0), op("S2R", rd=1, sreg=6, wbar=0),
        op("MOV", rd=2, form=2, cbank=0, coff=0), op("MOV", rd=3, form=2, cbank=0, coff=4),
        op("IMAD", rd=0, ra=1, form=1, imm=256, rc=0, wait=1), op("IMAD.WIDE", rd=4, ra=0, form=1, imm=4, rc=2),
    ]  # fmt: skip


def conflicts() -> Module:
    # words 64 apart: the banks are 8 bytes wide, words 32 apart share a row
    start = [op("S2R", rd=0, sreg=12, wbar=0), op("IMAD", rd=0, ra=0, form=1, imm=256, rc=255, wait=1)]
    body = [op("LDS", stall=2, rd=6, ra=0, width=4, wbar=1, wait=2), op("NOP", stall=1)]
    return module(loop(body * 32, 6, start), shared_bytes=8192, registers=32)


def gather() -> Module:
    start = [
        *prologue(), op("LDG", rd=10, ra=4, width=4, wbar=1), op("NOP", wait=2),
    ]  # fmt: skip
    body = [
        op("IMAD", stall=9, rd=10, ra=10, form=1, imm=1664525, rc=0, wait=2),
        op("SHF", stall=9, rd=11, ra=10, form=1, imm=12, rc=255, dir=1),
        op("IMAD.WIDE", stall=9, rd=12, ra=11, form=1, imm=4, rc=2, u32=1),
        op("LDG", stall=2, rd=14, ra=12, width=4, wbar=1),
    ]
    return module(loop(body, 60, start), params={"x": 8}, registers=32)


BENCHES = {
    "arithmetic": (arithmetic, 128, 256, 0),
    "streaming": (streaming, STREAMING_BLOCKS, 256, STREAMED * STREAMING_BLOCKS * 256),
    "conflicts": (conflicts, 1536, 512, 0),
    "gather": (gather, 224, 256, 1 << 20),
}
"""Of each: its code, blocks, threads of a block, words of its buffer."""


def rate(name: str, runs: int = 1) -> float:
    """CPU nanoseconds per warp instruction of the quickest of so many runs; prints the rate."""
    make, grid, block, words = BENCHES[name]
    best, code = float("inf"), make()
    for _ in range(runs):
        x = {"x": np.zeros(words, np.int32)} if words else {}
        start = time.process_time()
        result = go(code, grid=grid, block=block, buffers=x, engine="numba")
        best = min(best, time.process_time() - start)
    n = result.stats["warp_instructions"]
    print(
        f"{name:12} {n / best / 1e6:7.2f} M warp instr/s ({n} in {best:.2f} s, {best / n * 1e9:.0f} ns each, "
        f"{result.cycles} cycles)"
    )
    return best / n * 1e9


def main() -> None:
    if "--start" in sys.argv:
        start = time.perf_counter()
        go(module([op("EXIT")]), engine="numba")
        print(f"{time.perf_counter() - start:.2f} s, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
        return
    if "--cold" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            for what in ("cold compile", "cached start"):
                command = [sys.executable, "-m", "tests.benchmarks.emulator.emulator_rates", "--start"]
                env = {**os.environ, "XDG_CACHE_HOME": folder}
                print(
                    f"{what:12} ",
                    subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout,
                    end="",
                )
    go(module([op("EXIT")]), engine="numba")
    for name in BENCHES:
        rate(name, RUNS)
    buffers = max(4 * words for *_, words in BENCHES.values()) >> 20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"peak memory  {peak} MB, of it 3 times {buffers} MB of buffer: the caller's, the launch's, the result's")


if __name__ == "__main__":
    main()
