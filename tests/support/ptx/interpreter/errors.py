"""Why an interpretation ends early."""

from __future__ import annotations


class InterpreterError(Exception):
    """The program does what it must not: deadlock, divergent barrier, too many steps, trap."""
