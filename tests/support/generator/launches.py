"""Launches of random programs: a kernel reads random words and leaves all that it computed in a buffer."""

from __future__ import annotations

import random

from binalloc.launch.types import Argument, Init, Launch
from tests.support.generator.faulting import handle_arguments
from tests.support.generator.options import INPUT_BYTES, Options


def random_words(name: str, count: int, bits: int, seed: int) -> Argument:
    """A buffer of words below 2^bits."""
    init = Init("random", "integers", low=0, high=1 << bits, seed=seed)
    return Argument(name, "buffer", "u32", (count,), init=init)


def launch_of(kernel: str, o: Options, *arguments: Argument) -> Launch:
    """A launch of as many blocks and threads as the options say."""
    return Launch(kernel, (o.grid, 1, 1), (o.block, 1, 1), 4 * o.dynamic * o.block, arguments)


def structured_launch(rng: random.Random, o: Options) -> Launch:
    """Of kernel "kernel" of a structured program; its other kernels take the same arguments."""
    return launch_of(
        "kernel",
        o,
        random_words("input", INPUT_BYTES // 4 + 8, 32, rng.randrange(1 << 30)),
        Argument("output", "buffer", "u32", (o.grid * o.block * o.slice_bytes // 4,)),
        Argument("sums", "buffer", "u32", (16,)),
        Argument("scalar", "scalar", "u32", value=rng.getrandbits(32)),
        Argument("wide", "scalar", "u64", value=rng.getrandbits(63)),
        *([random_words("lanes", o.grid * o.regions // 4, 32, 1)] if o.neighbours else []),
        *(handle_arguments(rng.randrange(1 << 30)) if o.faulting else ()),
    )


def unstructured_launch(seed: int, o: Options) -> Launch:
    """Of kernel "k" of an unstructured program."""
    out = Argument("out", "buffer", "u32", (512,))
    return launch_of("k", o, out, random_words("in", 256, 31, seed))
