"""What a rewrite must not change, run and compared: faults of the user's own making, refusals, bytes, the input."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result, run
from binalloc.errors import KernelFault, Refused
from binalloc.isa.instruction import Module, Param, SharedVar
from binalloc.isa.sets.files import load, write_module
from binalloc.launch.file import load_launch
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.rewrite.rewrite import minimum_registers, rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.generator.programs import random_program
from tests.support.paths import ROOT, sample_file
from tests.support.programs.builder import program

NAMES = ("callchain", "matmul", "nbody", "stencil2d", "stencil3d")
GTX680 = load_machine("gtx680")

# every thread keeps five words alive over a shared access at 4 * tid + a scalar, and no order brings them past the
# barriers; user shared memory has 128 bytes
SHARED = """
.kernel k registers=16 shared_bytes=128
S2R R0, SR_TID.X
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LEA R2, R0, R2, 5
LDG.32 R4, [R2]
LDG.32 R5, [R2+0x4]
LDG.32 R6, [R2+0x8]
LDG.32 R7, [R2+0xc]
IADD3 R8, R4, R5, R6
LEA R1, R0, RZ, 2
IADD3 R1, R1, c[0][0x8], RZ
BAR.SYNC 0x0
{access}
BAR.SYNC 0x0
IADD3 R8, R8, R9, RZ
STG.32 [R2+0x10], R8
STG.32 [R2+0x14], R4
STG.32 [R2+0x18], R5
IADD3 R6, R6, R7, RZ
STG.32 [R2+0x1c], R6
EXIT
"""
ACCESSES = {"load": "LDS.32 R9, [R1]", "store": "MOV R9, 0x7\nSTS.32 [R1], R9"}


def shared_kernel(access: str) -> Module:
    m = program(SHARED.format(access=ACCESSES[access]))
    kernel = m.functions[0]
    kernel.info.params = [Param("data", 0, 8), Param("offset", 8, 4)]
    kernel.info.block = (32, 1, 1)
    kernel.shared = [SharedVar("words", 0, 128, 16)]
    return m


def go(m: Module, offset: int) -> Result:
    arguments = (
        Argument("data", "buffer", "u32", (256,)),
        Argument("offset", "scalar", "u32", value=offset & 0xFFFFFFFF),
    )
    data = np.arange(256, dtype=np.uint32)
    launch = Launch("k", (1, 1, 1), (32, 1, 1), arguments=arguments)
    return run(schedule(m, GTX680), "k", launch, GTX680, engine="python", buffers={"data": data})


def with_slots(access: str) -> tuple[Module, Module]:
    original = shared_kernel(access)
    rewritten = rewrite(original, "k", minimum_registers(original, "k") + 1, 8)
    assert rewritten.function("k").info.slot_bytes >= 128, "no slots: the access would land in nothing"
    report = check(original, rewritten, "k")
    assert report.ok, str(report)
    return original, rewritten


@pytest.mark.parametrize("access", sorted(ACCESSES))
def test_shared_accesses_in_bounds_give_the_same_before_and_after(access: str) -> None:
    original, rewritten = with_slots(access)
    before, after = go(original, 0), go(rewritten, 0)
    assert np.array_equal(before.buffers["data"], after.buffers["data"])
    assert not np.array_equal(before.buffers["data"], np.arange(256, dtype=np.uint32))


@pytest.mark.parametrize("offset", [4, 128, -4])
@pytest.mark.parametrize("access", sorted(ACCESSES))
def test_a_users_shared_access_out_of_bounds_faults_before_and_after_alike(access: str, offset: int) -> None:
    """Behind the 128 bytes of user shared memory lie the slots of the rewritten kernel: they are not the user's."""
    original, rewritten = with_slots(access)
    faults = []
    for m in (original, rewritten):
        with pytest.raises(KernelFault) as caught:
            go(m, offset)
        faults.append(caught.value)
    assert faults[0].message == faults[1].message
    assert "shared" in str(faults[0])


RECURSIVE = """
.kernel k registers=8
MOV R4, 0x3
CALL f
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
STG.32 [R2], R5
EXIT
.func f
IADD3 R4, R4, 0xffffffff, RZ
IADD3 R5, R5, 0x2, RZ
ISETP.LE.AND P0, PT, R4, 0x0, PT
@P0 BRA done, done
CALL f
done:
RET
"""
INDIRECT = """
.kernel k registers=8
MOV R5, 0x0
MOV R4, 0x6
CALL.IND R4
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
BRA store
store:
STG.32 [R2], R5
EXIT
.func f
MOV R5, 0x6
RET
"""


def runnable(text: str) -> Module:
    m = program(text)
    kernel = m.functions[0]
    kernel.info.params = [Param("data", 0, 8), Param("offset", 8, 4)]
    kernel.info.block = (32, 1, 1)
    for index, instr in enumerate(kernel.instrs):
        if instr.name == "CALL.IND":
            kernel.instrs[index - 1] = kernel.instrs[index - 1].replace(imm=m.function("f").address)
    return m


@pytest.mark.parametrize(("text", "reason"), [(RECURSIVE, "recurs"), (INDIRECT, "indirect")])
def test_recursion_and_indirect_calls_run_but_are_refused_with_a_reason(text: str, reason: str) -> None:
    m = runnable(text)
    assert go(m, 0).buffers["data"][0] == 6
    with pytest.raises(Refused, match=reason) as caught:
        rewrite(m, "k", 16, 4)
    assert caught.value.remedy or caught.value.found


@pytest.mark.rotates
@pytest.mark.parametrize("name", NAMES)
def test_samples_keep_their_results_at_every_sort_of_budget(name: str) -> None:
    original = load(sample_file(f"{name}.loom"))
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    expected = run(schedule(original, GTX680), name, launch, GTX680)
    least, least_demoted = (minimum_registers(original, name, 0, allocator) for allocator in ("best", "regdem"))
    demand = original.function(name).info.registers
    for registers, slots, allocator in (
        (least, 6, "best"), (least + 1, 0, "local"), ((least + demand) // 2, 2, "unified"),
        (least + 1, 6, "ptxas-smem"), (least_demoted, 0, "regdem"), ((least_demoted + demand) // 2, 6, "regdem"),
    ):  # fmt: skip
        rewritten = schedule(rewrite(original, name, registers, slots, allocator), GTX680)
        report = check(original, rewritten, name)
        assert report.ok, f"{registers} {slots} {allocator}: {report}"
        got = run(rewritten, name, launch, GTX680)
        for buffer, data in expected.buffers.items():
            assert np.array_equal(data, got.buffers[buffer]), f"{registers} {slots} {allocator}: {buffer}"


HASHES = """
import hashlib
from binalloc.isa.sets.files import load, write_module
from binalloc.models.machines.reader import load_machine
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.schedule.schedule import schedule
from tests.support.generator.programs import random_program
machine = load_machine("gtx680")
for name, registers in (("callchain", 8), ("nbody", 32)):
    m = load(f"samples/loom/{name}.loom")
    for allocator in ("local", "unified", "ptxas-smem", "regdem", "best"):
        data = write_module(schedule(rewrite(m, name, registers, 3, allocator), machine))
        print(name, allocator, hashlib.sha256(data).hexdigest())
for seed in (3, 12):
    m, _ = random_program(seed, registers=16, size=80, callees=3)
    data = write_module(schedule(rewrite(m, "kernel", 15, 3), machine))
    print(seed, hashlib.sha256(data).hexdigest())
"""


@pytest.mark.rotates("long")
def test_the_same_input_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    texts = set()
    for seed in ("0", "1", "31337"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", HASHES], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        texts.add(done.stdout)
    assert len(texts) == 1
    assert len(texts.pop().splitlines()) == 12


def snapshot(m: Module) -> str:
    """Everything a module holds, as text."""
    functions = [
        (fn.name, fn.info, fn.shared, fn.labels, fn.lines, fn.address, fn.origin, [(i, i.ctrl) for i in fn.instrs])
        for fn in m
    ]
    return repr((functions, m.constants, m.provenance, m.isa_version, m.path))


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(6))
def test_rewriting_twice_gives_the_same_and_leaves_the_input_alone(seed: int) -> None:
    m, _ = random_program(seed, registers=16, size=60, callees=3)
    before = snapshot(m)
    budget = minimum_registers(m, "kernel")
    first = rewrite(m, "kernel", budget, 2)
    rewritten = snapshot(first)
    scheduled = schedule(first, GTX680)
    assert snapshot(scheduled) != rewritten
    assert snapshot(first) == rewritten, "scheduling changed its input"
    assert snapshot(m) == before, "rewriting changed its input"
    assert write_module(schedule(rewrite(m, "kernel", budget, 2), GTX680)) == write_module(scheduled)
