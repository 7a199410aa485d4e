"""What a command says of itself while it lasts: by a clock that the test moves on, nobody waits."""

from __future__ import annotations

import io
import sys

import pytest

from binalloc.cli import terminal
from binalloc.cli.terminal import AFTER, Pulse, progress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Screen(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(terminal, "EVERY", 10.0)
    return Clock()


def pulse(clock: Clock, screen: Screen, monkeypatch: pytest.MonkeyPatch) -> Pulse:
    monkeypatch.setattr(sys, "stderr", screen)
    found = Pulse()
    monkeypatch.setattr(terminal, "PULSE", found)
    found.begin("rewrite", clock)
    return found


def seconds(found: Pulse, clock: Clock, count: int) -> None:
    """Time goes by, a beat a second."""
    for _ in range(count):
        clock.now += 1
        found.beat()


def test_without_a_terminal_a_line_every_ten_seconds(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(terminal=False)
    found = pulse(clock, screen, monkeypatch)
    seconds(found, clock, 9)
    assert screen.getvalue() == ""
    seconds(found, clock, 1)
    assert screen.getvalue() == "binalloc: rewrite (10 s)\n"
    with progress(quiet=False) as show:
        show("nbody: 12,000 cycles")
        seconds(found, clock, 15)
    assert screen.getvalue().splitlines()[1:] == ["binalloc: nbody: 12,000 cycles (20 s)"]
    seconds(found, clock, 5)
    assert screen.getvalue().splitlines()[2:] == ["binalloc: rewrite (30 s)"]
    found.end()
    seconds(found, clock, 60)
    assert len(screen.getvalue().splitlines()) == 3


def test_on_a_terminal_one_line_after_two_seconds(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(terminal=True)
    found = pulse(clock, screen, monkeypatch)
    seconds(found, clock, int(AFTER) - 1)
    assert screen.getvalue() == ""
    seconds(found, clock, 1)
    assert screen.getvalue() == "\r\x1b[Krewrite (2 s)"
    with progress(quiet=False) as show:
        show("half")
        assert screen.getvalue().endswith("\r\x1b[Khalf")
        seconds(found, clock, 1)
        assert screen.getvalue().endswith("\r\x1b[Khalf (3 s)")
    assert screen.getvalue().endswith("\r\x1b[K")
    assert "\n" not in screen.getvalue()


def test_what_is_printed_takes_the_line_off_first(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(terminal=True)
    seconds(pulse(clock, screen, monkeypatch), clock, 3)
    terminal.note("done")
    assert screen.getvalue().endswith("\r\x1b[Kbinalloc: done\n")


def test_quiet_means_that_a_command_says_nothing_of_itself(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(terminal=True)
    pulse(clock, screen, monkeypatch)
    with progress(quiet=True) as show:
        show("half")
    assert screen.getvalue() == ""


def test_a_stream_that_is_closed_ends_nothing(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(terminal=False)
    found = pulse(clock, screen, monkeypatch)
    screen.close()
    seconds(found, clock, 30)
    found.end()


def test_every_command_has_a_pulse_but_under_json(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.support.kits.cli import call

    names: list[str] = []
    begin = Pulse.begin

    def watched(self: Pulse, name: str) -> None:
        names.append(name)
        begin(self, name)

    monkeypatch.setattr(Pulse, "begin", watched)
    assert call("machines").code == 0
    assert call("machines", "--json").code == 0
    assert call("asm", "no/such/file").code == 2
    assert names == ["machines", "asm"]
