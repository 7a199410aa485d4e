"""Addresses from anywhere in 64 bits: both engines fault alike, and neither leaves its arrays.

One lane points at its buffer, another where a sum of address and size would wrap. A wrong bounds test in the compiled
engine is no wrong answer but a crash of the process.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.host.engines.engine import ENGINES
from binalloc.emulator.runs.run import run
from binalloc.errors import KernelFault
from binalloc.isa.instruction import GLOBAL_VARIABLES, Instr, Module
from binalloc.launch.types import Argument, Init, Launch, Texture
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.small import address, go, module, op, store

TOP = 1 << 64
BUFFER = 0x10000000
"""Where the launch's first buffer lies."""
WIDTHS = {1: 0, 2: 2, 4: 4, 8: 5, 16: 6}
"""Width codes by size in bytes."""
U32_ADD, U64_ADD = {"aop": 0, "atyp": 0}, {"aop": 0, "atyp": 2}
FLAT = [("LDG", "STG", size) for size in WIDTHS] + [("LD", "ST", size) for size in WIDTHS]


def wide_addresses(size: int) -> list[int]:
    """Aligned 64-bit addresses at which an unguarded sum wraps, at the edges of every window, and just outside."""
    edges = [1 << 63, 0, 1 << 32, 1 << 31, 0x01000000, 0x02000000, 0x03000000, GLOBAL_VARIABLES, BUFFER, BUFFER + 256]
    return sorted({(edge + step) % TOP for edge in edges for step in (-size, 0)} | {TOP - (1 << 31), (1 << 63) - 4096})


def narrow_addresses(size: int, limit: int) -> list[int]:
    """Aligned 32-bit addresses likewise; `limit` is the end of the memory."""
    edges = [1 << 31, 1 << 32, limit, 0]
    return sorted({(edge + step) % (1 << 32) for edge in edges for step in (-size, 0)})


def pointing(access: list[Instr], **options: Any) -> Module:
    """A kernel in which lane t takes its address from element t of `x`, a buffer of u64, into R8:R9, then accesses."""
    load = [
        *address(),
        op("IMAD.WIDE", rd=4, ra=0, form=1, imm=8, rc=2),
        op("LDG", rd=8, ra=4, width=5, wbar=1),
        op("NOP", wait=2),
    ]
    return module([*load, *access, op("EXIT", wait=63)], params={"x": 8}, registers=32, **options)


def outcomes(m: Module, addresses: list[int], **options: Any) -> list[str]:
    """What each engine says to a launch with these addresses: a fault's text, or the buffer it leaves."""
    out = []
    for engine in ENGINES:
        try:
            result = go(m, buffers={"x": np.array(addresses, np.uint64)}, engine=engine, **options)
            out.append(str(result.buffers["x"].tolist()))
        except KernelFault as fault:
            out.append(str(fault))
    return out


def sweep(m: Module, valid: int, hostile: list[int], faults: set[int] | None = None) -> None:
    """Lane 1 at each of `hostile`, the others at `valid`; then lane 0 likewise."""
    for bad in hostile:
        for lanes in ([valid, bad] + [valid] * 30, [bad] + [valid] * 31, [bad] * 32):
            plain, compiled = outcomes(m, lanes)
            assert plain == compiled, hex(bad)
            if faults is None or bad in faults:
                assert "out of bounds" in plain or "local memory" in plain, (hex(bad), plain)


@pytest.mark.rotates
@pytest.mark.parametrize("load", [True, False])
@pytest.mark.parametrize(("loads", "stores", "size"), FLAT)
def test_wide_addresses_of_loads_and_stores(loads: str, stores: str, size: int, load: bool) -> None:
    width = WIDTHS[size]
    access = op(loads, rd=12, ra=8, width=width, wbar=1) if load else op(stores, ra=8, rb=12, width=width, rbar=1)
    hostile = wide_addresses(size)
    inside = {BUFFER, BUFFER + 256 - size}
    sweep(pointing([access]), BUFFER, hostile, set(hostile) - inside)


def round_the_world(rng: random.Random, size: int, lanes: int) -> list[int]:
    """Aligned addresses at one stride modulo 2^64, of which the last lane's is in the buffer again: the stride is a
    whole number of times round it and a few elements, divided by the number of steps."""
    steps = lanes - 1
    shift = (steps & -steps).bit_length() - 1
    odd = steps >> shift
    near = size * rng.randrange(256 // size) & -1 << shift
    stride = (near >> shift) * pow(odd, -1, TOP) + (rng.randrange(1 << shift) << 64 - shift if shift else 0)
    return [(BUFFER + t * stride) % TOP for t in range(lanes)]


@pytest.mark.rotates
@pytest.mark.parametrize(("loads", "stores", "size"), [*FLAT, ("ATOMG", "RED", 4), ("ATOM", "RED", 4)])
def test_strides_that_go_round_2_to_64(loads: str, stores: str, size: int) -> None:
    """First lane and last are in the buffer, what lies between may be anywhere: the first lane outside is named."""
    rng = random.Random(f"{loads} {size}")
    wide = 0
    for case in range(24):
        lanes = rng.choice((2, 3, 9, 17, 32, 32))
        addresses = round_the_world(rng, size, lanes)
        assert addresses[-1] - BUFFER in range(256)
        fields: dict[str, Any] = {"ra": 8, **({"width": WIDTHS[size]} if loads[0] == "L" else U32_ADD)}
        m = pointing([
            op(loads, rd=12, wbar=1, **fields, **({} if loads[0] == "L" else {"rb": 16, "rbar": 2})) if case % 2
            else op(stores, rb=12, rbar=1, **fields)
        ])  # fmt: skip
        plain, compiled = outcomes(m, addresses + [0] * (32 - lanes), block=lanes)
        assert plain == compiled, addresses
        wrong = [t for t, at in enumerate(addresses) if at % size or not BUFFER <= at <= BUFFER + 256 - size]
        if wrong and not any(at % size for at in addresses):
            assert f"lane {wrong[0]}," in plain
            assert "out of bounds" in plain
            wide += 1
        elif wrong:
            assert "misaligned" in plain, (plain, addresses)
    assert wide > 5


@pytest.mark.rotates
@pytest.mark.parametrize(("name", "fields"), [
    (name, fields) for name in ("ATOMG", "RED", "ATOM") for fields in (U32_ADD, U64_ADD)
])  # fmt: skip
def test_wide_addresses_of_atomics(name: str, fields: dict[str, int]) -> None:
    rd = {} if name == "RED" else {"rd": 12, "wbar": 1}
    size = 8 if fields is U64_ADD else 4
    hostile = wide_addresses(size)
    m = pointing([op(name, ra=8, rb=14, rbar=2, **rd, **fields)])
    sweep(m, BUFFER, hostile, set(hostile) - {BUFFER, BUFFER + 256 - size})


@pytest.mark.rotates
@pytest.mark.parametrize("offset", [-(1 << 23), -16, 16, (1 << 23) - 16])
def test_base_plus_offset_is_taken_modulo_2_to_64(offset: int) -> None:
    m = pointing([op("LDG", rd=12, ra=8, width=6, moff=offset, wbar=1)])
    valid = (BUFFER - offset) % TOP
    assert "out of" not in outcomes(m, [valid] * 32)[0]
    ends = [(end - offset) % TOP for end in (0, 1 << 63, (1 << 63) - 16, TOP - 16)]
    bases = [0, (1 << 63) - 16, 1 << 63, TOP - 16]
    sweep(m, valid, ends + bases)


SMALL = {
    "LDS": {"shared_bytes": 64}, "STS": {"shared_bytes": 64}, "LDL": {"local_bytes": 64}, "STL": {"local_bytes": 64},
    "LDC": {"constants": {3: bytes(range(64))}},
}  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize(("name", "size"), list(itertools.product(SMALL, WIDTHS)))
def test_narrow_addresses(name: str, size: int) -> None:
    fields: dict[str, int] = {"width": WIDTHS[size], "ra": 8}
    if name[0] == "S":
        fields |= {"rb": 12, "rbar": 1}
    else:
        fields |= {"rd": 12, "wbar": 1, **({"cbank": 3} if name == "LDC" else {})}
    hostile = narrow_addresses(size, 64)
    sweep(pointing([op(name, **fields)], **SMALL[name]), 16, hostile, set(hostile) - {0, 64 - size})


@pytest.mark.parametrize("fields", [U32_ADD, U64_ADD])
def test_narrow_addresses_of_atomics_and_of_an_empty_memory(fields: dict[str, int]) -> None:
    size = 8 if fields is U64_ADD else 4
    atomic = op("ATOMS", rd=12, ra=8, rb=14, wbar=1, rbar=2, **fields)
    sweep(pointing([atomic], shared_bytes=64), 16, narrow_addresses(size, 64), {64, (1 << 32) - size})
    sweep(pointing([atomic]), 0, narrow_addresses(size, 0))


@pytest.mark.parametrize(("name", "spill"), [("STS", "slot_bytes"), ("STL", "spill_local")])
def test_narrow_addresses_of_spill_accesses(name: str, spill: str) -> None:
    access = op(name, ra=8, rb=12, width=4, spill=1, rbar=1)
    m = pointing([access], **{spill: 128})
    for bad in narrow_addresses(4, 128):
        plain, compiled = outcomes(m, [0, bad] + [4 * t for t in range(2, 32)])
        assert plain == compiled, hex(bad)


@pytest.mark.rotates
@pytest.mark.parametrize("size", WIDTHS)
def test_generic_windows_end_where_their_memory_does(size: int) -> None:
    shared, local = 0x01000000, 0x02000000
    ends = [w + at for w in (shared, local) for at in (0, 64 - size, 64, 0x1000000 - size)] + wide_addresses(size)
    for name, fields in (("LD", {"rd": 12, "wbar": 1}), ("ST", {"rb": 12, "rbar": 1})):
        m = pointing([op(name, ra=8, width=WIDTHS[size], **fields)], shared_bytes=64, local_bytes=64)
        for bad in ends:
            for valid in (BUFFER, shared, local):
                plain, compiled = outcomes(m, [valid, bad] + [valid] * 30)
                assert plain == compiled, (hex(bad), hex(valid))


def test_indirect_call_targets() -> None:
    m = pointing([op("CALL.IND", ra=8)], functions={"f": [op("RET")]})
    f = m.function("f").address
    for bad in (0, 1, f + 1, f + 7, f + 8, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1):
        plain, compiled = outcomes(m, [f, bad] + [f] * 30)
        assert plain == compiled
        assert "call of no function" in plain, bad


# ---------------------------------------------------------------------------------------------------------------------
# Textures.

FLOATS = np.array(
    [0.0, -0.0, 0.5, 1.0, -1.0, 7.999, 8.0, 1e-45, 1e30, -1e30, 3e38, -3e38, np.inf, -np.inf, np.nan, 2.0**31,
     -(2.0**31), 2.0**40, 2.0**24 + 2, 2.0**63, -(2.0**63)], np.float32,
).view(np.uint32)  # fmt: skip
INTEGERS = np.array([0, 1, 7, 8, 9, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, 0xFFFFFFFF, 0xFFFFFFF8], np.uint32)


def fetch(
    handle: int, coordinates: np.ndarray[Any, Any], texture: Argument, dimensions: int, integer: int
) -> list[str]:
    """TEX by 32 lanes with the coordinates given, one row each, on both engines: what it fetched, or its fault."""
    loads = [op("LDG", rd=12 + k, ra=4, width=4, moff=128 * k, wbar=1) for k in range(3)]
    body = [*address(), *loads, op("MOV", rd=11, form=1, imm=handle),
            op("TEX", rd=16, ra=12, rb=11, rc=14, tdim=dimensions - 1, tcoord=integer, tchan=0, wbar=2, wait=2),
            op("NOP", wait=4), *store(16)]  # fmt: skip
    m = module(body, params={"x": 8, "t": 8}, registers=32)
    data = np.zeros((3, 32), np.uint32)
    data[: len(coordinates)] = coordinates
    launch = Launch("k", (1, 1, 1), (32, 1, 1), 0, (Argument("x", "buffer", "u32", (96,)), texture))
    out = []
    for engine in ENGINES:
        try:
            result = run(m, "k", launch, load_machine("gtx680"), engine=engine, buffers={"x": data.reshape(-1)})
            out.append(str(result.buffers["x"].tolist()))
        except KernelFault as fault:
            out.append(str(fault))
    return out


def image(dimensions: int, mode: str, **options: Any) -> Argument:
    sides = (3, 5, 8)[-dimensions:]
    texture = Texture(sides, address=(mode,) * dimensions, **options)
    return Argument("t", "texture", "f32", sides, init=Init("random", seed=1), texture=texture)


@pytest.mark.rotates
@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("mode", ["clamp", "border", "wrap", "mirror"])
def test_texture_coordinates_from_anywhere(mode: str, dimensions: int) -> None:
    normal = [{"normalized": True, "filter": f} for f in ("point", "linear")]
    plain = [{"filter": f} for f in ("point", "linear")] if mode in ("clamp", "border") else []
    for options in plain + normal:
        texture = image(dimensions, mode, **options)
        for shift in (0, 5):
            rows = np.stack([np.resize(np.roll(FLOATS, shift * k), 32) for k in range(dimensions)])
            assert len(set(fetch(1, rows, texture, dimensions, 0))) == 1
    if plain:
        rows = np.stack([np.resize(np.roll(INTEGERS, k), 32) for k in range(dimensions)])
        assert len(set(fetch(1, rows, image(dimensions, mode), dimensions, 1))) == 1


@pytest.mark.parametrize("handle", [0, 2, 64, 65, (1 << 31) - 1, 1 << 31, (1 << 32) - 1])
def test_handles_of_no_texture(handle: int) -> None:
    plain, compiled = fetch(handle, np.zeros((1, 32), np.uint32), image(1, "clamp"), 1, 0)
    assert plain == compiled
    assert "no such texture" in plain
