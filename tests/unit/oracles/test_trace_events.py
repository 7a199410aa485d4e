"""The oracle of traces takes a good one, and none with one thing wrong."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.oracles.traces.trace_events import violations

GOOD: dict[str, Any] = {
    "displayTimeUnit": "ms",
    "traceEvents": [
        {"ph": "M", "pid": 1, "tid": 1, "ts": 0, "name": "process_name", "args": {"name": "p"}},
        {"ph": "M", "pid": 1, "tid": 1, "ts": 0, "name": "process_sort_index", "args": {"sort_index": 0}},
        {"ph": "M", "pid": 1, "tid": 2, "ts": 0, "name": "thread_name", "args": {"name": "t"}},
        {"ph": "X", "pid": 1, "tid": 2, "ts": 0, "dur": 4, "name": "outer", "cat": "a", "args": {}},
        {"ph": "X", "pid": 1, "tid": 2, "ts": 0, "dur": 1.5, "name": "inner"},
        {"ph": "X", "pid": 1, "tid": 2, "ts": 1.5, "dur": 2.5, "name": "inner"},
        {"ph": "B", "pid": 1, "tid": 2, "ts": 4, "name": "b"},
        {"ph": "E", "pid": 1, "tid": 2, "ts": 5},
        {"ph": "i", "pid": 1, "tid": 2, "ts": 3, "name": "here", "s": "t"},
        {"ph": "C", "pid": 1, "tid": 1, "ts": 0, "name": "c", "args": {"x": 1, "y": 2.5}},
        {"ph": "C", "pid": 1, "tid": 1, "ts": 9, "name": "c", "args": {"x": 2, "y": 2.5}},
    ],
    "otherData": {"about": "it"},
}


def test_a_good_trace_has_nothing_wrong() -> None:
    assert violations(json.dumps(GOOD).encode()) == []
    assert violations(json.dumps(GOOD["traceEvents"]).encode()) == []


def put(at: int, **fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda trace: trace["traceEvents"][at].update(fields)


def drop(at: int, *keys: str) -> Callable[[dict[str, Any]], None]:
    return lambda trace: [trace["traceEvents"][at].pop(key) for key in keys] and None


def without(at: int) -> Callable[[dict[str, Any]], None]:
    return lambda trace: trace["traceEvents"].pop(at) and None


WRONG: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no events": lambda trace: trace.pop("traceEvents"),
    "unit": lambda trace: trace.update(displayTimeUnit="us"),
    "metadata no object": lambda trace: trace.update(otherData=[]),
    "no object": lambda trace: trace["traceEvents"].append(3),
    "no phase": drop(3, "ph"),
    "phase unknown": put(3, ph="Y"),
    "no name": drop(3, "name"),
    "empty name": put(3, name=""),
    "no pid": drop(3, "pid"),
    "the idle process": put(3, pid=0),
    "the idle thread": put(3, tid=0),
    "tid a truth value": put(3, tid=True),
    "no time": drop(3, "ts"),
    "time before 0": put(3, ts=-1),
    "time a text": put(3, ts="0"),
    "no duration": drop(3, "dur"),
    "negative duration": put(3, dur=-1),
    "category a number": put(3, cat=3),
    "arguments a list": put(3, args=[]),
    "overlap": put(4, dur=1.6),
    "overlap at the end": put(5, dur=2.6),
    "out of order": lambda trace: trace["traceEvents"].insert(3, trace["traceEvents"].pop(5)),
    "end without beginning": without(6),
    "beginning without end": without(7),
    "end of another": put(7, name="z"),
    "scope": put(8, s="x"),
    "counter without values": put(9, args={}),
    "counter of a text": put(9, args={"x": "1", "y": 2}),
    "counter of a truth value": put(9, args={"x": True, "y": 2}),
    "counter back in time": put(10, ts=0),
    "counter with other values": put(10, args={"x": 2}),
    "process without a name": without(0),
    "thread without a name": without(2),
    "two names": lambda trace: trace["traceEvents"].append(dict(trace["traceEvents"][2], args={"name": "u"})),
    "name that is none": put(2, args={"name": 3}),
    "sort index that is none": put(1, args={"sort_index": "0"}),
    "metadata unknown": put(1, name="process_colour"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_trace_with_one_thing_wrong_is_seen(what: str) -> None:
    trace = copy.deepcopy(GOOD)
    WRONG[what](trace)
    assert violations(json.dumps(trace).encode()) != []


@pytest.mark.parametrize("data", [b"", b"[", b'{"traceEvents": [], "a": NaN}', b'{"a": 1, "a": 2, "traceEvents": []}'])
def test_what_is_no_json_is_seen(data: bytes) -> None:
    assert violations(data) != []
