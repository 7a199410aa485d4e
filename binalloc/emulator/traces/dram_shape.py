"""This module says where in a channel of DRAM the bursts of a request are, for the files of other DRAM tools."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.host.memory.memory_figures import dram_figures
from binalloc.emulator.memory.places import line_in_channel, spread
from binalloc.emulator.state.memory_layout import LINE_BYTES, LINE_SHIFT, LINE_WORDS
from binalloc.emulator.state.records import Gpu
from binalloc.models.machines.model import Machine

_FIELDS = (
    "slices", "slices_per_channel", "interleave", "row_bytes", "dram_channels", "dram_banks", "paged", "digits",
    "digit_part", "digit_radix", "digit_weight", "row_weight", "row_lines",
)  # fmt: skip
_WORD = LINE_BYTES // LINE_WORDS


class DramShape(NamedTuple):
    """The shape of the emulated channels. Bank b is number b div `groups` of bank group b mod `groups`."""

    machine: Machine
    sms: int  #: emulated SMs
    channels: int
    banks: int
    groups: int
    buses: int
    burst_bytes: int
    row_bytes: int
    record: Gpu  #: a device record that has the figures of the mapping

    @classmethod
    def of(cls, device: LaunchedDevice) -> DramShape:
        """Return the shape of a device's DRAM."""
        record = Gpu()
        for name in _FIELDS:
            setattr(record, name, device.engine.get(device.g, 0, name))
        get, figures = device.get, dram_figures(device.machine, device.sms_count)
        return cls(
            device.machine, device.sms_count, get("dram_channels"), figures["dram_banks"], figures["dram_groups"],
            figures["command_buses"], figures["burst_bytes"], figures["row_bytes"], record,
        )  # fmt: skip

    @property
    def columns_of_row(self) -> int:
        """Return the bursts of a row."""
        return max(1, self.row_bytes // self.burst_bytes)

    def columns(self, line: int, words: int) -> tuple[int, ...]:
        """Return which bursts of its row a request touches, in the order in which they are moved. words: mask of the
        words that it asks for of a line."""
        first = _first_byte(self.record, line)
        size = self.burst_bytes // _WORD
        if size >= LINE_WORDS:
            return (first // self.burst_bytes,)
        mask = (1 << size) - 1
        return tuple(
            (first // self.burst_bytes) + k for k in range(LINE_WORDS // size) if (words >> (k * size)) & mask
        )


@lru_cache(maxsize=1 << 16)
def _first_byte(g: Gpu, line: int) -> int:
    """Return where a line begins in its row."""
    chunk = line // (g.interleave >> LINE_SHIFT)
    lines = g.row_bytes[0] >> LINE_SHIFT
    return line_in_channel(g, spread(chunk, g.slices), line) % lines << LINE_SHIFT
