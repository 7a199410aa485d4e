"""Errors users see. Each names the place, what was found, what was expected and the remedy, and knows its exit code.

Exit codes (the command line's contract): 0 done; 1 the answer is no (verification failed, infeasible, refused);
2 usage; 3 malformed input; 4 a limit was hit, partial result kept; 5 the emulated kernel faulted.
"""

from __future__ import annotations


class BinallocError(Exception):
    """Base of every error a user can cause or meet.

    Args:
        message: one sentence saying what is wrong.
        file: path of the file concerned, or None.
        place: section, line, offset or field inside the file, as text.
        found: what was there.
        expected: what should have been there.
        remedy: what the user can do about it.
    """

    exit_code = 1

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
        where = ": ".join(p for p in (self.file, self.place) if p)
        text = f"{where}: {self.message}" if where else self.message
        if self.found is not None:
            text += f"; found {self.found}"
        if self.expected is not None:
            text += f"; expected {self.expected}"
        if self.remedy:
            text += f". {self.remedy}"
        return text

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
    """A cycle, time or memory limit was reached; a partial result may exist."""

    exit_code = 4


class KernelFault(BinallocError):
    """The emulated kernel did something its machine forbids (out of bounds, hazard, deadlock)."""

    exit_code = 5
