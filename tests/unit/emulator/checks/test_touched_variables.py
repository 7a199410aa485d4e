"""`check` faults where an access leaves the variables that its address is said to come from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from binalloc.errors import KernelFault
from binalloc.isa.instruction import Function, Instr, Module, SharedVar
from tests.support.kits.emulator.small import address, go, module, op, store

ENGINES = ("python", "numba")
SHARED = [SharedVar("one", 0, 128), SharedVar("two", 128, 128), SharedVar("far", 384, 128), SharedVar("x", 256, 4),
          SharedVar("y", 260, 4)]  # fmt: skip
WINDOW = 0x01000000
FIRST = 4  # words of `address`, so the body's first word


def _run(
    body: list[Instr], touches: dict[int, tuple[str, ...]], *, engine: str = "python", check: bool = True,
    dynamic: int = 0, threads: int = 32, functions: dict[str, list[Instr]] | None = None,
    inner: dict[int, tuple[str, ...]] | None = None,
) -> str:  # fmt: skip
    """The fault of a run, "" for none. touches: by word of the body. R6 is 4 * thread. inner: of the function."""
    four = op("SHF", rd=6, ra=0, form=1, imm=2, rc=255)
    code = [*address(), four, *body, *store(0)]
    m = module(code, params={"x": 8}, shared_bytes=512, functions=functions)
    m.functions[0] = replace(m.functions[0], shared=SHARED, touches={k + FIRST + 1: v for k, v in touches.items()})
    if inner is not None:
        m.functions[1].touches = inner
    _link(m)
    try:
        go(m, block=threads, buffers={"x": np.zeros(threads, np.uint32)}, engine=engine, check=check, dynamic=dynamic)
    except KernelFault as fault:
        return str(fault)
    return ""


def _link(m: Module) -> None:
    kernel: Function = m.functions[0]
    for k, instr in enumerate(kernel.instrs):
        if instr.name == "CALL":
            kernel.instrs[k] = instr.replace(target=m.functions[1].address - kernel.address - k - 1)


def _sts(offset: int, register: int = 6) -> Instr:
    return op("STS", ra=register, moff=offset, rb=0, width=4, rbar=0)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_fault_names_variable_access_address_and_thread(engine: str) -> None:
    text = _run([_sts(64)], {0: ("one",)}, engine=engine)
    assert "access outside of the variable that its address comes from" in text
    assert "k+5 `STS.32 [R6+0x40], R0`" in text
    assert "lane 16, thread 16" in text
    assert "address 0x80, 4 bytes, in two; expected one, 0x0 to 0x7f" in text


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("offset", "names", "fault"),
    [
        (0, ("one",), False), (4, ("one",), True), (128, ("two",), False), (128, ("one",), True),
        (64, ("one", "two"), False), (192, ("one", "two"), True), (128, ("one", "far"), True),
        (384, ("far", "one"), False), (256, ("far",), True), (256, (), False),
    ],
)  # fmt: skip
def test_all_bytes_are_in_the_variables(engine: str, offset: int, names: tuple[str, ...], fault: bool) -> None:
    touches = {0: tuple(sorted(names))} if names else {}
    text = _run([_sts(offset)], touches, engine=engine)
    assert bool(text) == fault
    assert _run([_sts(offset)], touches, engine=engine, check=False) == ""


def test_bytes_of_no_variable_are_named_so() -> None:
    assert "in no variable; expected far, 0x180 to 0x1ff" in _run([_sts(288)], {0: ("far",)})


def test_out_of_all_shared_memory_is_still_out_of_bounds() -> None:
    assert "shared memory access out of bounds" in _run([_sts(0x1000)], {0: ("one",)})
    assert "shared memory access out of bounds" in _run([_sts(-128)], {0: ("one",)})


def test_a_wide_access_may_not_reach_over_the_end() -> None:
    wide = [op("SHF", rd=8, ra=0, form=1, imm=2, rc=255), op("LOP3", rd=8, ra=8, form=1, imm=0x70, rc=255, lut=0xC0)]
    store_ = op("STS", ra=8, moff=16, rb=12, width=6, rbar=0)
    zero = [op("MOV", rd=r, rb=255) for r in range(12, 16)]
    assert _run([*wide, *zero, store_.replace(moff=0)], {6: ("one",)}) == ""
    text = _run([*wide, *zero, store_], {6: ("one",)})
    assert "address 0x80, 16 bytes, in two" in text


def test_an_access_may_lie_across_neighbours_that_it_may_touch() -> None:
    both = [op("MOV", rd=8, rb=255), op("MOV", rd=9, rb=255), op("STS", ra=255, moff=256, rb=8, width=5, rbar=0)]
    assert _run(both, {2: ("x", "y")}) == ""
    assert "address 0x100, 8 bytes, in x and y; expected x, 0x100 to 0x103" in _run(both, {2: ("x",)})


def test_only_lanes_that_execute_count() -> None:
    low = op("ISETP", pd0=0, ra=0, form=1, imm=16, icmp=1)
    guarded = op("STS", guard=(0, False), ra=6, moff=64, rb=0, width=4, rbar=0)
    assert _run([low, guarded], {1: ("one",)}) == ""
    assert "thread 16" in _run([low, op("STS", guard=(0, True), ra=6, moff=64, rb=0, width=4, rbar=0)], {1: ("one",)})


@pytest.mark.parametrize("engine", ENGINES)
def test_generic_addresses(engine: str) -> None:
    def generic(low: int) -> list[Instr]:
        return [
            op("IADD3", rd=8, ra=6, form=1, imm=low, rc=255), op("MOV", rd=9, rb=255),
            op("ST", ra=8, moff=0, rb=0, width=4, rbar=0),
        ]  # fmt: skip

    assert _run(generic(WINDOW), {2: ("one",)}, engine=engine) == ""
    assert "address 0x80, 4 bytes, in two" in _run(generic(WINDOW + 64), {2: ("one",)}, engine=engine)
    there = [op("MOV", rd=8, rb=4), op("MOV", rd=9, rb=5), op("ST", ra=8, moff=0, rb=0, width=4, rbar=0)]
    assert _run(there, {}, engine=engine) == ""
    text = _run(there, {2: ("one",)}, engine=engine)
    assert "outside of shared memory; expected one" in text


@pytest.mark.parametrize(("offset", "fault"), [(512, False), (384, True)])
def test_dynamic_memory(offset: int, fault: bool) -> None:
    text = _run([_sts(offset)], {0: ("*",)}, dynamic=128)
    assert ("expected dynamic memory, from 0x200 on" in text) == fault
    assert "in dynamic memory; expected one" in _run([_sts(512)], {0: ("one",)}, dynamic=128)


def test_a_function_means_the_kernels_variables() -> None:
    inner = [_sts(64), op("RET")]
    call = [op("CALL")]
    assert _run(call, {}, functions={"f": inner}, inner={0: ("one", "two")}) == ""
    assert "f+0" in _run(call, {}, functions={"f": inner}, inner={0: ("one",)})
    assert _run(call, {}, functions={"f": inner}, inner={0: ("another",)}) == ""  # a name of no variable says nothing


def test_atomics() -> None:
    add = op("ATOMS", rd=8, ra=6, moff=64, rb=0, rc=255, wbar=1)
    zero = [_sts(k) for k in (0, 128)]
    assert "in two" in _run([*zero, add], {2: ("one",)})
    assert _run([*zero, add], {2: ("one", "two")}) == ""
