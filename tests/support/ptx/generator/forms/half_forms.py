"""Instruction forms on f16, bf16 and pairs of them, as in `forms`.

Source letters: x a half of f16, y of bf16, in a register of 16 bits; X, Y pairs of them in 32 bits. A result P is two
predicates.
"""

from __future__ import annotations

from itertools import product

Form = tuple[str, str, str | tuple[str, ...]]
KINDS = (("f16", "x", "h"), ("f16x2", "X", "w"), ("bf16", "y", "h"), ("bf16x2", "Y", "w"))
"""Type, letter of a source, class of a result."""
INTEGERS = tuple((f"{k}{width}", c) for width, c in ((16, "h"), (32, "w"), (64, "d")) for k in "us")
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
ROUND = ("rn", "rz", "rm", "rp")
ROUND_INT = ("rni", "rzi", "rmi", "rpi")


def arithmetic() -> list[Form]:
    forms: list[Form] = []
    for t, x, c in KINDS:
        flushes = ("", ".ftz") if t[0] == "f" else ("",)
        saturates = ("", ".sat") if t[0] == "f" else ("",)
        for ftz, sat, rn in product(flushes, saturates, ("", ".rn")):
            forms += [(f"{op}{rn}{ftz}{sat}.{t}", c, x + x) for op in ("add", "sub", "mul")]
        for ftz, clamp in product(flushes, (*saturates, ".relu")):
            forms += [(f"fma.rn{ftz}{clamp}.{t}", c, x * 3)] * 3
        for ftz, nan, sign in product(flushes, ("", ".NaN"), ("", ".xorsign.abs")):
            forms += [(f"{op}{ftz}{nan}{sign}.{t}", c, x + x) for op in ("min", "max")]
        forms += [(f"{op}{ftz}.{t}", c, x) for op in ("abs", "neg") for ftz in flushes] * 2
    for t, x, _ in KINDS[::2]:
        for mode, sat in product(("", *(f".{m}" for m in ROUND)), ("", ".sat")):
            forms += [(f"{op}{mode}{sat}.f32.{t}", "f", x + "f") for op in ("add", "sub")]
            if mode:
                forms.append((f"fma{mode}{sat}.f32.{t}", "f", x + x + "f"))
    return forms


def comparisons() -> list[Form]:
    forms: list[Form] = []
    for (t, x, c), how in product(KINDS, COMPARE):
        packed, ftz = c == "w", ".ftz" if t[0] == "f" else ""
        forms.append((f"setp.{how}.{t}", "P" if packed else "p", x + x))
        forms.append((f"setp.{how}{ftz}.{t}", "P" if packed else "p", x + x))
        results = [("u32", "w"), ("s32", "w"), (t, c)] + ([] if packed else [("u16", "h"), ("s16", "h")])
        for k, (to, d) in enumerate(results):
            forms.append((f"set.{how}{ftz if k % 2 else ''}.{to}.{t}", d, x + x))
    for (t, x, c), bop in product(KINDS, ("and", "or", "xor")):
        forms.append((f"setp.lt.{bop}.{t}", "P" if c == "w" else "p", x + x + "p"))
        forms.append((f"setp.neu.{bop}.{t}", "P" if c == "w" and bop != "or" else "p", x + x + "p"))
        forms.append((f"set.ge.{bop}.{t}.{t}", c, x + x + "p"))
        forms.append((f"set.ltu.{bop}.u32.{t}", "w", x + x + "p"))
    for to in ("f16", "bf16"):
        for of, s in (*INTEGERS, ("b32", "w"), ("f32", "f"), ("f64", "g"), ("f16", "x")):
            forms += [(f"set.{how}.{to}.{of}", "h", s + s) for how in (("eq",) if of[0] == "b" else ("eq", "lt"))]
        forms.append((f"set.le.or.{to}.s32", "h", "wwp"))
    forms.append(("set.gtu.ftz.f16.f32", "h", "ff"))
    return forms


def conversions() -> list[Form]:
    forms: list[Form] = []
    for t, x, _ in KINDS[::2]:
        saturates = ("", ".sat") if t == "f16" else ("",)
        integers = (*INTEGERS, ("u8", "w"), ("s8", "w")) if t == "f16" else INTEGERS
        for (i, c), mode, sat in product(integers, ROUND, saturates):
            forms.append((f"cvt.{mode}{sat}.{t}.{i}", "h", c))
        forms += [(f"cvt.{mode}.{i}.{t}", c, x) for (i, c), mode in product(integers, ROUND_INT)]
        for mode, ftz, sat in product(ROUND, ("", ".ftz"), saturates):
            forms.append((f"cvt.{mode}{ftz}{sat}.{t}.f32", "h", "f"))
        forms += [(f"cvt.{mode}{sat}.{t}.f64", "h", "g") for mode in ROUND for sat in saturates]
        forms += [(f"cvt{ftz}{sat}.f32.{t}", "f", x) for ftz in ("", ".ftz") for sat in saturates] * 2
        forms += [(f"cvt{sat}.f64.{t}", "g", x) for sat in saturates]
        forms += [(f"cvt.{mode}{sat}.{t}.{t}", "h", x) for mode in ROUND_INT for sat in saturates]
        forms += [(f"cvt{sat}.{t}.{t}", "h", x) for sat in saturates]
        for mode, relu, finite in product(("rn", "rz"), ("", ".relu"), ("", ".satfinite")):
            forms.append((f"cvt.{mode}{relu}{finite}.{t}.f32", "h", "f"))
            forms += [(f"cvt.{mode}{relu}{finite}.{t}x2.f32", "w", "ff")] * 2
    forms += [(f"cvt.{mode}.f16.bf16", "h", "y") for mode in ROUND]
    forms += [(f"cvt.{mode}.bf16.f16", "h", "x") for mode in ROUND]
    forms += [("cvt.rz.f32.bf16", "f", "y"), ("cvt.rp.ftz.f32.bf16", "f", "y"), ("cvt.rm.f64.bf16", "g", "y")]
    return forms


def half_forms() -> list[Form]:
    """As often arithmetic as comparisons or conversions."""
    parts = [arithmetic(), comparisons(), conversions()]
    most = max(len(part) for part in parts)
    return [form for part in parts for form in part * round(most / len(part))]


APPROXIMATE = (
    "ex2.approx.f16", "ex2.approx.f16x2", "tanh.approx.f16", "tanh.approx.f16x2",
    "ex2.approx.ftz.bf16", "ex2.approx.ftz.bf16x2", "tanh.approx.bf16", "tanh.approx.bf16x2",
)  # fmt: skip
