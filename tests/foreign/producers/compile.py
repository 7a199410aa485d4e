"""PTX of the producers that are installed, a folder for each: what `tests.foreign.imports` takes.

    python -m tests.foreign.producers.compile OUT [--only PRODUCER ...] [--kernel NAME ...] [--tutorials DIR]

Needs of binalloc nothing, so that it runs where the producers are. A producer that is not installed is left out, with a
word; a kernel that one does not compile for an architecture is told and left out. --tutorials: the folder
`python/tutorials` of Triton's repository. The exit code is 1 where nothing was made.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.foreign.producers.made import Made

PRODUCERS = ("triton", "tutorials", "numba", "clang", "tinygrad", "halide", "warp")


def made_by(producer: str, given: argparse.Namespace, scratch: Path) -> Iterator[Made]:
    """What a producer makes; raises ImportError where it is not installed."""
    only = set(given.kernel)
    if producer == "tutorials":
        if given.tutorials is not None:
            module = importlib.import_module("tests.foreign.producers.of_triton")
            yield from module.tutorials(given.tutorials, scratch, only)
        return
    module = importlib.import_module(f"tests.foreign.producers.of_{producer}")
    own: Callable[[set[str]], Iterator[Made]] = module.own
    yield from own(only)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="+", choices=PRODUCERS, default=PRODUCERS)
    parser.add_argument("--kernel", nargs="+", default=[])
    parser.add_argument("--tutorials", type=Path)
    given = parser.parse_args()
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    count = 0
    with tempfile.TemporaryDirectory() as scratch:
        for producer in given.only:
            try:
                for made in made_by(producer, given, Path(scratch)):
                    count += write(made, given.out)
            except ImportError as error:
                print(f"{producer}: not installed ({error})", file=sys.stderr)
    print(f"{count} files in {given.out}", file=sys.stderr)
    return 0 if count else 1


def write(made: Made, out: Path) -> int:
    """The file, unless it is there already; 1 where it is there in the end."""
    place = out / made.producer / f"{made.name}.ptx"
    if place.exists():
        return 1
    try:
        text, told = made.make()
    except Exception as error:  # a compiler's, of whatever kind
        what = next((line for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
        print(f"{made.producer} {made.name}: {what[:200]}", file=sys.stderr)
        return 0
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    if told:
        place.with_suffix(".json").write_text(told)
    return 1


if __name__ == "__main__":
    sys.exit(main())
