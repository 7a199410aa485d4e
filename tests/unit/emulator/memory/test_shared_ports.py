"""SMs that share a port of the interconnect (`chip.sms_per_port`) share its links, to the cycle.

The reference is small: packets of one port follow one another on its link, each for ceil(bytes / width) cycles. All
else takes the same time as for an SM that has the port to itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.small import go, module, op

PLAIN = load_machine("gpgpusim-sharing")
LINE = 128
HEADER, WIDTH = PLAIN.interconnect.header_bytes, PLAIN.interconnect.response_bytes
PACKET = -(-(HEADER + LINE) // WIDTH)  # cycles of a packet with a line, on a link that one port has to itself
MANY = 12  # stores: more than a warp needs cycles to fill a link


def sharing(per_port: int, sms: int = 12) -> Machine:
    return replace(PLAIN, chip=replace(PLAIN.chip, sms=sms, sms_per_port=per_port))


def lines(kind: str, count: int, stride: int = 1) -> list[Any]:
    """A warp of each block accesses `count` whole lines. Lines of block b begin at `stride` * `count` * b."""
    code = [
        op("S2R", rd=0, sreg=0, wbar=0), op("S2R", rd=1, sreg=6, wbar=0),
        op("MOV", rd=2, form=2, cbank=0, coff=0), op("MOV", rd=3, form=2, cbank=0, coff=4),
        op("IMAD", rd=0, ra=1, form=1, imm=32 * stride * count, rc=0, wait=1),
        op("IMAD.WIDE", rd=4, ra=0, form=1, imm=4, rc=2),
    ]  # fmt: skip
    if kind == "store":
        return [*code, *(op("STG", ra=4, rb=0, width=4, moff=i * LINE, stall=1) for i in range(count)), op("EXIT")]
    return [*code, op("LDG", rd=8, ra=4, width=4, wbar=1, stall=1), op("NOP", wait=2, stall=1), op("EXIT")]


def ran(code: list[Any], machine: Machine, blocks: int, sms: int, **options: Any) -> Result:
    words = np.zeros(1 << 16, np.uint32)
    made = module(code, params={"x": 8}, machine=machine.name)
    return go(made, grid=blocks, buffers={"x": words}, machine=machine, sms=sms, **options)


@pytest.mark.parametrize("per_port", [2, 3, 4, 6])
def test_stores_of_the_sms_of_a_port_follow_one_another(per_port: int) -> None:
    """One block each on the SMs of one port: its link carries all of their packets."""
    own = ran(lines("store", MANY), sharing(1), per_port, 12).cycles
    assert ran(lines("store", MANY), sharing(per_port), per_port, 12).cycles == own + PACKET * MANY * (per_port - 1)


@pytest.mark.parametrize("per_port", [2, 3, 4])
def test_the_port_with_most_packets_is_last(per_port: int) -> None:
    """One SM more, which has the next port: nothing becomes slower. All ports at work: neither."""
    machine = sharing(per_port)
    one = ran(lines("store", MANY), machine, per_port, 12).cycles
    assert ran(lines("store", MANY), machine, per_port + 1, 12).cycles == one


@pytest.mark.parametrize("per_port", [2, 3, 4])
def test_answers_of_the_sms_of_a_port_follow_one_another(per_port: int) -> None:
    """Each SM loads a line from another channel, all in one cycle. The answers take one link, one after the other."""
    code = lines("load", 1, stride=4)
    alone = ran(code, sharing(per_port), 1, 12).cycles
    assert ran(code, sharing(per_port), per_port, 12).cycles == alone + PACKET * (per_port - 1)
    own = ran(code, sharing(1), per_port, 12).cycles
    assert own < alone + PACKET


@pytest.mark.parametrize(("per_port", "sms"), [(2, 1), (4, 1), (4, 3), (3, 2), (6, 4), (4, 7)])
def test_a_port_with_fewer_sms_has_their_share(per_port: int, sms: int) -> None:
    """A run of some SMs gives them their share of what all SMs use together: j of k SMs at a port have j/k of it. The
    last packet arrives as on a free link."""
    at_port = sms % per_port
    own = ran(lines("store", MANY), sharing(1), 1, sms).cycles  # one block: nobody else asks a slice
    apart = -(-(HEADER + LINE) * per_port // (WIDTH * at_port))  # cycles between two packets
    part, full = apart * (MANY * at_port - 1), PACKET * (MANY * per_port - 1) if sms > per_port else 0
    found = ran(lines("store", MANY), sharing(per_port), sms, sms).cycles
    assert found == own + max(part, full) - PACKET * (MANY - 1)


@pytest.mark.parametrize("per_port", [2, 3, 6])
def test_a_lone_packet_arrives_as_on_a_free_link(per_port: int) -> None:
    code = lines("load", 1)
    assert ran(code, sharing(per_port), 1, 1).cycles == ran(code, sharing(1), 1, 1).cycles


def test_one_sm_a_port_is_the_machine_without_the_key() -> None:
    code = lines("store", MANY)
    assert ran(code, sharing(1, PLAIN.chip.sms), 9, 9).stats == ran(code, PLAIN, 9, 9).stats


@pytest.mark.parametrize("kind", ["store", "load"])
def test_utilisation_is_of_the_ports_that_there_are(kind: str) -> None:
    stats = ran(lines(kind, MANY), sharing(4), 12, 12)
    for way in ("request", "response"):
        carried = stats.stats[f"{way}_bytes"] / (3 * WIDTH * stats.cycles)
        assert stats.stats[f"{way}_utilisation"] == pytest.approx(carried)
        assert carried <= 1


@pytest.mark.parametrize("name", ["gpgpusim-sharing-7x2", "gpgpusim-sharing-3x5", "gpgpusim-sharing-10x3"])
@pytest.mark.parametrize("kind", ["store", "load"])
def test_modes_and_engines_agree(name: str, kind: str) -> None:
    machine = load_machine(name)
    for sms in (1, machine.chip.sms_per_port + 1, machine.chip.sms):
        code = lines(kind, 5, stride=2)
        runs = [
            ran(code, machine, 2 * sms, sms, engine=engine, reference=reference)
            for engine in ("python", "numba") for reference in (False, True)
        ]  # fmt: skip
        assert all(one.cycles == runs[0].cycles and one.stats == runs[0].stats for one in runs)
