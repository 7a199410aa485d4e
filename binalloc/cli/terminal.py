"""What the user sees: every text, JSON object and progress line leaves by one of these."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

import click

from binalloc.errors import UsageError
from binalloc.printable import one_line, screen

SCHEMA_VERSION = 1


def note(text: str) -> None:
    """One line on stderr, in front of it the tool's name. Where stderr is closed or full, nobody is there to tell."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
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
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        # what is left in the buffer must not fail once more when the interpreter ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """A progress line on stderr, rewritten in place; only on a terminal, so that logs and pipes get none of it."""
    terminal = sys.stderr is not None and sys.stderr.isatty()

    def show(text: str) -> None:
        if terminal:
            sys.stderr.write(f"\r\x1b[K{one_line(text)}")
            sys.stderr.flush()

    try:
        yield (lambda _: None) if quiet else show
    finally:
        if terminal and not quiet:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
