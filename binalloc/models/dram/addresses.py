"""This module reads the order of the parts of an address, as machine files state it, such as `row bank column:4 channel
column:8`.

The parts come from the most to the least significant one. They are the row, the bank in the channel, the channel, and
the byte in the row (column). A part with `:n` has n of its bits there, one without has all that are left of it. Numbers
of channels that are no power of two have no bits, and are a part as a whole. The row comes first, as it has no upper
limit.

Physical lines of 128 bytes are numbered in this order, so that a number is one place, and each place has one number.
"""

from __future__ import annotations

from dataclasses import dataclass

ROW, BANK, CHANNEL, COLUMN = "row", "bank", "channel", "column"
PARTS = (CHANNEL, BANK, ROW, COLUMN)  # in the order of the emulator's `AddressPart`
LINE_BYTES = 128  # lines of all machines have this size
LINE_BITS = LINE_BYTES.bit_length() - 1
MOST_DIGITS, MOST_ROW_BITS = 24, 24
"""Digits of an order, and bits of the row that it may state: the numbers of physical lines then stay within 64 bits.
Real orders have up to ten digits."""


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit is a part of an address, or some bits of a part, in the number of a physical line."""

    part: str  #: one of PARTS
    radix: int  #: values that it takes
    weight: int  #: what one of it means in its part; columns count lines


@dataclass(frozen=True, slots=True)
class AddressOrder:
    """An order takes the number of a physical line apart."""

    digits: tuple[Digit, ...]  #: from the least one; what is left above them belongs to the row
    row_weight: int  #: what one of that means in the row


class WrongOrder(ValueError):
    """The text is no order of the parts of an address. Its arguments: what is wrong, what was expected."""


def usual_orders(interleave: int) -> tuple[str, str]:
    """Return the orders of a machine whose file states none: for pages in all channels, and for pages in one row. After
    Fig. 2(b) and 2(c) of the thread batching paper. interleave: bytes of one channel before the next one's turn."""
    return f"row bank column channel column:{interleave.bit_length() - 1}", "row bank channel column"


def read_order(text: str, channels: int, banks: int, row_bytes: int) -> AddressOrder:
    """Return the order that a text states for a memory. banks: of a channel. row_bytes: a power of two. Raises
    WrongOrder."""
    words = [word.partition(":") for word in text.split()]
    if not words or words[0] != (ROW, "", ""):
        raise WrongOrder("the row is not first", "row, with all bits that are left of it, in front of all others")
    sizes = {CHANNEL: channels, BANK: banks, COLUMN: row_bytes}
    radices = _radices([(part, bits) for part, _, bits in words[1:]], sizes)
    weights = dict.fromkeys(PARTS, 1)
    digits = []
    for (part, _, _), radix in zip(reversed(words[1:]), reversed(radices), strict=True):
        digits.append(Digit(part, radix, weights[part]))
        weights[part] *= radix
    return AddressOrder(_lines(digits), weights[ROW])


def _radices(words: list[tuple[str, str]], sizes: dict[str, int]) -> list[int]:
    """Return how many values each digit takes. words: part and number of bits, "" for all that are left of it."""
    left = dict(sizes)
    for part, bits in words:
        if part not in PARTS:
            raise WrongOrder(f"an unknown part, {part!r}", f"one of {', '.join(PARTS)}")
        if bits and not (bits.isascii() and bits.isdigit() and 1 <= int(bits[:4]) <= 30):
            raise WrongOrder(f"no number of bits, {bits!r}", "1 to 30")
        if part == ROW and not bits:
            raise WrongOrder("the row comes twice", "the bits of a further part of it, as row:2")
        if part != ROW and bits:
            left[part] = _without(part, 1 << int(bits), left[part])
    whole = [part for part, bits in words if not bits]
    for part in whole:
        if whole.count(part) > 1 or left[part] == 1 < sizes[part]:
            raise WrongOrder(f"bits of {part} come twice", f"{part} once, or its bits divided")
    radices = [1 << int(bits) if bits else left[part] for part, bits in words]
    left |= dict.fromkeys(whole, 1)
    if len(words) > MOST_DIGITS or sum(int(bits) for part, bits in words if part == ROW) > MOST_ROW_BITS:
        raise WrongOrder("too many parts", f"at most {MOST_DIGITS}, with {MOST_ROW_BITS} further bits of the row")
    missing = [part for part, size in left.items() if size > 1]
    if missing:
        raise WrongOrder(f"bits of {missing[0]} are missing", f"all of {_bits(missing[0], sizes)}")
    return radices


def _without(part: str, radix: int, left: int) -> int:
    """Return what is left of a part behind a digit of it."""
    if left % radix or left == 1:
        raise WrongOrder(f"bits of {part} come twice, or are more than it has", f"{part} once, or its bits divided")
    return left // radix


def _bits(part: str, sizes: dict[str, int]) -> str:
    """Say how many values or bits a part has."""
    size = sizes[part]
    return f"{size.bit_length() - 1} bits" if size & (size - 1) == 0 else f"{size} values"


def _lines(digits: list[Digit]) -> tuple[Digit, ...]:
    """Return the digits of a line's number: without the bits that say which byte of the line is meant."""
    first, *others = digits
    if first.part != COLUMN or first.radix < 1 << LINE_BITS:
        raise WrongOrder("the bytes of a line are apart", f"column:{LINE_BITS} or more bits of it as the last part")
    digits = [Digit(COLUMN, first.radix >> LINE_BITS, 1), *others]
    digits = [Digit(d.part, d.radix, d.weight >> LINE_BITS) if d.part == COLUMN and i else d
              for i, d in enumerate(digits)]  # fmt: skip
    return tuple(d for d in digits if d.radix > 1)
