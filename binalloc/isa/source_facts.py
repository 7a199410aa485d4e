"""Facts that a function's author and compiler state are kept in its binary, and every rewrite leaves them alone."""

from __future__ import annotations

from dataclasses import dataclass

LOOM, PTX = MEMORY_MODELS = ("loom", "ptx")
"""The memory models, in the order of their numbers in an info record. The first is the model of binaries that name
none."""

MOST = (1 << 32) - 1  # the greatest number that an info record can hold of a bound: its fields have 32 bits


@dataclass(kw_only=True)
class SourceFacts:
    """Source facts are what the source of a function states. A number is 0, and `target` empty, where the source does
    not state it."""

    memory_model: str = MEMORY_MODELS[0]  #: one of MEMORY_MODELS, by which accesses are ordered
    target: str = ""  #: the GPU that it was compiled for, `sm_80`
    max_registers: int = 0  #: the author's bound on registers per thread (`.maxnreg`)
    min_blocks: int = 0  #: blocks per SM that the author wants room for (`.minnctapersm`)
    #: whether the author allows spilling to shared memory (`.pragma "enable_smem_spilling"`)
    smem_spilling: bool = False

    @property
    def says_something(self) -> bool:
        """Return whether any of these facts differs from what a record of version 1 implies."""
        return any(getattr(self, name) != default for name, default in vars(SourceFacts()).items())
