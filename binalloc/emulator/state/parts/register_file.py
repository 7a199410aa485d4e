"""This module has the parts of the records for the banks of register files: figures of the machine, and the state of an
SM."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Grid, Words
from binalloc.emulator.state.layout import MAX_REGISTER_BANKS, MAX_SCHEDULERS, OPERANDS


class RegisterFileFigures:
    """The register file of a machine has these figures."""

    register_banks: int  #: banks, 0 where the machine file has none
    bank_reads: int  #: registers that a bank gives out a cycle
    read_window: int  #: cycles within which an instruction's registers must come
    operand_cache: int  #: whether operands are kept for later instructions


class RegisterFileRecord:
    """The register file of an SM has this state, by scheduler."""

    issue_latest: int  #: the latest cycle of `issue_from`
    #: first cycle in which the scheduler may issue again, 0 if nothing keeps it
    issue_from: Annotated[Words, MAX_SCHEDULERS]
    #: by bank: reads that are done or given away, counted from cycle 0 at `bank_reads` a cycle
    bank_free: Annotated[Grid, MAX_SCHEDULERS, MAX_REGISTER_BANKS]
    #: by bank and operand: the kept register and its warp, see `sm.register_file.kept_as`; 0 for none
    kept: Annotated[Grid, MAX_SCHEDULERS, MAX_REGISTER_BANKS * OPERANDS]
