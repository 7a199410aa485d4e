"""This module has the formats in which DRAM logs are written: requests for DRAMsim3 and Ramulator 2, commands for
DRAMPower.

The three tools number rows from zero in as many bits as they are told. So rows are numbered in the order in which they
are used first: the machine's own numbers of local memory and code are beyond all of those.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from binalloc.emulator.state.memory_layout import Command
from binalloc.emulator.traces.dram_shape import DramShape
from binalloc.emulator.traces.dram_texts import about, dramsim3_configuration
from binalloc.files import write_atomically, writing

_NAMES = {
    Command.READ: "RD", Command.WRITE: "WR", Command.ACTIVATE: "ACT", Command.PRECHARGE: "PRE",
    Command.PRECHARGE_ALL: "PREA", Command.REFRESH: "REFA",
}  # fmt: skip
"""DRAMPower's names of commands."""
LEAST_ROWS = 1 << 10  # DRAMsim3 needs a megabyte in a rank
README = "README.txt"
_VECTORS = "ramulator2.trace"


class Access(NamedTuple):
    """A request that a channel has served, with all its bursts."""

    age: int  #: grows from request to request
    tick: int  #: tick from which it waited at the channel
    channel: int
    bank: int
    row: int
    columns: tuple[int, ...]  #: bursts of the row
    write: bool


class Told(NamedTuple):
    """A command of a channel."""

    channel: int
    tick: int
    command: int
    bank: int
    row: int
    column: int | None  #: burst of the row, of a read or a write
    asked: Access | None  #: the request that ends with it


class FileSet:
    """The files of one run. A channel has a file of requests and one of commands; the address vectors are one file."""

    def __init__(self, folder: Path, shape: DramShape) -> None:
        self._folder, self._shape = folder, shape
        self._rows: dict[int, int] = {}
        self.bytes = 0
        self._pieces: dict[str, list[str]] = {}
        for channel in range(shape.channels):
            self._pieces |= {self._requests_of(channel): [], self._commands_of(channel): []}
        self._pieces[_VECTORS] = []
        for name in self._pieces:
            self._append(name, "")

    @staticmethod
    def _requests_of(channel: int) -> str:
        return f"dramsim3.{channel}.trace"

    @staticmethod
    def _commands_of(channel: int) -> str:
        return f"drampower.{channel}.csv"

    def add(self, told: Sequence[Told], asked: Sequence[Access], limit: int) -> bool:
        """Append commands and requests, or nothing if the files would be longer than `limit`, and return whether they
        are there. Requests are in the order in which they came."""
        data = "00" * (self._shape.burst_bytes // self._devices())
        for one in told:
            self._pieces[self._commands_of(one.channel)].append(self._command(one, data))
        for request in asked:
            self._pieces[self._requests_of(request.channel)] += self._request(request)
            self._pieces[_VECTORS] += self._vectors(request)
        texts = {name: "".join(pieces) for name, pieces in self._pieces.items()}
        for pieces in self._pieces.values():
            pieces.clear()
        size = sum(len(text) for text in texts.values())
        if self.bytes + size > limit:
            return False
        for name, text in texts.items():
            if text:
                self._append(name, text)
        self.bytes += size
        return True

    def end(self, tick: int) -> None:
        """Complete the files, which hold what was in front of `tick`, and write the configuration for DRAMsim3."""
        for channel in range(self._shape.channels):
            self._append(self._commands_of(channel), f"{tick},END,0,0,0,0,0\n")
        write_atomically(self._folder / "dramsim3.ini", self._configuration().encode("ascii"))

    def readme(self, how: str) -> None:
        """Write the page that says how to read the files. how: how far they go."""
        write_atomically(self._folder / README, (self._about() + "\n" + how).encode("ascii", "replace"))

    def _append(self, name: str, text: str) -> None:
        with writing(self._folder / name), open(self._folder / name, "ab") as file:
            file.write(text.encode("ascii"))

    def _devices(self) -> int:
        power = self._shape.machine.dram_power
        return 1 if power is None else power.devices

    def _row(self, row: int) -> int:
        """Return the number of a row in the files."""
        return self._rows.setdefault(row, len(self._rows))

    def _place(self, bank: int) -> tuple[int, int]:
        """Return the bank group of a bank, and its number there."""
        return bank % self._shape.groups, bank // self._shape.groups

    def _command(self, one: Told, data: str) -> str:
        if one.command in (Command.PRECHARGE_ALL, Command.REFRESH):
            return f"{one.tick},{_NAMES[one.command]},0,0,0,0,0\n"
        group, _ = self._place(one.bank)
        text = f"{one.tick},{_NAMES[one.command]},0,{group},{one.bank},{self._row(one.row)},{one.column or 0}"
        return f"{text}\n" if one.column is None else f"{text},{data}\n"

    def _request(self, request: Access) -> list[str]:
        group, bank = self._place(request.bank)
        bits = self._bits()
        what = "WRITE" if request.write else "READ"
        lines = []
        for column in request.columns:
            place = self._row(request.row)
            for value, width in ((bank, bits[1]), (group, bits[2]), (column, bits[3]), (0, bits[4])):
                place = place << width | value
            lines.append(f"0x{place:X} {what} {request.tick}\n")
        return lines

    def _vectors(self, request: Access) -> list[str]:
        group, bank = self._place(request.bank)
        what, row = "W" if request.write else "R", self._row(request.row)
        return [f"{what} {request.channel},0,{group},{bank},{row},{column}\n" for column in request.columns]

    def _row_count(self) -> int:
        return 1 << max(LEAST_ROWS.bit_length() - 1, (len(self._rows) - 1).bit_length() if self._rows else 0)

    def _bits(self) -> tuple[int, int, int, int, int]:
        """Return the bits of row, bank in its group, bank group, burst in the row and byte in the burst."""
        shape = self._shape
        sizes = (self._row_count(), -(-shape.banks // shape.groups), shape.groups, shape.columns_of_row)
        row, bank, group, column = ((size - 1).bit_length() for size in sizes)
        return row, bank, group, column, shape.burst_bytes.bit_length() - 1

    def _configuration(self) -> str:
        """Return the configuration of a channel for DRAMsim3."""
        return dramsim3_configuration(self._shape, self._row_count())

    def _about(self) -> str:
        return about(self._shape, self._bits())
