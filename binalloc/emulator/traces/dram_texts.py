"""This module writes the page about a DRAM log, and a configuration with which DRAMsim3 has the same channel."""

from __future__ import annotations

from binalloc.emulator.host.figures.energy import share_of_channels
from binalloc.emulator.traces.dram_shape import DramShape
from binalloc.models.machines.power import supplies_of
from binalloc.version import VERSION

_NEVER = 1 << 30  # ticks between refreshes in DRAMsim3 where nothing is refreshed
_SUPPLY = ("VDD", "IDD0", "IDD2N", "IDD3N", "IDD4R", "IDD4W", "IDD5AB")  # DRAMsim3's names, in the order of `Supply`


def about(shape: DramShape, bits: tuple[int, int, int, int, int]) -> str:
    """Return how to read the files. bits: of row, bank in its group, bank group, burst in the row, and byte."""
    m = shape.machine
    dram, (row, bank, group, column, byte) = m.dram, bits
    tick = 1000 / dram.command_mhz
    share = share_of_channels(m, shape.sms)
    return f"""DRAM log of binalloc {VERSION}, machine {m.name}, {shape.sms} of {m.chip.sms} SMs

Clock: all times are ticks of the command clock, {dram.command_mhz:g} MHz, {tick:.6g} ns, from the start of the run.
Geometry: {shape.channels} channels, each with {shape.banks} banks in {shape.groups} groups.
Rows have {shape.row_bytes} bytes. Bursts have {shape.burst_bytes}: {dram.burst} transfers of {dram.bus_bytes},
{dram.data_rate} a tick.
Mapping: bank b is number b div {shape.groups} of bank group b mod {shape.groups}. Columns count the bursts of a row.
Rows are numbered in the order in which they are used first, as the machine's own numbers of local memory and code are
too large for these tools.
Share: background and refreshes in binalloc's report are {share:g} of those of these channels.

dramsim3.N.trace: the requests of channel N, a line for each burst: address, READ or WRITE, and the tick from which it
waited. From the highest bit, an address is row ({row} bits), bank in its group ({bank}), bank group ({group}),
column ({column}), byte ({byte}). A request is there when its last burst has been moved.
dramsim3.ini: one channel, with these timing parameters and currents: dramsim3main dramsim3.ini -c TICKS -t FILE
ramulator2.trace: the same bursts of all channels, in the order in which the requests came to DRAM, as R or W and
channel, 0 (rank or pseudo channel), bank group, bank in its group, row, column. The format has no times.
drampower.N.csv: the commands of channel N: tick, command, rank, bank group, bank (its number in the channel), row,
column, and zeros in place of the data of each device. So only the energy of the core means something, not that of the
interface. END has the tick at which the run ended.
"""


def dramsim3_configuration(shape: DramShape, rows: int) -> str:
    """Return a channel of the machine as a configuration for DRAMsim3. The protocol is the one whose bursts take as
    many ticks. rows: of a bank."""
    m = shape.machine
    dram, power = m.dram, m.dram_power
    assert power is not None
    tick = 1000 / dram.command_mhz
    protocol = "GDDR5" if dram.data_rate == 4 else "HBM" if shape.buses == 2 else "DDR3"
    columns = shape.row_bytes // dram.bus_bytes // {"GDDR5": dram.burst, "HBM": 2, "DDR3": 1}[protocol]
    refi, rfc = (dram.refi, dram.rfc) if dram.refi else (_NEVER, max(1, round(power.rfc / tick)))
    supply = zip(_SUPPLY, supplies_of(power)[0], strict=True)
    sections: dict[str, dict[str, object]] = {
        "dram_structure": {
            "protocol": protocol, "bankgroups": shape.groups, "banks_per_group": -(-shape.banks // shape.groups),
            "rows": rows, "columns": columns, "device_width": dram.bus_bytes * 8 // power.devices, "BL": dram.burst,
            "num_dies": 1, "bankgroup_enable": "true",
        },
        "timing": {
            "tCK": f"{tick:.9g}", "AL": 0, "CL": dram.cl, "CWL": dram.wl, "tRCD": dram.rcd, "tRCDRD": dram.rcd,
            "tRCDWR": dram.rcd, "tRP": dram.rp, "tRAS": dram.ras, "tRFC": rfc, "tREFI": refi, "tREFIb": refi,
            "tRPRE": 2, "tWPRE": 0, "tRTRS": 0, "tRRD_S": dram.rrd, "tRRD_L": dram.rrd, "tWTR_S": dram.cdlr,
            "tWTR_L": dram.cdlr, "tFAW": max(1, dram.faw), "t32AW": 1, "tWR": dram.wr, "tCCD_S": dram.ccd,
            "tCCD_L": dram.ccdl, "tRTP": dram.rtp, "tRTP_S": dram.rtp, "tRTP_L": dram.rtp, "tPPD": 1,
        },
        "power": dict(supply),
        "system": {
            "channel_size": max(1, rows * shape.banks * shape.row_bytes >> 20), "channels": 1,
            "bus_width": dram.bus_bytes * 8, "address_mapping": "rochrababgco", "queue_structure": "PER_BANK",
            "row_buf_policy": "OPEN_PAGE", "cmd_queue_size": 8, "trans_queue_size": dram.queue,
            "unified_queue": "true",
        },
        "other": {"epoch_period": _NEVER, "output_level": 0},
    }  # fmt: skip
    return "\n".join(
        f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()) for name, keys in sections.items()
    )
