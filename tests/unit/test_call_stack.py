"""Python's frames in one chunk, wherever the caller stands."""

from __future__ import annotations

import inspect
import resource
import sys
import threading
import types
from collections.abc import Callable

import pytest

from binalloc.call_stack import with_room

CALLS = 500
CHUNK = 16384 // 8


def nothing() -> None:
    """The call that may or may not fit."""


def faults() -> int:
    """Return how many pages are new to the process in a loop of calls: each chunk is one."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        nothing()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def below(words: int) -> int:
    """The same below a frame of so many words."""

    def pad() -> int:
        return faults()

    return types.FunctionType(pad.__code__.replace(co_stacksize=words), globals(), closure=pad.__closure__)()  # type: ignore[no-any-return]


def worst() -> int:
    """The most at any distance from the border of a chunk."""
    return max(below(words) for words in range(4, CHUNK, 3))


@pytest.mark.skipif(sys.platform != "linux", reason="counts pages as Linux does")
def test_no_loop_of_calls_maps_chunks() -> None:
    """In threads, which begin with a chunk of the usual size: the tests themselves have room."""
    found: list[int] = []
    for function in (worst, with_room(worst)):
        thread = threading.Thread(target=lambda function=function: found.append(function()))  # type: ignore[misc]
        thread.start()
        thread.join()
    usual, roomy = found
    assert usual >= CALLS, "a loop somewhere in a chunk maps one for each call"
    assert roomy < CALLS / 10


def test_it_is_the_same_function() -> None:
    def three(first: int, *, second: int = 2) -> tuple[int, int]:
        """Has a docstring."""
        if first < 0:
            raise ValueError(first)
        return first, second

    roomy = with_room(three)
    assert roomy(1) == (1, 2)
    assert roomy(1, second=3) == (1, 3)
    assert roomy.__doc__ == three.__doc__
    assert inspect.signature(roomy) == inspect.signature(three)
    with pytest.raises(ValueError, match="-1"):
        roomy(-1)


def test_functions_do_not_share_it() -> None:
    functions: list[Callable[[], int]] = [with_room(lambda n=n: n) for n in range(3)]  # type: ignore[misc]
    assert [one() for one in functions] == [0, 1, 2]


def test_recursion_ends_at_pythons_limit_as_ever() -> None:
    def deeper(n: int) -> int:
        return deeper(n + 1)

    with pytest.raises(RecursionError):
        with_room(deeper)(0)
