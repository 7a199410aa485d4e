"""What a random program may use, and where its parts keep what they share. `presets` draws options by seed.

A structured program leaves out everything from `aliases` on, and draws nothing for it: it stays what it is when a shape
is added.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.isa.instruction import SharedVar

INPUT_BYTES = 4096
BANK, BANK_BYTES = 3, 256
ODD_BANK, ODD_BYTES = 17, 45
"""A second constant bank whose size no access width divides."""
ADDRESS_BANK = 9
"""A constant bank of code addresses, `Params.addressed` in order."""
LOCAL_WORDS = 8
ARRAY_WORDS = 8
REGION = 1024
"""Bytes that the lanes of a warp share, in global and in shared memory, where they reach each other's words."""
EXTRA_WORDS = ARRAY_WORDS + 1
"""Words of output a thread of a wide program has beyond registers, predicates and local words."""


@dataclass(frozen=True)
class Options:
    """What a program may use. size: instructions wanted over all functions, before the final stores.

    registers: highest register + 1 (4..255). depth: nesting of control flow. callees: functions beside the kernel, in
    a chain at least that deep. block: threads per block, a power of two. uninitialised: also read places that hold
    no value on some path. halves: f16 and bf16 beside the other floats.

    aliases: one predicate as both destinations. hops: branches over nothing, or over what a rewriter deletes, in front
    of operations that see the active lanes. odd_points, uniform: shares of branches with a reconvergence point that is
    not the meeting point, and of branches that state that all lanes agree. arrays, generic: computed and generic
    addresses in local memory. dynamic: words of dynamic shared memory per thread. barriers: named and reducing ones,
    under guards. leaving: guarded EXIT, in callees as well. ends: the last bytes of constant banks, indexed constants.
    faulting: words that would fault in the threads in which they are not executed. stack: "", "fixed" or "moving":
    frames below the local stack register. flags: all seven predicates hold a value throughout. chain: entries of the
    reconvergence stack that a chain of functions takes, 0 = no chain. kernels: how many share the callees. addresses:
    the other kernels call functions by address.
    neighbours: the memory model under which lanes of a warp reach each other's words, or "".
    matrices: loads of matrices by the warp from shared memory.
    structured: branches make ifs and loops; else they lead anywhere (and the program may run for ever, or fault).
    holes: share of the pure words that define something which a structured program is left without; it may do anything.
    """

    size: int = 60
    registers: int = 16
    depth: int = 2
    callees: int = 2
    block: int = 32
    grid: int = 2
    shared: bool = True
    local: bool = True
    wide: bool = True
    floats: bool = True
    halves: bool = True
    atomics: bool = True
    guards: float = 0.15
    uninitialised: bool = False
    aliases: bool = False
    hops: bool = False
    odd_points: float = 0.0
    uniform: float = 0.0
    arrays: bool = False
    generic: bool = False
    dynamic: int = 0
    barriers: bool = False
    leaving: bool = False
    ends: bool = False
    stack: str = ""
    flags: bool = False
    chain: int = 0
    kernels: int = 1
    addresses: bool = False
    neighbours: str = ""
    matrices: bool = False
    structured: bool = True
    holes: float = 0.0
    faulting: bool = False

    @property
    def extra(self) -> bool:
        """Are there words of output beyond those of a plain program?"""
        return self.arrays or self.dynamic > 0

    @property
    def regions(self) -> int:
        """Bytes of a block in which lanes reach each other's words."""
        return REGION * self.block // 32 if self.neighbours else 0

    @property
    def slice_bytes(self) -> int:
        """Bytes of output per thread: all registers, one word of predicates, the kernel's local words, the extras."""
        words = self.registers + 1 + LOCAL_WORDS + (EXTRA_WORDS if self.extra else 0)
        return -(-4 * words // 16) * 16

    @property
    def extra_offset(self) -> int:
        """Where the extra words lie in a thread's slice."""
        return 4 * (self.registers + 1 + LOCAL_WORDS)


@dataclass
class Params:
    """Offsets of the kernel's parameters in bank 0 (handles: the first of several) and of shared and local memory.

    local_base: this function's frame, an address or, with a moving stack, relative to the stack register. array: where
    the array with computed addresses lies, -1 = none. dynamic_base: first byte of dynamic shared memory. stack: the
    local stack register, 255 = none. addressed: functions whose addresses stand in `ADDRESS_BANK`. lanes_shared: where
    the lanes' common words lie in shared memory; lanes: the parameter that points at those in global memory.
    """

    input: int = 0
    output: int = 8
    sums: int = 16
    scalar: int = 24
    wide_scalar: int = 32
    lanes: int = 40
    lanes_shared: int = 0
    handles: int = 48
    shared: list[SharedVar] = field(default_factory=list)
    local_base: int = 0
    local_bytes: int = 0
    array: int = -1
    dynamic_base: int = 0
    stack: int = 255
    addressed: list[str] = field(default_factory=list)
