"""This module computes the energy of a DRAM channel from the currents of its devices and from counts of its commands.

Needs currents as JEDEC names them, of one device. The formulas are those of Micron's technical note TN-41-01 and of the
simulator DRAMsim3. With V volts, mA milliamperes and ns nanoseconds, V * mA * ns is picojoules. Where devices have a
second supply, VPP, its currents add terms of the same form.

- activation, with its precharge: IDD0 * tRC - (IDD3N * tRAS + IDD2N * (tRC - tRAS))
- read, write: (IDD4R - IDD3N) or (IDD4W - IDD3N), for the ticks of a burst on the bus
- refresh of all banks: (IDD5 - IDD3N) * tRFC
- background: IDD3N for a tick in which a bank is open, IDD2N for one in which none is
- I/O: energy per bit, where a source gives it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

_PICO_PER_NANO = 1000.0
BITS_OF_BYTE = 8


class Supply(NamedTuple):
    """A supply of a device is a voltage in V, and its currents in mA."""

    volts: float
    i0: float  #: a bank is activated and precharged again and again
    i2n: float  #: all banks are closed
    i3n: float  #: banks are open
    i4r: float  #: reads without pauses
    i4w: float  #: writes without pauses
    i5: float  #: all banks are refreshed


@dataclass(frozen=True, slots=True)
class Times:
    """The times of a channel are in nanoseconds."""

    tick: float  #: of the command clock
    ras: float  #: tRAS
    rc: float  #: tRC
    burst: float  #: a read or write on the data bus, at full speed
    rfc: float  #: tRFC; 0 where nothing is refreshed


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a channel are in nanojoules."""

    activation: float  #: an activation with its precharge
    read: float  #: the array's part of a read
    write: float  #: the array's part of a write
    refresh: float  #: a refresh of all banks
    open_tick: float  #: background of a tick with a bank open
    closed_tick: float  #: background of a tick with all banks closed
    io: float | None  #: I/O of a read or write; None where no source gives it


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts are those of all channels together. Background and refreshes may be fractions: a share of the machine
    has a share of them."""

    activations: int
    reads: int
    writes: int
    refreshes: float
    open_ticks: float
    closed_ticks: float


PARTS = ("activation_nj", "read_nj", "write_nj", "open_nj", "closed_nj", "refresh_nj", "io_nj")
"""Parts of the energy by name, in nanojoules. They add up to `total_nj`."""


def costs_of(supplies: tuple[Supply, ...], times: Times, devices: int, burst_bytes: int, io: float | None) -> Costs:
    """Return the costs of a channel with so many equal devices. io: picojoules per bit."""

    def cost(share: float, supply_terms: list[float]) -> float:
        return fsum(supply_terms) * share / _PICO_PER_NANO

    each = float(devices)
    return Costs(
        activation=cost(each, [s.volts * (s.i0 * times.rc - activation_background(s, times)) for s in supplies]),
        read=cost(each, [s.volts * (s.i4r - s.i3n) * times.burst for s in supplies]),
        write=cost(each, [s.volts * (s.i4w - s.i3n) * times.burst for s in supplies]),
        refresh=cost(each, [s.volts * (s.i5 - s.i3n) * times.rfc for s in supplies]),
        open_tick=cost(each, [s.volts * s.i3n * times.tick for s in supplies]),
        closed_tick=cost(each, [s.volts * s.i2n * times.tick for s in supplies]),
        io=None if io is None else io * burst_bytes * BITS_OF_BYTE / _PICO_PER_NANO,
    )


def activation_background(s: Supply, times: Times) -> float:
    """Return the part of a row cycle that is background, in mA * ns."""
    return s.i3n * times.ras + s.i2n * (times.rc - times.ras)


def negative(s: Supply, times: Times) -> Iterator[tuple[str, float, str, float]]:
    """Yield the currents that give negative energy: the field of `Supply`, its value, what it is compared with, and the
    least value that gives none."""
    least = activation_background(s, times) / times.rc
    for name, bound, why in (
        ("i0", least, "the background of a row cycle"),
        ("i4r", s.i3n, "the background with a bank open"),
        ("i4w", s.i3n, "the background with a bank open"),
        ("i5", s.i3n, "the background with a bank open"),
    ):
        value = getattr(s, name)
        if value < bound:
            yield name, value, why, bound


def energy(costs: Costs, counts: Counts) -> dict[str, float | None]:
    """Return the energy by `PARTS`, and `total_nj`, their sum. `io_nj` is None where no source gives it."""
    io = None if costs.io is None else costs.io * (counts.reads + counts.writes)
    values = (
        costs.activation * counts.activations, costs.read * counts.reads, costs.write * counts.writes,
        costs.open_tick * counts.open_ticks, costs.closed_tick * counts.closed_ticks,
        costs.refresh * counts.refreshes, io,
    )  # fmt: skip
    return {**dict(zip(PARTS, values, strict=True)), "total_nj": fsum(value for value in values if value is not None)}
