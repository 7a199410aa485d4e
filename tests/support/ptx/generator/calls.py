"""Calls in random programs: what is handed over, and functions that call one another and themselves.

Where programs have recursion every function may call every function, directly or by a register. The first word it gets,
`depth`, says how many calls may be under way below it; the kernel's threads begin with depths of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.ptx.generator.options import TYPES, Function

if TYPE_CHECKING:
    from tests.support.ptx.generator.body import Body

INDIRECT = 0.4
"""How many calls are by a register where programs have recursion."""


def call(body: Body) -> None:
    """A call of any of the functions, by those lanes that may go deeper."""
    callee = body.rng.choice(body.callees)
    if not body.options.recursion:
        _call(body, callee, None)
        return
    skip = body.label()
    deeper, p = body.register("w"), body.register("p")
    if body.in_kernel:
        body.emit(f"mad.lo.s32 {deeper}, %global, {2 * body.rng.randrange(20) + 1}, {body.rng.randrange(8)}")
        body.emit(f"rem.u32 {deeper}, {deeper}, {body.options.recursion + 1}")
        body.emit(f"setp.eq.u32 {p}, {body.rng.randrange(9)}, 8")
    else:
        body.emit(f"setp.eq.u32 {p}, %depth, 0")
        body.emit(f"sub.u32 {deeper}, %depth, 1")
    body.emit(f"@{p} bra {skip}")
    _call(body, callee, deeper)
    body.lines.append(f"{skip}:")


def _call(body: Body, callee: Function, depth: str | None) -> None:
    """Arguments and result are in .param variables of a scope of their own, as nvcc writes it."""
    body.lines.append("    {")
    names = ["a0"]
    body.emit(".param .b64 a0")
    body.emit(f"st.param.b64 [a0], {'%input' if body.in_kernel else '%pointer'}")
    if depth is not None:
        names.append("depth")
        body.emit(".param .b32 depth")
        body.emit(f"st.param.b32 [depth], {depth}")
    for k, c in enumerate(callee.parameters, 1):
        names.append(f"a{k}")
        if c == "s":
            body.emit(f".param .align 8 .b8 a{k}[16]")
            _store_struct(body, f"a{k}")
        else:
            body.emit(f".param .{TYPES[c]} a{k}")
            body.emit(f"st.param.{TYPES[c]} [a{k}], {body.number(c) if c in 'fg' else body.operand(c)}")
    result = ""
    if callee.result:
        s = callee.result == "s"
        body.emit(".param .align 8 .b8 r[16]" if s else f".param .{TYPES[callee.result]} r")
        result = "(r), "
    if depth is not None and body.rng.random() < INDIRECT:
        _by_register(body, callee, result, names)
    else:
        body.emit(f"call{'.uni' if depth is None else ''} {result}{callee.name}, ({', '.join(names)})")
    if callee.result == "s":
        load_struct(body, "r")
    elif callee.result:
        body.emit(f"ld.param.{TYPES[callee.result]} {body.read(callee.result)}, [r]")
    body.lines.append("    }")


def _by_register(body: Body, callee: Function, result: str, names: list[str]) -> None:
    """Some lanes name the one, some another function with the same arguments and result."""
    alike = [f for f in body.callees if (f.parameters, f.result) == (callee.parameters, callee.result)]
    other = body.rng.choice(alike)
    one, two, label = body.register("d"), body.register("d"), body.label()
    body.emit(f"mov.u64 {one}, {callee.name}")
    body.emit(f"mov.u64 {two}, {other.name}")
    body.emit(f"selp.b64 {one}, {one}, {two}, {body.condition()}")
    given, taken = signature(callee, [f"_{k}" for k in range(len(names))], "_", recursive=True)
    body.emit(f"{label}: .callprototype {taken}_ ({', '.join(given)})")
    body.emit(f"call {result}{one}, ({', '.join(names)}), {label}")


def signature(function: Function, names: list[str], result: str, *, recursive: bool) -> tuple[list[str], str]:
    """Declarations of a function's parameters, under these names, and of its result."""
    types = [".param .b64", *([".param .b32"] if recursive else [])]
    types += [".param .align 8 .b8" if c == "s" else f".param .{TYPES[c]}" for c in function.parameters]
    sizes = ["[16]" if ".align" in t else "" for t in types]
    given = [f"{t} {name}{size}" for t, name, size in zip(types, names, sizes, strict=True)]
    if not function.result:
        return given, ""
    struct = function.result == "s"
    return given, f"(.param .align 8 .b8 {result}[16]) " if struct else f"(.param .{TYPES[function.result]} {result}) "


def _store_struct(body: Body, name: str) -> None:
    if body.rng.random() < 0.5:
        body.emit(f"st.param.v2.b64 [{name}], {{{body.read('d')}, {body.read('d')}}}")
        return
    body.emit(f"st.param.b32 [{name}], {body.read('w')}")
    body.emit(f"st.param.f32 [{name}+4], {body.number('f')}")
    if body.rng.random() < 0.5:
        body.emit(f"st.param.b64 [{name}+8], {body.read('d')}")
        return
    for at in (8, 9):
        body.emit(f"st.param.b8 [{name}+{at}], {body.read('w')}")
    body.emit(f"st.param.b16 [{name}+10], {body.read('h')}")
    body.emit(f"st.param.b32 [{name}+12], {body.read('w')}")


def load_struct(body: Body, name: str) -> None:
    """Some of the members of a struct of 16 bytes."""
    kind = body.rng.randrange(3)
    if kind == 0:
        body.emit(f"ld.param.b64 {body.read('d')}, [{name}+8]")
        body.emit(f"ld.param.b32 {body.read('w')}, [{name}]")
    elif kind == 1:
        low, high = body.rng.sample(body.variables["w"], 2)
        body.emit(f"ld.param.v2.b32 {{{low}, {high}}}, [{name}+8]")
        body.emit(f"ld.param.b32 {body.read('w')}, [{name}+4]")
    else:
        body.emit(f"ld.param.{body.rng.choice(('u8', 's8', 'b8'))} {body.read('w')}, [{name}+9]")
        body.emit(f"ld.param.{body.rng.choice(('u16', 's16'))} {body.read('h')}, [{name}+10]")
        body.emit(f"ld.param.f32 {body.read('f')}, [{name}+4]")
