"""The figures of a machine's pages, for a number of its SMs, become fields of the device record here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from binalloc.emulator.pages.coloured import COLOURED
from binalloc.emulator.pages.identity import IDENTITY
from binalloc.emulator.state.memory_layout import LINE_BYTES, LINE_SHIFT
from binalloc.emulator.state.parts.pages import MAX_DIGITS
from binalloc.errors import Hint, UsageError
from binalloc.launch.placing import BUFFER_GAP
from binalloc.models.dram.addresses import COLUMN, MOST_DIGITS, PARTS, AddressOrder, WrongOrder, read_order
from binalloc.models.machines.model import Machine
from binalloc.rows import Chosen

assert MOST_DIGITS <= MAX_DIGITS  # the record has room for every order
LEAST_BYTES, MOST_BYTES = 4096, 2 << 20  # the smallest pages of hosts, the largest of GPUs


def page_fields(
    machine: Machine, sms: int, channels: int, spans: Sequence[tuple[int, int]], pages: Chosen
) -> dict[str, int | list[int]]:
    """Return the fields of the device record for the pages that a user has chosen. channels: those of the run. spans:
    where accesses to global memory are valid, in rising order (`objects`).

    Raises UsageError for pages that are no power of two or do not fit into a row, and for coloured ones on fewer SMs
    than the machine has.
    """
    if pages.name == IDENTITY.name:
        return {"digits": 0}
    size = pages.values.get("page_bytes", 0) or machine.pages.bytes
    if size & (size - 1) or not LEAST_BYTES <= size <= MOST_BYTES:
        raise UsageError(
            "pages of that size cannot be", place=Hint("{pages}"), found=f"{size} bytes",
            expected=f"a power of two from {LEAST_BYTES} to {MOST_BYTES}",
        )  # fmt: skip
    order = _order(machine, channels, pages)
    if pages.name == COLOURED.name:
        _require_own_banks(machine, sms, size, order)
    shift = (size // LINE_BYTES).bit_length() - 1
    return {
        **objects(spans, shift), "digits": len(order.digits), "page_shift": shift,
        "row_lines": machine.dram.row_bytes // LINE_BYTES, "row_weight": order.row_weight,
        "digit_part": [PARTS.index(d.part) for d in order.digits],
        "digit_radix": [d.radix for d in order.digits], "digit_weight": [d.weight for d in order.digits],
    }  # fmt: skip


def _order(machine: Machine, channels: int, pages: Chosen) -> AddressOrder:
    """Return the order of address parts for a run with so many channels."""
    text = machine.pages.coloured if pages.name == COLOURED.name else machine.pages.interleaved
    try:
        order = read_order(text, channels, machine.dram.banks, machine.dram.row_bytes)
    except WrongOrder as error:
        raise UsageError(
            f"{machine.name} states no order of address parts for {channels} channels: {error.args[0]}",
            place=Hint("{sms}"), found=text, expected=error.args[1], remedy=Hint("Emulate all SMs of the machine."),
        ) from None  # fmt: skip
    return order


def _require_own_banks(machine: Machine, sms: int, size: int, order: AddressOrder) -> None:
    """Raise UsageError unless each SM can have banks of its own, and a page lies in one row."""
    if sms != machine.chip.sms:
        raise UsageError(
            "banks are divided among all SMs of the machine", place=Hint("{sms}"), found=sms, expected=machine.chip.sms,
            remedy=Hint("Emulate all of them ({sms} N), or leave out {pages}."),
        )  # fmt: skip
    banks = machine.dram.channels * machine.dram.banks
    if banks < sms:
        raise UsageError("fewer banks than SMs", place=Hint("{pages}"), found=f"{banks} banks of {machine.name}",
                         expected=f"at least {sms}")  # fmt: skip
    least = order.digits[0]
    together = least.radix * LINE_BYTES if least.part == COLUMN else LINE_BYTES
    if size > together:
        raise UsageError(
            "a page is larger than what follows in a row", place=Hint("{pages}"), found=f"pages of {size} bytes",
            expected=f"at most {together} bytes in rows of {machine.dram.row_bytes} (dram.row_bytes of {machine.name})",
            remedy=Hint("Choose smaller pages, as {pages} coloured:bytes=4096, or a machine with larger rows."),
        )  # fmt: skip


def objects(spans: Sequence[tuple[int, int]], page_shift: int) -> Mapping[str, int | list[int]]:
    """Return the objects of global memory, which begin a page each. spans: from an object's first byte to the one
    behind its last, in rising order. What lies nearer to each other than buffers do, as variables, is one object."""
    lines, pages = [], []
    page, last = 0, None
    for start, end in spans:
        if last is None or start - last >= BUFFER_GAP:
            lines.append(start >> LINE_SHIFT)
            pages.append(page)
        last = end
        page = pages[-1] + ((end - 1 >> LINE_SHIFT) - lines[-1] >> page_shift) + 1
    return {"objects": len(lines), "object_line": lines, "object_page": pages}
