"""This module has the part of the device's record that block dispatchers keep."""

from __future__ import annotations


class DispatchRecord:
    """The first fields are known to every dispatcher. Fields that single dispatchers remember follow them."""

    dispatcher: int  #: number of the dispatcher in its table
    launch_interval: int  #: cycles between two blocks of an SM
    first_block: int  #: the first of the blocks that are run
    blocks: int  #: how many blocks are run
    dispatched: int  #: how many of them have been dispatched
    retired: int  #: how many of them have ended
    recall: int  #: 1 where idle SMs have to ask for a block once more
