"""Which calls are inlined before a kernel is allocated, by name."""

from __future__ import annotations

NONE = "none"
WAYS = {
    NONE: "every call stays",
    "once": "callees that are called from one place",
    "small": "callees of a few instructions",
    "all": "both",
}
"""What is inlined, by the name of the choice."""
