"""What the user sees: every text, JSON object and progress line leaves by one of these."""

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


def note(text: str) -> None:
    """One line on stderr, in front of it the tool's name. Where stderr is closed or full, nobody is there to tell."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        PULSE.clear()
        click.echo(f"binalloc: {one_line(text)}", err=True)


def fail(message: str, code: int) -> NoReturn:
    note(f"error: {message}")
    sys.exit(code)


def say(text: str) -> None:
    """Text on stdout, as a terminal may see it."""
    to_stdout(screen(text).encode(getattr(sys.stdout, "encoding", None) or "utf-8", "backslashreplace"))


def print_json(value: object) -> None:
    """One JSON object on stdout, in plain ASCII."""
    import json

    text = json.dumps(value, indent=2, allow_nan=False)
    to_stdout(f"{text}\n".encode())


def to_stdout(data: bytes) -> None:
    """Bytes to stdout. A reader that has seen enough and left changes nothing about the answer: the rest is dropped."""
    if sys.stdout is None:
        raise UsageError("standard output is closed", remedy="Give it somewhere to go.")
    PULSE.clear()
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        # what is left in the buffer must not fail once more when the interpreter ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


class Ended(Exception):
    """Ends a command by an error of which there is a report all the same: `cli.group` prints both as one object."""

    def __init__(self, error: BaseException, report: Mapping[str, object]) -> None:
        super().__init__(str(error))
        self.error, self.report = error, report


class Pulse:
    """What the command under way does, told while it lasts: on a terminal in one line that is rewritten in place, after
    two seconds at the latest; elsewhere in a line of its own every ten.

    Somebody has to ask it now and then (`beat`); `pulsing` does once a second. What is told is the last that the
    command has said of itself (`tell`), or its name, and for how long it has run.
    """

    def __init__(self) -> None:
        self.name = self.text = ""
        self.on = self.drawn = False
        self.clock: Callable[[], float] = time.monotonic
        self.began = self.last = 0.0

    def begin(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.name, self.text, self.on, self.clock = name, "", True, clock
        self.began = self.last = clock()

    def end(self) -> None:
        self.clear()
        self.on = False

    def tell(self, text: str) -> None:
        """What is done from now on."""
        self.text = text
        if text and _terminal():
            self._draw(one_line(text))

    def beat(self) -> None:
        """Tell, if it is time."""
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
"""Seconds of a command after which a terminal shows that it is at work."""
EVERY = 10.0
"""Seconds between lines where stderr is no terminal."""
PULSE = Pulse()
"""That of the command under way."""


def _terminal() -> bool:
    with contextlib.suppress(ValueError):  # a closed stream
        return sys.stderr is not None and sys.stderr.isatty()
    return False


@contextmanager
def pulsing(name: str) -> Iterator[None]:
    """A command called `name` runs, and says so while it lasts."""
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
    """Where a command says what it does; see `Pulse`. quiet: with --json nothing is told."""
    try:
        yield (lambda _: None) if quiet else PULSE.tell
    finally:
        PULSE.text = ""
        PULSE.clear()
