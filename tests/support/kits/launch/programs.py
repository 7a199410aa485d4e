"""Programs as dictionaries, and a runner that needs no emulator: its kernels are Python functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import FunctionInfo, Module, Param
from binalloc.laboratory.samples import sources
from binalloc.launch.program.binding import bind_step
from binalloc.launch.program.expressions import Scope
from binalloc.launch.program.schema import parse_program
from binalloc.launch.program.types import LaunchStep, Program
from binalloc.launch.program.walk import ProgramWalk
from binalloc.launch.types import Array, Launch
from binalloc.models.machines.reader import load_machine
from tests.support.paths import sample_file

KERNELS = """
.version 7.5
.target sm_75
.address_size 64
.global .align 4 .u32 total[2];
.const .align 4 .u32 table[4];

.visible .entry add(.param .u64 to, .param .u64 from, .param .u32 n)
{
    .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;
    mad.lo.u32 %r5, %r3, %r4, %r2;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra done;
    mul.wide.u32 %rd3, %r5, 4;
    add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
    ld.global.u32 %r6, [%rd4]; ld.global.u32 %r7, [%rd5];
    add.u32 %r8, %r6, %r7;
    st.global.u32 [%rd4], %r8;
done:
    ret;
}

.visible .entry sum(.param .u64 from)
{
    .reg .b32 %r<8>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [from];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    mov.u64 %rd4, table;
    and.b32 %r3, %r1, 3;
    mul.wide.u32 %rd5, %r3, 4;
    add.u64 %rd4, %rd4, %rd5;
    ld.const.u32 %r4, [%rd4];
    mul.lo.u32 %r5, %r2, %r4;
    mov.u64 %rd1, total;
    red.global.add.u32 [%rd1], %r5;
    ret;
}

.visible .entry fetch(.param .u64 to, .param .u64 image)
{
    .reg .b32 %r<4>; .reg .f32 %f<5>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [image];
    mov.u32 %r1, %tid.x;
    tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd2, {%r1}];
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd1, %rd3;
    st.global.f32 [%rd4], %f1;
    ret;
}
"""
"""Kernels that add, that sum into a variable by factors in constant memory, and that fetch texels."""

Kernel = Callable[[Launch, bytes, dict[str, Array]], None]


def buffer(name: str, dtype: str = "i32", shape: Any = 8, **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": "buffer", "dtype": dtype, "shape": shape, **more}


def scalar(name: str, value: Any, dtype: str = "i32") -> dict[str, Any]:
    return {"name": name, "kind": "scalar", "dtype": dtype, "value": value}


def base() -> dict[str, Any]:
    """A program with one of everything."""
    return {
        "constants": {"n": 8, "half": "n / 2"},
        "argument": [
            buffer("a", init={"kind": "arange"}), buffer("b"), buffer("f", "f32", [2, 3]), scalar("s", 3),
            {"name": "image", "kind": "texture", "dtype": "f32", "shape": 8},
            {"name": "v", "kind": "symbol", "dtype": "i32", "shape": 2},
        ],
        "step": [
            {"launch": "k", "grid": "half", "block": [32, "half"],
             "arguments": ["a", "n", 2.5, {"argument": "b", "at": 4}]},
            {"set": "s", "value": "s + 1"},
            {"set": "a", "value": [1, "s"], "from": 2, "count": 4},
            {"copy": "a", "to": "b", "from": 1, "at": 2, "count": 3},
            {"swap": ["a", "b"]},
            {"host": {"file": "h.py", "function": "g"}, "arguments": ["a", "s"], "when": "n > 100"},
            {"repeat": 2, "variable": "i", "step": [{"set": "s", "value": "i"}]},
            {"until": "a[0] >= 0", "at_most": 3, "step": [{"set": "s", "value": 1}]},
            {"while": "s < 3", "at_most": 5, "step": [{"set": "s", "value": "s + 1"}]},
        ],
        "sizes": {"test": {"constants": {"n": 4}, "argument": {"a": {"shape": "n"}, "b": {"shape": 4}}}},
    }  # fmt: skip


def sample_program(name: str, *, reverse: bool = False) -> Module:
    """The program of a sample in PTX for GTX680; several files linked in order of name, or the other way round."""
    files = sources(sample_file(f"{name}.toml").with_suffix(""))[:: -1 if reverse else 1]
    texts, names = [file.read_text() for file in files], [file.name for file in files]
    return import_ptx(texts, names, machine=load_machine("gtx680")).module


def of_steps(*steps: dict[str, Any], arguments: list[dict[str, Any]] | None = None, **more: Any) -> Program:
    """The program of these steps over `base`'s arguments, or others."""
    given = base()["argument"] if arguments is None else arguments
    return parse_program({"argument": given, "step": list(steps), **more}, path="p.toml")


class Memory:
    """Arrays by name, and launches kept as they came; `kernels` change the arrays."""

    def __init__(self, program: Program, params: Mapping[str, list[int]], kernels: Mapping[str, Kernel]) -> None:
        self.held, self.params, self.kernels = program.held, params, kernels
        self.arrays = program.held.make_buffers() | program.held.make_textures()
        self.places = dict(program.held.addresses)
        self.launches: list[tuple[str, tuple[int, ...], tuple[int, ...], int, bytes]] = []

    def array(self, name: str) -> Array:
        return self.arrays[name]

    def changed(self, name: str) -> None:
        assert name in self.arrays

    def swap(self, one: str, other: str) -> None:
        for held in (self.arrays, self.places):
            held[one], held[other] = held[other], held[one]  # type: ignore[index]

    def address(self, name: str) -> int:
        return self.places[name]

    def launch(self, step: LaunchStep, scope: Scope, rounds: tuple[int, ...]) -> None:
        offsets = np.cumsum([0, *self.params[step.kernel]])
        params = [Param(f"p{i}", int(offsets[i]), size) for i, size in enumerate(self.params[step.kernel])]
        addresses = {name: 1000 * i for i, name in enumerate(self.arrays, 1)}
        info = FunctionInfo(params=params)
        launch, given = bind_step(step, info, step.kernel, self.held, scope, addresses, None)
        self.launches.append((step.kernel, launch.grid, launch.block, launch.dynamic_shared, given))
        if step.kernel in self.kernels:
            self.kernels[step.kernel](launch, given, self.arrays)


def walked(
    program: Program, params: Mapping[str, list[int]] | None = None, kernels: Mapping[str, Kernel] | None = None
) -> tuple[ProgramWalk, Memory]:
    """The program walked through to its end. params: sizes of the parameters of each kernel."""
    memory = Memory(program, params or {}, kernels or {})
    walk = ProgramWalk(program, memory)
    walk.run()
    return walk, memory
