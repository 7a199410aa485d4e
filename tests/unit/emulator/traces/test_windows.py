"""Windows against counting cycles one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from binalloc.emulator.traces.windows import Windows

CYCLES = st.integers(0, 60)


@st.composite
def windows(draw: st.DrawFn) -> Windows:
    first = draw(CYCLES)
    last = draw(st.none() | st.integers(first + 1, 70))
    every = draw(st.just(0) | st.integers(2, 20))
    return Windows(first, last, every, draw(st.integers(1, every - 1)) if every else 1000)


def shown(w: Windows, cycle: int) -> bool:
    if cycle < w.first or (w.last is not None and cycle >= w.last):
        return False
    return not w.every or (cycle - w.first) % w.every < w.length


@given(windows(), CYCLES, st.integers(1, 30))
def test_a_stretch_touches_a_window_if_one_of_its_cycles_is_shown(w: Windows, start: int, length: int) -> None:
    assert w.touch(start, start + length) == any(shown(w, c) for c in range(start, start + length))


@given(windows())
def test_numbers_tell_windows_apart_and_gaps_from_them(w: Windows) -> None:
    numbers = w.numbers(np.arange(100)).tolist()
    assert [n >= 0 for n in numbers] == [shown(w, c) for c in range(100)]
    for c in range(99):
        if shown(w, c) and shown(w, c + 1):
            assert numbers[c] == numbers[c + 1]


def test_the_whole_run_is_the_default() -> None:
    assert Windows().whole
    assert not Windows(last=5).whole
    assert not Windows(every=10, length=2).whole
