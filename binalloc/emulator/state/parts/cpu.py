"""This module has the part of the device record that CPU programs keep, which ask the memory beside the GPU."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.memory_layout import MAX_CHAINS, MAX_CHANNELS, MAX_CPUS


class CpuRecord:
    """A program's misses are divided among chains (`models.dram.traffic`). Chain c has one request for the whole run.

    Times are core cycles; those with `CPU_FRACTION` fraction bits say so.
    """

    cpu_chains: int  #: chains of all programs, 0 without CPU traffic
    cpu_started: int  #: whether the chains have begun
    cpu_memory: int  #: the memory with their pages
    cpu_high: int  #: whether their pages lie in the high rows of a bank, apart from the GPU's
    cpu_first: int  #: whether a channel serves CPU programs before the GPU
    cpu_pages: int  #: pages that they have been given in this run
    cpu_waiting: int  #: their requests that wait for a place at a channel
    # by program
    cpu_think: Annotated[Words, MAX_CPUS]  #: time between a miss's data and the chain's next miss, in fractions
    cpu_path: Annotated[Words, MAX_CPUS]  #: cycles of a miss beside DRAM's commands
    cpu_lines: Annotated[Words, MAX_CPUS]  #: lines of the CPU in the footprint
    cpu_base: Annotated[Words, MAX_CPUS]  #: the footprint's first line of the GPU's size, among those of all programs
    cpu_locality: Annotated[Words, MAX_CPUS]  #: share of misses to the next line, of 2^CPU_SHARE
    cpu_drawn: Annotated[Words, MAX_CPUS]  #: the last random number
    cpu_last: Annotated[Words, MAX_CPUS]  #: the line of the last miss
    cpu_misses: Annotated[Words, MAX_CPUS]  #: misses that have ended
    cpu_asked: Annotated[Words, MAX_CPUS]  #: misses that have begun
    #: cycles from a miss's arrival at its channel to its data, summed over misses that have ended
    cpu_delay: Annotated[Words, MAX_CPUS]
    # by chain
    cpu_of_chain: Annotated[Words, MAX_CHAINS]  #: its program
    cpu_begins: Annotated[Words, MAX_CHAINS]  #: cycle of its first miss
    cpu_rest: Annotated[Words, MAX_CHAINS]  #: fraction of a cycle by which the next miss is late
    cpu_since: Annotated[Words, MAX_CHAINS]  #: cycle in which the miss under way began
    # by channel: requests that wait for a place, oldest first
    cpu_head: Annotated[Words, MAX_CHANNELS]  #: the first + 1, 0 for none
    cpu_tail: Annotated[Words, MAX_CHANNELS]  #: the last
