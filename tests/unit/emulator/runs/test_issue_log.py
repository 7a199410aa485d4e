"""What the log of a run says, against what the run counted, what an onlooker saw, and what the program must do."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs import issue_log
from binalloc.emulator.runs.issue_log import Batch, IssueLog, Listener
from binalloc.emulator.state.layout import LANES
from binalloc.emulator.state.parts.log import LogColumn, LogKind
from binalloc.errors import Refused
from binalloc.models.machines.reader import load_machine
from tests.support.generator.emulator.waits import WORDS, waiting_program
from tests.support.kits.emulator.issue_log import Issue, logged_issues
from tests.support.kits.emulator.run_log import ALL, Row, logged
from tests.support.kits.emulator.small import address, go, module, op

WORDS_OF_X = {"x": np.arange(WORDS, dtype=np.uint32)}


def waiting(seed: int, **options: Any) -> Any:
    """A run of a random kernel that waits for all there is."""
    shape: dict[str, Any] = {"grid": 5, "block": 96, "sms": 2, **options}
    return logged(waiting_program(seed, "gtx680"), buffers=WORDS_OF_X, hazards=False, **shape)


def of(rows: list[Row], kind: str) -> list[Row]:
    return [row for row in rows if row.kind == kind]


@pytest.mark.parametrize("seed", range(3))
def test_every_instruction_that_was_counted_has_its_row(seed: int) -> None:
    with logged_issues() as seen:
        result, rows = waiting(seed)
    issues = of(rows, "issue")
    assert len(issues) == result.stats["warp_instructions"]
    assert sum(row.mask.bit_count() for row in issues) == result.stats["thread_instructions"]
    words = Counter(row.pc for row in issues)
    assert [words[pc] for pc in range(len(result.counts["k"]))] == result.counts["k"].tolist()
    assert all(row.mask & ~row.detail == 0 for row in issues)
    width = load_machine("gtx680").schedulers.count
    turns = {Issue(row.sm, row.warp % width, row.cycle, row.warp // width): None for row in issues}
    assert list(turns) == sorted(seen, key=lambda i: (i.cycle, i.sm, i.scheduler))
    assert len(issues) - len(turns) == result.stats["dual_issues"]


@pytest.mark.parametrize("seed", range(3))
def test_blocks_and_warps_come_and_go_once(seed: int) -> None:
    result, rows = waiting(seed)
    came, went, ended = of(rows, "block"), of(rows, "block_end"), of(rows, "warp_end")
    assert [row.block for row in came] == list(range(5))
    assert all(row.mask == 3 and row.warp == 3 * row.detail for row in came)
    assert sorted(row.block for row in went) == list(range(5))
    assert sorted((row.block, row.in_block) for row in ended) == [(b, w) for b in range(5) for w in range(3)]
    for block in range(5):
        mine = [row for row in rows if row.block == block and row.kind not in ("hold", "go_on")]
        assert (mine[0].kind, mine[-1].kind) == ("block", "block_end")
    last = {row.block: row.cycle for row in of(rows, "issue")}  # a block that goes as it issues was there in that cycle
    ends = {row.block: row.cycle + (last[row.block] == row.cycle) for row in went}
    resident = sum(row.mask * (ends[row.block] - row.cycle) for row in came)
    assert resident == result.stats["warp_cycles"]


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(4))
def test_who_waits_issues_nothing_until_it_may(seed: int) -> None:
    _, rows = waiting(seed)
    state: dict[tuple[int, int], str] = {}
    until: dict[tuple[int, int], int] = {}
    for row in rows:
        key = row.sm, row.warp
        if row.kind == "issue":
            assert state.get(key, "") == ""
            assert row.cycle >= until.get(key, 0)
        if row.kind in ("scoreboard", "barrier"):
            assert state.get(key, "") == ""
            state[key] = row.kind
        if row.kind in ("resume", "open"):
            assert state.pop(key) == {"resume": "scoreboard", "open": "barrier"}[row.kind]
        if row.kind == "open":
            until[key] = row.detail
            assert row.detail > row.cycle
    assert not state
    assert of(rows, "scoreboard")


def test_rows_are_in_the_order_of_cycles_and_sms_whatever_a_quantum_is() -> None:
    for drain_at in (1, 7, 1 << 14):
        _, rows = waiting(1, drain_at=drain_at)
        assert [(r.cycle, r.sm) for r in rows] == sorted((r.cycle, r.sm) for r in rows)
        if drain_at == 1:
            first = rows
    assert rows == first


def test_batches_are_bounded() -> None:
    sizes: list[int] = []
    log = IssueLog([Listener(lambda batch: sizes.append(len(batch)))], drain_at=20)
    go(waiting_program(2, "gtx680"), buffers=WORDS_OF_X, hazards=False, grid=4, block=96, log=log)
    assert max(sizes) <= 20 + issue_log._marks(log.device)[0]  # type: ignore[arg-type]
    assert len(sizes) > 10


def test_a_log_changes_nothing() -> None:
    plain = go(waiting_program(3, "gtx680"), buffers=WORDS_OF_X, hazards=False, grid=4, block=96)
    watched, _ = waiting(3, grid=4, sms=1)
    assert (plain.cycles, plain.stats) == (watched.cycles, watched.stats)


def test_nothing_of_the_lanes_is_kept_that_nobody_wants() -> None:
    batches: list[Batch] = []
    go(waiting_program(2, "gtx680"), buffers=WORDS_OF_X, hazards=False, log=IssueLog([Listener(batches.append)]))
    assert all(batch.addresses.shape == (0, LANES) for batch in batches)
    assert all((batch.column(LogColumn.LANES) == -1).all() for batch in batches)


THREAD = {t: t for t in range(LANES)}


def accesses(*body: Any, **options: Any) -> list[Row]:
    """The memory instructions, but for constants, of a warp with its thread in R0, 4 * thread in R14, x[thread] in
    R4:R5."""
    code = [*address(), op("IMAD", rd=14, ra=0, form=1, imm=4, rc=255), *body, op("EXIT")]
    made = module(code, params={"x": 8}, shared_bytes=512, local_bytes=16)
    _, rows = logged(made, buffers={"x": np.zeros(256, np.uint32)}, **options)
    return [row for row in rows if row.addresses]


def test_addresses_are_those_of_each_space() -> None:
    rows = accesses(
        op("STG", ra=4, rb=0, width=4, moff=8), op("STS", ra=14, rb=0, width=4, moff=128),
        op("STL", ra=255, rb=0, width=4, moff=4), op("LDC", rd=8, ra=255, width=4, cbank=0, coff=4, wbar=0),
    )  # fmt: skip
    assert [row.mask for row in rows] == [ALL] * 4
    base = 0x10000000 + 8
    assert rows[0].addresses == {t: base + 4 * t for t in THREAD}
    assert rows[1].addresses == {t: 128 + 4 * t for t in THREAD}
    assert rows[2].addresses == dict.fromkeys(THREAD, 4)
    assert rows[3].addresses == dict.fromkeys(THREAD, 4)


def test_a_guard_keeps_lanes_out_of_the_mask() -> None:
    rows = accesses(
        op("ISETP", pd0=0, ra=0, form=1, imm=3, icmp=1), op("STG", ra=4, rb=0, width=4, guard=(0, False)),
        op("STG", ra=4, rb=0, width=4, guard=(7, True)),
    )  # fmt: skip
    assert [(row.mask, row.detail) for row in rows] == [(7, ALL)]


def test_data_is_what_is_stored_and_what_atomics_are_given() -> None:
    rows = accesses(
        op("MOV", rd=8, rb=0), op("IADD3", rd=9, ra=0, form=1, imm=100, rc=255), op("MOV", rd=10, rb=0),
        op("MOV", rd=11, rb=9),
        op("STS", ra=255, rb=8, width=6, guard=(7, False)), op("STS", ra=14, rb=9, width=1),
        op("STS", ra=14, rb=255, width=5, guard=(7, True)),
        op("ATOMS", rd=12, ra=14, rb=8, rc=9, aop=9, wbar=1), op("ATOMG", rd=12, ra=4, rb=8, aop=0, atyp=2, wbar=2,
        guard=(7, True)), op("LDS", rd=12, ra=14, width=4, wbar=3, wait=6),
    )  # fmt: skip
    assert rows[0].data == {t: [t, t + 100, t, t + 100] for t in THREAD}
    assert {t: words[0] for t, words in rows[1].data.items()} == {t: t + 100 for t in THREAD}
    assert {t: (words[0], words[2]) for t, words in rows[2].data.items()} == {t: (t, t + 100) for t in THREAD}
    assert len(rows) == 4


def test_stored_zeros_are_zeros() -> None:
    assert set(map(tuple, accesses(op("STG", ra=4, rb=255, width=4))[0].data.values())) == {(0, 0, 0, 0)}


def test_lines_that_find_no_room_hold_the_path() -> None:
    m = load_machine("gtx680")
    narrow = replace(m, l1=replace(m.l1, mshrs=2))
    code = [*address(), op("IMAD.WIDE", rd=4, ra=0, form=1, imm=128, rc=2)]
    loads = [op("LDG", rd=8, ra=4, width=4, wbar=1), op("LDG", rd=9, ra=4, width=4, moff=4, wbar=1)]
    made = module([*code, *loads, op("EXIT", wait=2)], params={"x": 8}, registers=16)
    _, rows = logged(made, buffers={"x": np.zeros(1024, np.uint32)}, machine=narrow)
    held = [(row.kind, row.warp) for row in rows if row.kind in ("hold", "go_on")]
    assert held == [("hold", 0), ("go_on", 0)] * 2
    at = {row.kind: row.cycle for row in rows if row.kind in ("hold", "go_on")}
    later = [row for row in of(rows, "issue") if row.pc == len(code) + 1]
    first = next(row.cycle for row in rows if row.kind == "go_on")
    assert [row.cycle >= first for row in later] == [True]
    assert at["go_on"] > at["hold"]


def test_a_device_that_could_fill_the_log_in_a_cycle_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issue_log, "LOG_ROWS", 100)
    with pytest.raises(Refused, match="too large to be logged"):
        waiting(0)


def test_the_kinds_have_the_numbers_of_their_names() -> None:
    assert LogKind.names[LogKind.GO_ON] == "go_on"
    assert LogColumn.names[-1] == "lanes"
