"""This module counts how many thread blocks an SM holds at once, exactly as NVIDIA's calculator and GPGPU-Sim do.

Needs `limits`. Leaves a pure function from resources to resident blocks, with every single limit named. Its inverses
return the most registers or shared bytes that still let a number of blocks be resident. Everything is integer
arithmetic; nothing here knows a timing figure.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from binalloc.errors import UsageError
from binalloc.isa.interface.places import LANES
from binalloc.models.machines.kernel_use import CacheConfig, KernelUse
from binalloc.models.machines.limits import KIB, LIMITS, REGISTER_FIELD_LIMIT, SHARED_STEPS, Granularity, Limits


class Rule(StrEnum):
    """Resident blocks are counted by one of these rules."""

    NVIDIA = "nvidia"
    GPGPUSIM = "gpgpusim"


LIMIT_BITS = {"warps": 1, "registers": 2, "shared": 4, "blocks": 8, "barriers": 16}
"""Bits of `Occupancy.limit_mask`, as NVIDIA's header reports them."""
_WIDE_UNIT_REGISTERS = frozenset((21, 22, 29, 30, 37, 38, 45, 46))
"""Registers per thread for which capability 2.x allocates in units of 128; the note of its row in `limits` has the
source."""
_L1_SHARE: dict[int, dict[str, int]] = {
    2: {CacheConfig.L1: 32 * KIB},
    3: {CacheConfig.L1: 32 * KIB, CacheConfig.EQUAL: 16 * KIB},
}
"""Bytes by which a preference makes the shared memory of an SM smaller, by major number of the capability."""
_PREFERENCE: dict[str, int] = {CacheConfig.SHARED: 100, CacheConfig.L1: 0, CacheConfig.EQUAL: 50}
"""Share of shared memory, in per cent, that a preference stands for from capability 7.0 on."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The occupancy of a kernel is its number of resident blocks on one SM, with the reasons why there are no more.

    A field `limit_*` has the blocks per SM that this resource alone would allow; None means that it does not bind.
    """

    rule: Rule  #: whose rule has counted
    cc: str  #: compute capability
    use: KernelUse  #: resources of the kernel, as asked
    blocks_per_sm: int  #: resident blocks
    limit_warps: int
    limit_registers: int | None
    limit_shared: int | None
    limit_blocks: int
    limit_barriers: int | None
    limiters: tuple[str, ...]  #: sorted names of the resources whose limit equals `blocks_per_sm`
    registers_per_block: int  #: registers that a block is given after rounding
    shared_per_block: int  #: bytes that a block is given after rounding, the system's reserve included
    warps_per_block: int  #: warps of a block
    active_warps: int  #: resident warps
    max_warps: int  #: most warps that an SM can hold

    @property
    def registers(self) -> int:
        """Return the registers per thread, as asked."""
        return self.use.registers

    @property
    def shared_bytes(self) -> int:
        """Return the shared bytes per block, as asked."""
        return self.use.shared_bytes

    @property
    def threads(self) -> int:
        """Return the threads per block."""
        return self.use.threads

    @property
    def cache_config(self) -> str:
        """Return the preference asked for."""
        return self.use.cache_config

    @property
    def carveout(self) -> int | None:
        """Return the share of shared memory asked for, in per cent."""
        return self.use.carveout

    @property
    def limits(self) -> dict[str, int | None]:
        """Return the blocks per SM that each resource allows, in the order of `LIMIT_BITS`."""
        return {
            "warps": self.limit_warps,
            "registers": self.limit_registers,
            "shared": self.limit_shared,
            "blocks": self.limit_blocks,
            "barriers": self.limit_barriers,
        }

    @property
    def limit_mask(self) -> int:
        """Return `limiters` as bits (1 warps, 2 registers, 4 shared, 8 blocks, 16 barriers), as NVIDIA's header reports
        them."""
        return sum(LIMIT_BITS[name] for name in self.limiters)

    @property
    def active_threads(self) -> int:
        """Return the threads resident on the SM."""
        return self.blocks_per_sm * self.use.threads

    @property
    def occupancy(self) -> float:
        """Return active warps over the most warps that the SM can hold, 0.0 to 1.0."""
        return self.active_warps / self.max_warps


class OccupancyModel(Protocol):
    """An occupancy model counts resident blocks for a whole SM: it is a `Machine`, or a capability through
    `model_of`."""

    @property
    def limits(self) -> Limits:
        """Return the SM's limits."""

    def occupancy(self, use: KernelUse) -> Occupancy:
        """Return the resident blocks of a kernel."""


@dataclass(frozen=True, slots=True)
class CapabilityModel:
    """A capability model applies NVIDIA's rules to the published limits of one capability."""

    limits: Limits  #: the published limits

    def occupancy(self, use: KernelUse) -> Occupancy:
        """Do as the module's `occupancy`."""
        return nvidia_occupancy(self.limits, use)


def occupancy(
    cc: str,
    registers: int,
    shared_bytes: int,
    threads: int,
    cache_config: str = "none",
    carveout: int | None = None,
    *,
    enforce_register_limit: bool = True,
) -> Occupancy:
    """Count the resident blocks per SM of a kernel on a device of compute capability `cc`, by NVIDIA's rules.

    Args:
        cc: compute capability, as "3.0".
        registers: 32-bit registers per thread.
        shared_bytes: static plus dynamic shared memory per block, in bytes.
        threads: threads per block, 1 to 1024.
        cache_config: "none", "shared", "l1" or "equal", the kernel's preference for the split of shared memory and L1.
        carveout: instead of `cache_config`, the share of shared memory wanted, in per cent; capability 7.0 and up.
        enforce_register_limit: a thread cannot name more than 63 registers on 2.x and 3.0 and 124 on 1.x; a kernel
            that claims more gets 0 blocks with limiter "registers". NVIDIA's header does not know these two limits;
            False reproduces it (255 everywhere).

    Raises:
        UsageError: unknown capability or preference, a number out of range or not an integer, a carve-out on a
            capability below 7.0 or together with a preference.
    """
    limits = limits_of(cc)
    use = KernelUse(registers, shared_bytes, threads, 0, cache_config, carveout)
    return nvidia_occupancy(limits, use, enforce_register_limit=enforce_register_limit)


def limits_of(cc: str) -> Limits:
    """Return the limits of a compute capability; raises UsageError for an unknown one."""
    found = LIMITS.get(cc) if isinstance(cc, str) else None
    if found is None:
        raise UsageError(
            "unknown compute capability",
            place="cc",
            found=repr(cc),
            expected="one of " + ", ".join(LIMITS),
            remedy="Name a known capability as text, or describe the device in a machine file.",
        )
    return found


def model_of(target: str | OccupancyModel) -> OccupancyModel:
    """Return the model of a capability, or the given model. Raises UsageError for an unknown capability."""
    return CapabilityModel(limits_of(target)) if isinstance(target, str) else target


def nvidia_occupancy(limits: Limits, use: KernelUse, *, enforce_register_limit: bool = True) -> Occupancy:
    """Do as `occupancy` with explicit limits (a machine file may differ from the published row of its capability)."""
    use = _check_preference(limits, _check_kernel(use))
    allocated_registers, by_registers = _register_limit(limits, use)
    if use.registers > (limits.registers_per_thread if enforce_register_limit else REGISTER_FIELD_LIMIT):
        by_registers = 0
    allocated_shared, by_shared = _shared_limit(limits, use)
    return _result(
        Rule.NVIDIA, limits, use,
        (_warp_limit(limits, use), by_registers, by_shared, limits.blocks_per_sm, limits.barriers_per_sm),
        (allocated_registers, allocated_shared),
    )


def gpgpusim_occupancy(limits: Limits, use: KernelUse) -> Occupancy:
    """Count resident blocks by GPGPU-Sim's rule (the simulator of the sharing paper, its Table II).

    Threads are padded to the warp size, registers per thread rounded up to a multiple of 4, shared memory not rounded.
    The register limit per thread and the largest block are the machine's; GPGPU-Sim leaves them to the compiler.

    Raises UsageError as `occupancy` does.
    """
    use = _check_kernel(use)
    shared = use.block_shared
    allocated = _round_up(use.registers, 4) * use.warps * LANES
    by_registers = limits.registers_per_sm // allocated if allocated else None
    if use.registers > limits.registers_per_thread:
        by_registers = 0
    by_shared = limits.shared_per_sm // shared if shared else None
    if shared > limits.shared_per_block:
        by_shared = 0
    by_warps = 0 if use.threads > limits.threads_per_block else limits.threads_per_sm // (use.warps * LANES)
    return _result(
        Rule.GPGPUSIM, limits, use, (by_warps, by_registers, by_shared, limits.blocks_per_sm, None), (allocated, shared)
    )


def registers_for_blocks(target: str | OccupancyModel, use: KernelUse, blocks: int) -> int | None:
    """Return the most registers per thread with which at least `blocks` blocks are resident; None where no number does.

    `use`'s own registers do not count. The answer is never more than the limit per thread of the capability (or
    machine). Raises UsageError as `occupancy` does.
    """
    model = model_of(target)
    blocks = _count("blocks", blocks, 1, None)
    limits = model.limits
    if model.occupancy(replace(use, registers=0)).blocks_per_sm < blocks:
        return None  # another resource binds
    # Allocation only rounds up: so many blocks with more registers do not fit the SM, whatever the rule.
    most = min(limits.registers_per_thread, limits.registers_per_sm // (blocks * use.threads))
    for registers in range(most, -1, -1):
        if model.occupancy(replace(use, registers=registers)).blocks_per_sm >= blocks:
            return registers
    return None


def shared_bytes_for_blocks(target: str | OccupancyModel, use: KernelUse, blocks: int) -> int | None:
    """Return the most shared bytes per block with which at least `blocks` blocks are resident; None where no amount
    does.

    `use`'s own shared bytes and slots do not count. With a cache preference more bytes may hold *more* blocks (the SM
    then switches to a larger split). So the answer is the largest amount, and smaller ones need not hold as many.
    Raises UsageError as `occupancy` does.
    """
    model = model_of(target)
    blocks = _count("blocks", blocks, 1, None)
    limits = model.limits
    if model.occupancy(KernelUse(use.registers, 0, use.threads)).blocks_per_sm < blocks:
        return None  # another resource binds
    # Every amount between two candidates is allocated like the upper one, so the largest is among them; the quotient
    # serves rules that do not round. More bytes than that do not fit the SM so often, whatever the rule.
    top = min(limits.shared_per_block, limits.shared_per_sm // blocks)
    amounts: list[int] = sorted({top, *range(0, top + 1, limits.shared_unit)}, reverse=True)
    for amount in amounts:
        if model.occupancy(replace(use, shared_bytes=amount, slots=0)).blocks_per_sm >= blocks:
            return amount
    return None


def _result(
    rule: Rule,
    limits: Limits,
    use: KernelUse,
    by: tuple[int, int | None, int | None, int, int | None],
    allocated: tuple[int, int],
) -> Occupancy:
    """Return the occupancy that follows from the limits. by: blocks that each resource allows, in the order of
    `LIMIT_BITS`. allocated: registers and shared bytes of a block."""
    blocks = min(limit for limit in by if limit is not None)
    names = tuple(LIMIT_BITS)
    return Occupancy(
        rule=rule,
        cc=limits.cc,
        use=use,
        blocks_per_sm=blocks,
        limit_warps=by[0],
        limit_registers=by[1],
        limit_shared=by[2],
        limit_blocks=by[3],
        limit_barriers=by[4],
        limiters=tuple(sorted(name for name, limit in zip(names, by, strict=True) if limit == blocks)),
        registers_per_block=allocated[0],
        shared_per_block=allocated[1],
        warps_per_block=use.warps,
        active_warps=blocks * use.warps,
        max_warps=limits.warps_per_sm,
    )


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _warp_limit(limits: Limits, use: KernelUse) -> int:
    """Return the blocks that the warps allow; 1.x allocates warps in pairs."""
    if use.threads > limits.threads_per_block:
        return 0
    warps = _round_up(use.warps, limits.warp_unit) if limits.major == 1 else use.warps
    return limits.threads_per_sm // LANES // warps


def _register_limit(limits: Limits, use: KernelUse) -> tuple[int, int | None]:
    """Return the registers allocated to a block, and the number of blocks that fit the registers."""
    registers, warps = use.registers, use.warps
    if limits.register_granularity == Granularity.BLOCK:
        per_block = _round_up(_round_up(warps, limits.warp_unit) * registers * LANES, limits.register_unit)
        return per_block, limits.registers_per_sm // per_block if per_block else None
    unit = limits.register_unit
    if limits.major == 2 and registers in _WIDE_UNIT_REGISTERS:
        unit *= 2
    per_warp = _round_up(registers * LANES, unit)
    if per_warp == 0:
        return 0, None
    parts = limits.sub_partitions
    checked = max(parts, 4) if limits.cc == "6.0" else parts
    if per_warp * _round_up(warps, checked) > limits.registers_per_block:
        return per_warp * warps, 0
    return per_warp * warps, limits.registers_per_sm // parts // per_warp * parts // warps


def _shared_limit(limits: Limits, use: KernelUse) -> tuple[int, int | None]:
    """Return the shared bytes allocated to a block, and the number of blocks that fit the shared memory."""
    allocated = _round_up(use.block_shared + limits.shared_reserved, limits.shared_unit)
    if allocated > limits.shared_per_block + limits.shared_reserved:
        return allocated, 0
    if allocated == 0:
        return 0, None
    return allocated, _shared_of_sm(limits, allocated, use) // allocated


def _shared_of_sm(limits: Limits, allocated: int, use: KernelUse) -> int:
    """Return the bytes of the SM that are shared memory while blocks of `allocated` bytes run.

    A preference for L1 that leaves too little for the block is ignored, on 2.x as on 3.x: NVIDIA's answers say so.
    """
    whole, config, carveout = limits.shared_per_sm, use.cache_config, use.carveout
    if config == CacheConfig.NONE and carveout is None:
        return whole
    if limits.major >= 7:
        per_cent = _PREFERENCE[config] if carveout is None else carveout
        wanted = max(whole * per_cent // 100, allocated)
        return next((step for step in SHARED_STEPS[limits.cc] if wanted <= step <= whole), whole)
    split = whole - _L1_SHARE.get(limits.major, {}).get(config, 0)
    return split if split >= allocated else whole


def _check_kernel(use: KernelUse) -> KernelUse:
    """Return `use` with its numbers as Python integers; raises UsageError for one out of range."""
    return replace(
        use,
        registers=_count("registers", use.registers, 0, None),
        shared_bytes=_count("shared_bytes", use.shared_bytes, 0, None),
        threads=_count("threads", use.threads, 1, 1024),
        slots=_count("slots", use.slots, 0, None),
    )


def _count(name: str, value: int, low: int, high: int | None) -> int:
    """Return `value` as a Python integer; raises UsageError outside low..high.

    (NumPy's integers are accepted, but their arithmetic could wrap.)
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is not None and number >= low and (high is None or number <= high):
        return number
    expected = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
    raise UsageError(
        f"{name} is out of range", place=name, found=repr(value), expected=expected, remedy=f"Change {name}."
    )


def _check_preference(limits: Limits, use: KernelUse) -> KernelUse:
    """Return `use` with its carve-out as a Python integer.

    Raises UsageError for a preference that the capability does not know.
    """
    config = use.cache_config
    if config not in tuple(CacheConfig):
        raise UsageError(
            "unknown cache preference",
            place="cache_config",
            found=repr(config),
            expected="one of " + ", ".join(CacheConfig),
            remedy="Give one of the four preferences.",
        )
    if use.carveout is None:
        return use
    carveout = _count("carveout", use.carveout, 0, 100)
    if limits.major < 7:
        raise UsageError(
            f"capability {limits.cc} has no carve-out",
            place="carveout",
            found=carveout,
            expected="none below capability 7.0",
            remedy="Use cache_config instead.",
        )
    if config != CacheConfig.NONE:
        raise UsageError(
            "carve-out and cache preference exclude each other",
            place="carveout",
            found=f"carveout={carveout}, cache_config={config}",
            expected="one of the two",
            remedy="Leave cache_config at none.",
        )
    return replace(use, carveout=carveout)
