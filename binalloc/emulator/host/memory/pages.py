"""The figures of a machine's pages, for a number of its SMs, become fields of the device record here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from binalloc.emulator.host.memory.memory_figures import channels_for, far_channels, memory_figures
from binalloc.emulator.pages.bandwidth import BANDWIDTH, WITHIN
from binalloc.emulator.pages.coloured import COLOURED
from binalloc.emulator.pages.draw import SHARE_BITS
from binalloc.emulator.pages.identity import IDENTITY
from binalloc.emulator.state.memory_layout import LINE_BYTES, LINE_SHIFT, MEMORIES
from binalloc.emulator.state.parts.pages import MAX_DIGITS
from binalloc.errors import Hint, UsageError
from binalloc.launch.placing import BUFFER_GAP
from binalloc.models.dram.addresses import COLUMN, MOST_DIGITS, PARTS, AddressOrder, WrongOrder, read_order
from binalloc.models.machines.model import Machine
from binalloc.rows import Chosen

assert MOST_DIGITS <= MAX_DIGITS  # the record has room for every order
LEAST_BYTES, MOST_BYTES = 4096, 2 << 20  # the smallest pages of hosts, the largest of GPUs


def page_fields(
    machine: Machine, sms: int, spans: Sequence[tuple[int, int]], pages: Chosen, far: bool = False
) -> dict[str, int | list[int]]:
    """Return the fields of the device record for the pages that a user has chosen. spans: where accesses to global
    memory are valid, in rising order (`objects`). far: whether pages of CPU programs lie in the far memory.

    Raises UsageError for pages that are no power of two or do not fit into a row, for an SM's own banks on fewer SMs
    than the machine has, and for a far memory that is not there.
    """
    if pages.name == IDENTITY.name:
        if far:
            raise UsageError("without pages all lies in the near memory", place=Hint("{pages}"), found=pages.name,
                             expected="another policy, as CPU programs have pages in the far memory")  # fmt: skip
        return {"paged": 0}
    size = pages.values.get("page_bytes", 0) or machine.pages.bytes
    if size & (size - 1) or not LEAST_BYTES <= size <= MOST_BYTES:
        raise UsageError(
            "pages of that size cannot be", place=Hint("{pages}"), found=f"{size} bytes",
            expected=f"a power of two from {LEAST_BYTES} to {MOST_BYTES}",
        )  # fmt: skip
    owned = pages.name == COLOURED.name or bool(pages.values.get(WITHIN.field))
    memories = [Side("dram", machine, machine.pages.interleaved, machine.pages.coloured)]
    if pages.name == BANDWIDTH.name or far:
        memories.append(_far_side(machine))
    orders = [_order(side, sms, owned) for side in memories]
    for side, order in zip(memories, orders, strict=True):
        if owned:
            _require_own_banks(side, sms, size, order)
    shift = (size // LINE_BYTES).bit_length() - 1
    return {
        **objects(spans, shift), "paged": 1, "page_shift": shift, "page_owned": int(owned),
        **_order_fields(memories, orders),
        **(_far_fields(machine, sms, pages.name == BANDWIDTH.name) if len(memories) > 1 else {}),
    }  # fmt: skip


class Side(NamedTuple):
    """A side of the memory system is one off-chip memory as pages see it."""

    key: str  #: its section of the machine file
    machine: Machine  #: has this memory as its `dram`
    interleaved: str  #: order of address parts for pages in all channels
    coloured: str  #: order of address parts for pages in one row


def _far_side(machine: Machine) -> Side:
    """Return the far memory. Raises UsageError where the machine has none."""
    if machine.far is None:
        raise UsageError(
            f"{machine.name} has no far memory", place=Hint("{pages}"), found="no section far_dram in its file",
            expected="a machine with two off-chip memories", remedy="Choose one, such as gem5gpu-batching.",
        )  # fmt: skip
    return Side("far_dram", machine.far, *machine.far_orders)


def _far_fields(machine: Machine, sms: int, divided: bool) -> dict[str, int | list[int]]:
    """Return the fields for a far memory. divided: whether it takes the share of pages which its bandwidth has of
    both."""
    assert machine.far is not None
    near, far = machine.dram.bandwidth, machine.far.dram.bandwidth
    figures = memory_figures(machine, sms)
    channels = figures["dram_channels"]
    assert isinstance(channels, int)
    return {
        "all_channels": channels + far_channels(machine, sms),
        "far_share": round(far / (near + far) * (1 << SHARE_BITS)) if divided else 0,
    }  # fmt: skip


def _order_fields(memories: Sequence[Side], orders: Sequence[AddressOrder]) -> dict[str, int | list[int]]:
    """Return the fields with the orders of address parts of the memories."""
    digits = [(m * MAX_DIGITS + i, d) for m, order in enumerate(orders) for i, d in enumerate(order.digits)]
    rows = {"digit_part": [0] * (MAX_DIGITS * MEMORIES), "digit_radix": [1] * (MAX_DIGITS * MEMORIES)}
    rows["digit_weight"] = list(rows["digit_radix"])
    for place, digit in digits:
        rows["digit_part"][place] = PARTS.index(digit.part)
        rows["digit_radix"][place] = digit.radix
        rows["digit_weight"][place] = digit.weight
    return {
        **rows, "digits": [len(order.digits) for order in orders],
        "row_weight": [order.row_weight for order in orders],
        "row_lines": [side.machine.dram.row_bytes // LINE_BYTES for side in memories],
    }  # fmt: skip


def _order(side: Side, sms: int, owned: bool) -> AddressOrder:
    """Return the order of address parts of a memory in a run with so many SMs. owned: whether pages lie in one row."""
    text = side.coloured if owned else side.interleaved
    channels, dram = channels_for(side.machine, sms), side.machine.dram
    try:
        order = read_order(text, channels, dram.banks, dram.row_bytes)
    except WrongOrder as error:
        raise UsageError(
            f"{side.machine.name} states no order of address parts for {channels} channels of {side.key}: "
            + error.args[0],
            place=Hint("{sms}"), found=text, expected=error.args[1], remedy=Hint("Emulate all SMs of the machine."),
        ) from None  # fmt: skip
    return order


def _require_own_banks(side: Side, sms: int, size: int, order: AddressOrder) -> None:
    """Raise UsageError unless each SM can have banks of its own, and a page lies in one row."""
    machine, dram = side.machine, side.machine.dram
    if sms != machine.chip.sms:
        raise UsageError(
            "banks are divided among all SMs of the machine", place=Hint("{sms}"), found=sms, expected=machine.chip.sms,
            remedy=Hint("Emulate all of them ({sms} N), or leave out {pages}."),
        )  # fmt: skip
    banks = dram.channels * dram.banks
    if banks < sms:
        raise UsageError("fewer banks than SMs", place=Hint("{pages}"), found=f"{banks} banks in {side.key} of "
                         f"{machine.name}", expected=f"at least {sms}")  # fmt: skip
    least = order.digits[0]
    together = least.radix * LINE_BYTES if least.part == COLUMN else LINE_BYTES
    if size > together:
        raise UsageError(
            "a page is larger than what follows in a row", place=Hint("{pages}"), found=f"pages of {size} bytes",
            expected=f"at most {together} bytes in rows of {dram.row_bytes} ({side.key}.row_bytes of {machine.name})",
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
