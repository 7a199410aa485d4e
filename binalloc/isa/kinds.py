"""The words in which operations are told apart, whatever the instruction set: text that prints as itself.

Up to Python 3.11 `Flow.CALL` costs ten times a name: what looks at every instruction, again and again, takes it into
one of its own first.
"""

from __future__ import annotations

from enum import StrEnum


class Flow(StrEnum):
    """What an instruction does to control flow. NONE: nothing; it is the one that is false."""

    NONE = ""
    BRANCH = "branch"
    CALL = "call"
    CALL_INDIRECT = "call_indirect"
    RETURN = "return"
    EXIT = "exit"
    BARRIER = "barrier"
    FENCE = "fence"
    WARPSYNC = "warpsync"
    ALLOC = "alloc"
    FREE = "free"
    RELSSP = "relssp"


class Space(StrEnum):
    """The memory that an access goes to."""

    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"
    CONST = "const"
    GENERIC = "generic"
    TEXTURE = "texture"


class Access(StrEnum):
    """What an access does there."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"


class File(StrEnum):
    """What a place is one of: registers, predicates, words of local memory."""

    REGISTER = "R"
    PREDICATE = "P"
    LOCAL = "L"


CALLS = (Flow.CALL, Flow.CALL_INDIRECT)
LEAVES = (Flow.RETURN, Flow.EXIT)
"""Flow that takes threads out of the function."""
ENDS = (Flow.BRANCH, *LEAVES)
"""Flow that, unguarded, never goes on to the next instruction."""
