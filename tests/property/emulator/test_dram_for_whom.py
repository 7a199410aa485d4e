"""For whom DRAM works, in random runs: by object exactly what the log of commands says, by instruction within what the
log of commands and that of accesses leave open. Both engines and both modes agree, with pages and without. What the
counts add up to is looked at after each run (`conservation`)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.pages.physical import physical
from binalloc.emulator.pages.table import PAGES
from binalloc.emulator.pages.tables import offset_of, place_in_table
from binalloc.emulator.runs.issue_log import Batch, IssueLog, Listener
from binalloc.emulator.runs.run import Result, run
from binalloc.emulator.state.memory_layout import (
    BANK_SHIFT,
    DRAM_LOG_WORDS,
    FIRST_CODE_LINE,
    FIRST_CONSTANT_LINE,
    FIRST_LOCAL_LINE,
    LINE_SHIFT,
    Command,
    LogWord,
    Memory,
)
from binalloc.emulator.state.records import Gpu
from binalloc.errors import LimitHit, Refused
from binalloc.isa.instruction import Module
from binalloc.isa.sets.table import view
from binalloc.launch.types import Launch
from binalloc.models.machines.reader import load_machine
from tests.property.emulator.test_profiles_agree import by_instruction
from tests.support.generator.emulator.crowds import BANK, crowd_launch, crowd_program
from tests.support.generator.emulator.machines import odd_machine
from tests.support.kits.emulator.dram_commands import ROOM, logging_devices
from tests.support.kits.emulator.run_log import Row, plain
from tests.support.kits.machines import with_small_caches
from tests.support.oracles.emulator.dram_shares import Told, bounds, owners, touched

LIMIT = 12_000
MACHINES = ("gtx285", "gtx680", "c2075", "v100", "gpgpusim-sharing", "gem5gpu-batching")
OF_REQUESTS = (Command.READ, Command.WRITE, Command.ACTIVATE)
NAMES = {"activate": "activations", "read": "reads", "write": "writes"}


def drawn(seed: int, pages: bool) -> tuple[Module, Launch, dict[str, Any]]:
    """A random program, its launch, and how it is run: on a machine with pages, on another one, or on one that nobody
    builds. Caches are mostly so small that lines are written back."""
    rng = random.Random(f"shares {seed} {pages}")
    m = load_machine("gem5gpu-batching" if pages else rng.choice(MACHINES))
    if not pages and seed % 4 == 0:
        m = odd_machine(rng)
    elif rng.randrange(2):
        m = with_small_caches(m, rng)
    if rng.randrange(4):
        sets, ways = rng.choice(((1, 1), (2, 2), (1, 8)))
        m = replace(m, l2=replace(m.l2, sets=sets, ways=ways, bytes=m.l2.slices * sets * ways * 128))
    if rng.randrange(2):
        m = replace(m, l1=replace(m.l1, sets=1, ways=2, bytes=256))
    way = rng.choice((*PAGES, "coloured:channels=one", "bandwidth:within=coloured")) if pages else "identity"
    sms = m.chip.sms if "coloured" in way else min(rng.choice((1, 2, 3)), m.chip.sms)
    program = crowd_program(rng, m.name)
    launch = crowd_launch(rng, rng.choice((31, 64, 200)), rng.choice((1, 2, 3)))
    return program, launch, {"machine": m, "sms": sms, "pages": way, "max_cycles": LIMIT, "hazards": False}


def ran(program: Module, launch: Launch, options: dict[str, Any], **more: Any) -> Result | None:
    """The run, to its end or to the limit; None where no block fits."""
    try:
        return run(program, "k", launch, profile=True, by_object=True, **(options | more))
    except LimitHit as stopped:
        return cast(Result, stopped.partial)
    except Refused:
        return None


def told(device: LaunchedDevice) -> Iterator[Told]:
    """The commands that are for requests."""
    assert device.get("dram_lost") == 0
    assert device.get("dram_logged") < ROOM
    log = device.memories.dram_log.reshape(-1, DRAM_LOG_WORDS)[: device.get("dram_logged")].tolist()
    writes = {row[LogWord.AGE]: row[LogWord.COMMAND] == Command.WRITE for row in log
              if row[LogWord.COMMAND] in (Command.READ, Command.WRITE)}  # fmt: skip
    for row in log:
        if row[LogWord.COMMAND] in OF_REQUESTS:
            age = row[LogWord.AGE]
            if age not in writes:  # the run ends behind the activation: which kind of request it is for is not logged
                writes[age] = bool(device.g[0].writes[request_of(device, age)])  # type: ignore[union-attr]
            memory = Memory.FAR if row[LogWord.CHANNEL] >= device.get("dram_channels") else Memory.NEAR
            yield Told(memory, Command.names[row[LogWord.COMMAND]], row[LogWord.LINE], writes[age])


def request_of(device: LaunchedDevice, age: int) -> int:
    """The row of the request of that age, which still waits."""
    ages = cast(Any, device.g[0]).age
    return next(r for r in range(device.get("requests")) if ages[r] == age)


def accesses(device: LaunchedDevice, rows: list[Row]) -> Iterator[tuple[int, str, int]]:
    """Word, opcode and line of each access; of texture fetches, whose addresses are not logged, all lines of the
    texture."""
    code = device.kernel.instrs
    width = device.get("local_total") // 4
    resident = device.get("resident_limit") * device.get("warps_per_block")
    textures = [each for each in device.objects if each.kind == "texture"]
    for row in rows:
        if row.kind != "issue" or not row.mask:
            continue
        instr = code[row.pc]
        name = instr.op.name
        if name == "TEX":
            yield from ((row.pc, name, line) for each in textures for line in range(each.first, each.end))
        for address in row.addresses.values():
            if name in ("LDL", "STL"):
                first = FIRST_LOCAL_LINE + (row.sm * resident + row.warp) * width + address // 4
                words = max(1, view(instr).memory.size // 4)  # type: ignore[union-attr]
                yield from ((row.pc, name, first + k) for k in range(words))
            else:
                yield row.pc, name, address >> LINE_SHIFT


def placed(device: LaunchedDevice, line: int) -> int | None:
    """The line that a line is in DRAM, None if it has no page yet."""
    g = cast(Gpu, device.g[0])
    if g.paged == 0:
        return line
    if g.page_key[place_in_table(g, offset_of(g, line) >> g.page_shift)] == 0:
        return None
    return physical(g, 0, line)


def lines_of_memory(device: LaunchedDevice, rows: list[Row]) -> dict[int, int]:
    """By line of DRAM the line of memory, of objects, code, constants and of what the accesses touch."""
    lines = {line for each in device.objects for line in range(each.first, each.end)}
    lines |= set(range(FIRST_CODE_LINE, FIRST_CODE_LINE + device.get("code_words") // 8 + 1))
    lines |= set(range(FIRST_CONSTANT_LINE, FIRST_CONSTANT_LINE + (BANK + 1 << BANK_SHIFT - LINE_SHIFT)))
    lines |= {line for _, _, line in accesses(device, rows)}
    return {home: line for line in lines if (home := placed(device, line)) is not None}


def owner(device: LaunchedDevice, line: int) -> str:
    """The object that has the line, or the kind of other memory."""
    for each in device.objects:
        if each.first <= line < each.end:
            return each.name
    if line >= FIRST_CONSTANT_LINE:
        return "constants"
    return "code" if line >= FIRST_CODE_LINE else "local" if line >= FIRST_LOCAL_LINE else "other"


@pytest.mark.parametrize("pages", [False, True], ids=["identity", "pages"])
@pytest.mark.parametrize("seed", range(16))
def test_counts_are_those_of_the_logs(seed: int, pages: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    program, launch, options = drawn(seed, pages)
    devices = logging_devices(monkeypatch)
    batches: list[Batch] = []
    log = IssueLog([Listener(batches.append, addresses=True)])
    result = ran(program, launch, options, engine="python", log=log)
    if result is None:
        pytest.skip("no block fits")
    (device,) = devices
    rows = plain(batches)
    memory = lines_of_memory(device, rows)
    commands = [each._replace(line=memory.get(each.line, each.line)) for each in told(device)]
    by_owner = owners(commands, lambda line: owner(device, line))
    for share in result.dram_shares:
        for m, counts in enumerate(share.counts):
            for what, name in NAMES.items():
                assert getattr(counts, name) == by_owner[m, share.name or share.kind, what], share
    least, most = bounds(commands, touched(accesses(device, rows)))
    assert sum(by_owner.values()) == sum(sum(counts) for share in result.dram_shares for counts in share.counts)
    for m, dram in enumerate(result.profile["k"].dram):
        for what, name in NAMES.items():
            for word, count in enumerate(dram[name].tolist(), device.kernel.address):
                assert least[m, word, what] <= count <= most[m, word, what], (m, word, what)


@pytest.mark.parametrize("pages", [False, True], ids=["identity", "pages"])
@pytest.mark.parametrize("seed", range(16, 32))
def test_modes_and_engines_agree(seed: int, pages: bool) -> None:
    program, launch, options = drawn(seed, pages)
    fast, slow, plain_one = (
        ran(program, launch, options, engine=engine, reference=reference)
        for engine, reference in (("numba", False), ("numba", True), ("python", False))
    )
    if fast is None or slow is None or plain_one is None:
        pytest.skip("no block fits")
    assert by_instruction(fast) == by_instruction(slow) == by_instruction(plain_one)
    assert np.array_equal(fast.buffers["x"], plain_one.buffers["x"])
