"""The info record of a function, `.loom.info.F`, is parsed and built here. Both of its versions are read. A record that
needs nothing of the second is written as the first."""

from __future__ import annotations

from typing import Any

from binalloc.isa.container import elf
from binalloc.isa.container.checked import Checked
from binalloc.isa.instruction import Function, FunctionInfo, Param
from binalloc.isa.source_facts import MEMORY_MODELS, SourceFacts

_FACTS = tuple(vars(SourceFacts()))  # names of the fields that version 2 adds


def parse_info(checked: Checked, name: str, data: bytes) -> Any:
    """Return the fields of the record in section `name`. Raises MalformedInput, also for values that `construct` alone
    accepts."""
    if len(data) < 2:
        checked.fail(name, "too short", f"{len(data)} bytes", "a version and the record")
    version = int.from_bytes(data[:2], "little")
    if version not in elf.INFO_VERSIONS:
        known = " or ".join(map(str, elf.INFO_VERSIONS))
        checked.fail(f"{name}, version", "unknown version", version, known, "Use the binalloc that wrote it.")
    raw = checked.parse(elf.INFO, data, name)
    if raw.kind > 1:
        checked.fail(f"{name}, kind", "unknown kind of function", raw.kind, "0 (kernel) or 1 (function)")
    if raw.source and raw.source.memory_model >= len(MEMORY_MODELS):
        known = ", ".join(f"{number} ({model})" for number, model in enumerate(MEMORY_MODELS))
        checked.fail(f"{name}, memory_model", "unknown memory model", raw.source.memory_model, known)
    if raw.source and raw.source.smem_spilling > 1:
        checked.fail(f"{name}, smem_spilling", "neither no nor yes", raw.source.smem_spilling, "0 or 1")
    return raw


def function_info(raw: Any) -> FunctionInfo:
    """Return the record of a parsed section."""
    facts: dict[str, Any] = {}
    if raw.source:
        facts = {name: raw.source[name] for name in _FACTS}
        facts["memory_model"] = MEMORY_MODELS[raw.source.memory_model]
        facts["smem_spilling"] = bool(raw.source.smem_spilling)
    return FunctionInfo(
        kind="function" if raw.kind else "kernel",
        registers=raw.registers,
        local_frame=raw.local_frame,
        local_bytes=raw.local_bytes,
        local_stack=raw.local_stack,
        spill_local=raw.spill_local,
        shared_bytes=raw.shared_bytes,
        slot_bytes=raw.slot_bytes,
        slot_pointer=raw.slot_pointer,
        block=(raw.block[0], raw.block[1], raw.block[2]),
        max_threads=raw.max_threads,
        params=[Param(p.name, p.offset, p.size) for p in raw.params],
        machine=raw.machine,
        **facts,
    )


def build_info(fn: Function) -> bytes:
    """Return the bytes of a function's record."""
    info = fn.info
    facts = {name: getattr(info, name) for name in _FACTS}
    data: bytes = elf.INFO.build({
        "version": elf.INFO_VERSIONS[info.says_something], "kind": 0 if info.is_kernel else 1,
        "local_stack": info.local_stack, "slot_pointer": info.slot_pointer, "registers": info.registers,
        "max_threads": info.max_threads, "block": info.block, "local_frame": info.local_frame,
        "local_bytes": info.local_bytes, "spill_local": info.spill_local, "shared_bytes": info.shared_bytes,
        "slot_bytes": info.slot_bytes, "machine": info.machine,
        "params": [{"offset": p.offset, "size": p.size, "name": p.name} for p in info.params],
        "shared_align": [v.align.bit_length() - 1 for v in fn.shared],
        "source": {**facts, "memory_model": MEMORY_MODELS.index(info.memory_model)},
    })  # fmt: skip
    return data
