"""The compiled engine agrees with the uncompiled one on every counter, result and fault, over varied programs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from binalloc.errors import KernelFault
from binalloc.isa.instruction import Instr, Module
from tests.support.kits.emulator.every_unit import counters, one_of_each
from tests.support.kits.emulator.small import address, go, module, op, store

OPS: tuple[tuple[str, dict[str, int]], ...] = (
    ("IADD3", {"rc": 9, "negb": 1, "pd0": 2}),
    ("IMAD", {"rc": 8}),
    ("LOP3", {"rc": 9, "lut": 0xE8}),
    ("SHF", {"rc": 8, "dir": 1}),
    ("IMNMX", {"ps0": 2}),
    ("SEL", {"ps0": 2}),
    ("LEA", {"shift": 3}),
    ("PRMT", {"rc": 7}),
    ("FADD", {}),
    ("FMUL", {"ftz": 1}),
    ("FFMA", {"rc": 9, "rnd": 2}),
    ("FFMA", {"rc": 9}),
    ("FMNMX", {"ps0": 2}),
    ("IMAD.HI", {"rc": 9, "u32": 1}),
)


def extra(rng: random.Random) -> list[Instr]:
    """A comparison, an exchange through some memory, a divergent branch, or nothing."""
    some = rng.randrange(6, 10)
    kind = rng.randrange(8)
    if kind == 0:
        return [op("ISETP", pd0=rng.randrange(3), ra=6, rb=rng.randrange(7, 10), icmp=rng.randrange(1, 7), pd1=5)]
    if kind == 1:
        return [op("STS", ra=14, rb=some, width=4, rbar=1), op("BAR", form=1, imm=0, wait=2),
                op("LDS", rd=6, ra=14, width=4, wbar=2), op("BAR", form=1, imm=0, wait=4)]  # fmt: skip
    if kind == 2:
        return [
            op("STL", ra=255, rb=some, width=4, moff=4 * rng.randrange(4), rbar=1),
            op("LDL", rd=8, ra=255, width=4, moff=4 * rng.randrange(4), wbar=2, wait=2),
            op("NOP", wait=4),
        ]
    if kind == 3:
        guard = (rng.randrange(3), bool(rng.getrandbits(1)))
        return [op("BRA", stall=1, guard=guard, target=2, diverges=1, reconv=2),
                op("MUFU", rd=9, rb=6, func=rng.randrange(7), wbar=3), op("NOP", wait=8)]  # fmt: skip
    if kind == 4:
        mode, lane = rng.randrange(4), rng.randrange(32)
        return [op("SHFL", rd=7, ra=6, limm=1, laneimm=lane, cimm=1, clampimm=31, shfl=mode, wbar=2), op("NOP", wait=4)]
    if kind == 5:
        match = op("MATCH", rd=7, pd0=2, ra=6, match=rng.randrange(2), m64=rng.randrange(2), wbar=2)
        return [match, op("NOP", wait=4)]
    return []


def random_program(seed: int) -> Module:
    """Straight line and branches over all the lanes' data, with loads, stores, local and shared memory, in a loop."""
    rng = random.Random(seed)
    body = [
        op("IMAD", rd=7, ra=0, form=1, imm=0x9E3779B9, rc=255), op("MOV", rd=8, rb=0), op("MOV", rd=9, rb=7),
        op("LDG", rd=6, ra=4, width=4, wbar=0), op("NOP", wait=1), op("IMAD", rd=14, ra=0, form=1, imm=4, rc=255),
    ]  # fmt: skip
    for _ in range(24):
        name, fields = rng.choice(OPS)
        guard = rng.choice([(7, False), (7, False), (0, False), (1, True)])
        places = {"rd": rng.randrange(6, 10), "ra": rng.randrange(6, 10), "rb": rng.randrange(6, 10)}
        body += [op(name, stall=rng.choice([9, 12, 15]), guard=guard, **places, **fields), *extra(rng)]
    count = [
        op("IADD3", rd=13, ra=13, form=1, imm=1, rc=255),
        op("ISETP", pd0=3, ra=13, form=1, imm=3, icmp=1, u32cmp=1),
    ]
    back = op("BRA", guard=(3, False), target=-(len(body) + len(count) + 1), diverges=1, reconv=0)
    code = [*address(), op("MOV", rd=13, rb=255), *body, *count, back, *store(6)]
    return module(code, params={"x": 8}, shared_bytes=1024, local_bytes=16)


@pytest.mark.rotates
@pytest.mark.parametrize("machine", ["gtx680", "c2075"])
@pytest.mark.parametrize("seed", range(6))
def test_random_programs(machine: str, seed: int) -> None:
    m = random_program(seed)
    plain = counters(m, machine, engine="python")
    assert plain == counters(m, machine, engine="numba")
    assert plain == counters(m, machine, engine="numba", reference=True)


def test_several_sms_and_limited_residency() -> None:
    for options in ({"sms": 3}, {"blocks_per_sm": 1}, {"sms": 2, "blocks_per_sm": 2}):
        assert counters(one_of_each(), engine="python", **options) == counters(one_of_each(), engine="numba", **options)


def test_faults_read_the_same() -> None:
    def message(engine: str) -> Any:
        code = [*address(), op("IADD3", stall=3, rd=6, ra=0, rb=0, rc=0), *store(6)]
        with pytest.raises(KernelFault) as caught:
            go(module(code, params={"x": 8}), block=64, buffers={"x": np.zeros(64, np.uint32)}, engine=engine)
        return str(caught.value)

    assert message("python") == message("numba")
    assert "hazard" in message("python")
