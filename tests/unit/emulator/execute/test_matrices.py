"""LDSM: what each lane gets, against a direct reading of the rows; who must execute it, and where it may read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.errors import KernelFault
from binalloc.isa.instruction import Instr
from tests.support.kits.emulator.small import address, go, module, op, store

T = np.arange(32, dtype=np.uint32)
BYTES = 1024
COUNTS = (1, 2, 4)


def filled(threads: int = 32) -> list[Instr]:
    """Each thread's words into shared memory, one after the other: word i is 40503 i + 7, by a barrier."""
    code = [op("IMAD", rd=7, ra=0, form=1, imm=4, rc=255)]
    for first in range(0, BYTES // 4, threads):
        code += [op("IMAD", rd=8, ra=0, form=1, imm=40503, rc=255),
                 op("IADD3", rd=8, ra=8, form=1, imm=7 + 40503 * first, rc=255),
                 op("STS", ra=7, rb=8, moff=4 * first, width=4, rbar=1), op("NOP", wait=2)]  # fmt: skip
    return [*code, op("BAR", form=1, imm=0)]


def load(count: int, turned: int, moff: int = 0, **more: Any) -> Instr:
    return op("LDSM.16", rd=12, ra=9, moff=moff, mform=turned, mats=COUNTS.index(count), wbar=0, **more)


def rows_at(multiple: int, plus: int = 0) -> list[Instr]:
    """R9 = the address of a row: (multiple * lane + plus) mod 64, of 16 bytes."""
    return [op("IMAD", rd=9, ra=0, form=1, imm=16 * multiple, rc=255),
            op("IADD3", rd=9, ra=9, form=1, imm=16 * plus, rc=255),
            op("LOP3", rd=9, ra=9, form=1, imm=BYTES - 16, rc=255, lut=0xC0)]  # fmt: skip


def expected(rows: np.ndarray, count: int, turned: int) -> list[np.ndarray]:
    """By register, what lanes get: element by element, as the ISA says it."""
    halves = (40503 * np.arange(BYTES // 4) + 7).astype(np.uint32).view(np.uint16)
    out = []
    for m in range(count):
        matrix = [[int(halves[8 * rows[8 * m + r] + c]) for c in range(8)] for r in range(8)]
        got = []
        for t in range(32):
            one, other = t // 4, 2 * (t % 4)
            places = [(one, other + k) for k in (0, 1)]
            pair = [matrix[c][r] if turned else matrix[r][c] for r, c in places]
            got.append(pair[0] | pair[1] << 16)
        out.append(np.array(got, np.uint32))
    return out


def run(code: list[Instr], *, threads: int = 32, shared: int = BYTES, **options: Any) -> Any:
    m = module([*address(), *code], params={"x": 8}, shared_bytes=shared, machine=options.get("machine", "gtx680"))
    return go(m, block=threads, buffers={"x": np.zeros(threads, np.uint32)}, **options)


@pytest.mark.rotates
@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("count", COUNTS)
def test_each_lane_gets_its_halves(count: int, turned: int, engine: str) -> None:
    for multiple, plus in ((1, 0), (3, 5), (0, 2)):
        want = expected((multiple * T + plus) % 64, count, turned)
        for k in range(count):
            code = [*filled(), *rows_at(multiple, plus), load(count, turned), op("NOP", wait=1), *store(12 + k)]
            got = run(code, engine=engine, check=True, race=True).buffers["x"]
            assert (got == want[k]).all(), (multiple, plus, k)


def test_the_address_may_be_overwritten_and_an_offset_is_added() -> None:
    code = [*filled(), *rows_at(1), load(4, 0, moff=256).replace(rd=8), op("NOP", wait=1)]
    for k in range(4):
        assert (run([*code, *store(8 + k)]).buffers["x"] == expected((T + 16) % 64, 4, 0)[k]).all()


def test_lanes_that_give_no_address_may_hold_any() -> None:
    ended = op("ISETP", pd0=0, ra=0, form=1, imm=8, icmp=6)
    wild = op("MOV", guard=(0, False), rd=9, form=1, imm=0xFFFFFFF3)
    code = [*filled(), *rows_at(1), ended, wild, load(1, 0), op("NOP", wait=1), *store(12)]
    assert (run(code, check=True, race=True).buffers["x"] == expected(T, 1, 0)[0]).all()
    with pytest.raises(KernelFault, match="misaligned access"):
        run([*filled(), *rows_at(1), ended, wild, load(2, 0), op("EXIT", wait=1)])


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize(("given", "message"), [
    (op("MOV", rd=9, form=1, imm=8), "misaligned access"),
    (op("MOV", rd=9, form=1, imm=BYTES), "out of bounds"),
    (op("MOV", rd=9, form=1, imm=0xFFFFFFF0), "out of bounds"),
])  # fmt: skip
def test_rows_are_whole_and_inside(given: Instr, message: str, engine: str) -> None:
    with pytest.raises(KernelFault, match=message):
        run([given, load(4, 0), op("EXIT", wait=1)], engine=engine)


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_all_live_lanes_take_part(engine: str) -> None:
    some = op("ISETP", pd0=0, ra=0, form=1, imm=31, icmp=1)
    with pytest.raises(KernelFault, match="not converged") as caught:
        run([*rows_at(1), some, load(1, 0, guard=(0, False)), op("EXIT", wait=1)], engine=engine)
    assert "lanes 0x7fffffff execute it" in str(caught.value)
    none = op("ISETP", pd0=0, ra=0, form=1, imm=0, icmp=1)
    run([*rows_at(1), none, load(1, 0, guard=(0, False)), op("EXIT", wait=1)], engine=engine)


def test_lanes_that_have_ended_are_missed_where_they_give_addresses() -> None:
    ended = [op("ISETP", pd0=0, ra=0, form=1, imm=8, icmp=6), op("EXIT", guard=(0, False))]
    code = [*filled(), *rows_at(1), *ended]
    got = run([*code, load(1, 1), op("NOP", wait=1), *store(12)]).buffers["x"]
    assert (got[:8] == expected(T, 1, 1)[0][:8]).all()
    with pytest.raises(KernelFault, match="not converged"):
        run([*code, load(2, 0), op("EXIT", wait=1)])


@pytest.mark.parametrize("turned", [0, 1])
def test_poison_comes_from_the_words_that_a_lane_gets_halves_of(turned: int) -> None:
    """One word is missing: of the turned matrix eight lanes want halves of it."""
    index = [op("SHF", rd=9, ra=0, form=1, imm=4, rc=255), op("SHF", rd=7, ra=0, form=1, imm=2, rc=255)]
    write = op("STS", ra=7, rb=0, width=4, rbar=1, guard=(0, False))
    use = [op("NOP", wait=2), load(1, turned), op("NOP", wait=1), *store(12)]
    for word in (0, 13, 31):
        but = op("ISETP", pd0=0, ra=0, form=1, imm=word, icmp=5)
        row, column = divmod(word, 4)
        gets = (column == T // 8) & (row // 2 == T % 4) if turned else word == T
        lanes = [t for t in range(32) if gets[t]]
        with pytest.raises(KernelFault, match="uninitialised") as caught:
            run([*index, but, write, *use], shared=512, check=True)
        assert f"(lanes {sum(1 << t for t in lanes):#x})" in str(caught.value)


def test_rows_that_another_warp_wrote_are_a_race_without_a_barrier() -> None:
    index = [op("SHF", rd=9, ra=0, form=1, imm=4, rc=255), op("LOP3", rd=9, ra=9, form=1, imm=0x70, rc=255, lut=0xC0),
             op("SHF", rd=7, ra=0, form=1, imm=2, rc=255), op("STS", ra=7, rb=0, width=4, rbar=1)]  # fmt: skip
    for between, bad in ((op("NOP", wait=2), True), (op("BAR", form=1, imm=0, wait=2), False)):
        code = [*index, between, load(1, 0), op("EXIT", wait=1)]
        if bad:
            with pytest.raises(KernelFault, match="race"):
                run(code, threads=64, race=True)
        else:
            run(code, threads=64, race=True)


@pytest.mark.parametrize(("count", "stride", "passes"), [
    (1, 16, 1), (2, 16, 2), (4, 16, 4),  # rows side by side
    (4, 144, 4), (2, 80, 2), (4, 48, 4),  # rows apart by an odd number of rows
    (1, 32, 2), (4, 32, 8), (2, 64, 8), (1, 128, 8), (4, 128, 32), (4, 0, 4), (4, 256, 32),
])  # fmt: skip
def test_a_matrix_takes_a_pass_for_each_row_of_a_bank_that_its_rows_want(count: int, stride: int, passes: int) -> None:
    code = [op("IMAD", rd=9, ra=0, form=1, imm=stride, rc=255), load(count, 0), op("EXIT", wait=1)]
    stats = run(code, shared=8192, machine="a100").stats
    banks = [max(len({w // 32 for r in range(8) for w in range(stride * (8 * m + r) // 4, stride * (8 * m + r) // 4 + 4)
                      if w % 32 == b}) for b in range(32)) for m in range(count)]  # fmt: skip
    assert sum(banks) == passes == stats["shared_passes"]
    assert stats["bank_conflict_cycles"] == passes - count
    assert (stats["user_shared_loads"], stats["user_shared_load_bytes"]) == (1, 128 * count)
