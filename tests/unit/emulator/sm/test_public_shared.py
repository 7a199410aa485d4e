"""Shared memory that blocks get as they run, exactly: addresses, resident blocks, order, static management, faults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.device.device import Device
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import Result
from binalloc.errors import KernelFault, Refused, UsageError
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.public import GT200, expected, figures, go, kernel, ready, section

KB = 1024
BOTH = pytest.mark.parametrize("engine", ["python", "numba"])


def regions(size: int, private: int, result: str = "R7") -> str:
    return kernel(section(hex(size), result), private=private)


# -- how many blocks run, and where their memory is (multiplex.md: 7 + 2, 4 + 2; Figs. 9 and 10)


@pytest.mark.rotates
@BOTH
@pytest.mark.parametrize(
    ("size", "private", "resident", "starts"),
    [(2 * KB, 7 * KB, 2, {14336}), (2 * KB, 4 * KB, 3, {12288, 14336}), (8376, 0, 8, {0}), (8376, 512, 8, {4096})],
)
def test_resident_blocks_and_starting_addresses(
    engine: str, size: int, private: int, resident: int, starts: set[int]
) -> None:
    found, addresses = go(regions(size, private, "R5"), 8, engine=engine)
    assert found.blocks_per_sm == resident
    assert set(addresses.ravel().tolist()) == starts
    assert all(len(set(block.tolist())) == 1 for block in addresses)
    _, values = go(regions(size, private), 8, engine=engine)
    assert np.array_equal(values, expected(8, 64))


@BOTH
def test_of_two_blocks_that_do_not_fit_together_one_waits(engine: str) -> None:
    found, values = go(regions(8376, 0), 2, engine=engine, over=1)
    assert found.blocks_per_sm == 2
    assert np.array_equal(values, expected(2, 64))
    allocations, waits, cycles = figures(found)
    assert (allocations, waits) == (2, 1)
    assert found.stats["stalls"]["shared_full"] > 0
    assert cycles > 0
    again = [figures(go(regions(8376, 0), 2, engine=engine, over=1, **mode)[0]) for mode in ({}, {"reference": True})]
    assert again == [(2, 1, cycles)] * 2


@BOTH
def test_over_counts_from_static_management(engine: str) -> None:
    code = ready(regions(8376, 0))
    assert [go(code, 8, engine=engine, over=n)[0].blocks_per_sm for n in (0, 1, 2, 3, 20)] == [1, 2, 3, 4, 8]
    assert go(code, 8, engine=engine, over=0, blocks_per_sm=1)[0].stats["shared_waits"] == 0
    with pytest.raises(UsageError, match="1 to 2"):
        go(code, 8, engine=engine, over=1, blocks_per_sm=3)
    with pytest.raises(UsageError, match="at least 0"):
        go(code, 8, engine=engine, over=-1)


def test_a_kernel_without_the_instructions_runs_as_before() -> None:
    body = "    STS.32 [R4], R9\n    BAR.SYNC 0\n    LDS.32 R7, [R4]\n    STG.32 [R2], R7\n"
    code = ready(kernel(body, private=4096))
    plain = go(code, 8)[0]
    for options in ({"over": 0}, {"over": 5}, {"smm": "static"}):
        other = go(code, 8, **options)[0]
        assert (other.blocks_per_sm, other.stats) == (plain.blocks_per_sm, plain.stats)
    assert (plain.blocks_per_sm, figures(plain)) == (4, (0, 0, 0))


def test_no_block_fits_where_private_and_public_part_are_too_large_together() -> None:
    with pytest.raises(Refused, match="17,408 bytes of shared memory"):
        go(regions(9 * KB, 8 * KB))


# -- first come, first served


def one_after_another(size: str, rounds: int) -> str:
    """Blocks that ask one after the other, some hundred cycles apart. Each holds what it gets for so many rounds of a
    loop and leaves the time at which it got it."""
    delay = """
    IMAD R10, R1, 0xffffffec, RZ
later:
    IADD3 R10, R10, 0x1, RZ
    ISETP.LT.AND P0, PT, R10, 0x0, PT
    @P0 BRA later
"""
    held = f"""
    CS2R R12, SR_CLOCKLO
    MOV R10, RZ
hold:
    IADD3 R10, R10, 0x1, RZ
    ISETP.LT.AND P0, PT, R10, {rounds:#x}, PT
    @P0 BRA hold
"""
    return kernel(delay + section(size, "R12", held))


@pytest.mark.rotates
@BOTH
@pytest.mark.parametrize(("size", "at_once"), [("0x2000", 2), ("0x1400", 3), ("0x3000", 1)])
def test_waiting_blocks_get_memory_in_the_order_in_which_they_asked(engine: str, size: str, at_once: int) -> None:
    for mode in ({}, {"reference": True}):
        found, times = go(one_after_another(size, 100), 7, engine=engine, **mode)
        got = times.min(axis=1).astype(int).tolist()
        assert got == sorted(got)
        assert figures(found)[:2] == (7, 7 - at_once)
        assert found.stats["shared_wait_cycles"] > 7 * 100


@BOTH
def test_a_block_that_ends_while_it_holds_gives_it_back(engine: str) -> None:
    body = "    BAR.ALLOC R5, 0x3000\n    IADD3 R6, R4, R5, RZ\n    STS.32 [R6], R9\n    LDS.32 R7, [R6]\n"
    for options in ({}, {"reference": True}, {"sms": 3}):
        found, values = go(kernel(body + "    STG.32 [R2], R7\n"), 9, engine=engine, **options)
        assert np.array_equal(values.ravel(), np.arange(9 * 64))
        assert figures(found)[0] == 9
        assert figures(found)[1] > 0


def test_warps_that_have_ended_are_not_waited_for() -> None:
    body = (
        "    ISETP.GE.AND P0, PT, R0, 0x20, PT\n    @P0 EXIT\n    BAR.ALLOC R5, 0x800\n    BAR.FREE R5\n"
        "    STG.32 [R2], R5\n"
    )
    _, values = go(kernel(body, private=4096), 2)
    assert values[0, :32].tolist() == [8192] * 32
    assert not values[:, 32:].any()


# -- sizes that only the run shows, and static management

BYTES = ".param out, 8\n.param bytes, 4"


def sized(private: int, operand: str) -> str:
    return kernel("    MOV R11, c[0][bytes]\n" + section(operand, "R5"), private=private, params=BYTES)


@pytest.mark.rotates
@BOTH
@pytest.mark.parametrize("operand", ["R11", "c[0][bytes]"])
def test_a_size_that_only_the_run_shows(engine: str, operand: str) -> None:
    found, addresses = go(sized(1024, operand), 8, engine=engine, values=(3 * KB,))
    assert found.blocks_per_sm == 8
    assert set(addresses.ravel().tolist()) == {8 * KB, 11 * KB}
    with pytest.raises(KernelFault) as caught:
        go(sized(1536, operand), 8, engine=engine, values=(7 * KB,))
    text = str(caught.value)
    assert "more shared memory is allocated than the SM has" in text
    assert "7,168 bytes, where the private parts of the blocks take the first 12,288; expected at most 4,096" in text
    for options in ({"smm": "static"}, {"over": 1}):
        with pytest.raises(Refused, match="as an immediate"):
            go(sized(1024, operand), 8, engine=engine, values=(3 * KB,), **options)


@pytest.mark.rotates
@BOTH
@pytest.mark.parametrize(("size", "private", "resident"), [(2048, 4096, 2), (8376, 0, 1), (2000, 100, 6)])
def test_static_management(engine: str, size: int, private: int, resident: int) -> None:
    base = -(-private // 128) * 128
    found, addresses = go(regions(size, private, "R5"), 6, engine=engine, smm="static")
    assert (found.blocks_per_sm, set(addresses.ravel().tolist())) == (resident, {base})
    found, values = go(regions(size, private), 6, engine=engine, smm="static")
    assert np.array_equal(values, expected(6, 64))
    assert figures(found) == (0, 0, 0)
    assert found.stats["stalls"]["shared_full"] == 0
    plain = section(hex(size)).replace("BAR.ALLOC R5, " + hex(size), f"BAR.SYNC 0\n    MOV R5, {base:#x}")
    plain = kernel(plain.replace("BAR.FREE R5", "BAR.SYNC 0"), private=base + size)
    assert np.array_equal(go(plain, 6, engine=engine)[1], values)


def test_static_management_has_slots_behind_the_memory_of_bar_alloc() -> None:
    body = section("0x800") + "    S2R R6, SR_SLOTBASE\n    STG.32 [R2], R6\n"
    text = kernel(body, private=100).replace(".shared own", ".slots 256\n.shared own")
    assert go(text, 1, smm="static")[1][0, 0] == 128 + 2048
    assert go(text, 1)[1][0, 0] == 128


def test_management_has_two_names() -> None:
    with pytest.raises(UsageError, match="dynamic or static"):
        go(regions(2048, 0), smm="none")
    assert RunOptions().smm == "dynamic"


# -- accesses


def test_matrices_are_loaded_from_public_memory() -> None:
    h100 = load_machine("h100")
    inside = """
    SHF.L R6, R0, 0x4, RZ
    LOP3 R6, R6, 0x7f, RZ, 0xc0
    IADD3 R6, R6, R5, RZ
    LDSM.16.M88 R12, [R6]
"""
    text = kernel(section("0x800", "R12", inside), private=1024)
    _, values = go(text, 2, block=64, machine=h100)
    plain = section("0x800", "R12", inside).replace("BAR.ALLOC R5, 0x800", "MOV R5, 0x400")
    _, same = go(kernel(plain.replace("BAR.FREE R5", "BAR.SYNC 0"), private=3072), 2, block=64, machine=h100)
    assert np.array_equal(values, same)
    assert len(set(values.ravel().tolist())) > 32


@BOTH
def test_checks_know_what_was_got(engine: str) -> None:
    clean = ready(regions(8376, 0))
    go(clean, 4, engine=engine, check=True, race=True)
    fresh = kernel("    BAR.ALLOC R5, 0x800\n    IADD3 R6, R4, R5, RZ\n    LDS.32 R7, [R6]\n    BAR.FREE R5\n" + LEAVE)
    go(fresh, 4, engine=engine)
    with pytest.raises(KernelFault, match="uninitialised value used"):
        go(kernel(section("0x20b8") + fresh_again()), 4, engine=engine, check=True)
    for body in ("    BAR.ALLOC R5, R13\n", "    BAR.ALLOC R5, 0x800\n    BAR.FREE R14\n"):
        with pytest.raises(KernelFault, match="its operand depends on a value that nobody wrote"):
            go(kernel("    @P6 MOV R13, 0x4\n    @P6 MOV R14, 0x0\n" + body), 1, engine=engine, check=True)
    racing = section("0x800").replace("    BAR.SYNC 0\n", "")
    with pytest.raises(KernelFault, match="shared-memory race"):
        go(kernel(racing), 4, engine=engine, race=True)


LEAVE = "    STG.32 [R2], R7\n"


def fresh_again() -> str:
    """Code that reads memory that the block has got, but not written since."""
    return "    BAR.ALLOC R5, 0x20b8\n    IADD3 R6, R4, R5, RZ\n    LDS.32 R7, [R6]\n    BAR.FREE R5\n" + LEAVE


# -- faults, with holder and line


def fault(body: str, grid: int = 2, private: int = 0, **options: Any) -> str:
    with pytest.raises(KernelFault) as caught:
        go(kernel(body + "    STG.32 [R2], R5\n", private=private), grid, **options)
    return str(caught.value)


GET = "    BAR.ALLOC R5, 0x800\n"


@BOTH
def test_accesses_outside_of_what_is_held(engine: str) -> None:
    text = fault("    STS.32 [R4+0x2000], R9\n" + GET + "    BAR.FREE R5\n", 1, 4096, engine=engine)
    assert "address 0x2000, 4 bytes; expected below 0x1000, the end of the block's static and dynamic shared" in text
    assert "the block holds nothing more" in text
    text = fault(GET + "    STS.32 [R5+0x7fe], R9\n", 1, 4096, engine=engine)
    assert "misaligned" in text
    text = fault(GET.replace("0x800", "0x7fe") + "    STS.32 [R5+0x7fc], R9\n", 1, 4096, engine=engine)
    assert "kernel k, k+8 `STS.32 [R5+0x7fc], R9`, SM 0, block 0, warp 0, lane 0, thread 0" in text
    assert "found address 0x17fc, 4 bytes" in text
    assert "or 0x1000 to 0x17fd, got in k+7 `BAR.ALLOC R5, 0x7fe`" in text


@BOTH
def test_an_access_after_the_free(engine: str) -> None:
    text = fault(GET + "    BAR.FREE R5\n    LDS.32 R7, [R5]\n", 1, 4096, engine=engine)
    assert "k+9 `LDS.32 R7, [R5]`" in text
    assert "0x1000 was given back in k+8 `BAR.FREE R5`" in text


@BOTH
def test_an_access_to_what_another_block_holds(engine: str) -> None:
    """Block 1 asks second and looks into the memory of block 0, which holds it until the end."""
    spin = "    MOV R10, RZ\nw:\n    IADD3 R10, R10, 0x1, RZ\n    ISETP.LT.AND P0, PT, R10, 0x200, PT\n    @P0 BRA w\n"
    text = fault(GET + "    ISETP.EQ.AND P1, PT, R1, 0x1, PT\n    @P1 LDS.32 R7, [R4+0x1000]\n" + spin, 2, 2048,
                 engine=engine)  # fmt: skip
    assert "block 1, warp" in text
    assert "address 0x1000, 4 bytes, in what block 0 holds (0x1000 to 0x17ff, got in k+7 `BAR.ALLOC R5, 0x800`)" in text
    assert "or 0x1800 to 0x1fff, got in k+7" in text
    text = fault(GET + "    MOV R6, R5\n    ISETP.EQ.AND P1, PT, R1, 0x1, PT\n    @P1 MOV R6, 0x1000\n"
                 "    @P1 BAR.FREE R6\n" + spin, 2, 2048, engine=engine)  # fmt: skip
    assert "shared memory is freed that the block does not hold" in text
    assert "found address 0x1000, which block 0 holds (0x1000 to 0x17ff, got in k+7" in text
    assert "expected 0x1800, what the block got in k+7" in text


@BOTH
def test_faults_of_the_two_instructions(engine: str) -> None:
    text = fault(GET + "    BAR.ALLOC R6, 0x800\n", engine=engine)
    assert "shared memory is allocated by a block that holds some" in text
    assert "k+8 `BAR.ALLOC R6, 0x800`, SM 0, block 0, warp" in text
    assert "the block holds 0x0 to 0x7ff since k+7 `BAR.ALLOC R5, 0x800`" in text
    text = fault(GET + "    BAR.FREE R5\n    BAR.ALLOC R5, 0x400\n", engine=engine)
    assert "found 1,024 bytes; expected 2,048 bytes, the one size of the launch" in text
    text = fault("    BAR.ALLOC R5, R0\n", engine=engine)
    assert "found 0 bytes; expected at least 1 byte" in text
    text = fault("    IADD3 R6, R0, 0x4, RZ\n    BAR.ALLOC R5, R6\n", engine=engine)
    assert "lane 1, thread 1" in text
    assert "found 5 bytes; expected 4 bytes" in text
    text = fault("    BAR.FREE R0\n", engine=engine)
    assert "found address 0x0; expected an address that BAR.ALLOC gave; the block holds nothing" in text
    text = fault(GET + "    BAR.FREE R5\n    BAR.FREE R5\n", engine=engine)
    assert "found address 0x0, which the block gave back in k+8 `BAR.FREE R5`; expected" in text


@BOTH
def test_faults_as_barriers(engine: str) -> None:
    text = fault("    ISETP.LT.AND P0, PT, R0, 0x10, PT\n    @P0 BAR.ALLOC R5, 0x800\n", engine=engine)
    assert "barrier in divergent code" in text
    text = fault("    ISETP.LT.AND P0, PT, R0, 0x20, PT\n    @P0 BAR.ALLOC R5, 0x800\n    @!P0 BAR.SYNC 0\n",
                 engine=engine)  # fmt: skip
    assert "barrier modes that do not go together" in text
    assert "at barrier 0, where a warp came with" in text
    assert "ALLOC" in text


@BOTH
def test_a_deadlock_names_holders_and_waiting_blocks(engine: str) -> None:
    """Block 0 holds all and waits for a barrier that its other warp never comes to; block 1 waits for its memory."""
    body = "    BAR.ALLOC R5, 0x3000\n    ISETP.LT.AND P0, PT, R0, 0x20, PT\n    @P0 BAR.SYNC 1, 0x40\n"
    text = fault(body, 2, engine=engine)
    assert "warp 1 of block 0 ended without coming to barrier 1" in text
    assert "block 1 (SM 0): warps 0, 1 waiting for 12,288 bytes of shared memory in k+7 `BAR.ALLOC R5, 0x3000`" in text
    assert "block 0 holds 12,288 bytes, 0x0 to 0x2fff, got in k+7 `BAR.ALLOC R5, 0x3000`" in text


@BOTH
def test_a_holder_that_spins_for_a_block_that_waits_is_a_deadlock(engine: str) -> None:
    body = """
    BAR.ALLOC R5, 0x3000
    ISETP.EQ.AND P0, PT, R1, 0x1, PT
    @P0 STG.32 [R2], R9
    @P0 EXIT
    MOV R6, c[0][out]
    MOV R7, c[0][out+4]
s:
    LDG.CV.32 R10, [R6+0x100]
    ISETP.EQ.AND P1, PT, R10, 0x0, PT
    @P1 BRA s
"""
    if engine == "python":
        return  # a million cycles
    text = fault(body, 2, engine=engine)
    assert "deadlock: block 1 waits for 12,288 bytes of shared memory, which block 0 never gives back" in text
    assert "waiting for 12,288 bytes of shared memory" in text
    assert "block 0 holds 12,288 bytes" in text


# -- one SM and many


def test_every_sm_has_a_queue_of_its_own() -> None:
    found, values = go(regions(8376, 0), 24, sms=3)
    assert np.array_equal(values, expected(24, 64))
    assert figures(found)[0] == 24


def stalls(found: Result) -> int:
    return int(found.stats["stalls"]["shared_full"])


def test_lost_slots_are_charged_to_the_allocation() -> None:
    found, _ = go(regions(8376, 0), 8, profile=True)
    charged = found.profile["k"].stalls["shared_full"]
    assert charged.sum() == stalls(found) > 0
    assert [int(i) for i in np.flatnonzero(charged)] == [7]


def test_as_if_memory_were_free_nobody_waits() -> None:
    found, values = go(regions(8376, 4096), 8, ideal_blocks=8)
    assert figures(found) == (8, 0, 0)
    assert np.array_equal(values, expected(8, 64))



@pytest.mark.parametrize("engine", ["python", "numba"])
def test_launches_of_a_device_each_begin_with_free_memory(engine: str) -> None:
    """Blocks of the first launch hold memory as they end; the second launch asks for another size."""
    both = kernel("    BAR.ALLOC R5, 0x3000\n    STG.32 [R2], R5\n").replace(".kernel k", ".kernel first")
    both += kernel(section("c[0][bytes]"), private=512, params=BYTES)
    device = Device(ready(both), machine=GT200, engine=engine)
    out = device.array(np.zeros(6 * 64, np.uint32))
    for size in (0x1000, 0x1800):
        assert figures(device.launch("first", 6, 64, [out]))[0] == 6
        found = device.launch("k", 6, 64, [out, size])
        assert np.array_equal(out.get().reshape(6, 64), expected(6, 64))
        assert figures(found)[0] == 6
    single = go(both, 6, engine=engine, values=(0x1800,))[0]
    assert figures(found) == figures(single)


@pytest.mark.rotates
@BOTH
@pytest.mark.parametrize("meeting", ["BAR.ALLOC R5, 0x800", "BAR.FREE R5"])
def test_lanes_meet_in_both_instructions(engine: str, meeting: str) -> None:
    """In PTX's model accesses of two lanes of a warp race unless these meet; a barrier is a meeting."""
    code = [f"    {step}\n" for step in ("BAR.ALLOC R5, 0x800", "BAR.FREE R5")]
    at = code.index(f"    {meeting}\n")
    code.insert(at, "    STS.32 [R4], R9\n")
    code.insert(at + 2, "    LOP3 R6, R4, 0x4, RZ, 0x3c\n    LDS.32 R7, [R6]\n")
    text = kernel("".join([*code, "    STG.32 [R2], R7\n"]), private=256)
    text = text.replace(".param", ".memory_model ptx\n.param", 1)
    assert go(text, 2, engine=engine, race=True)[1][0, :2].tolist() == [1, 0]
    with pytest.raises(KernelFault, match="shared-memory race"):
        go(text.replace(f"    {meeting}\n    LOP3", "    LOP3").replace("    BAR.FREE R5\n", ""), 2, engine=engine,
           race=True)  # fmt: skip
