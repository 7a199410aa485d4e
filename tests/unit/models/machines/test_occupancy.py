"""Occupancy: NVIDIA's 4,000 answers, the limits its header does not know, GPGPU-Sim's rule, and the inverses."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import FrozenInstanceError

import pytest

from binalloc.errors import UsageError
from binalloc.models.machines.kernel_use import CacheConfig, KernelUse
from binalloc.models.machines.limits import LIMITS, SHARED_STEPS
from binalloc.models.machines.occupancy import (
    model_of,
    occupancy,
    registers_for_blocks,
    shared_bytes_for_blocks,
)
from binalloc.models.machines.reader import load_machine
from binalloc.report.machines import occupancy_json
from tests.support.paths import DATA

VECTORS = DATA / "occupancy_vectors.csv"
UNLIMITED = 2147483647


def _vectors() -> list[dict[str, int]]:
    with VECTORS.open(newline="") as stream:
        return [{key: int(value) for key, value in row.items()} for row in csv.DictReader(stream)]


def test_every_vector_agrees_in_every_column() -> None:
    rows = _vectors()
    assert len(rows) == 4000
    wrong = []
    for row in rows:
        config = row["cache_config"]
        result = occupancy(
            cc=f"{row['cc_major']}.{row['cc_minor']}",
            registers=row["regs_per_thread"],
            shared_bytes=row["smem_per_block"],
            threads=row["threads_per_block"],
            cache_config=tuple(CacheConfig)[config] if config < 1000 else "none",
            carveout=config - 1000 if config >= 1000 else None,
        )
        got = {
            "blocks_per_sm": result.blocks_per_sm,
            "alloc_regs_per_block": result.registers_per_block,
            "alloc_smem_per_block": result.shared_per_block,
            "limit_mask": result.limit_mask,
            "limit_warps": result.limit_warps,
            "limit_regs": UNLIMITED if result.limit_registers is None else result.limit_registers,
            "limit_smem": UNLIMITED if result.limit_shared is None else result.limit_shared,
            "limit_blocks": result.limit_blocks,
        }
        if any(row[key] != value for key, value in got.items()):
            wrong.append((row, got))
    assert wrong == []


def test_vectors_reach_every_capability_and_preference() -> None:
    rows = _vectors()
    assert {f"{r['cc_major']}.{r['cc_minor']}" for r in rows} == set(LIMITS)
    assert {r["cache_config"] for r in rows} >= {0, 1, 2, 3, 1000, 1100}


def test_the_published_example() -> None:
    result = occupancy(cc="3.0", registers=40, shared_bytes=4096, threads=256, cache_config="none")
    assert result.blocks_per_sm == 6
    assert result.limits == {"warps": 8, "registers": 6, "shared": 12, "blocks": 16, "barriers": None}
    assert result.limiters == ("registers",)
    assert (result.registers_per_block, result.shared_per_block) == (8 * 1280, 4096)
    assert (result.active_warps, result.active_threads, result.max_warps, result.occupancy) == (48, 1536, 64, 0.75)
    with pytest.raises(FrozenInstanceError):
        result.blocks_per_sm = 1  # type: ignore[misc]


@pytest.mark.parametrize(("cc", "most"), [("1.3", 124), ("2.0", 63), ("3.0", 63), ("3.5", 255), ("9.0", 255)])
def test_rule_7_nothing_runs_above_the_largest_register_number(cc: str, most: int) -> None:
    assert occupancy(cc=cc, registers=most, shared_bytes=0, threads=32).blocks_per_sm > 0
    above = occupancy(cc=cc, registers=most + 1, shared_bytes=0, threads=32)
    assert above.blocks_per_sm == 0
    assert above.limiters == ("registers",)
    assert above.limit_registers == 0
    assert above.occupancy == 0.0


@pytest.mark.parametrize(("cc", "most"), [("1.3", 124), ("2.0", 63), ("3.0", 63)])
def test_rule_7_can_be_left_to_nvidias_header(cc: str, most: int) -> None:
    assert occupancy(cc, most + 1, 0, 32, enforce_register_limit=False).blocks_per_sm > 0
    assert occupancy(cc, 256, 0, 32, enforce_register_limit=False).blocks_per_sm == 0


def test_rule_7_no_vector_stands_above_the_limit() -> None:
    """So that agreeing with every vector and enforcing the limit by default never contradict each other."""
    for row in _vectors():
        assert row["regs_per_thread"] <= LIMITS[f"{row['cc_major']}.{row['cc_minor']}"].registers_per_thread


@pytest.mark.parametrize(
    ("kernel", "shared", "threads", "blocks", "limiters"),
    [
        ("MV", 4268, 32, 3, ("shared",)),
        ("FFT", 8736, 64, 1, ("shared",)),
        ("MC", 9324, 32, 1, ("shared",)),
        ("STO", 16304, 128, 1, ("shared",)),
        ("SP", 4144, 64, 3, ("shared",)),
        ("HG", 8224, 64, 1, ("shared",)),
        ("CV", 8300, 128, 1, ("shared",)),
        ("MM", 2084, 256, 4, ("warps",)),
        ("TP", 4260, 128, 3, ("shared",)),
        ("RD", 540, 128, 8, ("blocks", "warps")),
    ],
)
def test_multiplex_paper_table_1_on_gtx285(
    kernel: str, shared: int, threads: int, blocks: int, limiters: tuple[str, ...]
) -> None:
    result = occupancy(cc="1.3", registers=8, shared_bytes=shared, threads=threads)
    assert (result.blocks_per_sm, result.limiters) == (blocks, limiters), kernel


@pytest.mark.parametrize(
    ("kernel", "shared", "threads", "blocks"),
    [
        ("backprop", 9408, 256, 1), ("DCT1", 2112, 64, 7), ("DCT2", 2112, 64, 7), ("DCT3", 2176, 128, 7),
        ("DCT4", 2176, 128, 7), ("NQU", 10496, 64, 1), ("SRAD1", 13824, 576, 1), ("SRAD2", 11520, 576, 1),
        ("FDTD3d", 3840, 128, 4), ("heartwall", 11872, 128, 1), ("histogram", 9216, 192, 1), ("MC1", 9216, 32, 1),
        ("NW1", 8452, 32, 1), ("NW2", 8452, 32, 1),
    ],
)  # fmt: skip
def test_sharing_paper_figure_13_unshared(kernel: str, shared: int, threads: int, blocks: int) -> None:
    result = load_machine("gpgpusim-sharing").occupancy(KernelUse(16, shared, threads))
    assert (result.blocks_per_sm, result.limiters) == (blocks, ("shared",)), kernel
    assert result.shared_per_block == shared
    assert result.rule == "gpgpusim"


def test_gpgpusim_rule_rounds_registers_to_four_pads_threads_and_leaves_shared_bytes() -> None:
    machine = load_machine("gpgpusim-sharing")
    registers = machine.occupancy(KernelUse(42, 0, 256))
    assert (registers.limit_registers, registers.registers_per_block) == (65536 // (44 * 256), 44 * 256)
    assert machine.occupancy(KernelUse(4, 0, 193)).limit_warps == 3072 // 224
    assert machine.occupancy(KernelUse(4, 1820, 32)).limit_shared == 9  # 8 if rounded up to a power-of-two unit from 16
    assert machine.occupancy(KernelUse(4, 0, 32)).limits == {
        "warps": 96, "registers": 512, "shared": None, "blocks": 16, "barriers": None
    }  # fmt: skip
    assert machine.occupancy(KernelUse(64, 0, 32)).blocks_per_sm == 0
    assert machine.occupancy(KernelUse(4, 16385, 32)).limiters == ("shared",)
    with pytest.raises(UsageError, match="fixed split"):
        machine.occupancy(KernelUse(4, 0, 32, cache_config="l1"))


def test_preferring_l1_is_ignored_where_the_block_would_not_fit() -> None:
    for cc in ("2.0", "3.0"):
        assert occupancy(cc, 16, 16384, 64, cache_config="l1").blocks_per_sm == 1
        assert occupancy(cc, 16, 16640, 64, cache_config="l1").blocks_per_sm == 2
    assert occupancy("2.0", 16, 12288, 64, cache_config="equal").blocks_per_sm == 4
    assert occupancy("3.0", 16, 12288, 64, cache_config="equal").blocks_per_sm == 2


def test_barriers_bind_with_blocks_on_12_0_only() -> None:
    assert occupancy("12.0", 16, 0, 32).limiters == ("barriers", "blocks")
    assert occupancy("9.0", 16, 0, 32).limiters == ("blocks",)


def test_a_kernel_without_registers_or_shared_memory_is_not_limited_by_them() -> None:
    result = occupancy("3.0", 0, 0, 64)
    assert (result.limit_registers, result.limit_shared, result.blocks_per_sm) == (None, None, 16)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"cc": "3.1"}, "cc"), ({"cc": 3.0}, "cc"), ({"cc": None}, "cc"),
        ({"registers": -1}, "registers"), ({"registers": 2.0}, "registers"), ({"registers": True}, "registers"),
        ({"shared_bytes": -1}, "shared_bytes"), ({"shared_bytes": "4096"}, "shared_bytes"),
        ({"threads": 0}, "threads"), ({"threads": -32}, "threads"), ({"threads": 1025}, "threads"),
        ({"threads": None}, "threads"), ({"threads": 64.0}, "threads"),
        ({"cache_config": "L1"}, "cache_config"), ({"cache_config": 0}, "cache_config"),
        ({"carveout": 50}, "carveout"), ({"cc": "7.0", "carveout": 101}, "carveout"),
        ({"cc": "7.0", "carveout": -1}, "carveout"), ({"cc": "7.0", "carveout": 37.5}, "carveout"),
        ({"cc": "7.0", "carveout": 50, "cache_config": "l1"}, "carveout"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_place_expectation_and_remedy(change: dict[str, object], place: str) -> None:
    call: dict[str, object] = {"cc": "3.0", "registers": 40, "shared_bytes": 4096, "threads": 256, **change}
    with pytest.raises(UsageError) as caught:
        occupancy(**call)  # type: ignore[arg-type]
    assert caught.value.place == place
    assert caught.value.expected
    assert caught.value.remedy
    assert caught.value.exit_code == 2


def test_numpy_integers_count_without_wrapping() -> None:
    numpy = pytest.importorskip("numpy")
    result = occupancy("9.0", numpy.uint8(200), numpy.int32(4096), numpy.int16(256))
    assert result == occupancy("9.0", 200, 4096, 256)
    assert type(result.blocks_per_sm) is int
    assert result.registers_per_block == 8 * 6400


def test_the_result_as_a_dictionary_is_plain_json_and_complete() -> None:
    result = occupancy("8.0", 40, 4096, 256, carveout=37)
    entry = json.loads(json.dumps(occupancy_json(result)))
    assert entry["limits"]["barriers"] is None
    assert entry["limits"]["registers"] == result.limit_registers
    assert entry["carveout"] == 37
    for name in ("blocks_per_sm", "occupancy", "limit_mask", "active_warps", "registers_per_block", "shared_per_block"):
        assert entry[name] == getattr(result, name)
    assert entry["limiters"] == list(result.limiters)


def _cases(seed: int, count: int) -> list[tuple[str, int, int, int]]:
    rng = random.Random(seed)
    names = [*LIMITS, "gpgpusim-sharing"]
    return [
        (
            rng.choice(names),
            rng.randint(1, 1024),
            rng.randint(0, 64),
            rng.randint(0, 40) * rng.choice((1, 37, 256, 1024)),
        )
        for _ in range(count)
    ]


def _target(name: str):  # type: ignore[no-untyped-def]
    return name if name in LIMITS else load_machine(name)


def test_registers_for_blocks_is_the_exact_inverse() -> None:
    for name, threads, _, shared in _cases(1, 60):
        target = _target(name)
        model = model_of(target)
        held = [model.occupancy(KernelUse(r, shared, threads)).blocks_per_sm for r in range(256)]
        for blocks in (1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 32, 33):
            expected = max((r for r, count in enumerate(held) if count >= blocks), default=None)
            answer = registers_for_blocks(target, KernelUse(0, shared, threads), blocks)
            assert answer == expected, (name, threads, shared, blocks)


@pytest.mark.parametrize("config", tuple(CacheConfig))
def test_shared_bytes_for_blocks_is_the_exact_inverse_to_the_byte(config: str) -> None:
    """Brute force over all bytes near every rounding step; between them the allocation cannot change."""
    answers = 0
    for name, threads, registers, _ in _cases(2, 36):
        target = _target(name)
        model = model_of(target)
        if config != "none" and name not in LIMITS:
            continue
        top = model.limits.shared_per_block
        near = {0, *range(top - 3, top + 3)}
        for edge in range(0, top + 1, 128):
            near.update((edge, edge + 1))
        if name not in LIMITS:
            near.update(range(top))
        uses = [KernelUse(registers, n, threads, cache_config=config) for n in sorted(near)]
        held = [(use.shared_bytes, model.occupancy(use).blocks_per_sm) for use in uses]
        for blocks in range(1, 18):
            expected = max((n for n, count in held if count >= blocks), default=None)
            answer = shared_bytes_for_blocks(target, KernelUse(registers, 0, threads, cache_config=config), blocks)
            assert answer == expected, (name, threads, registers, blocks, config)
            answers += answer is not None
    assert answers > 100


def test_shared_bytes_for_blocks_against_every_single_byte() -> None:
    for cc, config in (("3.0", "l1"), ("1.3", "none")):
        most = LIMITS[cc].shared_per_block
        held = [occupancy(cc, 16, n, 96, config).blocks_per_sm for n in range(most + 2)]
        for blocks in (1, 2, 3, 5, 8):
            expected = max((n for n, count in enumerate(held) if count >= blocks), default=None)
            assert shared_bytes_for_blocks(cc, KernelUse(16, 0, 96, cache_config=config), blocks) == expected


def test_what_the_inverse_gives_respects_the_register_limit_and_what_binds_elsewhere() -> None:
    assert registers_for_blocks("3.0", KernelUse(0, 0, 64), 1) == 63
    assert registers_for_blocks("3.0", KernelUse(0, 0, 256), 8) == 32
    assert registers_for_blocks("3.0", KernelUse(0, 0, 256), 9) is None
    assert shared_bytes_for_blocks("3.0", KernelUse(32, 0, 256), 8) == 6144
    assert shared_bytes_for_blocks("3.0", KernelUse(33, 0, 256), 8) is None
    sharing = load_machine("gpgpusim-sharing")
    assert shared_bytes_for_blocks(sharing, KernelUse(16, 0, 64), 3) == 16384 // 3  # not rounded to any unit
    assert registers_for_blocks(sharing, KernelUse(0, 0, 256), 5) == 48
    with pytest.raises(UsageError):
        registers_for_blocks("3.0", KernelUse(0, 0, 256), 0)
    with pytest.raises(UsageError):
        shared_bytes_for_blocks("4.0", KernelUse(0, 0, 256), 1)


def test_limits_are_consistent_and_carry_sources() -> None:
    for cc, limits in LIMITS.items():
        assert limits.cc == cc
        assert limits.source
        assert limits.threads_per_sm == limits.warps_per_sm * 32
        assert limits.shared_per_block % limits.shared_unit == 0
        assert (cc in SHARED_STEPS) == (limits.major >= 7)
        if cc in SHARED_STEPS:
            assert SHARED_STEPS[cc][-1] == limits.shared_per_sm
