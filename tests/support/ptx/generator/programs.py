"""Whole random programs: functions, kernel, module, arguments. See `generator` for what the statements are."""

from __future__ import annotations

import random

import numpy as np

from tests.support.ptx.generator import calls, runtime_calls
from tests.support.ptx.generator.body import Body
from tests.support.ptx.generator.kernel_body import KernelBody
from tests.support.ptx.generator.options import (
    APPROXIMATIONS,
    BYTES,
    DTYPES,
    INPUT_ELEMENTS,
    TYPES,
    Argument,
    Function,
    Options,
    Program,
)
from tests.support.ptx.generator.values import random_bits

NAMED = """
    .reg .b64 %input, %pointer, %variable, %depot, %depotg, %scratch, %scratchg, %mineg, %counters, %countersg;
    .reg .b64 %tamef, %tameg, %approxf, %approxg, %approxx, %approxy, %wide, %out;
    .reg .b32 %mine, %counts, %slot, %uniform, %linear, %global, %tmp, %depth;
    .reg .pred %once, %leave;
"""
REGIONS = "hwddwfggxy"
"""Classes of the values in the parts of the input buffer."""
SCALARS = (("w", "u32"), ("d", "s64"), ("f", "f32"), ("g", "f64"), ("h", "u16"))


def declarations(body: Body) -> str:
    lines = [f"    .reg .{TYPES[c]} %{c}<{max(1, count)}>;" for c, count in body.registers.items()]
    return "\n".join(lines) + NAMED


def own_memory(body: Body) -> None:
    """The addresses every function has, and its depot filled."""
    body.emit(".local .align 16 .b8 depot[64]")
    body.emit("mov.u64 %depot, depot")
    body.emit("cvta.local.u64 %depotg, %depot")
    body.emit("mov.u64 %variable, variable")
    for k in range(8):
        body.emit(f"st.local.u64 [depot+{8 * k}], {body.operand('d', 0.3)}")


def assign_all(body: Body) -> None:
    """Every variable gets a constant value."""
    for c, names in body.variables.items():
        for name in names:
            if c == "p":
                body.emit(f"setp.lt.u32 {name}, {body.rng.randrange(4)}, {body.rng.randrange(4)}")
            else:
                body.emit(f"mov.{TYPES[c]} {name}, {body.immediate(c)}")


def function_text(rng: random.Random, options: Options, function: Function, callees: list[Function]) -> str:
    body = Body(rng, options, callees, function.name)
    assign_all(body)
    body.emit("ld.param.u64 %pointer, [pointer]")
    if options.recursion:
        body.emit("ld.param.u32 %depth, [depth]")
    for k, c in enumerate(function.parameters):
        if c == "s":
            calls.load_struct(body, f"x{k}")
        else:
            body.emit(f"ld.param.{TYPES[c]} {body.read(c)}, [x{k}]")
    own_memory(body)
    for _ in range(max(3, options.statements // 4)):
        if rng.random() < 0.08:
            early_return(body, function)
        body.mark()
        body.statement(1, False)
    if options.recursion:
        body.mark()
        calls.call(body)
    body.mark()
    store_result(body, function)
    body.emit("ret")
    return f"{head(function, options)}\n{{\n{declarations(body)}{chr(10).join(body.lines)}\n}}\n"


def head(function: Function, options: Options) -> str:
    names = ["pointer", *(["depth"] if options.recursion else []), *(f"x{k}" for k in range(len(function.parameters)))]
    parameters, result = calls.signature(function, names, "result", recursive=bool(options.recursion))
    return f".func {result}{function.name}({', '.join(parameters)})"


def early_return(body: Body, function: Function) -> None:
    skip, p = body.label(), body.condition()
    body.emit(f"@{p} bra {skip}")
    store_result(body, function)
    body.emit("ret")
    body.lines.append(f"{skip}:")


def store_result(body: Body, function: Function) -> None:
    c = function.result
    if c == "s":
        body.emit(f"st.param.v2.b64 [result], {{{body.read('d')}, {body.read('d')}}}")
    elif c:
        body.emit(f"st.param.{TYPES[c]} [result], {body.number(c) if c in 'fg' else body.read(c)}")


def kernel_start(body: Body) -> None:
    emit = body.emit
    threads = body.threads()
    x, y, _ = body.options.block
    emit("mov.u32 %linear, %tid.z")
    emit(f"mad.lo.s32 %linear, %linear, {y}, %tid_y")
    emit(f"mad.lo.s32 %linear, %linear, {x}, %tid_x")
    emit("mov.u32 %tmp, %ctaid.x")
    emit(f"mad.lo.s32 %global, %tmp, {threads}, %linear")
    emit("ld.param.u32 %uniform, [scalar_w]")
    emit("and.b32 %uniform, %uniform, 3")
    for name in ("input", "tamef", "tameg"):
        emit(f"ld.param.u64 %{name}, [{name}]")
        emit(f"cvta.to.global.u64 %{name}, %{name}")
    sizes = {f"approx{c}": 4 * APPROXIMATIONS for c in "fxy"} | {"approxg": 8 * APPROXIMATIONS, "scratch": 64}
    for name, size in sizes.items():
        emit(f"ld.param.u64 %{name}, [{name}]")
        if name == "scratch":
            emit(f"mad.wide.u32 %scratchg, %global, {size}, %scratch")
        emit(f"cvta.to.global.u64 %{name}, %{name}")
        emit(f"mul.wide.u32 %wide, %global, {size}")
        emit(f"add.s64 %{name}, %{name}, %wide")
    emit("ld.param.u64 %countersg, [counters]")
    emit("cvta.to.global.u64 %counters, %countersg")
    emit("mov.u32 %counts, shared_counts")
    emit("mov.u32 %mine, shared_mine")
    emit("mad.lo.s32 %mine, %linear, 32, %mine")
    emit("cvt.u64.u32 %mineg, %mine")
    emit("cvta.shared.u64 %mineg, %mineg")
    emit("mov.u32 %slot, shared_slots")
    emit("mad.lo.s32 %slot, %linear, 8, %slot")


def load_inputs(body: Body) -> None:
    """Variables from the input buffer, by thread, and from the scalar parameters."""
    emit = body.emit
    for c, names in body.variables.items():
        for k, name in enumerate(names):
            if c == "p":
                emit(f"and.b32 %tmp, %global, {1 << k % 6}")
                emit(f"setp.ne.u32 {name}, %tmp, 0")
            elif k == 0:
                emit(f"ld.param.{dict(SCALARS)[c]} {name}, [scalar_{c}]")
            else:
                size = BYTES[c]
                emit(f"mad.lo.s32 %tmp, %global, {2 * body.rng.randrange(40) + 1}, {body.rng.randrange(64)}")
                emit(f"and.b32 %tmp, %tmp, {INPUT_ELEMENTS - 1}")
                emit(f"mul.wide.u32 %wide, %tmp, {size}")
                region = {"h": 0, "w": 1, "d": 2, "f": 5, "g": 6}[c]
                if c in "hw" and k % 2:  # halves
                    region = 8 + (k // 2) % 2
                emit("add.s64 %wide, %wide, %input")
                emit(f"ld.global.{TYPES[c]} {name}, [%wide+{region * 8 * INPUT_ELEMENTS}]")
    emit("ld.param.v2.u8 {" + ", ".join(body.variables["w"][1:3]) + "}, [box+2]")
    emit(f"ld.param.b64 {body.variables['d'][1]}, [box+8]")


def shared_start(body: Body) -> None:
    for k in range(4):
        body.emit(f"st.shared.b64 [%mine+{8 * k}], {body.read('d')}")
    body.emit("setp.lt.u32 %once, %linear, 24")
    body.emit("mov.u32 %tmp, shared_counts")
    body.emit("mad.lo.s32 %tmp, %linear, 8, %tmp")
    body.emit("@%once st.shared.u64 [%tmp], 1000")
    body.emit("bar.sync 0")


def store_variables(body: Body, classes: str) -> None:
    for c in classes:
        names = body.variables[c]
        body.emit(f"ld.param.u64 %out, [out{c}]")
        body.emit("cvta.to.global.u64 %out, %out")
        size = 4 if c == "p" else BYTES[c]
        body.emit(f"mul.wide.u32 %wide, %global, {size * len(names)}")
        body.emit("add.s64 %out, %out, %wide")
        for k, name in enumerate(names):
            if c == "p":
                body.emit(f"selp.u32 %tmp, 1, 0, {name}")
                name = "%tmp"
            kind = "u32" if c == "p" else TYPES[c]
            body.emit(f"st.global.{kind} [%out+{k * size}], {name}")


def shared_end(body: Body) -> None:
    """Shared counters are added to the second half of the counters."""
    body.emit("bar.sync 0")
    body.emit("setp.lt.u32 %once, %linear, 17")
    body.emit("mov.u32 %tmp, shared_counts")
    body.emit("mad.lo.s32 %tmp, %linear, 8, %tmp")
    body.emit("@%once ld.shared.u64 %wide, [%tmp]")
    body.emit("mul.wide.u32 %out, %linear, 8")
    body.emit("add.s64 %out, %out, %counters")
    body.emit("@%once atom.global.add.u64 %wide, [%out+256], %wide")


def kernel_text(rng: random.Random, options: Options, functions: list[Function]) -> tuple[str, Body]:
    body = KernelBody(rng, options, functions, "kernel")
    body.in_kernel = True
    kernel_start(body)
    load_inputs(body)
    own_memory(body)
    shared_start(body)
    for _ in range(options.statements):
        body.mark()
        body.statement(0, True)
    for _ in range(2 if options.recursion else 0):
        body.mark()
        calls.call(body)
    body.mark()
    shared_end(body)
    store_variables(body, "pwf")
    body.options = Options(**{**vars(options), "warps": False, "barriers": False})
    leave = rng.random()
    body.emit(f"xor.b32 %tmp, {body.read('w')}, %global")
    body.emit("and.b32 %tmp, %tmp, 3")
    body.emit("setp.eq.u32 %leave, %tmp, 0")
    done = "$done"
    if leave < 0.5:
        body.emit(rng.choice(("@%leave ret", "@%leave exit", f"@%leave bra {done}")))
        for _ in range(options.statements // 8):
            body.mark()
            body.statement(1, False)
    body.mark()
    store_variables(body, "hdg")
    for k in range(4):
        body.emit(f"ld.shared.u64 %wide, [%mine+{8 * k}]")
        body.emit(f"ld.global.u64 %out, [%scratch+{8 * k}]")
        body.emit("xor.b64 %wide, %wide, %out")
        body.emit(f"st.global.u64 [%scratch+{8 * k}], %wide")
    body.lines.append(f"{done}:")
    body.emit("ret")
    pointers = [f"    .param .u64 {n}" for n in pointer_names()]
    scalars = [f"    .param .{t} scalar_{c}" for c, t in SCALARS]
    head = ".visible .entry kernel(\n" + ",\n".join([*pointers, *scalars, "    .param .align 8 .b8 box[16]"]) + "\n)\n"
    ids = "    .reg .b32 %tid_x, %tid_y;\n    mov.u32 %tid_x, %tid.x;\n    mov.u32 %tid_y, %tid.y;\n"
    return head + f"{{\n{declarations(body)}{ids}" + "\n".join(body.lines) + "\n}\n", body


def pointer_names() -> list[str]:
    outputs = [f"out{c}" for c in "pwfhdg"]
    return ["input", "tamef", "tameg", *outputs, *(f"approx{c}" for c in "fgxy"), "scratch", "counters"]


def module_text(rng: random.Random, options: Options, functions: list[Function], texts: list[str]) -> str:
    threads = options.block[0] * options.block[1] * options.block[2]
    tables = []
    for space, name in ((".const", "table"), (".global", "variable")):
        values = [rng.choice((0, 1, 127, 128, 255, rng.randrange(256))) for _ in range(128)]
        values = values[: rng.choice((128, 100))]
        tables.append(f"{space} .align 16 .b8 {name}[128] = {{{', '.join(map(str, values))}}};")
    shared = [
        f".shared .align 16 .b8 shared_mine[{32 * threads}];",
        f".shared .align 16 .b8 shared_slots[{8 * max(threads, 32)}];",
        ".shared .align 8 .b8 shared_counts[192];",
    ]
    head = [".version 9.0", ".target sm_100", ".address_size 64", '.file 1 "random.cu"', *tables, *shared]
    head += [runtime_calls.module_text()] if options.runtime else []
    return "\n".join(head) + "\n" + "\n".join(texts)


def make_arguments(rng: random.Random, options: Options, body: Body) -> list[Argument]:
    threads = options.grid * options.block[0] * options.block[1] * options.block[2]
    regions = [[random_bits(rng, c) for _ in range(INPUT_ELEMENTS * 8 // BYTES[c])] for c in REGIONS]
    data = [np.array(r, dtype=DTYPES[c]).view(np.uint8) for r, c in zip(regions, REGIONS, strict=True)]
    found = [Argument("input", np.concatenate(data))]
    tame = np.array([rng.uniform(0.25, 3.0) for _ in range(INPUT_ELEMENTS)])
    found += [Argument("tamef", tame.astype(np.float32)), Argument("tameg", tame)]
    for c in "pwfhdg":
        count = len(body.variables[c])
        dtype = np.uint32 if c == "p" else {"f": np.float32, "g": np.float64}.get(c, DTYPES[c])
        compare = {"f": "f32", "g": "f64"}.get(c, "bits")
        found.append(Argument(f"out{c}", np.zeros(threads * count, dtype=dtype), compare))
    found.append(Argument("approxf", np.zeros(threads * APPROXIMATIONS, dtype=np.float32), "approx32"))
    found.append(Argument("approxg", np.zeros(threads * APPROXIMATIONS, dtype=np.float64), "approx64"))
    for c, compare in (("x", "approxf16"), ("y", "approxbf16")):
        found.append(Argument(f"approx{c}", np.zeros(threads * APPROXIMATIONS, dtype=np.float32), compare))
    scratch = np.array([random_bits(rng, "d") for _ in range(8 * threads)], dtype=np.uint64)
    found.append(Argument("scratch", scratch, "bits"))
    found.append(Argument("counters", np.array([random_bits(rng, "d") for _ in range(64)], dtype=np.uint64), "bits"))
    scalars = {"w": np.uint32, "d": np.int64, "f": np.float32, "g": np.float64, "h": np.uint16}
    for c, _ in SCALARS:
        value = np.array([random_bits(rng, c)], dtype=DTYPES[c]).view(scalars[c])[0]
        found.append(Argument(f"scalar_{c}", value))
    found.append(Argument("box", bytes(rng.randrange(256) for _ in range(16))))
    return found


def generate(seed: int, options: Options | None = None) -> Program:
    """The program of a seed: the same one for the same seed and options, everywhere."""
    rng = random.Random(seed)
    options = options or Options()
    functions: list[Function] = []
    texts: list[str] = []
    for k in range(options.functions):
        parameters = "".join(rng.choice("wwdfgs") for _ in range(rng.randint(0, 4)))
        function = Function(f"device_{k}", parameters, rng.choice("wdfgs"))
        if rng.random() < 0.1:
            function.result = ""
        if options.recursion:
            pair = functions[k - 1] if k % 2 else function  # which a register may name in its place
            functions.append(Function(function.name, pair.parameters, pair.result))
            continue
        texts.append(function_text(rng, options, function, functions[-1:]))
        functions.append(function)
    if options.recursion:
        texts = [f"{head(function, options)};" for function in functions]
        texts += [function_text(rng, options, function, functions) for function in functions]
    text, body = kernel_text(rng, options, functions)
    module = module_text(rng, options, functions, [*texts, text])
    return Program(module, "kernel", options.grid, options.block, make_arguments(rng, options, body), seed)
