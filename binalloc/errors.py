"""Errors users see. Each names the place, what was found, what was expected and the remedy, and knows its exit code.

Exit codes (the command line's contract): 0 done; 1 the answer is no (verification failed, infeasible, refused);
2 usage; 3 malformed input; 4 a limit was hit, partial result kept; 5 the emulated kernel faulted; 130 interrupted;
143 terminated. 6, an emulated run that stopped at a break, is no error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from binalloc.printable import one_line, plain

_PARAMETER = re.compile(r"\{(\w+)\}")


class Hint(str):
    """Text of an error that names parameters and functions of the library in braces: "Raise {max_cycles}."

    As a string it is what a library's user reads; the command line spells the names its own way (`spelled`).
    """

    template: str

    def __new__(cls, template: str) -> Hint:
        made = super().__new__(cls, _PARAMETER.sub(r"\1", template))
        made.template = template
        return made

    def spelled(self, names: Mapping[str, str]) -> str:
        """The text with `names[parameter]` in place of each parameter, which keeps its own name where there is none."""
        return _PARAMETER.sub(lambda m: names.get(m[1], m[1]), self.template)

    @property
    def parameters(self) -> list[str]:
        """The names in braces."""
        return _PARAMETER.findall(self.template)

    def __reduce__(self) -> tuple[type[Hint], tuple[str]]:
        return Hint, (self.template,)


class BinallocError(Exception):
    """Base of every error a user can cause or meet.

    Args:
        message: one sentence saying what is wrong.
        file: path of the file concerned, or None.
        place: section, line, offset or field inside the file, as text.
        found: what was there.
        expected: what should have been there.
        remedy: what the user can do about it.

    Texts that name parameters are Hints. Parts may hold text of hostile files: `str` of the error is fit for a terminal
    (see `binalloc.printable`), the attributes are as they were given.
    """

    exit_code = 1
    program: object = None
    """What a program of several launches had done by then, a `Ran` of `emulator.runs.program`; None where none ran."""

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
        """The error as one line; `names`: how parameters are spelled, see `Hint.spelled`."""
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
        """Every part as text, None where there is none, parameters spelled as in `names`; for programs to read."""
        out: dict[str, str | None] = {}
        for key in ("message", "file", "place", "found", "expected", "remedy"):
            value = getattr(self, key)
            out[key] = value.spelled(names) if isinstance(value, Hint) else None if value is None else plain(value)
        return out

    def at(self, file: str) -> BinallocError:
        """Name the file, unless one is already named; returns self so that it can be raised again."""
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
    """A cycle, time or memory limit was reached. partial: what an emulated run had done by then, a `Result` of
    `emulator.runs.run`; None where there is none. version: which of a command's versions of the kernel ran, in words;
    empty where there is but one (`running`)."""

    exit_code = 4
    partial: object = None
    version = ""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or whatever else asks a process to end, in an emulated run. partial and version as in `LimitHit`,
    program as in every error."""

    program: object = None
    version = ""

    def __init__(self, partial: object, exit_code: int = 130) -> None:
        super().__init__()
        self.partial = partial
        self.exit_code = exit_code


class Terminated(KeyboardInterrupt):
    """SIGTERM."""

    exit_code = 143


class KernelFault(BinallocError):
    """The emulated kernel did something its machine forbids (out of bounds, hazard, deadlock). version: as in
    `LimitHit`. printed: what it had printed by then."""

    exit_code = 5
    version = ""
    printed = ""


@contextmanager
def running(version: str) -> Iterator[None]:
    """Emulated runs of one version of a kernel among several: an error of theirs says which, in the words given."""
    try:
        yield
    except (LimitHit, Interrupted, KernelFault) as error:
        error.version = version
        if isinstance(error, BinallocError):
            error.message = f"{error.message} ({version})"
        raise
