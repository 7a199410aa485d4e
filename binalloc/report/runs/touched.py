"""Accesses to what is watched, as lines and as dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.emulator.host.device import LaunchedDevice
    from binalloc.emulator.runs.watch import Span, Touch

_KINDS = ("load", "store", "atomic")


class Touched:
    """The first `most` of them, and how many there were. line: told of each of these in words, as it happens if that is
    `live`."""

    def __init__(self, most: int, line: Callable[[str], None], live: bool) -> None:
        self._most, self._line, self._live = most, line, live
        self._device: LaunchedDevice | None = None
        self._spans: Sequence[Span] = ()
        self._kept: list[dict[str, Any]] = []
        self._total = 0

    def begin(self, device: LaunchedDevice, spans: Sequence[Span]) -> Sequence[Span]:
        """What is watched on which device."""
        self._device, self._spans = device, spans
        return spans

    def add(self, touch: Touch) -> None:
        """Another access."""
        self._total += 1
        if self._total > self._most:
            return
        found = self._describe(touch)
        self._kept.append(found)
        if self._live:
            self._line(touch_line(found))

    def tell_late(self) -> None:
        """The kernel has faulted, and nothing but words can be had of it."""
        if not self._live:
            for found in self._kept:
                self._line(touch_line(found))

    def to_dict(self) -> dict[str, Any]:
        """The field `watch` of a report."""
        spans = [{"buffer": s.name, "offset": s.offset, "bytes": s.size, "address": s.start} for s in self._spans]
        left_out = max(self._total - self._most, 0)
        return {"watched": spans, "total": self._total, "left_out": left_out, "accesses": self._kept}

    def _describe(self, touch: Touch) -> dict[str, Any]:
        from binalloc.emulator.state.layout import LANES
        from binalloc.emulator.stops.context import Context

        assert self._device is not None
        function, index, instruction, source = Context(self._device).parts(touch.pc)
        loads = _KINDS[touch.access] == "load"
        before, after = (_values(self._device, touch, data) for data in (touch.before, touch.after))
        return {
            "cycle": touch.cycle, "sm": touch.sm, "block": touch.block, "warp": touch.in_block, "lane": touch.lane,
            "thread": touch.in_block * LANES + touch.lane, "function": function, "index": index,
            "instruction": instruction, "source": source, "kind": _KINDS[touch.access], "buffer": touch.span.name,
            "offset": touch.address - touch.span.start + touch.span.offset, "bytes": len(touch.before),
            "before": before, "after": None if loads else after,
        }  # fmt: skip


def _values(device: LaunchedDevice, touch: Touch, data: bytes) -> str:
    """Whole elements of the buffer as numbers, and numbers in structs, else bytes."""
    import numpy as np

    from binalloc.emulator.debug.watches import element_of
    from binalloc.launch.elements.layout import number_at

    element = element_of(device, touch.span.name)
    offset = touch.address - touch.span.start + touch.span.offset
    number = number_at(element, offset, len(data))
    if number is not None:
        return str(np.frombuffer(data, number)[0])
    if offset % element.itemsize or len(data) % element.itemsize:
        return f"bytes {data.hex(' ')}"
    return ", ".join(str(value) for value in np.frombuffer(data, element))


def touch_line(found: dict[str, Any]) -> str:
    """An access in one line."""
    source = "" if found["source"] is None else f" ({found['source']})"
    change = found["before"] if found["after"] is None else f"{found['before']} -> {found['after']}"
    return (
        f"watch: cycle {found['cycle']:,}: {found['kind']} {found['buffer']}+{found['offset']}: {change}; "
        f"{found['function']}+{found['index']} `{found['instruction']}`{source}, SM {found['sm']}, block "
        f"{found['block']}, thread {found['thread']} (warp {found['warp']}, lane {found['lane']})"
    )


def watch_lines(found: dict[str, Any]) -> list[str]:
    """How many accesses there were, behind those that were told of."""
    spans = ", ".join(f"{s['buffer']}+{s['offset']}:{s['bytes']}" for s in found["watched"])
    rest = f", {found['left_out']:,} of them counted only" if found["left_out"] else ""
    return [f"watch {spans}: {count(found['total'], 'access', 'accesses')}{rest}"]
