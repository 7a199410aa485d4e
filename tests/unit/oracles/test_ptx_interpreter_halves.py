"""The PTX interpreter's f16 and bf16 against exact fractions and NumPy's float16."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from tests.support.oracles.arithmetic import rational
from tests.support.oracles.arithmetic.rational import BF16, F16, F32, F64, RM, RN, RP, RZ, Format
from tests.support.ptx.interpreted import run
from tests.support.ptx.interpreter.arithmetic import halves as interpreted_halves
from tests.support.ptx.interpreter.arithmetic.operations import evaluate, plan
from tests.support.ptx.interpreter.arithmetic.plans import Unsupported

FORMATS = {"f16": F16, "bf16": BF16}
MODES = {"rn": RN, "rm": RM, "rp": RP, "rz": RZ}
S, NAN = 0x8000, 0x7FFF
ONE = {"f16": 0x3C00, "bf16": 0x3F80}


def patterns(t: str, count: int, seed: int = 0) -> list[int]:
    """Specials, neighbours of 1, and any."""
    rng, f = random.Random(f"{t} {seed}"), FORMATS[t]
    low = 1 << (f.p - 1)
    special = [0, 1, low - 1, low, ONE[t], ONE[t] - 1, f.inf - 1, f.inf, f.inf + 1, NAN]
    special += [x | S for x in special]
    near = [ONE[t] + rng.randrange(-300, 300) ^ rng.choice((0, S)) for _ in range(count // 3)]
    found = [*special, *near, *(rng.getrandbits(16) for _ in range(count))]
    rng.shuffle(found)
    return found[:count]


def halves(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.uint16)


def flushed(x: int, t: str) -> int:
    return x & S if x & FORMATS[t].inf == 0 else x


def clamped(x: int, t: str, how: str) -> int:
    if "ftz" in how:
        x = flushed(x, t)
    if "sat" in how:
        return 0 if x & S or x > FORMATS[t].inf else min(x, ONE[t])
    return 0 if "relu" in how and x & S else x


def fma(f: Format, a: int, b: int, c: int) -> int:
    return rational.fma(f, a, b, c, RN)


@pytest.mark.rotates
@pytest.mark.parametrize("t", FORMATS)
@pytest.mark.parametrize("how", ["", ".ftz", ".sat", ".ftz.sat", ".relu"])
def test_sums_and_products_are_rounded_once(t: str, how: str) -> None:
    f, one = FORMATS[t], ONE[t]
    if t == "bf16" and how not in ("", ".relu"):
        return
    a, b, c = (patterns(t, 600, k) for k in range(3))
    c[::3] = [(fma(f, x, y, S) ^ S) + 1 & 0xFFFF for x, y in zip(a[::3], b[::3], strict=True)]
    if "ftz" in how:
        rows = [tuple(flushed(x, t) for x in row) for row in zip(a, b, c, strict=True)]
    else:
        rows = list(zip(a, b, c, strict=True))
    wanted = {f"fma.rn{how}.{t}": [fma(f, x, y, z) for x, y, z in rows]}
    if how != ".relu":
        minus = [y if y & 0x7FFF > f.inf else y ^ S for _, y, _ in rows]
        wanted |= {
            f"add{how}.{t}": [fma(f, x, one, y) for x, y, _ in rows],
            f"sub.rn{how}.{t}": [fma(f, x, one, y) for (x, _, _), y in zip(rows, minus, strict=True)],
            f"mul{how}.{t}": [fma(f, x, y, (x ^ y) & S) for x, y, _ in rows],
        }
    for text, results in wanted.items():
        expected = [clamped(x, t, how) for x in results]
        operands = [halves(x) for x in (a, b, c)][: 3 if text.startswith("fma") else 2]
        assert evaluate(text, *operands).tolist() == expected, text
        words = [np.ascontiguousarray(np.stack([x, x[::-1]], axis=1)).view(np.uint32)[:, 0] for x in operands]
        packed = np.ascontiguousarray(evaluate(text + "x2", *words)).view(np.uint16).reshape(-1, 2)
        assert packed[:, 0].tolist() == expected
        assert packed[:, 1].tolist() == expected[::-1]


def test_f16_as_numpy_has_it() -> None:
    a, b = (halves(patterns("f16", 3000, k)) for k in (5, 6))
    with np.errstate(all="ignore"):
        for name, function in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
            wanted = function(a.view(np.float16), b.view(np.float16))
            found = evaluate(f"{name}.f16", a, b).view(np.float16)
            assert (np.isnan(wanted) == np.isnan(found)).all()
            assert (wanted.view(np.uint16) == found.view(np.uint16))[~np.isnan(wanted)].all()
        for how, compare in (("lt", np.less), ("eq", np.equal), ("ge", np.greater_equal), ("neu", np.not_equal)):
            assert (evaluate(f"setp.{how}.f16", a, b) == compare(a.view(np.float16), b.view(np.float16))).all()
        singles = np.random.default_rng(0).normal(0, 300, 3000).astype(np.float32)
        assert (evaluate("cvt.rn.f16.f32", singles).view(np.uint16) == singles.astype(np.float16).view(np.uint16)).all()


@pytest.mark.parametrize("t", FORMATS)
def test_minimum_and_maximum(t: str) -> None:
    f, one = FORMATS[t], ONE[t]

    def value(text: str, *columns: list[int]) -> list[int]:
        return evaluate(f"{text}.{t}", *map(halves, columns)).tolist()

    odd = f.inf | S | 3
    a, b = [0, S, one, one | S, odd, one, odd], [S, 0, one + 1, 0, one, odd, odd]
    assert value("min", a, b) == [S, S, one, one | S, one, one, NAN]
    assert value("max", a, b) == [0, 0, one + 1, 0, one, one, NAN]
    assert value("min.NaN", a, b) == [S, S, one, one | S, NAN, NAN, NAN]
    assert value("max.xorsign.abs", a, b) == [S, S, one + 1, one | S, one | S, one | S, NAN]
    assert value("min.NaN.xorsign.abs", a, b) == [S, S, one, S, NAN, NAN, NAN]
    assert value("neg", [0, one, odd]) == [S, one | S, odd ^ S]
    assert value("abs", [S, one | S, odd]) == [0, one, odd ^ S]
    if t == "f16":
        assert value("max.ftz", [1, S | 1], [S | 2, S]) == [0, S]
        assert value("neg.ftz", [1, S | 1, odd]) == [S, 0, NAN]


@pytest.mark.rotates
@pytest.mark.parametrize("t", FORMATS)
@pytest.mark.parametrize("mode", MODES)
def test_conversions_round_once(t: str, mode: str) -> None:
    f, rng = FORMATS[t], random.Random(mode)
    exact = [f.decode(x) for x in patterns(t, 300)]
    near = [Fraction(x) * (1 + Fraction(rng.choice((-1, 1)), 1 << rng.randrange(5, 40)))
            for x in exact if not isinstance(x, str)]  # fmt: skip
    singles, doubles = ([fmt.encode(x, RN) for x in near] for fmt in (F32, F64))
    single = np.array(singles, dtype=np.uint32).view(np.float32)
    assert evaluate(f"cvt.{mode}.{t}.f32", single).tolist() == [f.encode(F32.decode(x), MODES[mode]) for x in singles]
    double = np.array(doubles, dtype=np.uint64).view(np.float64)
    assert evaluate(f"cvt.{mode}.{t}.f64", double).tolist() == [f.encode(F64.decode(x), MODES[mode]) for x in doubles]
    other, g = ("bf16", BF16) if t == "f16" else ("f16", F16)
    given = patterns(other, 400)
    assert evaluate(f"cvt.{mode}.{t}.{other}", halves(given)).tolist() == [
        f.encode(g.decode(x), MODES[mode]) for x in given
    ]
    for kind, bits, low in (("s16", 16, -1 << 15), ("u32", 32, 0), ("s64", 64, -1 << 63)):
        numbers = [low + rng.getrandbits(bits) >> rng.randrange(bits) for _ in range(300)]
        found = evaluate(f"cvt.{mode}.{t}.{kind}", np.array(numbers, dtype=f"{'iu'[kind[0] == 'u']}{bits // 8}"))
        assert found.tolist() == [f.encode(Fraction(x), MODES[mode]) for x in numbers]


@pytest.mark.rotates
@pytest.mark.parametrize(("target", "fmt"), [("f32", F32), ("f64", F64)])
@pytest.mark.parametrize("t", FORMATS)
def test_every_half_as_a_wider_float(t: str, target: str, fmt: Format) -> None:
    wanted = [fmt.encode(FORMATS[t].decode(x), RN) for x in range(1 << 16)]
    assert evaluate(f"cvt.{target}.{t}", halves(list(range(1 << 16)))).view(f"u{fmt.width // 8}").tolist() == wanted


@pytest.mark.parametrize("t", FORMATS)
def test_from_halves(t: str) -> None:
    f = FORMATS[t]
    half = ONE[t] - (1 << (f.p - 1))  # 0.5
    three = ONE[t] + (1 << (f.p - 1)) + (1 << (f.p - 2))  # 3
    given = halves([half, half | S, three, three | S, NAN, f.inf, f.inf | S, ONE[t] + 1])
    assert evaluate(f"cvt.rni.s32.{t}", given).view(np.int32).tolist() == [0, 0, 3, -3, 0, 2**31 - 1, -(2**31), 1]
    assert evaluate(f"cvt.rpi.u8.{t}", given).tolist() == [1, 0, 3, 0, 0, 255, 0, 2]
    assert evaluate(f"cvt.rmi.s64.{t}", given).view(np.int64).tolist()[:5] == [0, -1, 3, -3, -(2**63)]
    assert evaluate(f"cvt.rzi.{t}.{t}", given).tolist() == [0, S, three, three | S, NAN, f.inf, f.inf | S, ONE[t]]


def test_suffixes_of_conversions() -> None:
    x = np.array([2.0, -1.0, -0.0, np.nan, 1e30, -1e30, 0.5, 1e-39], dtype=np.float32)
    assert evaluate("cvt.rn.sat.f16.f32", x).tolist() == [0x3C00, 0, 0, 0, 0x3C00, 0, 0x3800, 0]
    assert evaluate("cvt.rn.relu.f16.f32", x).tolist() == [0x4000, 0, 0, NAN, 0x7C00, 0, 0x3800, 0]
    assert evaluate("cvt.rz.relu.bf16.f32", x).tolist()[:4] == [0x4000, 0, 0, NAN]
    assert evaluate("cvt.rn.satfinite.f16.f32", x).tolist()[:6] == [0x4000, 0xBC00, S, NAN, 0x7BFF, 0xFBFF]
    assert evaluate("cvt.rp.bf16.f32", x).tolist()[7] == F32_TINY
    assert evaluate("cvt.rp.ftz.bf16.f32", x).tolist()[7] == 0
    pair = evaluate("cvt.rn.relu.bf16x2.f32", x, x[::-1])
    assert pair.tolist()[:2] == [0x40000000 | BF16.encode(Fraction(1, 10**39), RN), 0x3F00]
    assert evaluate("cvt.sat.f32.f16", halves([0x4000, S, NAN])).tolist() == [1.0, 0.0, 0.0]
    assert evaluate("cvt.f16.f16", halves([0x7C01, 1])).tolist() == [0x7C01, 1]
    assert evaluate("cvt.rn.bf16.s64", np.array([-(2**63), 257], dtype=np.int64)).tolist() == [0xDF00, 0x4380]


F32_TINY = BF16.encode(Fraction(*np.float32(1e-39).as_integer_ratio()), RP)


def test_comparisons_of_pairs_and_their_words() -> None:
    a, b = np.array([0x3C007FFF], dtype=np.uint32), np.array([0x40003C00], dtype=np.uint32)
    c = np.array([True])
    low, high = plan("setp", ("ltu", "and", "f16x2")).compute(a, b, c)
    assert (low[0], high[0]) == (True, True)
    low, high = plan("setp", ("lt", "f16x2")).compute(a, b, c)
    assert (low[0], high[0]) == (False, True)
    assert evaluate("set.lt.f16x2.f16x2", a, b).tolist() == [0x3C000000]
    assert evaluate("set.lt.u32.bf16x2", a, b).tolist() == [0xFFFF0000]
    assert evaluate("set.nan.s16.f16", halves([NAN, 1]), halves([1, 1])).tolist() == [-1, 0]
    assert evaluate("set.eq.ftz.u32.f16", halves([1]), halves([S])).tolist() == [0xFFFFFFFF]
    assert evaluate("set.eq.u32.f16", halves([1]), halves([S])).tolist() == [0]
    assert evaluate("set.lt.bf16.s32", np.array([-1, 1], np.int32), np.array([0, 0], np.int32)).tolist() == [0x3F80, 0]
    p = plan("setp", ("lt", "bf16")).compute(halves([ONE["bf16"]]), halves([NAN]), c)
    assert [bool(x[0]) for x in p] == [False, True]


def test_interpreted_halvesand_an_f32() -> None:
    x = np.array([1.0, -(2.0**-20)], dtype=np.float32)
    assert evaluate("add.f32.f16", halves([0x3C00, 1]), x).tolist() == [2.0, 2.0**-24 - 2.0**-20]
    assert evaluate("sub.rz.sat.f32.bf16", halves([0x4000, 0x4000]), x).tolist() == [1.0, 1.0]
    assert evaluate("fma.rn.f32.bf16", halves([0x4000, 1]), halves([0x4040, 1]), x).tolist() == [7.0, -(2.0**-20)]


def test_approximations() -> None:
    x = halves([0x3C00, 0xFC00, NAN, 0, 0xCC00])
    assert evaluate("ex2.approx.f16", x).tolist() == [0x4000, 0, NAN, 0x3C00, F16.encode(Fraction(1, 65536), RN)]
    assert evaluate("ex2.approx.ftz.bf16", halves([0xC301])).tolist() == [0]
    assert evaluate("tanh.approx.f16", x).tolist()[:2] == [F16.encode(Fraction(np.tanh(1.0)), RN), 0xBC00]


def test_atomics() -> None:
    out = run(
        """.reg .f16 %x; .reg .b16 %y, %z; mov.b16 %x, 0x3C00; mov.b16 %z, 0x3C00;
        atom.global.add.noftz.f16 %y, [%d0+2], %x; mov.b32 %r1, {%z, %y};
        red.global.add.noftz.f16x2 [%d0+4], %r1;""",
        threads=3, words=2,
    )  # fmt: skip
    assert out.tolist() == [0x42000000, 0x42004200]
    assert interpreted_halves.atomic_sum(0x7C01, S, "f16") == 0x7C01
    assert interpreted_halves.atomic_sum(0x3F807F81, 0x3F808000, "bf16x2") == 0x40007F81


def test_what_is_not_known_is_refused() -> None:
    for op, mods in [
        ("div", ("f16",)),
        ("cvt", ("rn", "f16x2", "f16")),
        ("mul", ("f32", "f16")),
        ("set", ("lt", "f64", "f16")),
    ]:
        with pytest.raises(Unsupported):
            plan(op, mods)
