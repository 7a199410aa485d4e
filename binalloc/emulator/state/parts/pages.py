"""This module has the part of the device record that page policies keep: the table of pages, and the order of the parts
of an address."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.layout import MAX_BUFFERS
from binalloc.emulator.state.memory_layout import MAX_PAGES, MAX_SMS, MEMORIES


class AddressPart(Codes):
    """A physical line has these parts."""

    CHANNEL: int  #: number of the channel among those of both memories
    BANK: int  #: number of the bank in the channel
    ROW: int  #: number of the row in the bank
    COLUMN: int  #: number of the line in the row


MAX_DIGITS = 24
"""Digits of an order of address parts. Between two digits of one part another one stands, so there are at most twice as
many as a row and a channel's banks have bits."""


class PageRecord:
    """Where `paged` is 0, pages are off: a line's place follows from its number.

    A physical line is a number in mixed radix, in each memory another one. Digit 0 is the least one. What is left above
    all digits belongs to the row. `address_part` has the parts of the line that has been taken apart last.
    """

    paged: int  #: whether pages are on
    digits: Annotated[Words, MEMORIES]  #: how many digits the order of each memory has
    page_shift: int  #: log2 of the lines of a page
    row_lines: Annotated[Words, MEMORIES]  #: lines of a row
    page_owned: int  #: whether a page belongs to an SM, in whose banks it lies
    far_share: int  #: pages for the far memory, of 2^`pages.draw.SHARE_BITS`
    page_seed: int  #: from which it is drawn which pages these are
    coloured_within: int  #: bandwidth: whether pages lie in their SM's banks of either memory
    bank_of_one: int  #: coloured: whether an SM's banks lie in as few channels as possible
    page_bytes: int  #: bytes of a page as a user has chosen them, 0 for the machine's
    objects: int  #: objects in global memory, which begin a page each
    pages_used: int  #: pages in the table
    # digit i of memory m is at m * MAX_DIGITS + i
    digit_part: Annotated[Words, MEMORIES * MAX_DIGITS]  #: a digit's part, see `AddressPart`
    digit_radix: Annotated[Words, MEMORIES * MAX_DIGITS]  #: values that it takes
    digit_weight: Annotated[Words, MEMORIES * MAX_DIGITS]  #: what one of it means in its part
    row_weight: Annotated[Words, MEMORIES]  #: likewise for what is left above all digits
    address_part: Annotated[Words, len(AddressPart.names)]
    object_line: Annotated[Words, MAX_BUFFERS]  #: the first line of each object, in rising order
    object_page: Annotated[Words, MAX_BUFFERS]  #: its first page
    #: pages handed out, by SM where each has its own: those in the low rows of each memory, then those in the high rows
    frames: Annotated[Words, 2 * MEMORIES * MAX_SMS]
    page_key: Annotated[Words, MAX_PAGES]  #: by place in the table: the page + 1, 0 for none
    page_line: Annotated[Words, MAX_PAGES]  #: its first physical line
    page_owner: Annotated[Words, MAX_PAGES]  #: the SM in whose banks it lies + 1, 0 for none
