"""This module has the part of the device's record that block dispatchers keep."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.memory_layout import MAX_SMS


class DispatchRecord:
    """The first fields are known to every dispatcher. Fields that single dispatchers remember follow them."""

    dispatcher: int  #: number of the dispatcher in its table
    launch_interval: int  #: cycles between two blocks of an SM
    first_block: int  #: the first of the blocks that are run
    blocks: int  #: how many blocks are run
    dispatched: int  #: how many of them have been dispatched
    retired: int  #: how many of them have ended
    last_end: Annotated[Words, MAX_SMS]  #: cycle in which the SM's last block ended
    recall: int  #: 1 where idle SMs have to ask for a block once more
    #: batches of blocks, for whoever knows of them: consecutive blocks of a batch, 0 where a modulus gives batches
    batch_stride: int
    batch_modulus: int  #: blocks with the same remainder are a batch; 0 where a stride gives batches
    queue_head: Annotated[Words, MAX_SMS]  #: serial: the place of the SM's next block in the order of batches
    queue_tail: Annotated[Words, MAX_SMS]  #: serial: the place behind its last block
