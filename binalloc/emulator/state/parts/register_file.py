"""The parts of the records that hold the register files' banks: figures of the machine, and what an SM's have under
way."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Grid, Words
from binalloc.emulator.state.layout import MAX_REGISTER_BANKS, MAX_SCHEDULERS, OPERANDS


class RegisterFileFigures:
    """Of the machine: banks, 0 where it names none; registers that one gives out a cycle; cycles in which an
    instruction's registers must come; whether operands are kept for later ones."""

    register_banks: int
    bank_reads: int
    read_window: int
    operand_cache: int


class RegisterFileRecord:
    """Of an SM, by scheduler."""

    # the first cycle in which it may issue again, 0 if nothing keeps it; the latest of them
    issue_latest: int
    issue_from: Annotated[Words, MAX_SCHEDULERS]
    # by bank: reads, counted from cycle 0 at `bank_reads` a cycle, that are done or given away
    bank_free: Annotated[Grid, MAX_SCHEDULERS, MAX_REGISTER_BANKS]
    # by bank and operand: the register kept, and of which warp, see `sm.register_file.kept_as`; 0 for none
    kept: Annotated[Grid, MAX_SCHEDULERS, MAX_REGISTER_BANKS * OPERANDS]
