"""A run's trace, read by an independent reader, against the run's log and against what the program must do."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.issue_log import IssueLog, Listener
from binalloc.emulator.runs.run import Result, run
from binalloc.errors import KernelFault, LimitHit, Refused, UsageError
from binalloc.isa.instruction import LOCAL_WINDOW, SHARED_WINDOW, Instr, Module
from binalloc.isa.table.fields import RZ
from binalloc.laboratory.accelsim import trace as trace_file
from binalloc.laboratory.accelsim.lines import lines
from binalloc.laboratory.accelsim.sass import SassLine
from binalloc.laboratory.accelsim.trace import AccelsimTrace
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from tests.support.generator.emulator.waits import WORDS, waiting_program
from tests.support.kits.emulator.every_unit import one_of_each
from tests.support.kits.emulator.run_log import Row, plain
from tests.support.kits.emulator.small import DTYPE_NAMES, address, go, module, op, store
from tests.support.oracles.traces.accelsim import Line, Trace, read_folder, read_line

GLOBAL = 0x10000000


def traced(
    m: Module, folder: Path, *, grid: Any = (1, 1, 1), block: int = 32, buffers: Any = None, engine: str = "python",
    machine: str = "gtx680", dynamic: int = 0, drain_at: int = 1 << 14, limit: int = 1 << 30, **options: Any,
) -> tuple[Result, Trace, list[Row]]:  # fmt: skip
    """Run kernel `k`: the result, its trace, the log's rows."""
    arrays = {k: np.asarray(v) for k, v in (buffers or {}).items()}
    arguments = tuple(Argument(k, "buffer", DTYPE_NAMES[v.dtype], v.shape) for k, v in arrays.items())
    launch = Launch("k", grid, (block, 1, 1), dynamic, arguments)
    batches: list[Any] = []
    with AccelsimTrace(folder, m, m.function("k"), launch, limit) as trace:
        log = IssueLog([trace.listener, Listener(batches.append, addresses=True)], drain_at=drain_at)
        result = run(m, "k", launch, load_machine(machine), engine=engine, buffers=arrays, log=log, **options)
        trace.keep()
    return result, read_folder(folder), plain(batches)


def instructions(trace: Trace) -> dict[tuple[int, int], list[Line]]:
    """The lines by number of the block and of the warp in it."""
    across, down, deep = (int(n) for n in trace.head["grid dim"].strip("()").split(","))
    order = [(x, y, z) for z in range(deep) for y in range(down) for x in range(across)]
    assert list(trace.blocks) == order
    return {(b, w): said for b, warps in enumerate(trace.blocks.values()) for w, said in enumerate(warps)}


def check(trace: Trace, rows: list[Row], grid: int, warps: int) -> None:
    """The trace says what the log says, warp by warp."""
    found = instructions(trace)
    assert set(found) == {(b, w) for b in range(grid) for w in range(warps)}
    for key, said in found.items():
        mine = [row for row in rows if row.kind == "issue" and (row.block, row.in_block) == key]
        assert [(line.pc, line.mask) for line in said] == [(16 * row.pc, row.mask) for row in mine]
        for line, row in zip(said, mine, strict=True):
            if line.width and line.mask:
                assert line.addresses == row.addresses


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("drain_at", [1, 1 << 14])
def test_a_trace_has_masks_and_addresses_of_the_run(tmp_path: Path, seed: int, drain_at: int) -> None:
    m = waiting_program(seed, "gtx680")
    words = {"x": np.arange(WORDS, dtype=np.uint32)}
    result, trace, rows = traced(
        m, tmp_path / "t", grid=(3, 2, 2), block=40, buffers=words, hazards=False, sms=2, drain_at=drain_at
    )
    check(trace, rows, 12, 2)
    assert len(trace.lines) == result.stats["warp_instructions"]
    assert sum(line.mask.bit_count() for line in trace.lines) == result.stats["thread_instructions"]
    assert {line.opcode.split(".")[0] for line in trace.lines} > {"EXIT", "LDG"}


def test_tracing_changes_nothing(tmp_path: Path) -> None:
    m = one_of_each()
    x = {"x": np.arange(96, dtype=np.uint32)}
    plain_run = go(m, grid=7, block=96, buffers=x, sms=2)
    result, _, _ = traced(m, tmp_path / "t", grid=(7, 1, 1), block=96, buffers=x, sms=2)
    assert (result.cycles, result.stats) == (plain_run.cycles, plain_run.stats)


def test_the_engines_write_the_same_bytes(tmp_path: Path) -> None:
    x = {"x": np.arange(WORDS, dtype=np.uint32)}
    for seed in range(3):
        written = set()
        for engine in ("python", "numba"):
            folder = tmp_path / f"{engine} {seed}"
            program = waiting_program(seed, "c2075")
            shape: dict[str, Any] = {"grid": (5, 1, 1), "block": 96, "sms": 3, "machine": "c2075"}
            traced(program, folder, buffers=x, hazards=False, engine=engine, **shape)
            written.add((folder / "kernel-1.traceg").read_bytes())
        assert len(written) == 1


def accesses(trace: Trace, opcode: str) -> list[dict[int, int]]:
    return [line.addresses for line in trace.lines if line.opcode == opcode]


def test_addresses_are_those_that_the_program_computes(tmp_path: Path) -> None:
    code = [
        *address(),
        op("ISETP", pd0=1, ra=0, form=1, imm=5, icmp=4),
        op("LOP3", rd=7, ra=0, form=1, imm=1, rc=RZ, lut=0xC0),
        op("ISETP", pd0=2, ra=7, form=1, imm=1, icmp=2),
        op("IMAD", rd=8, ra=0, form=1, imm=(1 << 32) - 8, rc=RZ),
        op("IADD3", rd=8, ra=8, form=1, imm=8 * 31, rc=RZ),
        op("LDG", rd=6, ra=4, width=4, moff=4, wbar=0, guard=(1, False)),
        op("STS", ra=8, rb=0, width=5, rbar=1, wait=1, moff=16),
        op("STL", ra=RZ, rb=0, width=4, moff=8, rbar=1, wait=2, guard=(2, False)),
        op("MOV", rd=10, form=1, imm=SHARED_WINDOW + 12),
        op("MOV", rd=11, rb=RZ),
        op("LD", rd=6, ra=10, width=4, wbar=0, wait=2),
        op("MOV", rd=10, form=1, imm=LOCAL_WINDOW + 4),
        op("LD", rd=6, ra=10, width=4, wbar=0, wait=1),
        op("IMAD", rd=12, ra=0, rb=0, rc=RZ),
        op("IMAD.WIDE", rd=12, ra=12, form=1, imm=4, rc=2),
        op("ATOMG", rd=6, ra=12, rb=0, aop=0, wbar=0, wait=1),
        op("NOP", wait=1),
        *store(6),
    ]
    m = module(code, params={"x": 8}, shared_bytes=1024, local_bytes=16)
    _, trace, _ = traced(m, tmp_path / "t", buffers={"x": np.zeros(1024, np.uint32)}, hazards=False)
    lanes = range(32)
    assert accesses(trace, "LDG.E") == [{t: GLOBAL + 4 * t + 4 for t in lanes if t > 5}]
    assert accesses(trace, "STS.64") == [{t: 8 * (31 - t) + 16 for t in lanes}]
    assert accesses(trace, "STL") == [{t: 8 for t in lanes if t % 2}]
    assert accesses(trace, "LD.E") == [dict.fromkeys(lanes, SHARED_WINDOW + 12), dict.fromkeys(lanes, LOCAL_WINDOW + 4)]
    assert accesses(trace, "ATOMG.E.ADD.STRONG.GPU") == [{t: GLOBAL + 4 * t * t for t in lanes}]
    assert accesses(trace, "STG.E") == [{t: GLOBAL + 4 * t for t in lanes}]


def test_strides_are_written_short_and_only_where_they_hold(tmp_path: Path) -> None:
    rng = random.Random(3)
    masks = [0xFFFFFFFF, 1, 0x80000000, 0xC0000000, 0x00FF0000, 0x00FF00F0, 5, 3, 0]
    far = [0, 1 << 31, (1 << 63) - 1, -(1 << 63), 1 << 40]
    rows = [[GLOBAL + 4 * t for t in range(32)], [rng.choice(far) for _ in range(32)], [7] * 32]
    rows += [[(1 << 31) * t for t in range(32)], [-((1 << 31) - 1) * t for t in range(32)]]
    rows += [[rng.randrange(1 << 40) for _ in range(32)] for _ in range(3)]
    every = [(m, i) for m in masks for i in range(len(rows))]
    words, mask_column = np.zeros(len(every), np.int64), np.array([m for m, _ in every])
    load = SassLine("0 LDG 0 4", True)
    made = lines(words, mask_column, np.array([i for _, i in every]), np.array(rows), lambda *_: load)
    for (mask, i), line in zip(every, made, strict=True):
        found = read_line(line.decode().removesuffix("\n"))
        want = {t: rows[i][t] % (1 << 64) for t in range(32) if mask >> t & 1}
        assert {t: a % (1 << 64) for t, a in found.addresses.items()} == want
    assert made[0] == b"0000 ffffffff 0 LDG 0 4 1 0x10000000 4 0\n"


def stores(count: int, *, guard: Any = (7, False)) -> list[Instr]:
    return [op("STG", ra=4, rb=0, width=4, rbar=0, wait=1, guard=guard) for _ in range(count)]


@pytest.mark.rotates("long")
def test_lines_put_aside_come_back_in_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that end in another order than they began, and warps of different lengths."""
    body = [
        op("S2R", rd=1, sreg=6, wbar=1),
        op("ISETP", pd0=1, ra=1, form=1, imm=1, icmp=2, wait=2),
        op("BRA", stall=1, guard=(1, False), target=200),
        *stores(200),
    ]
    m = module([*address(), *body, *store(0)], params={"x": 8})
    written = []
    for held in (1 << 26, 0, 5000):
        monkeypatch.setattr(trace_file, "HELD", held)
        folder = tmp_path / str(held)
        x = {"x": np.zeros(96, np.uint32)}
        _, trace, rows = traced(m, folder, grid=(7, 1, 1), block=96, buffers=x, drain_at=50)
        ends = [row.block for row in rows if row.kind == "block_end"]
        assert ends != sorted(ends)
        check(trace, rows, 7, 3)
        written.append((folder / "kernel-1.traceg").read_bytes())
    assert len(set(written)) == 1


def test_the_head_says_what_occupancy_counts(tmp_path: Path) -> None:
    """Rounded as the machine rounds, so that the simulator's own rule finds as many blocks."""
    m = module(
        [*address(), *store(0)], params={"x": 8}, machine="v100", registers=41, shared_bytes=3000, slot_bytes=256
    )
    x = {"x": np.zeros(128, np.uint32)}
    result, trace, _ = traced(m, tmp_path / "t", grid=(1, 1, 1), block=128, buffers=x, machine="v100", dynamic=200)
    registers, shared = int(trace.head["nregs"]), int(trace.head["shmem"])
    assert registers == 48
    assert 3200 + 4 * 256 <= shared < 3200 + 4 * 256 + 256
    rounded = 4 * -(-registers // 4)
    assert result.blocks_per_sm == min(65536 // (rounded * 128), 98304 // shared, 2048 // 128, 32)
    want = {
        "kernel name": "k", "grid dim": "(1,1,1)", "block dim": "(128,1,1)", "binary version": "70",
        "cuda stream id": "0", "accelsim tracer version": "4", "enable lineinfo": "0",
    }  # fmt: skip
    assert trace.head.items() >= want.items()
    assert int(trace.head["shmem base_addr"], 16) == SHARED_WINDOW
    assert int(trace.head["local mem base_addr"], 16) == LOCAL_WINDOW


def left(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_a_fault_leaves_nothing(tmp_path: Path) -> None:
    m = module([*address(), *stores(3), op("LDG", rd=6, ra=RZ, width=4, wbar=0), op("EXIT", wait=1)], params={"x": 8})
    with pytest.raises(KernelFault):
        traced(m, tmp_path / "t", buffers={"x": np.zeros(32, np.uint32)})
    assert left(tmp_path) == []


def test_an_interruption_leaves_nothing_and_an_earlier_trace_stands(tmp_path: Path) -> None:
    m = module([*address(), *store(0)], params={"x": 8})
    x = {"x": np.zeros(32, np.uint32)}
    traced(m, tmp_path / "t", buffers=x)
    before = (tmp_path / "t" / "kernel-1.traceg").read_bytes()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    longer = module([*address(), *stores(2), *store(0)], params={"x": 8})
    with pytest.raises(KeyboardInterrupt):
        traced(longer, tmp_path / "t", buffers=x, observer=interrupt)
    assert left(tmp_path) == ["t"]
    assert (tmp_path / "t" / "kernel-1.traceg").read_bytes() == before


def test_an_earlier_trace_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    x = {"x": np.zeros(32, np.uint32)}
    short = module([*address(), *store(0)], params={"x": 8})
    long = module([*address(), *stores(2), *store(0)], params={"x": 8})
    folder = tmp_path / "t"
    folder.mkdir()
    for m in (long, short):
        _, trace, rows = traced(m, folder, buffers=x)
        check(trace, rows, 1, 1)
    (folder / "notes").write_text("mine")
    with pytest.raises(UsageError, match="other files; found notes"):
        traced(short, folder, buffers=x)
    assert left(folder) == ["kernel-1.traceg", "kernelslist.g", "notes"]
    (tmp_path / "file").write_text("mine")
    for name in ("file", "file/t", "none/t"):
        with pytest.raises(UsageError, match="folder"):
            traced(short, tmp_path / name, buffers=x)
    assert left(tmp_path) == ["file", "t"]


def test_a_trace_beyond_its_limit_is_given_up(tmp_path: Path) -> None:
    m = module([*address(), *stores(50), *store(0)], params={"x": 8})
    x = {"x": np.zeros(32, np.uint32)}
    _, trace, _ = traced(m, tmp_path / "t", grid=(4, 1, 1), buffers=x)
    assert len(trace.lines) == 4 * 56
    with pytest.raises(LimitHit, match=r"too long; found more than 3,000 bytes when 0 of 4 blocks are written"):
        traced(m, tmp_path / "u", grid=(4, 1, 1), buffers=x, limit=3000, drain_at=1)
    assert left(tmp_path) == ["t"]


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        ({"form": 1, "imm": 0}, True),
        ({"form": 1, "imm": 64}, True),
        ({"rb": RZ}, True),
        ({"form": 1, "imm": 0, "barid": 3}, True),
        ({"form": 1, "imm": 32}, False),
        ({"form": 1, "imm": 64, "bar": 1}, False),
        ({"rb": 6}, False),
    ],
)
def test_barriers_that_the_simulator_does_not_know_are_refused(tmp_path: Path, fields: Any, fits: bool) -> None:
    m = module([op("MOV", rd=6, form=1, imm=64), op("BAR", **fields), op("EXIT")])
    if fits:
        traced(m, tmp_path / "t", block=64)
        return
    with pytest.raises(Refused, match=r"k\+1: a trace for Accel-Sim cannot have this barrier"):
        traced(m, tmp_path / "t", block=64)
    assert left(tmp_path) == []


def test_a_warp_that_passes_a_barrier_by_does_not_come_to_it(tmp_path: Path) -> None:
    code = [
        op("S2R", rd=0, sreg=0, wbar=0),
        op("ISETP", pd0=1, ra=0, form=1, imm=32, icmp=1, wait=1),
        op("BAR", guard=(1, False), form=1, imm=0),
        op("EXIT"),
    ]
    result, trace, _ = traced(module(code), tmp_path / "t", block=64)
    assert result.stats["barriers"] == 1
    (first, second) = trace.blocks[0, 0, 0]
    assert [line.opcode for line in first] == ["S2R", "ISETP.LT.AND", "BAR.SYNC", "EXIT"]
    assert [line.opcode for line in second] == ["S2R", "ISETP.LT.AND", "NOP", "EXIT"]
