"""printf's conversions are done here as C defines them (C17, section 7.21.6.1). Where C leaves a choice, the texts are
glibc's.

`directives` reads a format as the device runtime does (`frontend/runtime/runtime.cu`), which determines how many
arguments are taken: all characters between the percent sign and the conversion count. A directive that is not valid in
C is printed as it is written.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_BETWEEN = frozenset(b"-+ #0123456789.*hljzt")  # flags, widths, precisions and length modifiers, as in runtime.cu
_WIDE = frozenset(b"ljzt")  # length modifiers that make an integer 64 bits wide, as in runtime.cu
_INTEGERS = frozenset("diuoxXc")  # conversions of integers, for which the runtime hands over a word
_FLOATS = frozenset("fFeEgGaA")  # conversions of doubles
_DIRECTIVE = re.compile(r"%([-+ #0]*)(\*|[0-9]*)(?:\.(\*|[0-9]*))?(hh|h|ll|l|j|z|t)?([a-zA-Z])")
MOST = 4095
"""Upper limit of a field's width and of a precision: C promises that many characters per conversion. More are cut
off."""


@dataclass(frozen=True)
class FormatDirective:
    """A directive is one piece of a format: a conversion, or text without one."""

    text: str  #: its characters in the format
    conversion: str = ""  #: its last character, "" where the format ends before it
    stars: int = 0  #: number of widths and precisions that are arguments
    wide: bool = False  #: whether its argument is an integer of 64 bits
    literal: bool = False  #: whether it is text without a directive

    @property
    def has_argument(self) -> bool:
        """Return whether it takes an argument beside its stars."""
        return not self.literal and (self.conversion in _INTEGERS or self.conversion in _FLOATS
                                     or self.conversion in tuple("psn"))  # fmt: skip


def directives(form: bytes) -> Iterator[FormatDirective]:
    """Yield the pieces of a format, in order."""
    at = 0
    while at < len(form):
        start = form.find(b"%", at)
        if start < 0:
            start = len(form)
        if start > at:
            yield FormatDirective(form[at:start].decode("latin-1"), literal=True)
        if start == len(form):
            return
        end = start + 1
        while end < len(form) and form[end] in _BETWEEN:
            end += 1
        between = form[start + 1 : end]
        conversion = form[end : end + 1].decode("latin-1")
        wide = any(c in _WIDE for c in between)
        yield FormatDirective(form[start : end + 1].decode("latin-1"), conversion, between.count(b"*"), wide)
        at = end + 1


def converted(directive: FormatDirective, stars: Sequence[int], value: int | bytes | None) -> str:
    """Return the directive's text; characters stand for bytes.

    stars: its widths and precisions that are arguments, as 32 bits each. value: the argument, the bits of an integer or
    double, or a string's bytes; None for none, and for a null pointer to a string.
    """
    if directive.literal or directive.text == "%%":
        return "%" if directive.text == "%%" else directive.text
    match = _DIRECTIVE.fullmatch(directive.text)
    if match is None or not directive.has_argument:
        return directive.text
    flags, width_text, precision_text, size, conversion = match.groups()
    given = iter(_signed(star, 32) for star in stars)
    width = next(given) if width_text == "*" else int(width_text or 0)
    if width < 0:
        flags, width = flags + "-", -width
    precision: int | None = None
    if precision_text is not None:
        precision = next(given) if precision_text == "*" else int(precision_text or 0)
        precision = None if precision < 0 else min(precision, MOST)
    if conversion == "n":
        return ""
    body, zeros = _body(conversion, flags, precision, size or "", directive.wide, value)
    return _filled(body, flags, min(width, MOST), zeros and "-" not in flags and "0" in flags)


def _filled(body: tuple[str, str], flags: str, width: int, zeros: bool) -> str:
    """Return sign or prefix and digits, padded to the width."""
    front, rest = body
    missing = width - len(front) - len(rest)
    if missing <= 0:
        return front + rest
    if "-" in flags:
        return front + rest + " " * missing
    return front + "0" * missing + rest if zeros else " " * missing + front + rest


def _body(
    conversion: str, flags: str, precision: int | None, size: str, wide: bool, value: int | bytes | None
) -> tuple[tuple[str, str], bool]:
    """Return ((sign or prefix, in front of padding zeros; the rest), whether zeros may pad)."""
    if conversion == "s":
        text = "(null)" if value is None else value.decode("latin-1") if isinstance(value, bytes) else ""
        if value is None and precision is not None and precision < len(text):
            text = ""
        return ("", text if precision is None else text[:precision]), False
    assert isinstance(value, int)
    if conversion == "c":
        return ("", chr(value & 0xFF)), False
    if conversion == "p":
        if value == 0:
            return ("", "(nil)"), False
        front, digits = _integer("x", flags + "#", precision, value, 64)
        return (_sign(False, flags) + front, digits), precision is None
    if conversion in _FLOATS:
        return _float(conversion, flags, precision, value)
    bits = {"hh": 8, "h": 16}.get(size, 64 if wide else 32)
    return _integer(conversion, flags, precision, value & (1 << bits) - 1, bits), precision is None


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def _sign(negative: bool, flags: str) -> str:
    return "-" if negative else "+" if "+" in flags else " " if " " in flags else ""


def _integer(conversion: str, flags: str, precision: int | None, value: int, bits: int) -> tuple[str, str]:
    front = ""
    if conversion in "di":
        number = _signed(value, bits)
        front, value = _sign(number < 0, flags), abs(number)
    digits = format(value, {"o": "o", "x": "x", "X": "X"}.get(conversion, "d"))
    if value == 0 and precision == 0:
        digits = ""
    digits = digits.rjust(precision or 0, "0")
    if "#" in flags:
        if conversion == "o" and not digits.startswith("0"):
            digits = "0" + digits
        elif conversion in "xX" and value:
            front = "0" + conversion
    return front, digits


def _float(conversion: str, flags: str, precision: int | None, bits: int) -> tuple[tuple[str, str], bool]:
    number = struct.unpack("<d", struct.pack("<Q", bits))[0]
    front = _sign(bool(bits >> 63), flags)
    if not math.isfinite(number):
        text = "nan" if math.isnan(number) else "inf"
        return (front, text.upper() if conversion.isupper() else text), False
    if conversion in "aA":
        prefix, digits = _hexadecimal(bits, precision, "#" in flags)
        if conversion == "A":
            prefix, digits = prefix.upper(), digits.upper()
        return (front + prefix, digits), True
    sharp = "#" if "#" in flags else ""
    return (front, f"%{sharp}.{6 if precision is None else precision}{conversion}" % abs(number)), True


def _hexadecimal(bits: int, precision: int | None, point: bool) -> tuple[str, str]:
    """Return a double as %a prints it: one digit in front of the point, which is 1 unless the number is subnormal or
    zero. Halves are rounded to even."""
    fraction, exponent = bits & (1 << 52) - 1, bits >> 52 & 0x7FF
    whole = 1 if exponent else 0
    power = exponent - 1023 if exponent else -1022 if fraction else 0
    digits = f"{fraction:013x}"
    if precision is None:
        digits = digits.rstrip("0")
    elif precision < len(digits):
        shift = 4 * (len(digits) - precision)
        number = whole << 52 | fraction
        low, half = number & (1 << shift) - 1, 1 << shift - 1
        number = (number >> shift) + (low > half or (low == half and number >> shift & 1))
        whole, rest = number >> 4 * precision, number & (1 << 4 * precision) - 1
        digits = f"{rest:0{precision}x}" if precision else ""
    else:
        digits = digits.ljust(precision, "0")
    dot = "." if digits or point else ""
    return "0x", f"{whole}{dot}{digits}p{power:+d}"
