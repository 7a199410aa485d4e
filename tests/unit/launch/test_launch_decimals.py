"""Numbers as files write them: rounded once to their type, in TOML and in text, and integers that are none refused."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.errors import MalformedInput
from binalloc.launch.file import load_launch
from binalloc.launch.numbers.decimals import WrittenFloat, rounds_once
from binalloc.launch.numbers.dtypes import DTYPES, rounded, shown
from binalloc.launch.program.file import load_program
from binalloc.launch.program.types import SetStep
from binalloc.launch.program.walk import ProgramWalk

# Each lies so near to the middle between two of the type that a rounding to 53 bits takes it there, and ties go to the
# other side: what is right, and what two roundings give.
HALF_WAY = [
    ("f32", "1.00000005960464477539062500001", 1 + 2**-23),
    ("f32", "1.00000017881393432617187499999", 1 + 2**-23),
    ("f32", "-1.00000005960464477539062500001", -(1 + 2**-23)),
    ("f32", "7.006492321624085354618647916449580656401309709382578858785341419448955413429304e-46", 2**-149),
    ("f16", "1.00048828125000000000000001", 1 + 2**-10), ("f16", "65519.999999999999999999", 65504),
    ("bf16", "1.00390625000000000000000001", 1 + 2**-7), ("bf16", "1.01171874999999999999999999", 1 + 2**-7),
    ("f64", "1.1", 1.1),
]  # fmt: skip
FILE = """
kernel = "k"
grid = 1
block = 1
[types.S]
fields = [{{ name = "v", dtype = "{dtype}" }}]
[[argument]]
name = "constant"
kind = "buffer"
dtype = "{dtype}"
shape = 2
init = {{ kind = "constant", value = {text} }}
[[argument]]
name = "values"
kind = "buffer"
dtype = "{dtype}"
shape = 2
init = {{ values = [{text}, {text}] }}
[[argument]]
name = "table"
kind = "buffer"
dtype = "{dtype}"
shape = 2
init = {{ file = "x.csv" }}
[[argument]]
name = "structs"
kind = "buffer"
dtype = "S"
shape = 2
init = {{ values = [{{ v = {text} }}, [{text}]] }}
[[argument]]
name = "scalar"
kind = "scalar"
dtype = "{dtype}"
value = {text}
"""


@pytest.mark.parametrize(("dtype", "text", "expected"), HALF_WAY)
def test_a_decimal_is_rounded_once(dtype: str, text: str, expected: float, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"{text}\n{text}\n")
    (tmp_path / "l.toml").write_text(FILE.format(dtype=dtype, text=text))
    launch = load_launch(tmp_path / "l.toml")
    made = launch.make_buffers()
    made["structs"] = made["structs"]["v"]
    for name, found in made.items():
        assert shown(found, dtype).tolist() == [expected] * 2, name
    assert launch.values["scalar"] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1.00000005960464477539062500001-1.00000005960464477539062500001j", (1 + 2**-23) * (1 - 1j)),
     ("(1e-5+1.00000005960464477539062500001J)", complex(np.float32(1e-5), 1 + 2**-23)),
     ("1E+1-j", 10 - 1j), ("-1e+1-2.5E-1j", -10 - 0.25j), ("j", 1j), ("+j", 1j), ("-2", -2 + 0j),
     ("inf-3j", complex("inf-3j")),
     ("(-inf+infj)", complex("-inf+infj"))],
)  # fmt: skip
def test_so_is_either_part_of_a_complex_one(text: str, expected: complex, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"{text}\n")
    start, (_, rest) = FILE.partition("[[argument]]")[0], FILE.split('name = "table"')
    entry = '[[argument]]\nname = "table"' + rest.split("[[argument]]")[0].replace("shape = 2", "shape = 1")
    (tmp_path / "l.toml").write_text((start + entry).format(dtype="c64", text=text))
    assert load_launch(tmp_path / "l.toml").make_buffers()["table"].tolist() == [expected]


def test_so_is_what_a_step_sets(tmp_path: Path) -> None:
    text = HALF_WAY[0][1]
    (tmp_path / "l.toml").write_text(f"""
[[argument]]
name = "s"
kind = "scalar"
dtype = "f32"
value = 0
[[step]]
set = "s"
value = {text}
[[step]]
set = "s"
value = {2**60 + 2**36 + 1}
""")
    program = load_program(tmp_path / "l.toml")
    walk = ProgramWalk(program, None)  # type: ignore[arg-type]
    for step, expected in zip(program.steps, (1 + 2**-23, 2**60 + 2**37), strict=True):
        assert isinstance(step, SetStep)
        walk._set(step)
        assert walk.scalars["s"] == expected


@settings(max_examples=300)
@given(
    st.sampled_from(["f16", "bf16", "f32"]), st.integers(1, 2**25), st.integers(-30, 10),
    st.sampled_from([-1, 0, 1]), st.booleans(), st.booleans(),
)  # fmt: skip
def test_against_exact_arithmetic(
    dtype: str, mantissa: int, exponent: int, aside: int, negative: bool, whole: bool
) -> None:
    """Numbers next to all sorts of short binary fractions; none of the type is nearer than what comes out."""
    exact = Fraction(mantissa) * Fraction(2) ** exponent + Fraction(aside, 10**60)
    exact = -exact if negative else exact
    value: int | WrittenFloat
    if whole:
        value = int(exact * 2**40) + aside
        exact = Fraction(value)
    else:
        value = WrittenFloat(f"{int(exact * 10**90)}e-90")
        exact = Fraction(int(exact * 10**90), 10**90)
    with np.errstate(all="ignore"):
        element = rounded(rounds_once(value, dtype), dtype)
    bits, found = int(element.view(f"u{element.itemsize}")), float(shown(element, dtype))
    if not np.isfinite(found):
        return
    for near in (bits - 1, bits + 1):
        neighbour = np.array(near & (256**element.itemsize - 1), f"u{element.itemsize}").view(element.dtype)
        other = float(shown(neighbour, dtype))
        if np.isfinite(other):
            apart, own = (abs(Fraction(v) - exact) for v in (other, found))
            assert own < apart or (own == apart and bits % 2 == 0)


@pytest.mark.parametrize("text", ["1e999", "-1e999", "1" * 330 + ".5"])
def test_digits_beyond_all_floats_are_no_infinity(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"{text}\ninf\n")
    for dtype in ("f64", "f32", "bf16"):
        (tmp_path / "l.toml").write_text(FILE.format(dtype=dtype, text=text))
        with pytest.raises(MalformedInput, match=r"argument\[4\]\.value: does not fit its type; found -?1"):
            load_launch(tmp_path / "l.toml")
        (tmp_path / "l.toml").write_text(FILE.format(dtype=dtype, text="inf"))
        with pytest.raises(MalformedInput, match=r"line 1, value 1: does not fit its type; found -?1"):
            load_launch(tmp_path / "l.toml").make_buffers()
    (tmp_path / "x.csv").write_text("inf\n-Infinity\n")
    assert load_launch(tmp_path / "l.toml").make_buffers()["table"].tolist() == [0x7F80, 0xFF80]
    argument = '[[argument]]\nname = "s"\nkind = "scalar"\ndtype = "f32"\nvalue = 0\n'
    (tmp_path / "l.toml").write_text(f'{argument}[[step]]\nset = "s"\nvalue = {text}\n')
    with pytest.raises(MalformedInput, match=r"step\[0\]\.value: out of range; found -?1"):
        load_program(tmp_path / "l.toml")


@pytest.mark.parametrize("text", ["1.0", "1e3", "-2.", "inf", "nan"])
def test_an_integer_has_no_point_and_no_exponent(text: str, tmp_path: Path) -> None:
    """In text as in TOML."""
    (tmp_path / "x.csv").write_text(f"{text}\n1\n")
    (tmp_path / "l.toml").write_text(FILE.format(dtype="i8", text=1))
    said = "not an integer; found .*; expected an integer from -128 to 127, without point or exponent"
    with pytest.raises(MalformedInput, match=f"line 1, value 1: {said}"):
        load_launch(tmp_path / "l.toml").make_buffers()
    (tmp_path / "l.toml").write_text(FILE.format(dtype="i8", text=text.replace("2.", "2.0")))
    with pytest.raises(MalformedInput, match=re.escape("argument[4].value: ") + said):
        load_launch(tmp_path / "l.toml")


def test_arange_counts_as_it_did() -> None:
    """From the double that is nearest: what follows is computed in double precision."""
    from binalloc.launch.file import parse_launch
    from tests.support.kits.launch.launch_files import buffer

    init: Any = {"kind": "arange", "start": WrittenFloat(HALF_WAY[0][1]), "step": 1}
    found = parse_launch(buffer("f32", 2, init)).make_buffers()["x"]
    assert found.tolist() == (1 + 2**-24 + np.arange(2.0)).astype("f4").tolist()
    assert DTYPES["f32"] == found.dtype
