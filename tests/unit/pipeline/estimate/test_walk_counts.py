"""What a walk says of how often code runs, beside what a run counts."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.emulator.runs.run import run
from binalloc.isa.sets.files import load
from binalloc.launch.file import load_launch, parse_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.estimate.walk.accesses import GROUP, passes
from binalloc.pipeline.estimate.walk.repeats import MOST_NOTED, Again
from binalloc.pipeline.estimate.walk.setting import LaunchSetting
from binalloc.pipeline.estimate.walk.thread import MOST_STEPS, Walked
from binalloc.pipeline.estimate.walk.warps import WarpsSeen, look_at
from tests.support.paths import sample_file
from tests.support.programs.builder import program

MACHINE = load_machine("gtx680")


def seen_of(name: str, size: str | None = None) -> tuple[WarpsSeen, LaunchSetting]:
    launch = load_launch(sample_file(f"{name}.toml"), size)
    module = load(sample_file(f"{name}.loom"))
    setting = LaunchSetting(module, module.kernels()[0].name, launch, 0, MACHINE)
    return look_at(setting), setting


@pytest.mark.parametrize(("name", "apart"), [("matmul", 0), ("stencil3d", 0), ("callchain", 0), ("stencil2d", 0.05)])
def test_what_hangs_on_no_data_is_counted_as_it_runs(name: str, apart: float) -> None:
    """apart: the share that sampled warps may be off, where those at the edges do less."""
    seen, setting = seen_of(name, "test")
    assert seen.sure
    assert setting.launch is not None
    ran = run(setting.module, setting.kernel.name, setting.launch, MACHINE, hazards=False)
    warps = setting.warps * setting.blocks
    assert seen.counts.keys() == ran.counts.keys()
    off = sum(abs(n - ran.counts[fn][k] / warps) for fn, counts in seen.counts.items() for k, n in enumerate(counts))
    assert off <= apart * sum(map(sum, seen.counts.values()))


def walked(text: str, scalars: bool = True) -> Walked:
    """Thread 5 of block 1 of a launch of two blocks of 64."""
    return launched(text, 2, scalars).walk(1, 5)


def launched(text: str, blocks: int, scalars: bool = True, block: tuple[int, ...] = (64,)) -> LaunchSetting:
    argument = {"name": "n", "kind": "scalar", "dtype": "i32", "value": 7}
    given = {"kernel": "k", "grid": blocks, "block": list(block), "argument": [argument]}
    launch = parse_launch(given) if scalars else None
    named = text.replace(".kernel k registers=12", ".kernel k registers=12\n.param n 4")
    return LaunchSetting(program(named), "k", launch, 64, MACHINE)


LOOP = """
.kernel k registers=12
MOV R1, 0x0
MOV R2, 0x40
MOV R3, 0x0
{start}
again:
IADD3 R1, R1, {step}, RZ
STL.32 [0x0], R1
LDL.32 R4, [0x0]
ISETP.LT.AND P0, PT, R4, R5, PT
@P0 BRA again, done
done:
STG.32 [R2], R1
EXIT
"""


@pytest.mark.parametrize(("rounds", "step"), [(1, "0x1"), (3, "0x7"), (1000, "0x1"), (1_000_000, "0x3")])
def test_rounds_that_are_alike_are_counted_and_not_walked(rounds: int, step: str) -> None:
    """Also where what is counted goes by way of local memory."""
    found = walked(LOOP.format(start=f"MOV R5, {rounds * int(step, 16):#x}", step=step))
    assert found.complete
    assert found.counts[4:9] == [rounds] * 5
    assert found.counts[9] == 1
    assert len(found.way) < min(MOST_STEPS, 40)
    left_out = sum(item.times * (item.end - item.start) for item in found.way if isinstance(item, Again))
    assert sum(isinstance(item, int) for item in found.way) + left_out == sum(found.counts)


def test_what_ends_nobody_knows_when_is_taken_to_go_round_ten_times() -> None:
    found = walked(LOOP.format(start="LDG.32 R5, [R2]", step="0x1"))
    assert found.complete
    assert found.guessed
    assert found.counts[4:9] == [10] * 5
    assert found.counts[9] == 1


def test_a_loop_that_data_may_leave_goes_on_as_long_as_it_may() -> None:
    leaves = LOOP.format(start="MOV R5, 0x64", step="0x1").replace(
        "STL.32", "LDG.32 R6, [R2]\nISETP.EQ.AND P1, PT, R6, 0x0, PT\n@P1 BRA done, done\nSTL.32"
    )
    found = walked(leaves)
    assert found.complete
    assert not found.guessed
    assert found.counts[7] == 100


def test_both_ways_of_what_hangs_on_data_and_what_is_known_on_both_behind() -> None:
    text = """
    .kernel k registers=12
    MOV R2, 0x40
    MOV R3, 0x0
    LDG.32 R1, [R2]
    ISETP.LT.AND P0, PT, R1, 0x0, PT
    MOV R4, 0x3
    @P0 BRA other, join
    MOV R5, 0x1
    MOV R6, 0x2
    BRA join
    other:
    MOV R5, 0x1
    MOV R6, 0x5
    join:
    ISETP.EQ.AND P1, PT, R5, 0x1, PT
    @P1 BRA known, known
    STG.32 [R2], R1
    known:
    ISETP.EQ.AND P2, PT, R6, 0x2, PT
    @P2 BRA unknown, unknown
    STG.32 [R2], R4
    unknown:
    EXIT
    """
    found = walked(text)
    assert found.complete
    assert found.counts[6:11] == [1, 1, 1, 1, 1]
    assert found.counts[13] == 0, "R5 is 1 on both ways"
    assert found.counts[16] == 1, "R6 is one thing or the other"


@pytest.mark.parametrize(("scalars", "rounds"), [(True, 2), (False, 10)])
def test_without_a_launch_nothing_is_known_of_the_grid(scalars: bool, rounds: int) -> None:
    found = walked(LOOP.format(start="S2R R5, SR_NCTAID.X", step="0x1"), scalars)
    assert found.counts[4] == rounds


def test_a_conversion_of_one_word_looks_at_one() -> None:
    """The register behind R4 is unknown; the loop's end is not."""
    start = "LDG.64 R4, [R2]\nMOV R4, 0x5\nI2F.F32.S32 R4, R4\nF2I.S32.F32 R5, R4"
    found = walked(LOOP.format(start=start, step="0x1"))
    assert not found.guessed
    assert found.counts[8] == 5


def test_what_calls_an_address_is_not_followed() -> None:
    found = walked(".kernel k registers=12\nMOV R2, 0x0\nMOV R3, 0x0\nCALL.IND R2\nEXIT\n")
    assert not found.complete


def test_accesses_ask_for_the_sectors_that_they_touch() -> None:
    """matmul's loads of rows lie side by side; transposed, each lane has a sector of its own."""
    side, apart = seen_of("matmul")[0], look_at(_transposing())
    assert set(map(round, side.sectors.values())) <= {4, 8, 16}
    assert sorted(apart.sectors.values()) == [1, 32]
    assert apart.fresh == 64 / 66  # the load is of what one lane stores, by both warps
    assert apart.first == 64 / 66 / GROUP  # and all blocks do the same


HALO = """
.kernel k registers=12
S2R R1, SR_TID.X
S2R R4, SR_CTAID.X
{row}
IMAD R1, R4, 0x40, R1
MOV R2, 0x10000000
MOV R3, 0x0
MOV R5, 0x4
IMAD.WIDE.U32 R6, R1, R5, R2
LDG.32 R8, [R6]
LDG.32 R9, [R6+0x80]
STG.32 [R6+0x100000], R8
EXIT
"""


def test_neighbouring_blocks_ask_for_the_same_at_their_borders() -> None:
    """Blocks of 256 bytes that load 128 more, of their right neighbour's."""
    seen = look_at(launched(HALO.format(row="NOP"), 40))
    sectors = 8 + 8 + 8  # of a warp; a block asks for 48, of which 8 + 4 + 8 are different
    assert seen.fresh == (8 + 4 + 8) / (2 * 12)
    assert sectors == 24
    assert seen.first == pytest.approx((GROUP * 8 + 4 + GROUP * 8) / (GROUP * 24))


@pytest.mark.parametrize(("stride", "size", "passes_of"), [(4, 4, 1), (8, 8, 1), (256, 4, 32), (0, 16, 2), (16, 16, 2)])
def test_banks_serve_as_the_table_says(stride: int, size: int, passes_of: int) -> None:
    """TIMING.md, 32 banks of 8 bytes in 8-byte mode; 16 bytes at one address are served in two groups."""
    shared = load_machine("gtx780ti").shared
    assert passes(np.arange(64) * stride, size, shared) == passes_of


ANOTHER_WARP = """
.kernel k registers=12
S2R R1, SR_TID.Y
MOV R2, 0x10000000
MOV R3, 0x0
ISETP.NE.AND P0, PT, R1, RZ, PT
@P0 BRA end, end
{access}
end:
EXIT
"""


@pytest.mark.parametrize("access", ["LDS.32 R4, [R1]", "LDG.32 R4, [R2]"])
@pytest.mark.filterwarnings("error")
def test_accesses_of_another_warp_are_none_of_the_warp_that_is_walked(access: str) -> None:
    """Each warp is a row of the block. A neighbour of the middle one, above it, has the access; this warp has not."""
    seen = look_at(launched(ANOTHER_WARP.format(access=access), 4, block=(32, 2)))
    assert (seen.passes, seen.sectors, seen.lines) == ({}, {}, {})


def _transposing() -> LaunchSetting:
    text = """
    .kernel k registers=12
    S2R R1, SR_TID.X
    MOV R2, 0x10000000
    MOV R3, 0x0
    MOV R4, 0x80
    IMAD.WIDE.U32 R6, R1, R4, R2
    LDG.32 R8, [R2]
    STG.32 [R6], R8
    EXIT
    """
    return launched(text, 4)


def test_addresses_of_rounds_that_are_left_out_go_on_as_they_grew() -> None:
    text = LOOP.format(start="MOV R5, 0x64\nMOV R6, 0x1000", step="0x1").replace(
        "STL.32", "IADD3 R2, R2, R6, RZ\nSTG.32 [R2], R1\nSTL.32"
    )
    found = walked(text)
    assert found.counts[7] == 100
    known = max(found.addresses.values(), key=lambda addresses: addresses[-1] or 0)
    assert known == [0x40 + 0x1000 * k for k in range(1, 101)]
    many = walked(text.replace("0x64", "0x4000"))
    known = max(many.addresses.values(), key=lambda addresses: addresses[-1] or 0)
    assert known[:-1] == [0x40 + 0x1000 * k for k in range(1, MOST_NOTED)]
    assert known[-1] == 0x40 + 0x1000 * 0x4000, "the last round is walked"


@pytest.mark.parametrize("tiles", [2, 3, 4, 8])
def test_rings_of_tiles_do_not_go_on_for_ever(tiles: int) -> None:
    """Rounds that take turns with tiles, as double buffering does: what looks even for some rounds ends somewhere."""
    text = LOOP.format(start="MOV R5, 0x3d\nMOV R8, 0x0\nMOV R6, 0x10000000", step="0x1").replace(
        "STL.32",
        "IADD3 R8, R8, 0x1, RZ\n"
        f"ISETP.EQ.AND P2, PT, R8, {tiles:#x}, PT\nSEL R8, RZ, R8, P2\n"
        "SHF.L.U32 R9, R8, 0xb, RZ\nIADD3 R2, R6, R9, RZ\nSTG.32 [R2], R1\nSTL.32",
    )
    found = walked(text)
    known = max(found.addresses.values(), key=lambda addresses: max(x or 0 for x in addresses))
    assert found.complete
    assert found.counts[7] == 0x3d
    assert {x for x in known if x is not None} <= {0x10000000 + 0x800 * k for k in range(tiles)}
    look_at(launched(text, 4))


FIRST_WARP = """
.kernel k registers=12
S2R R1, SR_TID.X
MOV R2, 0x10000000
MOV R3, 0x0
ISETP.GE.AND P0, PT, R1, 0x20, PT
@P0 BRA meet, meet
MOV R4, 0x0
again:
IADD3 R4, R4, 0x1, RZ
ISETP.LT.AND P1, PT, R4, 0x28, PT
@P1 BRA again, meet
meet:
{wait}
STG.32 [R2], R4
EXIT
"""


def test_warps_that_do_other_things_before_a_barrier_are_told_apart() -> None:
    seen = look_at(launched(FIRST_WARP.format(wait="BAR.SYNC 0x0"), 4))
    assert [thread // 32 for _, thread in seen.threads] == [0, 1]
    assert look_at(launched(FIRST_WARP.format(wait="NOP"), 4)).threads == [seen_thread(FIRST_WARP)]
    alike = FIRST_WARP.replace("0x20, PT", "0x40, PT")
    assert len(look_at(launched(alike.format(wait="BAR.SYNC 0x0"), 4)).threads) == 1


def seen_thread(text: str) -> tuple[int, int]:
    return look_at(launched(text.format(wait="NOP"), 4)).thread


def test_lines_are_counted_as_sectors_are() -> None:
    """A line is four sectors; lanes that are far apart have one each."""
    side, apart = seen_of("matmul")[0], look_at(_transposing())
    assert all(sectors / 4 <= side.lines[at] <= sectors for at, sectors in side.sectors.items())
    assert sorted(apart.lines.values()) == [1, 32]
