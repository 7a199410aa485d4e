"""The part of the device's record that block dispatchers keep."""

from __future__ import annotations


class DispatchRecord:
    """What every dispatcher knows; what single ones remember comes behind it."""

    # the dispatcher, by its number in the table; cycles between two blocks of an SM
    dispatcher: int
    launch_interval: int
    # the blocks that are run: the first of them, and how many; how many have been dispatched, and have ended
    first_block: int
    blocks: int
    dispatched: int
    retired: int
    # 1 where SMs that have nothing to do are to ask for a block once more
    recall: int
