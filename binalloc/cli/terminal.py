"""This module prints: every text, JSON object and progress line for users leaves by one of its functions."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

import click

from binalloc.errors import UsageError
from binalloc.printable import one_line, screen

SCHEMA_VERSION = 1
"""Version of all JSON output. Adding fields keeps it; changing a field's meaning or removing a field raises it."""


def note(text: str) -> None:
    """Print one line on stderr, after the tool's name. If stderr is closed or full, drop the line without an error."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        PULSE.clear()
        click.echo(f"binalloc: {one_line(text)}", err=True)


def end_line() -> None:
    """Begin a new line on stderr: a terminal has written ^C on this one."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write("\n")


def fail(message: str, code: int) -> NoReturn:
    """Print an error on stderr, and end the process with an exit code."""
    note(f"error: {message}")
    sys.exit(code)


def say(text: str) -> None:
    """Print text on stdout, with control characters made harmless for terminals."""
    to_stdout(screen(text).encode(getattr(sys.stdout, "encoding", None) or "utf-8", "backslashreplace"))


def print_json(value: object) -> None:
    """Print one JSON object on stdout, in plain ASCII."""
    import json

    text = json.dumps(value, indent=2, allow_nan=False)
    to_stdout(f"{text}\n".encode())


def to_stdout(data: bytes) -> None:
    """Write bytes to stdout. If the reader has closed the pipe, drop the rest without an error."""
    if sys.stdout is None:
        raise UsageError("standard output is closed", remedy="Give it somewhere to go.")
    PULSE.clear()
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        # the rest of the buffer must not fail once more when the interpreter ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


class Ended(Exception):
    """The exception ends a command by an error and a report; with --json `group.py` prints both as one object."""

    def __init__(self, error: BaseException, report: Mapping[str, object]) -> None:
        super().__init__(str(error))
        self.error, self.report = error, report


class Pulse:
    """The pulse shows what the running command does: its last message or its name, and the seconds so far.

    On a terminal it is one line, rewritten in place, that appears after AFTER seconds at the latest. Elsewhere it is a
    new line every EVERY seconds. `beat` must be called regularly; `pulsing` does so once a second.
    """

    def __init__(self) -> None:
        self.name = self.text = ""  #: name of the command, and its last message
        self.on = self.drawn = False  #: whether a command runs, and whether its line is on the terminal
        self.clock: Callable[[], float] = time.monotonic  #: time in seconds
        self.began = self.last = 0.0  #: time at which the command began, and of the last line elsewhere

    def begin(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin to show the command called `name`. clock: returns the time in seconds."""
        self.name, self.text, self.on, self.clock = name, "", True, clock
        self.began = self.last = clock()

    def end(self) -> None:
        """Stop showing the command."""
        self.clear()
        self.on = False

    def message(self, text: str) -> None:
        """Set the message: what the command does from now on. A terminal shows it at once."""
        self.text = text
        if text and _terminal():
            self._draw(one_line(text))

    def beat(self) -> None:
        """Show the line, if it is time."""
        now = self.clock()
        text = f"{self.text or self.name} ({now - self.began:.0f} s)"
        if not self.on:
            return
        if _terminal():
            if now - self.began >= AFTER:
                self._draw(one_line(text))
        elif now - self.last >= EVERY:
            self.last = now
            note(text)

    def _draw(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
            self.drawn = True

    def clear(self) -> None:
        """Take the line off the terminal."""
        if self.drawn:
            self._draw("")
            self.drawn = False


AFTER = 2.0
"""Seconds until a terminal shows that a command is at work. With fewer, lines flash up in quick commands."""
EVERY = 10.0
"""Seconds between lines if stderr is no terminal. With fewer, logs fill up; chosen by hand."""
PULSE = Pulse()
"""The pulse of the running command."""


def _terminal() -> bool:
    with contextlib.suppress(ValueError):  # a closed stream
        return sys.stderr is not None and sys.stderr.isatty()
    return False


@contextmanager
def pulsing(name: str) -> Iterator[None]:
    """Show a pulse while the command called `name` runs inside."""
    stop = threading.Event()

    def beats() -> None:
        while not stop.wait(1.0):
            PULSE.beat()

    PULSE.begin(name)
    thread = threading.Thread(target=beats, name="binalloc progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        PULSE.end()


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Give a function that takes progress messages for `Pulse`. quiet: messages are dropped, as for --json."""
    try:
        yield (lambda _: None) if quiet else PULSE.message
    finally:
        PULSE.text = ""
        PULSE.clear()
