"""printf, malloc, free, assert and trap: what a run tells of them."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import Any

import numpy as np
import pytest

from binalloc import Device, launch_kernel
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.program import run_steps
from binalloc.emulator.runs.run import Result, run
from binalloc.errors import KernelFault, MalformedInput, Refused
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.launch.file import parse_launch
from binalloc.launch.program.schema import parse_program
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.steps.programs import kernels_of
from tests.support.paths import ROOT

PTX = (ROOT / "tests/data/ptx/device_runtime.ptx").read_text()


@cache
def kernels() -> Module:
    return import_ptx(PTX, "device_runtime.ptx", machine="gtx680").module


def go(kernel: str, out: Any, *scalars: Any, grid: int = 1, block: int = 32, **keys: Any) -> Result:
    """Run a kernel whose first parameter is a buffer of i32 that holds `out`."""
    values = np.asarray(out, np.int32)
    arguments: list[dict[str, Any]] = [{"name": "out", "kind": "buffer", "dtype": "i32", "shape": len(values)}]
    for i, value in enumerate(scalars):
        dtype = "f64" if isinstance(value, float) else "i32"
        arguments.append({"name": f"s{i}", "kind": "scalar", "dtype": dtype, "value": value})
    launch = parse_launch({"kernel": kernel, "grid": grid, "block": block, "argument": arguments, **keys})
    name = next(fn.name for fn in kernels().kernels() if re.search(rf"\d{kernel}P", fn.name))
    return run(kernels(), name, launch, load_machine("gtx680"), buffers={"out": values})


def faulted(kernel: str, *scalars: Any, out: int = 0) -> KernelFault:
    with pytest.raises(KernelFault) as caught:
        go(kernel, [out] * 32, *scalars)
    return caught.value


def talked(i: int) -> str:
    text = f"thread {i} of {'odd' if i % 2 else 'even'}: {0.25 * i:6.2f}|{i * 3:<5}|"
    return text + f"{i << 40} {chr(ord('a') + i % 26)}% {i:{max(i % 7, 1)}} {'text'[: i % 4]}\n"


def test_texts_come_out_by_block_and_thread() -> None:
    result = go("talk", [70], 0.25, grid=3, block=40)
    assert result.printed.text == "".join(talked(i) for i in range(70))
    assert [(block, thread) for block, thread, _ in result.printed.texts] == [divmod(i, 40) for i in range(70)]
    assert result.printed.lost == 0


def test_what_finds_no_room_is_counted_and_what_stands_is_whole() -> None:
    result = go("talk", [70], 0.25, grid=3, block=40, printf_buffer=1024)
    assert 0 < result.printed.lost < 140
    assert result.printed.texts
    for block, thread, text in result.printed.texts:
        whole = talked(40 * block + thread)
        assert text in (whole, whole[: whole.rindex("|") + 1], whole[whole.rindex("|") + 1 :])


def test_blocks_are_given_and_taken_across_threads() -> None:
    threads, rounds = 64, 5
    result = go("lists", [0] * (2 * threads), rounds, 2, grid=2, block=threads)
    sums = [0] * threads
    for r in range(rounds):
        for t in range(threads):
            o = (t + 1) % threads
            sums[t] += sum(o + i * r for i in range(2 + (o * 7 + r * 13) % 40))
    assert result.buffers["out"].tolist() == sums * 2
    assert result.heap is not None
    kept = [4 * (2 + (7 + r * 13) % 40) for r in (rounds - 2, rounds - 1)]
    assert (result.heap.leaks, result.heap.leaked) == (4, 2 * sum(kept))
    found = sorted((leak.block, leak.thread, leak.size) for leak in result.heap.first)
    assert found == [(block, 1, size) for block in (0, 1) for size in sorted(kept)]


@pytest.mark.rotates
@pytest.mark.parametrize("size", [1, 16, 17, 100, 1000])
def test_an_exhausted_heap_gives_null(size: int) -> None:
    result = go("exhaust", [0] * 32, size, heap=16384)
    granules = -(-size // 16) + 1
    units = granules
    if granules > 8:
        step = 1 << (granules - 1).bit_length() - 3
        units = -(-granules // step) * step
    assert result.buffers["out"].sum() == 16384 // 16 // units
    assert result.heap is not None
    assert result.heap.leaks == 16384 // 16 // units


def test_a_null_pointer_may_be_of_a_heap_without_room() -> None:
    with pytest.raises(KernelFault) as caught:
        go("behind", [0] * 32, 7, heap=1024)
    assert "address 0x7" in str(caught.value.found)
    assert "where the heap of 1,024 bytes has no room" in str(caught.value.remedy)
    assert "no room" not in str(faulted("behind", -(1 << 30)).remedy)


def test_memory_that_is_not_allocated_is_not_to_be_touched() -> None:
    fault = faulted("freed")
    assert fault.message == "access to heap memory that is not allocated"
    assert "byte 12 of a block of 40 bytes, freed by block 0, thread 0" in str(fault.found)
    assert go("behind", [0] * 32, 39).heap is not None
    assert "8 bytes behind the end of a block of 40 bytes, allocated by" in str(faulted("behind", 48).found)
    assert "behind the end" in str(faulted("behind", 60).found)
    assert "1 bytes in front of the heap" in str(faulted("behind", -1).found)
    assert "of which nothing there was ever allocated" not in str(faulted("behind", 4096).found)


def test_what_is_freed_is_a_block_and_freed_once() -> None:
    fault = faulted("twice")
    assert fault.message == "a block is freed twice"
    assert "thread 5" in str(fault.place)
    fault = faulted("foreign")
    assert fault.message == "what is freed was not allocated"
    assert "out" in str(fault.found)


def test_an_assertion_tells_file_line_function_thread_and_text() -> None:
    fault = faulted("checked")
    line = next(i for i, text in enumerate(PTX_SOURCE.splitlines(), 1) if "void checked" in text)
    assert fault.message == 'assertion failed: i * 3 < 20 && "too big"'
    assert fault.place == f"device_runtime.cu:{line}, void checked(int *), kernel _Z7checkedPi, block 0, thread 7"
    assert fault.printed == "".join(f"{i}\n" for i in range(32))
    assert fault.exit_code == 5


PTX_SOURCE = (ROOT / "tests/data/ptx/device_runtime.cu").read_text()


def test_a_trap_is_told_as_one() -> None:
    fault = faulted("trapped")
    assert fault.message == "the kernel trapped"
    assert "thread 7" in str(fault.place)


def test_formats_that_lie_are_faults_in_printf() -> None:
    for fault in (faulted("lies"), faulted("nowhere", out=64)):
        assert "vprintf" in str(fault.place)
        assert fault.remedy == "Do the arguments fit the format of printf?"


def test_a_module_that_takes_a_name_of_the_runtime_is_refused() -> None:
    text = PTX.replace(".extern .func free", ".global .b32 __binalloc_runtime;\n.extern .func free", 1)
    with pytest.raises(MalformedInput, match="the runtime that is to be added; found __binalloc_runtime"):
        import_ptx(text, "x.ptx", machine="gtx680")


def test_a_program_with_its_own_function_of_that_name_keeps_it() -> None:
    text = """.version 8.0
.target sm_75
.address_size 64
.visible .func (.param .b64 r) malloc(.param .b64 size) { st.param.b64 [r], 7; ret; }
.visible .entry k(.param .u64 k_param_0) { .reg .b64 %d<4>; .param .b64 a; .param .b64 b;
  ld.param.u64 %d0, [k_param_0]; cvta.to.global.u64 %d0, %d0; st.param.b64 [a], 1;
  call (b), malloc, (a); ld.param.b64 %d1, [b]; st.global.u64 [%d0], %d1; ret; }
"""
    module = import_ptx(text, "x.ptx", machine="gtx680").module
    assert [v.name for v in module.globals] == []
    launch = parse_launch({"kernel": "k", "grid": 1, "block": 1, "argument": [
        {"name": "out", "kind": "buffer", "dtype": "i64", "shape": 1}]})  # fmt: skip
    assert run(module, "k", launch, load_machine("gtx680"), engine="python").buffers["out"][0] == 7


MEETING = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{ .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %d<8>;
  mov.u32 %r1, %envreg1; mov.b32 %r2, %envreg2; mov.b64 %d1, {%r2, %r1};
  setp.eq.u64 %p1, %d1, 0; @%p1 trap;
  ld.param.u64 %d2, [k_param_0]; cvta.to.global.u64 %d2, %d2;
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %nctaid.x; mov.u32 %r5, %tid.x;
  mul.wide.u32 %d3, %r3, 4; add.u64 %d3, %d2, %d3;
  add.u32 %r6, %r3, 100; st.global.u32 [%d3], %r6;
  membar.gl; bar.sync 0; setp.ne.u32 %p2, %r5, 0; @%p2 bra MET;
  atom.add.release.gpu.u32 %r7, [%d1+4], 1;
AGAIN: ld.acquire.gpu.u32 %r8, [%d1+4]; setp.lo.u32 %p3, %r8, %r4; @%p3 bra AGAIN;
MET: bar.sync 0;
  add.u32 %r9, %r3, 1; rem.u32 %r9, %r9, %r4; mul.wide.u32 %d4, %r9, 4; add.u64 %d4, %d2, %d4;
  ld.global.u32 %r10, [%d4]; mul.wide.u32 %d5, %r4, 4; add.u64 %d3, %d3, %d5; st.global.u32 [%d3], %r10; ret; }
"""
"""Each block waits for all others, then takes what the next one left."""


def met(grid: int, machine: str = "gtx680", sms: int = 1, **keys: Any) -> list[int]:
    out = {"name": "out", "kind": "buffer", "dtype": "i32", "shape": 2 * grid}
    launch = parse_launch({"kernel": "k", "grid": grid, "block": 32, "argument": [out], **keys})
    module = import_ptx(MEETING, "x.ptx", machine=load_machine(machine)).module
    left = run(module, "k", launch, load_machine(machine), engine="python", sms=sms)
    assert left.globals == {}
    return left.buffers["out"].tolist()


@pytest.mark.parametrize(("machine", "grid", "sms"), [("gtx680", 16, 1), ("gtx680", 20, 2), ("rtx2060", 12, 1)])
def test_the_grid_of_a_cooperative_launch_meets(machine: str, grid: int, sms: int) -> None:
    assert met(grid, machine, sms, cooperative=True)[grid:] == [100 + (b + 1) % grid for b in range(grid)]


def test_launches_from_python_may_be_cooperative() -> None:
    module = import_ptx(MEETING, "x.ptx", machine="gtx680").module
    out = np.zeros(8, np.int32)
    launch_kernel(module, 4, 32, [out], cooperative=True, engine="python")
    assert out[4:].tolist() == [101, 102, 103, 100]
    device = Device(module, engine="python")
    held = device.zeros(8, np.int32)
    device.launch("k", 4, 32, [held], cooperative=True)
    assert held.get()[4:].tolist() == [101, 102, 103, 100]
    with pytest.raises(KernelFault, match="launch it with cooperative = true"):
        device.launch("k", 4, 32, [held])


def test_a_grid_that_cannot_meet_is_refused_or_traps() -> None:
    with pytest.raises(Refused, match="found 17 blocks; expected at most 16, 16 on each of 1 SM, or 2 SMs"):
        met(17, cooperative=True)
    with pytest.raises(Refused, match="or 9 SMs; gtx680 has 8 SMs"):
        met(129, cooperative=True)
    with pytest.raises(KernelFault, match=r"the kernel trapped\. If it is grid\.sync\(\) that trapped"):
        met(4)


STEPS = """
argument = [
    { name = "n", kind = "buffer", dtype = "i32", shape = 1, init = "ones" },
    { name = "sums", kind = "buffer", dtype = "i32", shape = 64 },
]
[[step]]
launch = "talk"
grid = 1
block = 4
arguments = ["n", 0.5]
[[step]]
launch = "lists"
grid = 1
block = 64
arguments = ["sums", 3, 1]
[[step]]
launch = "lists"
grid = 1
block = 64
arguments = ["sums", 3, 2]
[[step]]
set = "n"
value = 2
[[step]]
launch = "talk"
grid = 1
block = 4
arguments = ["n", 0.25]
"""


@pytest.mark.rotates("long")
def test_a_sequence_keeps_its_heap_and_tells_what_each_launch_prints() -> None:
    program = parse_program(tomllib.loads(STEPS))
    module = kernels()
    ran = run_steps(module, program, RunOptions("gtx680", "python"), kernels=kernels_of(module, program))
    assert [number for number, _ in ran.printed] == [0, 3]
    assert [len(printed.texts) for _, printed in ran.printed] == [1, 2]
    assert ran.said.text == talked(0).replace("0.25", "0.50") + talked(0) + talked(1)
    assert ran.heap is not None
    assert ran.heap.leaks == 3
    assert ran.globals.keys().isdisjoint({"__binalloc_runtime"})


def test_a_step_may_be_cooperative() -> None:
    module = import_ptx(MEETING, "x.ptx", machine="gtx680").module
    steps = {"argument": [{"name": "out", "kind": "buffer", "dtype": "i32", "shape": 8}]}
    launch = {"launch": "k", "grid": 4, "block": 32, "arguments": ["out"]}
    for cooperative in (True, False):
        program = parse_program({**steps, "step": [launch | {"cooperative": cooperative}] * 2})
        options, kernels = RunOptions("gtx680", "python"), kernels_of(module, program)
        if cooperative:
            ran = run_steps(module, program, options, kernels=kernels)
            assert ran.buffers["out"].tolist()[4:] == [101, 102, 103, 100]
        else:
            with pytest.raises(KernelFault, match="launch it with cooperative = true"):
                run_steps(module, program, options, kernels=kernels)
