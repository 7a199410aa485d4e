"""This module has the schemes that the batching paper compares, as rows: scheduler, dispatcher, places of pages.

A scheme whose scheduler, dispatcher or page policy does not exist is reported as missing, and not run.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.emulator.pages.table import PAGES
from binalloc.emulator.policies.dispatchers.table import DISPATCHERS
from binalloc.emulator.policies.schedulers.table import SCHEDULERS


@dataclass(frozen=True)
class Scheme:
    """A scheme is a way to run a kernel."""

    name: str
    title: str  #: its name in the paper
    scheduler: str = "ccws"
    dispatcher: str = "interleaved"
    pages: str = "interleaved"
    batches: bool = False  #: whether it knows the batches of a profile

    @property
    def missing(self) -> str:
        """Return what the scheme needs and does not exist; "" if all does."""
        wanted = (("warp scheduler", self.scheduler, SCHEDULERS), ("page policy", self.pages, PAGES),
                  ("dispatcher", self.dispatcher, DISPATCHERS))  # fmt: skip
        return ", ".join(f"no {what} {name}" for what, text, rows in wanted if (name := text.split(":")[0]) not in rows)


BASE = "ccws"
SCHEMES = (
    Scheme(BASE, "CCWS"),
    Scheme("owl", "OWL", scheduler="owl"),
    Scheme("temp", "TEMP", dispatcher="serial", pages="coloured", batches=True),
    Scheme("temp_tbas", "TEMP+TBAS", "tbas", "serial", "coloured", batches=True),
    Scheme("bw_aware", "BW-AWARE", pages="bandwidth"),
    Scheme("batching_bw", "Batching+BW", "tbas", "serial", "bandwidth:within=coloured", batches=True),
    Scheme("dispatch_only", "dispatch of TEMP alone", dispatcher="serial", batches=True),
    Scheme("colours_only", "colours of TEMP alone", pages="coloured"),
)
"""The paper's six (section 5.2), which are built on CCWS, and the two halves of TEMP, which are ours."""
SCHEME = {scheme.name: scheme for scheme in SCHEMES}
