"""Instruction forms of the program generator: opcode text, destination class, source classes.

Classes: p predicate, h 16 bits, w 32 bits, d 64 bits, f f32, g f64. Source letters beyond them: n a 32-bit count masked
to 0..255, u one below 32, v one of -4 to 3, W D H an operand made odd (a divisor), F G a float made a number (no NaN),
i an immediate byte; x, y, X, Y halves, and a result P two predicates (`half_forms`).
"""

from __future__ import annotations

from itertools import product

from tests.support.ptx.generator.forms.half_forms import Form, half_forms
from tests.support.ptx.generator.forms.video_forms import video_forms

INT_CLASS = {16: "h", 32: "w", 64: "d"}
COMPARE_INT = ("eq", "ne", "lt", "le", "gt", "ge")
COMPARE_FLOAT = (*COMPARE_INT, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
ROUND = ("rn", "rz", "rm", "rp")
ROUND_INT = ("rni", "rzi", "rmi", "rpi")


def integer_forms() -> list[Form]:
    forms: list[Form] = []
    for width, c in INT_CLASS.items():
        for op in ("add", "sub", "min", "max", "mul.lo", "mul.hi"):
            forms += [(f"{op}.{k}{width}", c, c + c) for k in "us"]
        forms += [(f"{op}.{k}{width}", c, c + c.upper()) for op in ("div", "rem") for k in "us"]
        forms += [(f"{op}.s{width}", c, c) for op in ("abs", "neg")]
        forms += [(f"{op}.b{width}", c, c + c) for op in ("and", "or", "xor")]
        forms += [(f"not.b{width}", c, c), (f"shl.b{width}", c, c + "w"), (f"shl.b{width}", c, c + "n")]
        forms += [(f"shr.{k}{width}", c, c + s) for k in "usb" for s in "wn"]
        forms += [(f"mad.{m}.{k}{width}", c, c * 3) for m in ("lo", "hi") for k in "us"]
        forms += [(f"selp.{k}{width}", c, c + c + "p") for k in "bus"]
        forms += [(f"mov.{k}{width}", c, c) for k in "bus"]
    for narrow, wide in ((16, 32), (32, 64)):
        a, b = INT_CLASS[narrow], INT_CLASS[wide]
        forms += [(f"mul.wide.{k}{narrow}", b, a + a) for k in "us"]
        forms += [(f"mad.wide.{k}{narrow}", b, a + a + b) for k in "us"]
    for width, c in ((32, "w"), (64, "d")):
        forms += [(f"popc.b{width}", "w", c), (f"clz.b{width}", "w", c), (f"brev.b{width}", c, c)]
        forms += [(f"bfind{s}.{k}{width}", "w", c) for s in ("", ".shiftamt") for k in "us"]
        forms += [(f"bfe.{k}{width}", c, c + "nn") for k in "us"]
        forms += [(f"bfi.b{width}", c, c + c + "nn")]
    forms += [("add.sat.s32", "w", "ww"), ("sub.sat.s32", "w", "ww"), ("mad.hi.sat.s32", "w", "www")]
    forms += [(f"shf.{d}.{m}.b32", "w", "ww" + n) for d in "lr" for m in ("wrap", "clamp") for n in "wn"]
    forms += [("lop3.b32", "w", "wwwi")] * 4 + [("prmt.b32", "w", "www")] * 3
    forms += [(f"prmt.b32.{m}", "w", "www") for m in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")]
    forms += [(f"bmsk.{m}.b32", "w", "nn") for m in ("clamp", "wrap")]
    forms += [("vabsdiff4.u32.u32.u32.add", "w", ("w", "w", "w"))] * 3
    return forms


def pair_forms() -> list[Form]:
    """Two integers or two f32 in a register, cvt.pack, fns, limited integers, min and max with signs apart."""
    forms: list[Form] = [(f"{op}.{k}16x2", "w", "ww") for op in ("add", "min", "max") for k in "us"]
    forms += [(f"{op}.relu.{t}", "w", "ww") for op in ("min", "max") for t in ("s32", "s16x2")]
    for mode, ftz in product(("", *(f".{m}" for m in ROUND)), ("", ".ftz")):
        forms += [(f"{op}{mode}{ftz}.f32x2", "d", "dd") for op in ("add", "sub", "mul")]
        forms += [(f"fma{mode}{ftz}.f32x2", "d", "ddd")] if mode else []
    forms += [(f"cvt.pack.sat.{k}16.s32", "w", "ww") for k in "us"]
    forms += [(f"cvt.pack.sat.{k}{bits}.s32.b32", "w", "www") for k in "us" for bits in (2, 4, 8)]
    forms += [("fns.b32", "w", "www"), ("fns.b32", "w", "wnn"), ("fns.b32", "w", "wuv")]
    for op, ftz, nan in product(("min", "max"), ("", ".ftz"), ("", ".NaN")):
        forms += [(f"{op}{ftz}{nan}.f32", "f", "ff"), (f"{op}{ftz}{nan}.xorsign.abs.f32", "f", "ff")]
        forms += [(f"{op}{ftz}{nan}.abs.f32", "f", "fff")]
    return forms


def predicate_forms() -> list[Form]:
    forms: list[Form] = [(f"{op}.pred", "p", "pp") for op in ("and", "or", "xor")] * 3
    forms += [("not.pred", "p", "p"), ("mov.pred", "p", "p")]
    for width, c in INT_CLASS.items():
        forms += [(f"setp.{how}.{k}{width}", "p", c + c) for how in COMPARE_INT for k in "us"]
        forms += [(f"setp.{how}.b{width}", "p", c + c) for how in ("eq", "ne")]
        forms += [(f"setp.{how}.{b}.s{width}", "p", c + c + "p") for how in ("lt", "eq") for b in ("and", "or", "xor")]
    forms += [(f"setp.{how}.u32", "p", "ww") for how in ("lo", "ls", "hi", "hs")]
    for how in COMPARE_FLOAT:
        forms += [(f"setp.{how}.f32", "p", "ff"), (f"setp.{how}.ftz.f32", "p", "ff"), (f"setp.{how}.f64", "p", "gg")]
    forms += [("setp.ltu.and.f32", "p", "ffp"), ("setp.gt.or.ftz.f32", "p", "ffp"), ("setp.neu.xor.f64", "p", "ggp")]
    return forms


def float_forms() -> list[Form]:
    forms: list[Form] = []
    for t, c in (("f32", "f"), ("f64", "g")):
        flushes = ("", ".ftz") if c == "f" else ("",)
        saturates = ("", ".sat") if c == "f" else ("",)
        for mode, ftz, sat in product(ROUND, flushes, saturates):
            forms += [(f"{op}.{mode}{ftz}{sat}.{t}", c, c + c) for op in ("add", "sub", "mul")]
            forms += [(f"fma.{mode}{ftz}{sat}.{t}", c, c * 3)]
        for mode, ftz in product(ROUND, flushes):
            forms += [(f"div.{mode}{ftz}.{t}", c, c + c)]
            forms += [(f"{op}.{mode}{ftz}.{t}", c, c) for op in ("rcp", "sqrt")]
        for ftz in flushes:
            forms += [(f"{op}{ftz}.{t}", c, c + c) for op in ("min", "max", "add", "sub", "mul")]
            forms += [(f"{op}{ftz}.{t}", c, c) for op in ("abs", "neg")]
        forms += [(f"copysign.{t}", c, c.upper() + c), (f"selp.{t}", c, c + c + "p"), (f"mov.{t}", c, c)] * 2
        forms += [(f"fma.rn.{t}", c, c * 3)] * 6
        forms += [
            (f"mov.b{t[1:]}", "w" if c == "f" else "d", c.upper()),
            (f"mov.b{t[1:]}", c, "w" if c == "f" else "d"),
        ]
    return forms


def conversion_forms() -> list[Form]:
    forms: list[Form] = []
    integers = [(f"{k}{w}", c) for w, c in INT_CLASS.items() for k in "us"]
    for (to, c), (of, s) in product(integers, integers):
        if to != of:
            forms.append((f"cvt.{to}.{of}", c, s))
    for k, (of, s) in product("us", integers):
        forms += [(f"cvt.{k}8.{of}", "w", s), (f"cvt.{of}.{k}8", s, "w"), (f"cvt.sat.{k}8.{of}", "w", s)]
    for (to, c), (of, s) in product(integers, integers):
        if int(to[1:]) < int(of[1:]) or (to[0] == "u" and of[0] == "s"):
            forms.append((f"cvt.sat.{to}.{of}", c, s))
    for (t, c), (i, s), mode in product((("f32", "f"), ("f64", "g")), integers, ROUND):
        forms.append((f"cvt.{mode}.{t}.{i}", c, s))
    for (t, c), (i, s), mode in product((("f32", "f"), ("f64", "g")), integers, ROUND_INT):
        source = c if i[1:] in ("32", "64") else c.upper()
        forms.append((f"cvt.{mode}.{i}.{t}", s, source))
        if c == "f":
            forms.append((f"cvt.{mode}.ftz.{i}.{t}", s, source))
    forms += [(f"cvt.{mode}{x}.f32.f64", "f", "g") for mode in ROUND for x in ("", ".ftz", ".sat", ".ftz.sat")]
    forms += [("cvt.f64.f32", "g", "f"), ("cvt.ftz.f64.f32", "g", "f"), ("cvt.sat.f32.f32", "f", "f")] * 2
    forms += [(f"cvt.{mode}{x}.f32.f32", "f", "f") for mode in ROUND_INT for x in ("", ".ftz", ".sat")]
    forms += [(f"cvt.{mode}.f64.f64", "g", "g") for mode in ROUND_INT]
    return forms


def extra_forms() -> list[Form]:
    """Forms outside the histogram of real files; an importer may refuse them."""
    forms: list[Form] = [("cnot.b32", "w", "w"), ("cnot.b64", "d", "d"), ("cnot.b16", "h", "h")]
    forms += [(f"sad.{k}{w}", c, c * 3) for w, c in INT_CLASS.items() for k in "us"]
    forms += [(f"mul24.{m}.{k}32", "w", "ww") for m in ("lo", "hi") for k in "us"]
    forms += [(f"mad24.{m}.{k}32", "w", "www") for m in ("lo", "hi") for k in "us"]
    forms += [(f"szext.{m}.{k}32", "w", "wn") for m in ("clamp", "wrap") for k in "us"]
    forms += [(f"dp4a.{a}32.{b}32", "w", "www") for a in "us" for b in "us"]
    forms += [(f"dp2a.{m}.{a}32.{b}32", "w", "www") for m in ("lo", "hi") for a in "us" for b in "us"]
    forms += [("slct.u32.s32", "w", "www"), ("slct.f32.f32", "f", "fff"), ("slct.ftz.b64.f32", "d", "ddf")]
    forms += [("set.lt.u32.s32", "w", "ww"), ("set.geu.f32.f32", "f", "ff"), ("set.ne.s32.u64", "w", "dd")]
    names = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    forms += [(f"testp.{n}.{t}", "p", c) for n in names for t, c in (("f32", "f"), ("f64", "g"))]
    return forms


FAMILIES: dict[str, list[Form]] = {
    "integer": integer_forms(),
    "predicate": predicate_forms(),
    "float": float_forms(),
    "conversion": conversion_forms(),
    "half": half_forms(),
    "pair": pair_forms(),
    "video": video_forms(),
    "extra": extra_forms(),
}
APPROXIMATE: list[Form] = [
    *[
        (f"{op}.approx{ftz}.f32", "f", "f")
        for op in ("ex2", "lg2", "sin", "cos", "rsqrt", "rcp", "sqrt")
        for ftz in ("", ".ftz")
    ],
    *[(f"div.{m}{ftz}.f32", "f", "ff") for m in ("approx", "full") for ftz in ("", ".ftz")],
    ("rcp.approx.ftz.f64", "g", "g"),
    ("rsqrt.approx.f64", "g", "g"),
]
