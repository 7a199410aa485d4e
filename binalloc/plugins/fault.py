"""This module reports a plug-in that raises or gives a wrong answer. One error names the package and the place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from binalloc.errors import BinallocError, Refused


class PluginFault(BinallocError):
    """`PluginFault` is raised when the addition of an installed package does not work. It is no refusal: no caller goes
    on to try something else.

    Args:
        what: the action of the plug-in, "raised" or the like.
        whose: the package and its entry point.
        where: the function and line, or the place in a file, "" where there is none.
        cause: the error that was raised, or a text.
    """

    exit_code = 1

    def __init__(self, what: str, whose: str, where: str, cause: BaseException | str) -> None:
        found = cause if isinstance(cause, str) else _in_words(cause)
        super().__init__(
            f"a plug-in {what}", file=whose, place=where or None, found=found,
            remedy="Nothing was written. Mend that package, or leave it out.",
        )  # fmt: skip


def _in_words(cause: BaseException) -> str:
    """Return the kind of an error and its text, if it has one. The error's `__str__` is the plug-in's code, too, and
    may fail."""
    kind = type(cause).__name__
    try:
        said = str(cause)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{kind}, whose text cannot be had ({type(error).__name__})"
    return f"{kind}: {said}" if said else kind


def where_raised(error: BaseException) -> str:
    """Return the function and line in which an error came up, outside of this tool and of the import machinery if
    possible."""
    import traceback

    own = str(Path(__file__).parents[1])
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if not f.filename.startswith((own, "<frozen")) and "importlib" not in f.filename]
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}:{error.lineno}"
    if not theirs:
        return ""
    last = theirs[-1]
    return f"{Path(last.filename).name}:{last.lineno} in {last.name}"


@contextmanager
def blaming(whose: str, what: str = "raised", passing: tuple[type[BinallocError], ...] = (Refused,)) -> Iterator[None]:
    """Turn everything raised by the plug-in's code into a PluginFault.

    passing: errors that are an answer, or not the plug-in's fault. Interrupts and other plug-ins' faults pass in any
    case.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, (*passing, PluginFault, KeyboardInterrupt)):
            raise
        raise PluginFault(what, whose, where_raised(error), error) from error
