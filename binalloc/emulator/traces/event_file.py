"""This module writes a file in the Trace Event Format of Perfetto and chrome://tracing, event by event.

It is the object form: `traceEvents`, then the metadata. Times are given in thousandths of a cycle and written as
microseconds, one for a cycle, because the format has this unit and viewers know no other clock. Numbers of processes
and threads begin with 1, as Perfetto takes a process or thread 0 for the idle one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NewType

CYCLE = 1000
"""Times are in thousandths of a cycle, so that several instructions of one cycle can divide it."""
Fragment = NewType("Fragment", str)
"""Fields of an event as JSON, without braces: name, category and arguments."""
_FLUSH = 1 << 16  # characters that are collected for one write; fewer would mean more writes. Chosen by hand


def fragment(name: str, category: str, arguments: Mapping[str, object]) -> Fragment:
    """Return the JSON fields of an event's name, category, and constant arguments."""
    return Fragment(_fields(name=name, cat=category, args=arguments))


def with_arguments(fields: Fragment, more: str) -> Fragment:
    """Return `fields`, which end with arguments, with further ones added. more: as JSON without braces."""
    return Fragment(f"{fields[:-1]},{more}}}")


def _fields(**values: object) -> str:
    """Return fields as JSON, without braces."""
    return json.dumps(values, separators=(",", ":"))[1:-1]


def _time(thousandths: int) -> str:
    whole, rest = divmod(thousandths, CYCLE)
    return f"{whole}.{rest:03d}" if rest else str(whole)


class EventFile:
    """An event file is written event by event.

    limit: most events, without names of tracks; writers ask `full` first. events, bytes: written so far.
    """

    def __init__(self, write: Callable[[bytes], object], limit: int) -> None:
        self._write, self._limit = write, limit
        self._waiting: list[str] = []
        self._length = 0
        self.events = 0
        self.bytes = 0
        self._first = True
        self._put('{"displayTimeUnit": "ms", "traceEvents": [')

    @property
    def full(self) -> bool:
        """Return whether there is no room for another event."""
        return self.events >= self._limit

    def slice(self, process: int, thread: int, start: int, end: int, fields: Fragment) -> None:
        """Write a stretch of time on a track. Stretches of one track do not overlap."""
        times = f'"ts":{_time(start)},"dur":{_time(end - start)}'
        self._event(f'{{"ph":"X","pid":{process},"tid":{thread},{times},{fields}}}')

    def counter(self, process: int, time: int, name: str, values: Mapping[str, int | float]) -> None:
        """Write values that hold from `time` on."""
        fields = _fields(name=name, args=dict(values))
        self._event(f'{{"ph":"C","pid":{process},"tid":1,"ts":{_time(time)},{fields}}}')

    def name(self, process: int, thread: int | None, name: str, order: int) -> None:
        """Write the name of a process, or of a thread of it, and its place in the order of processes or threads."""
        kind = "process" if thread is None else "thread"
        for what, value in (("name", name), ("sort_index", order)):
            fields = _fields(name=f"{kind}_{what}", args={what: value})
            self._item(f'{{"ph":"M","pid":{process},"tid":{thread or 1},"ts":0,{fields}}}')

    def end(self, metadata: Mapping[str, object]) -> None:
        """Close the list of events, and write the metadata after it."""
        self._put(f'\n], "otherData": {json.dumps(metadata, indent=1, allow_nan=False)}}}\n')
        self._flush()

    def _event(self, text: str) -> None:
        self.events += 1
        self._item(text)

    def _item(self, text: str) -> None:
        self._put(f"\n{text}" if self._first else f",\n{text}")
        self._first = False

    def _put(self, text: str) -> None:
        self._waiting.append(text)
        self._length += len(text)
        if self._length >= _FLUSH:
            self._flush()

    def _flush(self) -> None:
        data = "".join(self._waiting).encode("ascii")
        self._waiting, self._length = [], 0
        self.bytes += len(data)
        self._write(data)
