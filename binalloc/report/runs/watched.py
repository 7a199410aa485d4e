"""This module reports the accesses to watched memory, as lines and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.pipeline.running.touched import Watched, WatchedAccess
    from binalloc.report.shapes.parts.seen import WatchAccess, WatchedPiece, WatchJson


def watched_json(found: Watched) -> WatchJson:
    """Return the field `watch` of a report."""
    spans: list[WatchedPiece] = [
        {"buffer": s.name, "offset": s.offset, "bytes": s.size, "address": s.start} for s in found.spans
    ]
    accesses = [_access(access) for access in found.accesses]
    return {"watched": spans, "total": found.total, "left_out": found.left_out, "accesses": accesses}


def _access(found: WatchedAccess) -> WatchAccess:
    return {
        "cycle": found.cycle,
        "sm": found.sm,
        "block": found.block,
        "warp": found.warp,
        "lane": found.lane,
        "thread": found.thread,
        "function": found.function,
        "index": found.index,
        "instruction": found.instruction,
        "source": found.source,
        "kind": found.kind,
        "buffer": found.buffer,
        "offset": found.offset,
        "bytes": found.bytes,
        "before": found.before,
        "after": found.after,
    }


def access_line(found: WatchedAccess) -> str:
    """Return an access as one line."""
    source = "" if found.source is None else f" ({found.source})"
    change = found.before if found.after is None else f"{found.before} -> {found.after}"
    return (
        f"watch: cycle {found.cycle:,}: {found.kind} {found.buffer}+{found.offset}: {change}; "
        f"{found.function}+{found.index} `{found.instruction}`{source}, SM {found.sm}, block "
        f"{found.block}, thread {found.thread} (warp {found.warp}, lane {found.lane})"
    )


def watch_lines(found: WatchJson) -> list[str]:
    """Return the line after the lines of single accesses, with the number of accesses. found: the field `watch`."""
    spans = ", ".join(f"{s['buffer']}+{s['offset']}:{s['bytes']}" for s in found["watched"])
    rest = f", {found['left_out']:,} of them counted only" if found["left_out"] else ""
    return [f"watch {spans}: {count(found['total'], 'access', 'accesses')}{rest}"]
