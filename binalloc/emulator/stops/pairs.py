"""This module describes blocks that wait for the lock of their pair, and who holds it. It also says what to do about an
access behind a release."""

from __future__ import annotations

from binalloc.emulator.state import layout as L
from binalloc.emulator.state.memories import Array
from binalloc.emulator.stops.context import StoppedContext
from binalloc.errors import Hint
from binalloc.models.sharing.record import made_for
from binalloc.printable import count

_FIELDS = ("block_active", "block_id", "partner", "holds", "kept_out", "state", "stack", "sp")


def release_remedy(c: StoppedContext) -> str:
    """Return what to do about an access to what the thread has released: where the binary was made for other pairs, to
    run it with these."""
    made = made_for(c.device.module, c.device.kernel.name)
    private, rows = L.WORD * c.of("partner_words"), c.of("private_rows")
    own = c.device.need.use.slots if made is None or made.slots is None else made.slots
    if made is None or (made.private, own) == (private, rows):
        return "Put RELSSP behind the last access to what the blocks share."
    has = count(private, "private byte") + (f" and {count(rows, 'private slot')}" if rows != own else "")
    return Hint(f"The binary was made for {made.option}, and has " + has + f" here: give {{sharing}} {made.option}.")


def kept_out(c: StoppedContext) -> str:
    """Return in words the first block that its partner keeps out of what they share, "" for none."""
    if not c.of("pairs"):
        return ""
    for sm in range(c.of("sms")):
        f = {name: c.at(sm, name) for name in _FIELDS}
        for slot in range(c.of("resident_limit")):
            each = c.of("warps_per_block")
            waiting = [w for w in range(slot * each, (slot + 1) * each) if f["block_active"][slot] and f["kept_out"][w]]
            if waiting:
                other = int(f["partner"][slot]) - 1
                numbers = [int(f["block_id"][k]) for k in (slot, other)]
                word = int(f["stack"][waiting[0], f["sp"][waiting[0]], L.StackColumn.PC])
                return (
                    f"block {numbers[0]} waits at {c.where(word)} for shared memory that it shares with "
                    f"block {numbers[1]} of SM {sm}, which has it{_held_at(c, f, other)}"
                )
    return ""


def _held_at(c: StoppedContext, f: dict[str, Array], slot: int) -> str:
    """Return in words where the first warp of the block that holds the lock, and goes on, is; "" where none does."""
    each = c.of("warps_per_block")
    for w in range(slot * each, (slot + 1) * each):
        if f["state"][w] not in (L.Warp.NONE, L.Warp.DONE) and f["sp"][w] >= 0:
            word = int(f["stack"][w, f["sp"][w], L.StackColumn.PC])
            return f" and is at {c.where(word)}"
    return ""
