"""Operations of every instruction set are classified by these words, whose text prints as itself.

Up to Python 3.11 `Flow.CALL` costs ten times as much as a plain name. Code that looks at every instruction, again and
again, binds such a word to a name of its own first.
"""

from __future__ import annotations

from enum import StrEnum


class Flow(StrEnum):
    """An instruction's flow is its effect on control flow. NONE, no effect, is the only one that is false."""

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
    """A memory access goes to one of these memory spaces."""

    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"
    CONST = "const"
    GENERIC = "generic"
    TEXTURE = "texture"


class Access(StrEnum):
    """A memory access loads, stores, or does both atomically."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"


class File(StrEnum):
    """A place of a value belongs to one of these files: registers, predicates, words of local memory."""

    REGISTER = "R"
    PREDICATE = "P"
    LOCAL = "L"


CALLS = (Flow.CALL, Flow.CALL_INDIRECT)
LEAVES = (Flow.RETURN, Flow.EXIT)  # flow that takes threads out of the function
ENDS = (Flow.BRANCH, *LEAVES)  # flow that never goes on to the next instruction where it is unguarded
