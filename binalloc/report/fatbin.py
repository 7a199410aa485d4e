"""This module reports the code in a file, for `binalloc import-ptx --list`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.frontend.fatbin.entries import FatbinEntry
    from binalloc.report.shapes.commands.importing import EntriesFields


def entries_to_dict(files: Sequence[tuple[str, Sequence[FatbinEntry]]]) -> EntriesFields:
    """Return all entries of all files as --json prints them. files: the name of each file, and its entries."""
    return {
        "entries": [
            {
                "file": file,
                "entry": e.number,
                "unit": e.unit,
                "member": e.holder.member or None,
                "section": e.holder.section or None,
                "kind": e.kind,
                "architecture": e.architecture,
                "bits": e.bits,
                "compression": e.compression,
                "bytes": e.size,
                "unpacked_bytes": e.unpacked,
                "name": e.name or None,
                "options": e.options or None,
                "debug": e.debug,
                "relocatable": e.linked,
            }
            for file, entries in files
            for e in entries
        ]
    }


_HEAD = ("entry", "unit", "kind", "for", "bits", "packed", "bytes", "unpacked", "in", "source", "options")


def render_entries(files: Sequence[tuple[str, Sequence[FatbinEntry]]]) -> str:
    """Return a table for each file. files: the name of each file, and its entries."""
    out = []
    for file, entries in files:
        if not entries:
            out.append(f"{file}: no CUDA code\n")
            continue
        rows = [
            [
                *(e.number, e.unit, e.kind, e.architecture, e.bits, e.compression, e.size, e.unpacked),
                " ".join(part for part in (e.holder.member, e.holder.section) if part) or None,
                *(e.name or None, e.options or None),
            ]
            for e in entries
        ]
        out.append(f"{file}\n{table(_HEAD, rows)}")
    return "\n".join(out)
