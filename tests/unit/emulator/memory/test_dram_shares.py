"""For whom DRAM works, in kernels small enough to count by hand: by buffer, and by the instruction whose request it is.

One of the eight SMs of gem5gpu-batching has one channel with rows of 4 KB and two slices of L2. A line is two bursts.
The row of a buffer's first 4 KB, which no other buffer shares, is opened once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.host.figures.shares import DramCounts
from binalloc.emulator.host.memory.global_memory import GlobalMemory
from binalloc.emulator.host.memory.owners import held_objects
from binalloc.emulator.memory.account.shares import owner_of
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import Result, run
from binalloc.emulator.runs.session import Session
from binalloc.emulator.state.parts.shares import Owner
from binalloc.emulator.state.records import Gpu
from binalloc.isa.instruction import GlobalVar, Instr
from binalloc.isa.text.assembler import assemble
from binalloc.launch.file import parse_launch
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.emulator.small import address, go, module, op
from tests.support.kits.machines import constant_lines, instruction_cache

BATCHING = load_machine("gem5gpu-batching")
LINE, ROW = 128, 4096
PAST = 1  # the modifier of loads past L1


@pytest.fixture(params=[False, True], ids=["event-skipping", "per-cycle"])
def reference(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def tiny(*, l1: bool = False) -> Any:
    """The machine with one line in each slice of L2. l1: with one line in L1, too."""
    m = replace(BATCHING, l2=replace(BATCHING.l2, sets=1, ways=1, bytes=BATCHING.l2.slices * LINE))
    return replace(m, l1=replace(m.l1, sets=1, ways=1, bytes=LINE)) if l1 else m


def pointers(*registers: int) -> list[Instr]:
    """Pointers to the thread's first word in x, y, and so on, each in a pair of registers."""
    return [instr for bank, register in enumerate(registers) for instr in address(register, 8 * bank)]


def ran(code: list[Instr], words: dict[str, int], reference: bool, **options: Any) -> Result:
    buffers = {name: np.zeros(count, np.uint32) for name, count in words.items()}
    made = module([*code, op("EXIT", wait=63)], params=dict.fromkeys(words, 8), registers=32, local_bytes=16)
    return go(
        made, buffers=buffers, reference=reference, profile=True, by_object=True, hazards=False,
        **{"machine": BATCHING, **options},
    )  # fmt: skip


def by_name(result: Result) -> dict[str, DramCounts]:
    """The shares that are not zero, of objects by their name, of other memory by its kind."""
    return {share.name or share.kind: share.counts[0] for share in result.dram_shares if any(share.counts[0])}


def by_word(result: Result, first: int) -> list[tuple[int, int, int]]:
    """Activations, reads and writes of each instruction from `first` on, without EXIT; those in front have none."""
    (dram,) = result.profile["k"].dram
    assert not any(counts[:first].any() or counts[-1] for counts in dram.values())
    return list(zip(*(counts[first:-1].tolist() for counts in dram.values()), strict=True))


def of_nobody(result: Result) -> dict[str, DramCounts]:
    return {name: counts for name, (counts,) in result.dram_of_no_word.items() if any(counts)}


def load(register: int, offset: int = 0, **more: Any) -> Instr:
    """A load of the line at an offset from a pointer, which waits for the load before."""
    return op("LDG", rd=20, ra=register, moff=offset, width=4, **{"wbar": 0, "wait": 1, **more})


def test_the_first_request_of_a_row_opens_it(reference: bool) -> None:
    start = pointers(4, 6)
    code = [*start, load(4), load(4, 8 * LINE), load(4, ROW), load(6)]
    result = ran(code, {"x": 2048, "y": 1024}, reference)
    assert by_word(result, len(start)) == [(1, 2, 0), (0, 2, 0), (1, 2, 0), (1, 2, 0)]
    assert by_name(result) == {"x": (2, 6, 0), "y": (1, 2, 0)}
    assert of_nobody(result) == {}


def test_a_row_that_another_one_has_closed_is_opened_again(reference: bool) -> None:
    """16 rows are a round over the banks. The next round starts a bank later, so its last row is in the first's
    bank."""
    start = pointers(4)
    code = [*start, load(4), load(4, 31 * ROW), load(4, LINE)]
    result = ran(code, {"x": 32 * 1024}, reference)
    assert by_word(result, len(start)) == [(1, 2, 0)] * 3


def test_requests_that_join_a_fetch_cost_nothing(reference: bool) -> None:
    start = pointers(4)
    code = [*start, load(4, wait=0, cache=PAST, stall=1), load(4, wait=0, cache=PAST, wbar=1, stall=1)]
    result = ran(code, {"x": 1024}, reference)
    assert result.stats["l2_merges"] == 1
    assert by_word(result, len(start)) == [(1, 2, 0), (0, 0, 0)]


def test_half_a_line_is_one_burst(reference: bool) -> None:
    start = [*pointers(4), op("ISETP", pd0=0, ra=0, form=1, imm=16, icmp=1)]
    result = ran([*start, load(4, cache=PAST, guard=(0, False))], {"x": 1024}, reference)
    assert by_word(result, len(start)) == [(1, 1, 0)]


def test_a_write_back_is_for_who_has_changed_the_line_last(reference: bool) -> None:
    """Both stores are in one line of L2, which makes room for the lines of y."""
    start = [*pointers(4, 6), op("ISETP", pd0=0, ra=0, form=1, imm=16, icmp=1)]
    code = [
        *start,
        op("STG", ra=4, rb=0, width=4, rbar=1),
        op("STG", ra=4, rb=0, width=4, rbar=1, wait=2, guard=(0, False)),
        op("MEMBAR", scope=1, wbar=2, wait=2),
        load(6, wait=4),
        *(load(6, k * LINE) for k in (2, 4, 6)),
    ]
    result = ran(code, {"x": 1024, "y": 1024}, reference, machine=tiny())
    assert by_word(result, len(start)) == [(0, 0, 0), (1, 0, 2), (0, 0, 0), (1, 2, 0), *[(0, 2, 0)] * 3]
    assert by_name(result) == {"x": (1, 0, 2), "y": (1, 8, 0)}
    assert of_nobody(result) == {}


def test_an_atomic_reads_and_writes(reference: bool) -> None:
    start = pointers(4, 6)
    code = [
        *start,
        op("RED", ra=4, rb=0, aop=0, rbar=1),
        op("MEMBAR", scope=1, wbar=2, wait=2),
        load(6, wait=4),
        *(load(6, k * LINE) for k in (2, 4, 6)),
    ]
    result = ran(code, {"x": 1024, "y": 1024}, reference, machine=tiny())
    assert by_word(result, len(start))[:2] == [(1, 2, 2), (0, 0, 0)]


def test_local_memory_is_written_back_twice(reference: bool) -> None:
    """L1 holds one line: the second store evicts the first one's, and the load the second one's, to L2 and DRAM."""
    start = pointers(4)
    code = [
        *start,
        op("STL", ra=255, rb=0, width=4, rbar=1),
        op("STL", ra=255, rb=0, width=4, moff=4, rbar=1, wait=2),
        op("NOP", wait=2),
        load(4),
        *(load(4, k * LINE) for k in (2, 4, 6, 8)),
    ]
    result = ran(code, {"x": 1024}, reference, machine=tiny(l1=True))
    found = by_word(result, len(start))
    assert [writes for _, _, writes in found] == [2, 2, 0, 0, 0, 0, 0, 0]
    assert by_name(result) == {"x": (1, 10, 0), "local": (1, 0, 4)}
    assert sum(rows for rows, _, _ in found[:2]) == 1


@pytest.mark.parametrize("pages", ["interleaved", "coloured", "coloured:channels=one"])
def test_with_pages_a_write_back_is_still_for_its_buffer(pages: str, reference: bool) -> None:
    """Every lane loads a line of its own: sixteen pages, more than there are channels, evict the line of x."""
    start = [*pointers(4), op("MOV", rd=8, form=2, cbank=0, coff=8), op("MOV", rd=9, form=2, cbank=0, coff=12),
             op("IMAD.WIDE", rd=6, ra=0, form=1, imm=LINE, rc=8)]  # fmt: skip
    code = [
        *start,
        op("STG", ra=4, rb=0, width=4, rbar=1),
        op("MEMBAR", scope=1, wbar=2, wait=2),
        op("NOP", wait=4),
        *(load(6, k * ROW) for k in range(16)),
    ]
    result = ran(code, {"x": 1024, "y": 16 * 1024}, reference, machine=tiny(), sms=8, pages=pages)
    found = by_word(result, len(start))
    assert found[0] == (1, 0, 2)
    assert [reads for _, reads, _ in found[3:]] == [64] * 16
    assert by_name(result)["x"] == (1, 0, 2)
    assert by_name(result)["y"][1:] == (16 * 64, 0)


def text(body: str) -> str:
    return f"""
    .kernel k
        .param x 8
        .param tex 8
        MOV R4, c[0][x]
        MOV R5, c[0][x+4]
        MOV R11, c[0][tex]
        MOV R8, RZ
        {body}
        EXIT
    .end
    """


def with_texture(body: str, machine: str, reference: bool) -> Result:
    """One thread, in a launch with a buffer and a texture."""
    m = load_machine(machine)
    launch = parse_launch({
        "kernel": "k", "grid": 1, "block": 1,
        "argument": [
            {"name": "x", "kind": "buffer", "dtype": "u32", "shape": [1024]},
            {"name": "tex", "kind": "texture", "dtype": "f32", "shape": [64]},
        ],
    })  # fmt: skip
    return run(
        schedule(assemble(text(body)), m), "k", launch, m, engine="python", reference=reference, profile=True,
        by_object=True,
    )  # fmt: skip


def test_past_an_l2_of_textures_alone(reference: bool) -> None:
    """A burst of gtx285 has 32 bytes. An atomic reads and writes its sector, a store writes it."""
    body = "RED.ADD [R4+128], R8\nSTG [R4+256], R8\nTEX.1D R12, R8, R11\nLDG R16, [R4]\nIADD3 R17, R12, R16, RZ"
    result = with_texture(body, "gtx285", reference)
    dram = {name: counts[4:8].tolist() for name, counts in result.profile["k"].dram[0].items()}
    assert dram["writes"] == [1, 1, 0, 0]
    assert dram["reads"] == [1, 0, 1, 1]
    assert by_name(result)["x"][1:] == (2, 2)
    assert by_name(result)["tex"][1:] == (1, 0)


def test_code_and_constants_have_shares_of_their_own(reference: bool) -> None:
    """Two lines of code and one of constants, which hold the parameters. Each is two bursts. Both rows lie in
    one bank, so the second line of code, asked for later, opens its row again."""
    m = replace(
        BATCHING, instruction_cache=instruction_cache(128, 4, 4, 2, 0), constant_cache=constant_lines(128, 4, 4, 2)
    )
    start = pointers(4)
    code = [*start, load(4), *[op("NOP")] * (16 - len(start) - 3), op("NOP", wait=1)]
    result = ran(code, {"x": 1024}, reference, machine=m)
    assert len(code) + 1 == 16
    assert by_name(result) == {"x": (1, 2, 0), "code": (2, 4, 0), "constants": (1, 2, 0)}
    assert of_nobody(result) == {"code": (2, 4, 0), "constants": (1, 2, 0)}


def test_spilled_values_are_told_apart(reference: bool) -> None:
    """Local memory behind the program's own 16 bytes holds spilled values."""
    start = pointers(4)
    code = [
        *start,
        op("STL", ra=255, rb=0, width=4, moff=12, rbar=1),
        op("STL", ra=255, rb=0, width=4, moff=16, rbar=1, wait=2, spill=1),
        op("NOP", wait=2),
        *(load(4, k * LINE) for k in (0, 2, 4, 6, 8)),
    ]
    words = {"x": np.zeros(1024, np.uint32)}
    made = module([*code, op("EXIT", wait=63)], params={"x": 8}, registers=32, local_bytes=16, spill_local=16)
    options: Any = {"profile": True, "by_object": True, "hazards": False, "reference": reference}
    result = go(made, buffers=words, machine=tiny(l1=True), **options)
    assert by_name(result)["local"].writes == by_name(result)["spills"].writes == 2


def test_a_line_of_several_variables_belongs_to_the_first() -> None:
    """Variables of 4, 120, 8 and 300 bytes, one behind the other, and buffers of no and of some bytes."""
    made = module([op("EXIT")])
    at = 0
    for name, size in (("a", 4), ("b", 120), ("c", 8), ("d", 300), ("e", 4)):
        made.globals.append(GlobalVar(name, at, size, 4, bytes(size)))
        at += size
    buffers = {"none": np.zeros(0, np.uint32), "some": np.zeros(33, np.uint32)}
    memory = GlobalMemory(Launch("k", (1, 1, 1), (32, 1, 1)), made, buffers, {})
    found = held_objects(memory)
    lines = {each.name: each.end - each.first for each in found}
    assert lines == {"a": 1, "b": 0, "c": 1, "d": 2, "e": 0, "none": 0, "some": 2}
    assert [each.kind for each in found] == ["variable"] * 5 + ["buffer"] * 2
    firsts = [each.first for each in found]
    assert firsts == sorted(firsts)


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("pages", ["identity", "interleaved"])
def test_what_an_earlier_launch_has_changed_is_for_no_instruction(engine: str, pages: str) -> None:
    """Each launch stores a line of x at its end. The next one writes it back to make room for lines of y."""
    start = pointers(4, 6)
    code = [*start, *(load(6, k * LINE) for k in range(0, 16, 2)), op("STG", ra=4, rb=0, width=4, wait=1)]
    made = module([*code, op("EXIT")], params={"x": 8, "y": 8}, registers=32)
    arguments = tuple(Argument(name, "buffer", "u32", (1024,)) for name in ("x", "y"))
    launch = Launch("k", (1, 1, 1), (32, 1, 1), 0, arguments)
    options = RunOptions(machine=tiny(), engine=engine, pages=pages, sms=8, hazards=False, by_object=True)
    session = Session(made, launch, launch.make_buffers(), {}, options)
    parameters = launch.parameters([("x", 0, 8), ("y", 8, 8)], session.addresses())
    for asked, writes in ((options, 0), (options, 2), (replace(options, profile=True), 2)):
        result = session.launch(launch, parameters, asked)
        assert result.stats["dram_writes"] == writes
        assert by_name(result)["y"].reads > 0
        assert by_name(result).get("x", (0, 0, 0)) == (int(writes > 0), 0, writes)
    assert of_nobody(result) == {"earlier": (1, 0, 2)}


def test_nothing_is_counted_by_object_unless_it_is_asked_for() -> None:
    """Tests have it always in the `python` engine."""
    made = module([*pointers(4), load(4), op("EXIT", wait=63)], params={"x": 8}, registers=32)
    options: Any = {"machine": BATCHING, "engine": "numba", "hazards": False}
    words = {"x": np.zeros(1024, np.uint32)}
    assert go(made, buffers=words, **options).dram_shares == ()
    assert by_name(go(made, buffers=words, by_object=True, **options)) == {"x": (1, 2, 0)}


@pytest.mark.parametrize("objects", range(9))
def test_lines_between_objects_belong_to_none(objects: int) -> None:
    """Object i has i + 1 lines from line 100 * (i + 1) on."""
    g = Gpu()
    g.held_objects = objects
    for i in range(objects):
        g.held_from[i], g.held_to[i] = 100 * (i + 1), 101 * (i + 1)
    for i in range(9):
        wanted = [Owner.FIRST + i if i < objects and 0 <= k <= i else Owner.OTHER for k in range(-1, i + 2)]
        assert [owner_of(g, 100 * (i + 1) + k) for k in range(-1, i + 2)] == wanted
