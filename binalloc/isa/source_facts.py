"""What a function's author and compiler say of it: facts that a binary keeps and every rewrite of it leaves alone."""

from __future__ import annotations

from dataclasses import dataclass

LOOM, PTX = MEMORY_MODELS = ("loom", "ptx")
"""Memory models by the number that an info record has for them; the first is that of binaries that name none."""

MOST = (1 << 32) - 1
"""The greatest number that an info record holds of a bound."""


@dataclass(kw_only=True)
class SourceFacts:
    """What the source says of a function. A number is 0, and `target` empty, where it does not say.

    memory_model: one of MEMORY_MODELS, in which the order of accesses is meant. target: the GPU it was compiled for,
    `sm_80`. The author's bounds of a kernel: max_registers per thread (`.maxnreg`), min_blocks per SM
    (`.minnctapersm`), and whether values may be spilled to shared memory (`.pragma "enable_smem_spilling"`).
    """

    memory_model: str = MEMORY_MODELS[0]
    target: str = ""
    max_registers: int = 0
    min_blocks: int = 0
    smem_spilling: bool = False

    @property
    def says_something(self) -> bool:
        """Whether any of these facts is another than a record of version 1 has."""
        return any(getattr(self, name) != default for name, default in vars(SourceFacts()).items())
