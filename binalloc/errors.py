"""Errors that users see are defined here. Each names the place, what was found, what was expected and the remedy. Each
class knows its exit code.

Exit codes (the command line's contract): 0 done; 1 the answer is no (verification failed, infeasible, refused); 2
usage; 3 malformed input; 4 a limit was hit, partial result kept; 5 the emulated kernel faulted; 130 interrupted; 143
terminated. 6, an emulated run that stopped at a break, is no error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from binalloc.printable import one_line, plain

_PARAMETER = re.compile(r"\{(\w+)\}")  # a name in braces


class Hint(str):
    """A hint is text of an error that names parameters and functions of the library in braces: "Raise {max_cycles}."

    As a string it is the text for users of the library. The command line spells the names its own way (`spelled`).
    """

    template: str  #: the text with its braces

    def __new__(cls, template: str) -> Hint:
        made = super().__new__(cls, _PARAMETER.sub(r"\1", template))
        made.template = template
        return made

    def spelled(self, names: Mapping[str, str]) -> str:
        """Return the text with `names[parameter]` in place of each parameter. A parameter without an entry keeps its
        own name."""
        return _PARAMETER.sub(lambda m: names.get(m[1], m[1]), self.template)

    @property
    def parameters(self) -> list[str]:
        """Return the names in braces."""
        return _PARAMETER.findall(self.template)

    def __reduce__(self) -> tuple[type[Hint], tuple[str]]:
        return Hint, (self.template,)


class BinallocError(Exception):
    """`BinallocError` is the base of every error that a user can cause or meet.

    Args:
        message: one sentence saying what is wrong.
        file: path of the file concerned, or None.
        place: section, line, offset or field inside the file, as text.
        found: what was there.
        expected: what should have been there.
        remedy: what the user can do about it.

    A text that names parameters is a Hint. Parts may hold text of hostile files. `str` of the error is fit for a
    terminal (see `binalloc.printable`); the attributes are as they were given.
    """

    exit_code = 1  #: exit code of the command line
    #: what a program of several launches had done before the error, a `Ran` of `emulator.runs.program`; None for others
    program: object = None

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        place: str | None = None,
        found: object = None,
        expected: object = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.place = place
        self.found = found
        self.expected = expected
        self.remedy = remedy

    def __str__(self) -> str:
        return self.text({})

    def text(self, names: Mapping[str, str]) -> str:
        """Return the error as one line. names: how parameters are spelled, see `Hint.spelled`."""
        parts = {key: one_line(value) for key, value in self.details(names).items() if value}
        where = ": ".join(parts[key] for key in ("file", "place") if key in parts)
        text = f"{where}: {parts.get('message', '')}" if where else parts.get("message", "")
        if "found" in parts:
            text += f"; found {parts['found']}"
        if "expected" in parts:
            text += f"; expected {parts['expected']}"
        if "remedy" in parts:
            text += f". {parts['remedy']}"
        return text

    def details(self, names: Mapping[str, str]) -> dict[str, str | None]:
        """Return every part as text, None where there is none, for programs to read. names: how parameters are
        spelled."""
        out: dict[str, str | None] = {}
        for key in ("message", "file", "place", "found", "expected", "remedy"):
            value = getattr(self, key)
            out[key] = value.spelled(names) if isinstance(value, Hint) else None if value is None else plain(value)
        return out

    def said(self) -> str:
        """Return what is wrong and what was found, for a sentence of a report."""
        return self.message if self.found is None else f"{self.message}: {self.found}"

    def at(self, file: str) -> BinallocError:
        """Name the file, unless one is named already; return self so that it can be raised again."""
        if self.file is None:
            self.file = file
        return self


class Refused(BinallocError):
    """The answer is no: infeasible budget, recursion, failed verification."""

    exit_code = 1


class UsageError(BinallocError):
    """The command line or an API call contradicts itself or the binary."""

    exit_code = 2


class MalformedInput(BinallocError):
    """A binary, assembly, launch or machine file is not what its format says."""

    exit_code = 3


class LimitHit(BinallocError):
    """A cycle, time or memory limit was reached; what was done before it is kept."""

    exit_code = 4
    #: what an emulated run had done before, a `Result` of `emulator.runs.run`; None where there is none
    partial: object = None
    #: where a command runs several versions of a kernel: the one that ran, in words; else empty (`running`)
    version = ""


class Interrupted(KeyboardInterrupt):
    """An emulated run was interrupted by Ctrl-C, or by another request to end the process. partial and version are as
    in `LimitHit`, program as in every error."""

    program: object = None
    version = ""

    def __init__(self, partial: object, exit_code: int = 130) -> None:
        super().__init__()
        self.partial = partial
        self.exit_code = exit_code


class Terminated(KeyboardInterrupt):
    """The process was asked to end by SIGTERM."""

    exit_code = 143


class KernelFault(BinallocError):
    """The emulated kernel did something that its machine forbids (out of bounds, hazard, deadlock)."""

    exit_code = 5
    version = ""  #: as in `LimitHit`
    printed = ""  #: what the kernel had printed before


@contextmanager
def running(version: str) -> Iterator[None]:
    """Let errors of emulated runs in the body say which of several versions of a kernel ran. version: its name in
    words."""
    try:
        yield
    except (LimitHit, Interrupted, KernelFault) as error:
        error.version = version
        if isinstance(error, BinallocError):
            error.message = f"{error.message} ({version})"
        raise
