"""A fault names the instruction that did it, in both engines: not the next one, nor the one it would have gone to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.emulator.host.engines.engine import ENGINES
from binalloc.errors import KernelFault, MalformedInput
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Module
from binalloc.isa.interface.places import DEEP_STACK_ENTRIES, STACK_ENTRIES
from binalloc.isa.text.assembler import assemble
from tests.support.kits.emulator.small import address, go, module, op

SPLIT = [op("S2R", rd=0, sreg=0, wbar=0), op("ISETP", pd0=0, ra=0, form=1, imm=5, icmp=1, wait=1)]
"""Three words later a branch under P0 diverges: lanes 0 to 4 against the rest."""
HALF = (0, False)


def fault(m: Module, **options: Any) -> str:
    """What both engines say."""
    texts = set()
    for engine in ENGINES:
        with pytest.raises(KernelFault) as caught:
            go(m, engine=engine, **options)
        texts.add(str(caught.value))
    assert len(texts) == 1
    return texts.pop()


def test_recursion_without_end_blames_the_call() -> None:
    recursive = [op("NOP"), op("CALL", target=-2), op("NOP"), op("RET")]
    m = module([op("CALL", target=0), op("EXIT")], functions={"f": recursive})
    m.functions[0].instrs[0] = op("CALL", target=m.function("f").address - 1)
    text = fault(m)
    assert "f+1 `CALL" in text
    assert f"more than {DEEP_STACK_ENTRIES} entries, {DEEP_STACK_ENTRIES - 1:,} calls deep" in text


def test_indirect_recursion_and_a_chain_of_calls_blame_the_last_call() -> None:
    m = module([op("MOV", rd=1, form=1, imm=8), op("CALL.IND", ra=1), op("EXIT")],
               functions={"f": [op("CALL.IND", ra=1), op("RET")]})  # fmt: skip
    assert "f+0 `CALL.IND" in fault(m)
    code = {f"f{i}": [op("CALL", target=7), op("NOP"), op("RET")] for i in range(STACK_ENTRIES)}
    code[f"f{STACK_ENTRIES}"] = [op("RET")]
    assert f"f{STACK_ENTRIES - 2}+0 `CALL" in fault(module([op("CALL", target=7), op("EXIT")], functions=code))


@pytest.mark.parametrize(("wrappers", "blamed"), [(0, ""), (1, "f30+3 `CALL"), (2, "f30+2 `@P0 BRA")])
def test_of_branches_and_calls_the_one_that_pushes_the_65th_entry_is_blamed(wrappers: int, blamed: str) -> None:
    # every function of a chain sends one lane more past its call of the next: two entries each, 62 in all above two
    count = [op("IADD3", rd=1, ra=1, form=1, imm=1, rc=255), op("ISETP", pd0=0, ra=0, rb=1, icmp=1)]
    split = op("BRA", guard=HALF, target=1, diverges=1, reconv=1)
    chain = {f"f{i}": [*count, split, op("CALL", target=4), op("RET")] for i in range(31)} | {"f31": [op("RET")]}
    through = {f"w{i}": [op("CALL", target=7), op("RET")] for i in range(wrappers)}
    kernel = [op("S2R", rd=0, sreg=0, wbar=0), op("MOV", rd=1, rb=255, wait=1), op("CALL", target=5), op("EXIT")]
    m = module(kernel, functions=through | chain)
    if blamed:
        assert blamed in fault(m)
    else:
        go(m)


def test_a_return_without_a_call_blames_the_return() -> None:
    assert "k+1 `RET`" in fault(module([op("NOP"), op("RET"), op("NOP"), op("EXIT")]))


def test_running_off_the_code_blames_the_last_instruction_and_says_where_it_went() -> None:
    text = fault(module([op("NOP"), op("NOP")]))
    assert "k+1 `NOP`" in text
    assert "code word 2" in text
    # between two functions
    assert "k+0 `NOP`" in fault(module([op("NOP")], functions={"f": [op("RET")]}))
    # a branch and a return that go there
    assert "k+0 `BRA" in fault(module([op("BRA", target=5), op("EXIT")]))
    m = module([op("CALL", target=7)], functions={"f": [op("NOP"), op("RET")]})
    assert "f+1 `RET`" in fault(m)


@pytest.mark.parametrize("target", [-2, -(1 << 20), 1 << 20, 40])
def test_a_branch_out_of_the_code_space_faults_at_the_branch(target: int) -> None:
    assert "k+0 `BRA" in fault(module([op("BRA", target=target), op("EXIT")]))


def test_barriers_and_synchronisation_blame_themselves() -> None:
    code = [*SPLIT, op("BAR", guard=HALF, form=1, imm=0), op("NOP"), op("EXIT")]
    assert "k+2 `@P0 BAR" in fault(module(code))
    code = [*SPLIT, op("BRA", guard=HALF, target=1, diverges=1, reconv=1),
            op("WARPSYNC", form=1, imm=0xFFFFFFFF), op("NOP"), op("EXIT")]  # fmt: skip
    assert "k+3 `WARPSYNC" in fault(module(code))


def test_a_deadlock_names_the_barrier_each_warp_waits_at() -> None:
    code = [*SPLIT, op("ISETP", pd0=0, ra=0, form=1, imm=32, icmp=1),
            op("BRA", guard=HALF, target=2, diverges=1, reconv=2),
            op("BAR", barid=3, form=1, imm=64), op("BRA", target=1),
            op("BAR", barid=4, form=1, imm=64), op("EXIT")]  # fmt: skip
    text = fault(module(code), block=64)
    assert "warp 0 at barrier 4 (1 of 2 warps came) in k+6 `BAR" in text
    assert "warp 1 at barrier 3 (1 of 2 warps came) in k+4 `BAR" in text
    assert "wait at different barriers, warp 1 at barrier 3 and warp 0 at barrier 4" in text


def test_an_atomic_in_the_local_window_blames_the_lane() -> None:
    m = module([*address(), op("MOV", rd=8, form=1, imm=0x02000010), op("MOV", rd=9, rb=255),
                op("ATOM", rd=6, ra=8, rb=0, wbar=1), op("EXIT", wait=2)], params={"x": 8}, local_bytes=64)  # fmt: skip
    text = fault(m, buffers={"x": np.zeros(32, np.uint32)})
    assert "k+6 `ATOM" in text
    assert "lane 0" in text
    assert "offset 0x10 of the local window" in text


def test_addresses_are_shown_as_the_64_bits_they_are() -> None:
    m = module([op("LDG", rd=6, ra=255, width=4, moff=-4, wbar=0), op("EXIT", wait=1)])
    assert "address 0xfffffffffffffffc, 4 bytes" in fault(m)


# ---------------------------------------------------------------------------------------------------------------------
# Calls enter functions, never kernels.

TWO = ".kernel k\n.registers 8\n    {}\n    EXIT\n.end\n.kernel other\n.registers 8\n    EXIT\n.end\n"
RULE = "Kernels are launched, not called"


@pytest.mark.parametrize("own", [True, False])
def test_an_indirect_call_of_a_kernel_faults(own: bool) -> None:
    m = assemble(TWO.format(f"MOV R4, &{'k' if own else 'other'}\n    CALL.IND R4"))
    for fn in m.functions:
        fn.info.machine = "gtx680"
    text = fault(m, hazards=False)
    assert "k+1 `CALL.IND" in text
    assert f"code word {0 if own else 8}, the kernel {'k' if own else 'other'}" in text
    assert RULE in text


@pytest.mark.parametrize("name", ["k", "other"])
def test_a_direct_call_of_a_kernel_is_refused_by_assembler_and_reader(name: str) -> None:
    with pytest.raises(MalformedInput, match="call of a kernel"):
        assemble(TWO.format(f"CALL {name}"))
    good = assemble(TWO.replace(".kernel other", ".func other").replace("EXIT\n.end\n", "RET\n.end\n").replace(
        "RET", "EXIT", 1).format("CALL other"))  # fmt: skip
    data = write_module(good)
    assert read_module(data).functions[0].instrs[0].name == "CALL"
    good.functions[1].info.kind = "kernel"
    with pytest.raises(MalformedInput, match="call of a kernel"):
        write_module(good)


def test_a_direct_call_of_a_kernel_in_code_that_nobody_read_faults_too() -> None:
    assert "call of no function" in fault(module([op("NOP"), op("CALL", target=-2), op("EXIT")]))
    assert "call of no function" in fault(module([op("CALL", target=3), op("EXIT")], functions={"f": [op("RET")]}))
    assert "call of no function" in fault(module([op("CALL", target=-(1 << 20)), op("EXIT")]))


@pytest.mark.parametrize("engine", ENGINES)
def test_of_indirect_calls_the_lowest_lanes_runs_first(engine: str) -> None:
    body = [
        *address(),
        op("ISETP", pd0=0, ra=0, form=1, imm=0, icmp=2),
        op("MOV", rd=9, form=1, imm=16),
        op("MOV", guard=(0, True), rd=9, form=1, imm=24),
        op("ISETP", pd0=0, ra=0, form=1, imm=31, icmp=2),
        op("MOV", guard=HALF, rd=9, form=1, imm=16),
        op("CALL.IND", ra=9),
        op("EXIT", wait=32),
    ]
    # lanes 0 and 31 call the first function, the others the second, which therefore runs last
    functions = {name: [op("MOV", rd=7, form=1, imm=value), op("STG", ra=2, rb=7, width=4, rbar=5), op("RET", wait=32)]
                 for name, value in (("first", 1), ("second", 2))}  # fmt: skip
    m = module(body, params={"x": 8}, functions=functions)
    assert [f.address for f in m.functions[1:]] == [16, 24]
    assert go(m, buffers={"x": np.zeros(32, np.uint32)}, engine=engine).buffers["x"][0] == 2
