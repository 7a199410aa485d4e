"""This module names the ways to inline calls before a kernel is allocated."""

from __future__ import annotations

NONE = "none"  # the default of commands and library
WAYS = {
    NONE: "every call stays",
    "once": "callees that are called from one place",
    "small": "callees of a few instructions",
    "all": "both",
}  # the callees that are inlined, by the name of the choice
