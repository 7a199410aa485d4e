"""This module reads how much slower a kernel may get, as people write it, and applies it to a number of cycles.

Needs nothing. Leaves true: shares are exact fractions, so that a limit of cycles is the same number on every host.
"""

from __future__ import annotations

import re
from fractions import Fraction

from binalloc.errors import Hint, UsageError
from binalloc.printable import quoted

_SHARE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,9})?)(%?)")  # so few digits that the fraction stays small


def parse_share(given: str | float) -> Fraction:
    """Return the share that `2%`, `0.02` or the number 0.02 means, at least 0.

    Without a percent sign it is at most 1, since a user who writes 2 means 2%. Raises UsageError for anything else.
    """
    match = None if isinstance(given, bool) else _SHARE.fullmatch(str(given).strip())
    share = Fraction(match[1]) / (100 if match[2] else 1) if match else None
    if match is None or share is None or (share > 1 and not match[2]):
        remedy = f"Write {match[1]}%." if match else None
        expected = "a share as 2% or 0.02, at least 0, above 1 with a percent sign only"
        raise UsageError(
            "not a share", place=Hint("{max_slowdown}"), found=quoted(given), expected=expected, remedy=remedy
        )
    return share


def most_cycles(baseline: int, share: Fraction) -> int:
    """Return the most cycles that are not slower than `baseline` by more than `share`."""
    return int(baseline * (1 + share))


def in_percent(share: Fraction, digits: int = 4) -> str:
    """Return a share as `2%`. digits: the most significant digits."""
    return f"{float(share * 100):.{digits}g}%"


def slower_by(found: int, baseline: int) -> str:
    """Return how much slower `found` is than `baseline`, as `4.02%`; a baseline of 0 cycles gives "all of it"."""
    return in_percent(Fraction(found - baseline, baseline), 3) if baseline else "all of it"
