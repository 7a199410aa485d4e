"""Says what is wrong with a trace, from the public description of the Trace Event Format ("Trace Event Format", Google,
the document that chrome://tracing and Perfetto refer to) and from what Perfetto's importer asks beyond it. Knows
nothing of how we write one.

Of the format: the array form and the object form; duration events B and E and complete events X, which nest on each
thread; counters, instants, metadata. Other phases are taken for wrong, as we have no use for them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

METADATA = {
    "process_name": ("name", str), "process_labels": ("labels", str), "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str), "thread_sort_index": ("sort_index", int),
}  # fmt: skip
PHASES = "BEXiICM"
SCOPES = ("g", "p", "t")


def parse(data: bytes) -> Any:
    """JSON as its standard has it: no NaN, no key twice in an object. Raises ValueError."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(found)) != len(found):
            raise ValueError(f"a key twice in {found}")
        return dict(found)

    def constant(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    return json.loads(data.decode("utf-8"), object_pairs_hook=pairs, parse_constant=constant)


def violations(data: bytes) -> list[str]:
    """All that is wrong; empty for a valid trace."""
    try:
        trace = parse(data)
    except ValueError as error:
        return [f"no JSON: {error}"]
    events, found = trace, []
    if isinstance(trace, dict):
        events = trace.get("traceEvents")
        if trace.get("displayTimeUnit", "ms") not in ("ms", "ns"):
            found.append(f"displayTimeUnit {trace['displayTimeUnit']!r}")
        if not isinstance(trace.get("otherData", {}), dict):
            found.append("otherData is no object")
    if not isinstance(events, list):
        return [*found, "no list of events"]
    for i, event in enumerate(events):
        found += [f"event {i}: {what}" for what in _event(event)]
    return found or [*_nesting(events), *_counters(events), *_names(events)]


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _event(event: Any) -> Iterator[str]:
    """What is wrong with an event by itself."""
    if not isinstance(event, dict):
        yield "no object"
        return
    phase = event.get("ph")
    if not isinstance(phase, str) or len(phase) != 1 or phase not in PHASES:
        yield f"phase {phase!r}"
        return
    for key in ("pid", "tid"):
        value = event.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            yield f"{key} {value!r}"  # Perfetto takes 0 for the idle process and thread
    if not _number(event.get("ts")) or event["ts"] < 0:
        yield f"ts {event.get('ts')!r}"
    if phase != "E" and not (isinstance(event.get("name"), str) and event["name"]):
        yield f"name {event.get('name')!r}"
    if not isinstance(event.get("cat", ""), str):
        yield f"cat {event['cat']!r}"
    args = event.get("args", {})
    if not isinstance(args, dict):
        yield f"args {args!r}"
        return
    if phase == "X" and not (_number(event.get("dur")) and event["dur"] >= 0):
        yield f"dur {event.get('dur')!r}"
    if phase in "iI" and event.get("s", "t") not in SCOPES:
        yield f"scope {event['s']!r}"
    if phase == "C" and not (args and all(_number(value) for value in args.values())):
        yield f"a counter's values {args!r}"
    if phase == "M":
        key, kind = METADATA.get(str(event.get("name")), ("", str))
        if not isinstance(args.get(key), kind) or isinstance(args.get(key), bool):
            yield f"metadata {event.get('name')!r} with {args!r}"


def _ns(value: float) -> int:
    """Viewers count in nanoseconds."""
    return round(value * 1000)


def _nesting(events: list[Any]) -> Iterator[str]:
    """Slices of a thread lie beside or within each other; the complete ones stand in the order of their beginnings."""
    open_: dict[tuple[int, int], list[tuple[int, str]]] = {}
    slices: dict[tuple[int, int], list[tuple[int, int, str]]] = {}
    last: dict[tuple[int, int], int] = {}
    for event in events:
        if event["ph"] not in "BEX":
            continue
        track, at = (event["pid"], event["tid"]), _ns(event["ts"])
        if at < last.get(track, 0):
            yield f"{track}: {event.get('name')} at {event['ts']} stands behind a later one"
        last[track] = at
        if event["ph"] == "B":
            open_.setdefault(track, []).append((at, event["name"]))
        elif event["ph"] == "E":
            if not open_.get(track):
                yield f"{track}: an end at {event['ts']} without a beginning"
                continue
            start, name = open_[track].pop()
            if event.get("name", name) != name:
                yield f"{track}: {event['name']} ends where {name} is open"
            slices.setdefault(track, []).append((start, at, name))
        else:
            end = _ns(event["ts"] + event["dur"])
            slices.setdefault(track, []).append((at, end, event["name"]))
    for track, left in open_.items():
        for at, name in left:
            yield f"{track}: {name} at {at} has no end"
    for track, found in slices.items():
        yield from _overlaps(track, found)


def _overlaps(track: tuple[int, int], slices: list[tuple[int, int, str]]) -> Iterator[str]:
    around: list[tuple[int, int, str]] = []
    for start, end, name in sorted(slices, key=lambda s: (s[0], -s[1])):
        while around and around[-1][1] <= start:
            around.pop()
        if around and end > around[-1][1]:
            yield f"{track}: {name} from {start} to {end} ends behind {around[-1]}, in which it begins"
        around.append((start, end, name))


def _counters(events: list[Any]) -> Iterator[str]:
    """A counter's samples come in the order of time, and always have the same values."""
    last: dict[tuple[int, str], tuple[int, set[str]]] = {}
    for event in events:
        if event["ph"] == "C":
            key, at, names = (event["pid"], event["name"]), _ns(event["ts"]), set(event["args"])
            if key in last and (at <= last[key][0] or names != last[key][1]):
                yield f"counter {key} at {event['ts']}, behind {last[key]}"
            last[key] = at, names


def _names(events: list[Any]) -> Iterator[str]:
    """Who has slices or counters has a name, and one only."""
    named: dict[tuple[object, ...], str] = {}
    for event in events:
        if event["ph"] == "M" and event["name"] in ("process_name", "thread_name"):
            key = (event["pid"],) if event["name"] == "process_name" else (event["pid"], event["tid"])
            if key in named:
                yield f"{key} is called {named[key]} and {event['args']['name']}"
            named[key] = event["args"]["name"]
    used = {(e["pid"],) for e in events if e["ph"] in "BEXiIC"} | {
        (e["pid"], e["tid"]) for e in events if e["ph"] in "BEXiI"
    }
    yield from (f"{key} has no name" for key in sorted(used - set(named), key=str))
