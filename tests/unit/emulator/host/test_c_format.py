"""printf's conversions, held against the C library's snprintf."""

from __future__ import annotations

import ctypes
import struct
import sys

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from binalloc.emulator.host.c_format import MOST, converted, directives
from tests.support.kits.suite import rotation

glibc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="compares with glibc's snprintf")
_INTEGERS, _FLOATS = "diuoxX", "fFeEgGaA"


def snprintf(form: str, *arguments: object) -> bytes:
    buffer = ctypes.create_string_buffer(3 * MOST)
    ctypes.CDLL(None).snprintf(buffer, len(buffer), form.encode(), *arguments)
    return buffer.value


def bits_of(number: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", number))[0])


@st.composite
def forms(draw: st.DrawFn) -> tuple[str, list[int], str, bool]:
    """A directive of C, its stars, its conversion, and whether it is of 64 bits."""
    conversion = draw(st.sampled_from(_INTEGERS + _FLOATS + "csp"))
    flags = "".join(draw(st.lists(st.sampled_from("-+ #0"), max_size=3)))
    width = draw(st.sampled_from(["", "1", "5", "12", "40", "*"]))
    precision = draw(st.sampled_from(["", ".", ".0", ".1", ".3", ".13", ".17", ".*"]))
    size = draw(st.sampled_from(["", "hh", "h", "l", "ll", "j", "z", "t"])) if conversion in _INTEGERS else ""
    stars = [draw(st.integers(-20, 20)) for text in (width, precision) if "*" in text]
    return f"%{flags}{width}{precision}{size}{conversion}", stars, conversion, bool(set(size) & set("ljzt"))


NUMBERS = st.one_of(
    st.floats().map(bits_of),
    st.sampled_from([0.5, 1.5, 2.5, 9.9999995, 1e-5, 123456.789, 1e300, 5e-324, float("inf")]).map(bits_of),
    st.integers(0, 2**64 - 1),
)
WORDS = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1]))


@glibc
@settings(max_examples=rotation.examples(2000))
@given(forms(), st.data())
def test_a_conversion_gives_what_c_gives(form: tuple[str, list[int], str, bool], data: st.DataObject) -> None:
    text, stars, conversion, wide = form
    assume(not ("*" in text.split(".")[0] and stars[0] < 0 and "0" in text))  # glibc fills up with zeros; C does not
    value: int | bytes | None
    given_to_c: object
    if conversion == "s":
        value = data.draw(st.sampled_from([b"", b"text", None, b"x" * 30]))
        given_to_c = ctypes.c_char_p(value)
    elif conversion in _FLOATS:
        value = data.draw(NUMBERS)
        if value >> 52 & 0x7FF == 0x7FF and value & (1 << 52) - 1:
            value = value & 1 << 63 | 0x7FF8 << 48  # ctypes makes signalling NaNs quiet
        given_to_c = ctypes.c_double(struct.unpack("<d", struct.pack("<Q", value))[0])
    elif conversion == "p":
        value = data.draw(st.sampled_from([0, 1, 0x10000000, 2**47 - 1]))
        given_to_c = ctypes.c_void_p(value)
    else:
        value = data.draw(WORDS)
        if conversion == "c":
            value = value % 127 + 1
        given_to_c = ctypes.c_uint64(value) if wide else ctypes.c_uint32(value & 0xFFFFFFFF)
        value = value if wide else value & 0xFFFFFFFF
    want = snprintf(text, *(ctypes.c_int32(star) for star in stars), given_to_c)
    (directive,) = directives(text.encode())
    assert directive.stars == len(stars)
    assert directive.wide == wide
    assert converted(directive, [star & 0xFFFFFFFF for star in stars], value).encode("latin-1") == want


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (b"%%", "%"), (b"100%", "100%"), (b"%y", "%y"), (b"%", "%"), (b"%-", "%-"), (b"%l5d", "%l5d"),
        (b"%5%", "%5%"), (b"%Lf", "%L"), (b"", ""), (b"\xff\n", "\xff\n"), (b"%n", ""),
    ],
)  # fmt: skip
def test_what_is_no_directive_comes_out_as_it_is_written(form: bytes, text: str) -> None:
    found = list(directives(form))
    assert "".join(converted(d, [0] * d.stars, 7 if d.has_argument else None) for d in found if d.text != "f") == text


def test_what_takes_an_argument() -> None:
    (of_d, of_s, percent, unknown) = (next(directives(form)) for form in (b"%*.*lld", b"%s", b"%%", b"%k"))
    assert [d.has_argument for d in (of_d, of_s, percent, unknown)] == [True, True, False, False]
    assert (of_d.stars, of_d.wide) == (2, True)


def test_widths_and_precisions_are_bounded() -> None:
    (directive,) = directives(b"%1000000000d")
    assert len(converted(directive, [], 1)) == MOST
    (directive,) = directives(b"%.*f")
    assert len(converted(directive, [2**31 - 1], bits_of(1.0))) == MOST + 2
