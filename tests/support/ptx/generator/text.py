"""Generator of large PTX texts in the shape nvcc gives them: the same for the same seed."""

from __future__ import annotations

import random

_INTEGER = ("add.s32", "sub.s32", "and.b32", "xor.b32", "mul.lo.s32", "min.s32", "shl.b32", "max.u32")
_FLOAT = ("add.f32", "mul.f32", "sub.f32", "min.f32", "fma.rn.f32", "div.rn.f32")
_WIDE = ("add.s64", "or.b64", "sub.s64")


def large_module(lines: int, kernel_lines: int = 3000, seed: int = 1) -> str:
    """A module of about `lines` lines: kernels of about `kernel_lines`, each calling a function now and then."""
    rng = random.Random(seed)
    out = [".version 8.0", ".target sm_75", ".address_size 64", "", '.file 1 "generated.cu"']
    out += [".func (.param .b32 func_retval0) helper(", "\t.param .b32 helper_param_0", ")", "{"]
    out += ["\t.reg .f32 \t%f<3>;", "\tld.param.f32 \t%f1, [helper_param_0];", "\tmul.f32 \t%f2, %f1, 0f40000000;"]
    out += ["\tst.param.f32 \t[func_retval0+0], %f2;", "\tret;", "", "}"]
    number = 0
    while len(out) < lines:
        out += _kernel(rng, number, min(kernel_lines, max(lines - len(out), 60)))
        number += 1
    return "\n".join(out) + "\n"


def _kernel(rng: random.Random, number: int, lines: int) -> list[str]:
    """One kernel: straight code, loads and stores, guarded blocks, a loop around it all, and calls."""
    name = f"kernel{number}"
    body: list[str] = []
    registers = {"r": 8, "f": 8, "rd": 4, "p": 1}

    def new(kind: str) -> str:
        registers[kind] += 1
        return f"%{kind}{registers[kind] - 1}"

    def old(kind: str) -> str:
        return f"%{kind}{rng.randrange(1, registers[kind])}"

    block = 0
    while len(body) < lines - 40:
        if len(body) % 12 == 0:
            body.append(f"\t.loc\t1 {len(body) + 1} {rng.randrange(1, 40)}")
        choice = rng.random()
        if choice < 0.40:
            a, b = old("r"), rng.choice((old("r"), str(rng.randrange(-64, 64))))
            body.append(f"\t{rng.choice(_INTEGER)} \t{new('r')}, {a}, {b};")
        elif choice < 0.65:
            op, a, b = rng.choice(_FLOAT), old("f"), rng.choice((old("f"), f"0f{rng.randrange(1 << 30):08X}"))
            body.append(f"\t{op} \t{new('f')}, {a}, {b}{', ' + old('f') if op[0] + op[1] == 'fm' else ''};")
        elif choice < 0.75:
            op, a, b = rng.choice(_WIDE), old("rd"), old("rd")
            body.append(f"\t{op} \t{new('rd')}, {a}, {b};")
        elif choice < 0.83:
            address = old("rd")
            body.append(f"\tld.global.f32 \t{new('f')}, [{address}+{4 * rng.randrange(64)}];")
        elif choice < 0.88:
            body.append(f"\tst.global.f32 \t[{old('rd')}], {old('f')};")
        elif choice < 0.90:
            address = old("rd")
            body.append(f"\tld.global.v2.f32 \t{{{new('f')}, {new('f')}}}, [{address}];")
        elif choice < 0.97:
            a, b, p = old("r"), old("r"), new("p")
            body += [f"\tsetp.lt.s32 \t{p}, {a}, {b};", f"\t@{p} bra \t$L__{name}_{block};", ""]
            body += [f"\tmov.u32 \t{old('r')}, {old('r')};", "", f"$L__{name}_{block}:"]
            block += 1
        elif choice < 0.98:
            body += ["\t{ // callseq", "\t.reg .b32 temp_param_reg;", "\t.param .b32 param0;"]
            body += [f"\tst.param.f32 \t[param0+0], {old('f')};", "\t.param .b32 retval0;", "\tcall.uni (retval0), "]
            body += ["\thelper, ", "\t(", "\tparam0", "\t);", f"\tld.param.f32 \t{new('f')}, [retval0+0];", "\t}"]
        else:
            body.append(f"\tmov.u32 \t{new('r')}, %tid.x;")
    head = [f"\t// .globl\t{name}", f".visible .entry {name}(", f"\t.param .u64 {name}_param_0", ")", "{"]
    types = (("pred", "p"), ("f32", "f"), ("b32", "r"), ("b64", "rd"))
    head += [f"\t.reg .{type_} \t%{kind}<{registers[kind]}>;" for type_, kind in types] + [""]
    head += [f"\tld.param.u64 \t%rd1, [{name}_param_0];"]
    head += [f"\tcvta.to.global.u64 \t%rd{i}, %rd1;" for i in (2, 3)]
    head += [f"\tmov.u32 \t%r{i}, {i};" for i in range(1, 8)] + [f"\tmov.f32 \t%f{i}, 0f3F800000;" for i in range(1, 8)]
    return [*head, *body, "\tret;", "", "}"]
